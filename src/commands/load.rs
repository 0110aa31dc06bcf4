//! `baton load`: asks as many users would, and says what they had to wait.

use crate::exit::{self, Exit, Outcome, say};
use crate::flags::Load;
use crate::limits;
use crate::loading::{self, Display, Job, Script, Study, script};
use crate::logs::Unfit;
use crate::whatif::words::{count, size};
use anyhow::{Context, Result, anyhow};
use load::{Manner, Users};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Asks, and reports.
///
/// # Errors
/// When a file cannot be read or written, the host is unknown, or the client cannot be started.
pub fn run(args: &Load) -> Outcome {
    if let Some(name) = &args.report.print_scenario {
        return print(args, name.as_deref());
    }
    let (mut job, odd) = Job::new(args)?;
    if !odd.problems.is_empty() {
        say(odd.human(exit::colour(&io::stderr())).trim_end());
    }
    if let Some(folder) = &args.report.write_site {
        return write_site(&job, folder);
    }
    fit(&mut job)?;
    // Before the run, so that a minute of measuring is not lost to a wrong path.
    let files = opened(args)?;
    let stop = loading::interrupt()?;
    let mut display = Display::new(&job, args.report.quiet);
    let outcomes = loading::play(&job, &stop, |run, outcome| display.show(run, outcome));
    display.finish();
    let stopped = stop.load(std::sync::atomic::Ordering::Relaxed);
    let study = Study::new(job, command(args.work.seed), outcomes?, stopped);
    report(args, &study, files)?;
    Ok(if stopped {
        Exit::Interrupted
    } else if study.wrong_content() {
        say("baton: what was answered is not what should be there");
        Exit::Invalid
    } else if study.whole.answered() == 0 {
        say("baton: nothing was answered");
        Exit::Environment
    } else {
        Exit::Done
    })
}

/// Raises the limit of open files as far as users need it. Where the system allows too few,
/// further users of an open loop are turned away, and counted.
///
/// # Errors
/// When the users of a closed loop have no room: fewer would be another test.
fn fit(job: &mut Job) -> Result<()> {
    // A connection that is over lingers until the server has closed it, beside its successor.
    let (connections, lingering) = match job.manner {
        Manner::Parallel(count) => (count, 0),
        Manner::Pipelined => (1, 0),
        Manner::Closing(count) => (count, count),
    };
    let each = connections + lingering;
    let users = match job.users {
        Users::Closed(users) => users,
        Users::Open(_) => job.sessions_max,
    };
    // There a connection counts as two files, the client's and the server's.
    let pairs = users.saturating_mul(each).div_ceil(2);
    let files = limits::connections_allowed(pairs.max(1)).saturating_mul(2);
    let room = (files / each).max(1);
    match job.users {
        Users::Closed(users) if room < users => Err(anyhow!(
            "{} users with {connections} connections each need {} open files, and this process \
             may have them for {} users: raise `ulimit -Hn`, or give fewer --clients or \
             --connections",
            count(users as u64),
            count((users * each) as u64),
            count(room as u64)
        )),
        Users::Closed(_) => Ok(()),
        Users::Open(_) => {
            job.sessions_max = job.sessions_max.min(room);
            Ok(())
        }
    }
}

/// A report that is asked for: where, what makes it, and the open file.
type Open<'a> = (&'a Path, fn(&Study) -> String, File);

fn opened(args: &Load) -> Result<Vec<Open<'_>>> {
    let files = [
        (&args.report.csv, loading::csv as fn(&Study) -> String),
        (&args.report.svg, loading::svg),
        (&args.report.html, loading::page),
    ];
    let asked = files.into_iter().filter_map(|(path, make)| Some((path.as_deref()?, make)));
    asked
        .map(|(path, make)| {
            let file = File::create(path);
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            Ok((path, make, file))
        })
        .collect()
}

/// The table first: it is there even if a file cannot be written.
fn report(args: &Load, study: &Study, files: Vec<Open<'_>>) -> Result<()> {
    let mut out = io::stdout().lock();
    if args.report.json {
        writeln!(out, "{}", loading::json(study))?;
    } else {
        out.write_all(loading::text(study).as_bytes())?;
    }
    out.flush()?;
    for (path, make, mut file) in files {
        let written = file.write_all(make(study).as_bytes());
        written.with_context(|| format!("cannot write {}", path.display()))?;
        say(format_args!("written: {}", path.display()));
    }
    Ok(())
}

/// Prints a scenario: the one of this name, or the one that would be used.
fn print(args: &Load, name: Option<&str>) -> Outcome {
    let shipped = |name: &str| script::SHIPPED.iter().find(|(known, _)| *known == name);
    let mut out = io::stdout().lock();
    if let Some(name) = name.or(args.work.mix.as_deref()) {
        let Some((_, text)) = shipped(name) else {
            return Err(Unfit::Usage(script::unknown(name)).into());
        };
        out.write_all(text.as_bytes())?;
        return Ok(Exit::Done);
    }
    let usual = Script::usual();
    let text = match loading::named(args)? {
        Some((script, _)) => script::text(&script),
        None => shipped(&usual.name).map_or(script::text(&usual), |(_, text)| (*text).to_owned()),
    };
    out.write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

fn write_site(job: &Job, folder: &Path) -> Outcome {
    let written = loading::write_site(job, folder)?;
    say(format_args!(
        "{} files with {} are in {}, for the host {}",
        count(written.files),
        size(written.bytes),
        folder.display(),
        job.target.authority
    ));
    if written.programs {
        say("some requests of this scenario are for programs, of which there is no file");
    }
    Ok(Exit::Done)
}

/// The command that does it again, with its seed.
fn command(seed: u64) -> String {
    let mut words: Vec<String> = std::env::args().skip(1).map(|word| quoted(&word)).collect();
    if !words.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    format!("baton {}", words.join(" "))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,+@%".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

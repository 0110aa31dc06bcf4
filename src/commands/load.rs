//! `baton load`: asks as many users would, and says what they had to wait.

use crate::exit::{self, Exit, Outcome, say};
use crate::flags::Load;
use crate::limits;
use crate::loading::{self, Display, Job, Script, Study, script};
use crate::logs::Unfit;
use crate::whatif::words::{count, size};
use anyhow::{Context, Result};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Connections for which there is to be room, however few users there may be.
const CONNECTIONS: usize = 10_000;

/// Asks, and reports.
///
/// # Errors
/// When a file cannot be read or written, the host is unknown, or the client cannot be started.
pub fn run(args: &Load) -> Outcome {
    match done(args) {
        Ok(exit) => Ok(exit),
        Err(error) => match error.downcast_ref::<Unfit>() {
            Some(Unfit::Usage(message)) => exit::usage(message),
            Some(Unfit::Log(message)) => {
                say(format_args!("baton: {message}"));
                Ok(Exit::Invalid)
            }
            None => Err(error),
        },
    }
}

fn done(args: &Load) -> Outcome {
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
    // Where the system allows few open files, further users are turned away, and counted.
    let allowed = limits::connections_allowed(job.sessions_max.max(CONNECTIONS));
    job.sessions_max = job.sessions_max.min(allowed);
    let stop = loading::interrupt()?;
    let mut display = Display::new(&job, args.report.quiet);
    let outcomes = loading::play(&job, &stop, |run, outcome| display.show(run, outcome));
    display.finish();
    let stopped = stop.load(std::sync::atomic::Ordering::Relaxed);
    let study = Study::new(job, command(args.work.seed), outcomes?, stopped);
    report(args, &study)?;
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

fn report(args: &Load, study: &Study) -> Result<()> {
    let files = [
        (&args.report.csv, loading::csv as fn(&Study) -> String),
        (&args.report.svg, loading::svg),
        (&args.report.html, loading::page),
    ];
    for (path, make) in files {
        let Some(path) = path else { continue };
        fs::write(path, make(study)).with_context(|| format!("cannot write {}", path.display()))?;
        say(format_args!("written: {}", path.display()));
    }
    let mut out = io::stdout().lock();
    if args.report.json {
        writeln!(out, "{}", loading::json(study))?;
    } else {
        out.write_all(loading::text(study).as_bytes())?;
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

//! `baton figures` and `baton claims`: the papers made again.

use crate::exit::{self, Exit, Outcome, say};
use crate::figures;
use crate::flags::{Claims, Effort, Figures};
use anyhow::Context;
use sim::{Scale, papers};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::thread;

/// Makes figures and writes pictures and numbers; when all are made, the page of results too.
///
/// # Errors
/// When a file cannot be written.
pub fn figures(args: &Figures) -> Outcome {
    if args.list {
        let mut out = io::stdout().lock();
        for study in papers::studies() {
            writeln!(out, "{:24} {} ({})", study.id, study.title, study.source)?;
        }
        return Ok(Exit::Done);
    }
    let studies = match figures::choose(&args.only) {
        Ok(studies) => studies,
        Err(unknown) => {
            let names = papers::studies().map(|study| study.id);
            let near = nearest(unknown, names);
            return exit::usage(&format!("there is no figure {unknown}{near}; see --list"));
        }
    };
    let folder = &args.out;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let scale = scale(&args.effort);
    let made = make(&studies, &args.effort);
    for study in &studies {
        let figure = &made[study.id];
        figures::save(folder, study, figure)?;
        let picture = folder.join(format!("{}.svg", study.id));
        figures::draw(study, figure, &(study.caption)(scale), &picture)?;
    }
    let many = if studies.len() == 1 { "figure" } else { "figures" };
    say(format_args!("{} {many} in {}", studies.len(), folder.display()));
    if args.only.is_empty() && scale == Scale::Full {
        // Pages and tests read what is on disk, so the page is made from that, not from memory.
        let stored = studies.iter().map(|study| Ok((study.id, figures::load(folder, study)?)));
        let page = folder.with_file_name("RESULTS.md");
        let text = figures::render(&stored.collect::<anyhow::Result<_>>()?);
        fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
        say(format_args!("results: {}", page.display()));
    }
    Ok(Exit::Done)
}

/// Judges every claim and prints them.
///
/// # Errors
/// When figures cannot be read.
pub fn claims(args: &Claims) -> Outcome {
    let studies: Vec<_> = papers::studies().collect();
    let figures = match &args.from {
        Some(folder) => {
            let stored = studies.iter().map(|study| Ok((study.id, figures::load(folder, study)?)));
            stored.collect::<anyhow::Result<_>>()?
        }
        None => make(&studies, &args.effort),
    };
    let (table, counts) = figures::table(&figures, scale(&args.effort));
    if args.effort.quick {
        say("small workloads: what is reproduced here is not what the full ones say");
    }
    writeln!(io::stdout().lock(), "{table}")?;
    Ok(if counts.unexpected == 0 { Exit::Done } else { Exit::Invalid })
}

fn scale(effort: &Effort) -> Scale {
    if effort.quick { Scale::Quick } else { Scale::Full }
}

fn make(studies: &[&'static sim::Study], effort: &Effort) -> sim::Figures {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = effort.threads.unwrap_or(cores);
    figures::make(studies, scale(effort), threads, io::stderr().is_terminal())
}

/// ", did you mean x?" when a name is near.
fn nearest(unknown: &str, names: impl Iterator<Item = &'static str>) -> String {
    let near = names.map(|name| (strsim::damerau_levenshtein(unknown, name), name)).min();
    match near {
        Some((distance, name)) if distance <= 3 => format!(": did you mean {name}?"),
        _ => String::new(),
    }
}

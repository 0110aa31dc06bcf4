//! `baton experiment`: the papers' prototypes, done again with the real switch.

use crate::exit::{self, Exit, Outcome, say};
use crate::experiments::{self, EXPERIMENTS, Experiment, Lab, Size, page};
use crate::flags::Experiment as Flags;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Descriptors for each session: client, switch on both sides, server; and those of the program.
const CONNECTIONS: usize = 4 * 2_000;

/// Measures experiments, lists them, or writes the page of results.
///
/// # Errors
/// When a part of an experiment cannot be started, requests fail, or results cannot be written.
pub fn run(args: &Flags) -> Outcome {
    let mut out = io::stdout().lock();
    if args.list {
        return list(&mut out);
    }
    if let Some(path) = &args.page {
        return page_anew(&args.out, path);
    }
    let chosen = match experiments::choose(&args.names) {
        Ok(chosen) => chosen,
        Err(unknown) => {
            let message =
                format!("there is no experiment {unknown}; see `baton experiment --list`");
            return exit::usage(&message);
        }
    };
    let size = if args.quick { Size::Quick } else { Size::Full };
    let other = match other(args, &chosen, size) {
        Ok(other) => other,
        Err(message) => return exit::usage(&message),
    };
    crate::limits::connections_allowed(CONNECTIONS);
    // To learn at the end that nothing can be written would cost half an hour.
    for experiment in &chosen {
        experiment.prepare(&args.out)?;
    }
    let lab = Lab::open()?;
    let mut missing = 0;
    for experiment in chosen {
        let known = match args.again {
            true => Some(experiments::Table::load(&args.out, experiment.name)?),
            false => None,
        };
        let scenario = other.as_deref().unwrap_or(experiment.scenario);
        let Some(table) = experiment.measure(&lab, scenario, size, known)? else {
            say(format_args!(
                "baton: interrupted in {}, of which nothing is kept; all servers are stopped",
                experiment.name
            ));
            return Ok(Exit::Interrupted);
        };
        experiment.save(&table, &args.out)?;
        experiment.save_scenario(scenario, &args.out)?;
        let limited = table.rows.iter().filter(|row| !row.limit.is_empty()).count();
        let (folder, points) = (args.out.join(experiment.name), table.rows.len());
        writeln!(
            out,
            "{}: {points} points, {limited} with another limit than the modelled cluster: {}",
            experiment.name,
            folder.display()
        )?;
        missing += table.notes.iter().filter(|(key, _)| key == experiments::NOT_MEASURED).count();
    }
    if missing > 0 {
        say(format_args!("baton: {missing} points could not be measured: see above"));
        return Ok(Exit::Environment);
    }
    Ok(Exit::Done)
}

/// What there is, and how long it takes.
fn list(out: &mut impl Write) -> Outcome {
    let (mut full, mut quick) = (Duration::ZERO, Duration::ZERO);
    for experiment in EXPERIMENTS {
        let Experiment { name, title, source, .. } = experiment;
        let (own, short) = (experiment.about(Size::Full)?, experiment.about(Size::Quick)?);
        let (own_s, short_s) = (own.as_secs(), short.as_secs());
        writeln!(out, "{name:15} {own_s:4} s, quick {short_s:3} s: {title} ({source})")?;
        full += own;
        quick += short;
    }
    let (full_s, quick_s) = (full.as_secs(), quick.as_secs());
    writeln!(out, "{:15} {full_s:4} s, quick {quick_s:3} s, as planned", "all")?;
    Ok(Exit::Done)
}

/// A scenario of the user's, if there is one; or what is wrong with it, or with measuring where
/// another one was measured.
fn other(args: &Flags, chosen: &[&Experiment], size: Size) -> Result<Option<String>, String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let mut other = None;
    if let Some(path) = &args.scenario {
        let name = path.display();
        let [experiment] = chosen else {
            return Err(format!("--scenario {name} is of one experiment: name that one only"));
        };
        let text = read(path)?;
        (experiment.plan)(&text, size)
            .map_err(|error| format!("{name} is no scenario of {}: {error:#}", experiment.name))?;
        other = Some(text);
    }
    for experiment in chosen {
        let there = args.out.join(experiment.name).join("scenario.toml");
        if there.exists() && read(&there)? != other.as_deref().unwrap_or(experiment.scenario) {
            return Err(format!(
                "{} is another scenario than is to be measured: measure it with --scenario, or \
                 give the results another folder by --out",
                there.display()
            ));
        }
    }
    Ok(other)
}

/// Pictures and pages from the numbers in a folder.
fn page_anew(folder: &Path, path: &Path) -> Outcome {
    for (name, table) in page::tables(folder)? {
        // Tables are those of experiments there are.
        if let Some(experiment) = EXPERIMENTS.iter().find(|one| one.name == name) {
            experiment.save(&table, folder)?;
        }
    }
    page::write(folder, path)?;
    writeln!(io::stdout().lock(), "page: {}", path.display())?;
    Ok(Exit::Done)
}

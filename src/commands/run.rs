//! `baton run`: serve in the foreground until a signal ends it.

use crate::commands::doctor;
use crate::config::{Config, Diagnosis, Flag, LoadError, Loaded};
use crate::exit::{Exit, Outcome, colour, say};
use crate::flags::Run;
use crate::oneway;
use crate::serve::{self, Wrong};
use std::io;

/// Serves with a configuration of file and flags; SIGHUP reads the file again.
///
/// # Errors
/// When the configuration is invalid or the switch cannot start.
pub fn run(args: &Run) -> Outcome {
    let flags = args.settings();
    let read = || load(args, &flags);
    let Loaded { config, warnings } = read()?;
    show(&warnings, colour(&io::stderr()));
    if args.check {
        say(format_args!("baton: the configuration is valid"));
        return Ok(Exit::Done);
    }
    let source = match &args.config {
        Some(path) => path.display().to_string(),
        None => "command line".to_owned(),
    };
    if oneway::is_wanted(&config) {
        // What stands in the way is better known now than found out by clients.
        doctor::warn_front(&config);
    }
    serve::run(config, &source, || {
        let loaded = read().map_err(|error| wrong(&error))?;
        show(&loaded.warnings, false);
        Ok(loaded.config)
    })?;
    Ok(Exit::Done)
}

/// The first mistake in one line, and all of them at length.
fn wrong(error: &LoadError) -> Wrong {
    let text = error.to_string();
    let message = text.lines().next().unwrap_or_default().to_owned();
    let diagnosis = match error {
        LoadError::Invalid(diagnosis) => diagnosis.human(false),
        _ => String::new(),
    };
    Wrong { message, diagnosis }
}

fn load(args: &Run, flags: &[Flag]) -> Result<Loaded, LoadError> {
    match &args.config {
        Some(path) => Config::load(path, flags),
        None => Config::from_flags(flags),
    }
}

fn show(warnings: &Diagnosis, colour: bool) {
    if !warnings.problems.is_empty() {
        say(warnings.human(colour).trim_end());
    }
}

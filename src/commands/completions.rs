//! `baton completions`: a script that completes our command line.

use crate::exit::{Exit, Outcome};
use crate::flags::{Completions, Flags};
use clap::CommandFactory;
use std::io::{self, Write};

/// Prints the script for a shell.
///
/// # Errors
/// When nothing can be written.
pub fn run(args: &Completions) -> Outcome {
    // Into memory first: the generator would panic on a broken pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Flags::command(), "baton", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}

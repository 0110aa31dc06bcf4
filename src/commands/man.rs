//! `baton man`: the manual page, from the same declaration as the help.

use crate::exit::{Exit, Outcome, usage};
use crate::flags::{Flags, Man};
use clap::CommandFactory;
use std::io::{self, Write};

/// Prints the page of the program, or of a subcommand.
///
/// # Errors
/// When nothing can be written.
pub fn run(args: &Man) -> Outcome {
    let mut command = Flags::command();
    command.build();
    if let Some(name) = &args.subcommand {
        let Some(found) = command.find_subcommand(name) else {
            return usage(&format!("there is no subcommand {name:?}; `baton help` lists them"));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    io::stdout().lock().write_all(&page)?;
    Ok(Exit::Done)
}

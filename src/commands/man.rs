//! `baton man`: manual pages, from the same declaration as the help.

use crate::exit::{Exit, Outcome, usage};
use crate::flags::{Flags, Man};
use clap::CommandFactory;
use std::io::{self, Write};

/// Prints the page of the program or of a subcommand, or lists what there is.
///
/// # Errors
/// When nothing can be written.
pub fn run(args: &Man) -> Outcome {
    let mut program = Flags::command();
    program.build();
    let Some(name) = &args.page else {
        io::stdout().lock().write_all(list(&program).as_bytes())?;
        return Ok(Exit::Done);
    };
    let command = match program.find_subcommand(name) {
        Some(command) => command.clone(),
        None if name == program.get_name() => program,
        None => return usage(&format!("there is no page {name:?}; `baton man` lists them")),
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    io::stdout().lock().write_all(&page)?;
    Ok(Exit::Done)
}

/// Each page with what it is about.
fn list(program: &clap::Command) -> String {
    let pages = std::iter::once(program).chain(program.get_subcommands());
    let line = |page: &clap::Command| {
        let about = page.get_about().map(ToString::to_string).unwrap_or_default();
        format!("{:<12} {about}\n", page.get_name())
    };
    let lines: String = pages.map(line).collect();
    format!("{lines}\nTo read one: baton man NAME | man -l -\n")
}

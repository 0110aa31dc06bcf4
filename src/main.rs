//! The program `baton`: one subcommand, one function.

use baton::commands::{check, completions, man, policies, schema};
use baton::exit::{self, Outcome};
use baton::flags::{Command, Flags};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::end(run(Flags::parse().command))
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Check(args) => check::run(&args),
        Command::Policies(args) => policies::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        _ => exit::usage("this build has no such subcommand"),
    }
}

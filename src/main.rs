//! The program `baton`: one subcommand, one function.

use baton::commands::{
    agent, check, completions, demo, doctor, experiment, explain, fidelity, figures, load, man,
    origin, policies, run as serve, schema, servers, sim, status, testbed, trace,
};
use baton::exit::{self, Outcome};
use baton::flags::{Command, Flags};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::end(run(Flags::parse().command))
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Run(args) => serve::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Drain(args) => servers::drain(&args, true),
        Command::Undrain(args) => servers::drain(&args, false),
        Command::Weight(args) => servers::weight(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Sim(args) => sim::run(&args),
        Command::Experiment(args) => experiment::run(&args),
        Command::Fidelity(args) => fidelity::run(&args),
        Command::Figures(args) => figures::figures(&args),
        Command::Claims(args) => figures::claims(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Agent(args) => agent::run(&args),
        Command::Origin(args) => origin::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Testbed(args) => testbed::run(&args),
        Command::Policies(args) => policies::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

//! `baton trace`: logs described, converted, made anonymous; stand-ins for traces nobody has.

mod convert;
mod info;
mod out;
mod synth;

use crate::exit::Outcome;
use crate::flags::{Trace, TraceCommand};
use crate::logs::{Log, Unfit};
use anyhow::Result;
use std::path::Path;
use workload::Builder;

/// Does what the subcommand says.
///
/// # Errors
/// When a file cannot be read or written.
pub fn run(args: &Trace) -> Outcome {
    match &args.command {
        TraceCommand::Info(args) => info::run(args),
        TraceCommand::Convert(args) => convert::run(args, false),
        TraceCommand::Anonymize(args) => convert::run(args, true),
        TraceCommand::Synth(args) => synth::run(args),
    }
}

/// Adds a log to a trace. Its requests are those of `site` where the log names none.
fn add(builder: &mut Builder, path: &Path, format: Option<&str>, site: &str) -> Result<()> {
    let log = Log::open(path, format)?;
    let name = log.name.clone();
    log.read(|record| builder.push(site, record).map_err(|full| full_of(&name, full)))?;
    Ok(())
}

fn full_of(name: &str, full: workload::Full) -> anyhow::Error {
    Unfit::Log(format!("{name}: {full}")).into()
}

/// Standard input can be read once only.
fn one_stdin(paths: &[std::path::PathBuf]) -> Result<(), Unfit> {
    if paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Unfit::Usage("standard input can be read once only".to_owned()));
    }
    Ok(())
}

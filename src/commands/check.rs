//! `baton check`: everything that is wrong with a configuration.

use crate::config::{Config, Diagnosis, Gravity, LoadError, Loaded, Problem};
use crate::exit::{Exit, Outcome, colour};
use crate::flags::{Check, Format};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

/// Checks the file; on demand also what it refers to on this machine and the network.
///
/// # Errors
/// When the file cannot be read.
pub fn run(args: &Check) -> Outcome {
    let (config, mut diagnosis) = match Config::load(&args.file, &[]) {
        Ok(Loaded { config, warnings }) => (Some(config), warnings),
        Err(LoadError::Invalid(diagnosis)) => (None, diagnosis),
        Err(error) => return Err(error.into()),
    };
    let mut exit = match (diagnosis.count(Gravity::Error), diagnosis.count(Gravity::Warning)) {
        (0, 0) => Exit::Done,
        (0, _) if !args.strict => Exit::Done,
        _ => Exit::Invalid,
    };
    if let Some(config) = config.filter(|_| args.connect) {
        let problems = connect(&config);
        if !problems.is_empty() && exit == Exit::Done {
            exit = Exit::Environment;
        }
        diagnosis.problems.extend(problems);
    }
    let mut out = io::stdout().lock();
    if args.answer.json || args.format == Format::Json {
        out.write_all(diagnosis.json().as_bytes())?;
    } else {
        out.write_all(diagnosis.human(colour(&io::stdout())).as_bytes())?;
        writeln!(out, "{}", summary(&args.file, &diagnosis))?;
    }
    Ok(exit)
}

fn summary(file: &Path, diagnosis: &Diagnosis) -> String {
    let count = |gravity, name| match diagnosis.count(gravity) {
        0 => None,
        1 => Some(format!("1 {name}")),
        count => Some(format!("{count} {name}s")),
    };
    let all = [(Gravity::Error, "error"), (Gravity::Warning, "warning"), (Gravity::Note, "note")];
    let counts: Vec<_> =
        all.into_iter().filter_map(|(gravity, name)| count(gravity, name)).collect();
    match counts.as_slice() {
        [] => format!("{}: valid", file.display()),
        counts => format!("{}: {}", file.display(), counts.join(", ")),
    }
}

/// What does not work here and now: addresses that cannot be bound, servers that do not answer.
fn connect(config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    for listener in &config.listeners {
        for address in &listener.addresses {
            if let Err(error) = TcpListener::bind(address) {
                let message = format!("listener {}: cannot bind {address}: {error}", listener.name);
                let remedy = "stop who has the port, or choose another";
                problems.push(Problem::error(None, message, remedy));
            }
        }
    }
    for server in &config.servers {
        let remedy = "start the server, or correct its address";
        match server.resolve() {
            Err(message) => problems.push(Problem::error(None, message, remedy)),
            Ok(address) => {
                let within = config.timeouts.connect;
                if let Err(error) = TcpStream::connect_timeout(&address, within) {
                    let name = &server.name;
                    let message = format!("server {name}: cannot connect to {address}: {error}");
                    problems.push(Problem::error(None, message, remedy));
                }
            }
        }
    }
    problems
}

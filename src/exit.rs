//! How the program ends: every exit code, and what is said before it.

use crate::config::LoadError;
use crate::logs::Unfit;
use control::ClientError;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// What was asked for is done.
    Done = 0,
    /// What was given is wrong: a configuration, or an answer that says no.
    Invalid = 1,
    /// The command line is wrong. clap ends the program with this code by itself.
    Usage = 2,
    /// The machine is not as it should be: a port in use, a missing file, no switch to ask.
    Environment = 3,
    /// Ctrl-C ended it before its end; the number shells give to that.
    Interrupted = 130,
}

/// What a command comes to. Errors are the environment's, but for four: a [`LoadError`] with a
/// diagnosis is invalid input, and so is what a running switch refuses; an [`Unfit`] says itself
/// which it is; a broken pipe means that the reader has seen enough.
pub type Outcome = anyhow::Result<Exit>;

/// Says what went wrong, if something did, and gives the exit code.
pub fn end(outcome: Outcome) -> ExitCode {
    let exit = outcome.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return Exit::Done;
        }
        // What cannot be written to standard error cannot be said at all.
        let _ = io::stderr().lock().write_all(sentence(&error).as_bytes());
        match (error.downcast_ref::<LoadError>(), error.downcast_ref::<Unfit>()) {
            (Some(LoadError::Invalid(_)), _) | (_, Some(Unfit::Log(_))) => Exit::Invalid,
            (_, Some(Unfit::Usage(_))) => Exit::Usage,
            _ if is_refused(&error) => Exit::Invalid,
            _ => Exit::Environment,
        }
    });
    ExitCode::from(exit as u8)
}

/// Writes a line to standard error. Nobody reading it any more is no reason to fail: a switch goes
/// on serving when the reader of its log is gone, where `eprintln!` would panic.
pub fn say(line: impl std::fmt::Display) {
    let _unheard = writeln!(io::stderr().lock(), "{line}");
}

/// Ends for a word on the command line that names nothing.
///
/// # Errors
/// None: what cannot be written to standard error cannot be said at all.
pub fn usage(message: &str) -> Outcome {
    let _ = writeln!(io::stderr().lock(), "baton: {message}");
    Ok(Exit::Usage)
}

/// Whether output to `stream` may have colours: a terminal, and nobody who set `NO_COLOR`.
pub fn colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn sentence(error: &anyhow::Error) -> String {
    match error.downcast_ref::<LoadError>() {
        Some(LoadError::Invalid(diagnosis)) => diagnosis.human(colour(&io::stderr())),
        _ => match error.downcast_ref::<Unfit>() {
            // It says all there is, whatever was being done.
            Some(unfit) => format!("baton: {unfit}\n"),
            None => format!("baton: {error:#}\n"),
        },
    }
}

/// Whether a switch was asked, and said no.
fn is_refused(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<ClientError>(), Some(ClientError::Refused { .. }))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds.map(io::Error::kind).any(|kind| kind == io::ErrorKind::BrokenPipe)
}

//! `baton drain`, `baton undrain`, `baton weight`: change a server of a running switch.

use crate::exit::{Exit, Outcome};
use crate::flags::{Named, Weight};
use control::Client;
use std::io::{self, Write};

/// Gives a server nothing new (`drain`), or work again.
///
/// # Errors
/// When no switch answers, or it has no such server.
pub fn drain(args: &Named, drain: bool) -> Outcome {
    Client::Unix(args.at.socket()).drain(&args.server, drain)?;
    let what = if drain { "finishes what it has" } else { "takes requests again" };
    writeln!(io::stdout().lock(), "{} {what}", args.server)?;
    Ok(Exit::Done)
}

/// Changes a server's weight until the next reload.
///
/// # Errors
/// When no switch answers, or it has no such server.
pub fn weight(args: &Weight) -> Outcome {
    Client::Unix(args.at.socket()).set_weight(&args.server, args.weight)?;
    writeln!(io::stdout().lock(), "{} has weight {}", args.server, args.weight)?;
    Ok(Exit::Done)
}

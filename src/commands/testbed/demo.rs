//! `baton testbed demo`: one-way delivery, shown.

use crate::exit::Outcome;
use crate::flags::TestbedDemo;

/// Shows it on a bed of its own, which is gone when this returns.
///
/// # Errors
/// When this is not root, something is missing, or what is shown does not work.
pub(super) fn run(args: &TestbedDemo) -> Outcome {
    shown::run(args)
}

#[cfg(feature = "oneway")]
mod shown {
    use super::super::until_signal;
    use super::{Outcome, TestbedDemo};
    use crate::demo::oneway::{self, Findings, Plot};
    use crate::exit::{Exit, say};
    use anyhow::{Context, Result};
    use std::io::{self, Write};
    use testbed::Error;

    pub(super) fn run(args: &TestbedDemo) -> Outcome {
        if !testbed::rooted() {
            return Err(Error::NotRoot.into());
        }
        let missing = oneway::missing();
        if !missing.is_empty() {
            return Err(Error::Missing(missing).into());
        }
        let plot = Plot {
            routed: args.routed,
            v6: args.ipv6,
            requests: usize::try_from(args.requests).unwrap_or(usize::MAX),
            out: std::path::absolute(&args.out).context("the folder has no path")?,
        };
        let step = |text: &str| say(format_args!("baton: {text}"));
        let played = until_signal(move |stop| oneway::play(&plot, stop, step))?;
        match played {
            Ok(findings) => show(args, &findings).map(|()| Exit::Done),
            Err(error) if matches!(error.downcast_ref(), Some(Error::Interrupted)) => {
                say("baton: interrupted; what was made is removed");
                Ok(Exit::Interrupted)
            }
            Err(error) => Err(error),
        }
    }

    fn show(args: &TestbedDemo, findings: &Findings) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(oneway::text(findings).as_bytes())?;
        if args.json {
            writeln!(out, "{}", serde_json::to_string(findings)?)?;
        }
        Ok(())
    }
}

#[cfg(not(feature = "oneway"))]
mod shown {
    use super::{Outcome, TestbedDemo};

    pub(super) fn run(_: &TestbedDemo) -> Outcome {
        anyhow::bail!(
            "this baton was built without one-way delivery: build it with clang there and the \
             feature oneway, which is on by default"
        )
    }
}

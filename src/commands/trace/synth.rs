//! `baton trace synth`: a stand-in for a trace that was never published, or plain Zipf.

use super::info::grouped;
use super::out;
use crate::config::{nearest, quoted};
use crate::exit::{Exit, Outcome, say};
use crate::flags::TraceSynth;
use crate::logs::Unfit;
use anyhow::{Context, Result};
use workload::Trace;
use workload::synth::{self, Drift, Hot, Structure, TWINS, Twin, Zipf};

/// The trace that has no original.
const ZIPF: &str = "zipf";

/// Makes the trace and writes it.
///
/// # Errors
/// When there is no such trace or it cannot be written.
pub fn run(args: &TraceSynth) -> Outcome {
    let trace = if args.name == ZIPF { zipf(args)? } else { twin(args)? };
    out::create(&args.out, |out| {
        trace.write(out).with_context(|| format!("cannot write {}", args.out.display()))
    })?;
    let bytes: u64 = trace.targets.iter().map(|target| target.size).sum();
    say(format_args!(
        "{}: {} requests of {} clients for {} targets of {:.0} MB",
        args.name,
        grouped(trace.requests.len() as u64),
        grouped(trace.clients().into()),
        grouped(trace.targets.len() as u64),
        bytes as f64 / 1e6,
    ));
    Ok(Exit::Done)
}

fn twin(args: &TraceSynth) -> Result<Trace> {
    let Some(facts) = synth::facts(&args.name) else {
        let mut names: Vec<&str> = TWINS.iter().map(|facts| facts.name).collect();
        names.push(ZIPF);
        let remedy = match nearest(&args.name, &names) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("there are {}", quoted(&names)),
        };
        return Err(Unfit::Usage(format!("there is no trace {:?}; {remedy}", args.name)).into());
    };
    let zipf_only = [
        ("--targets", args.targets.is_some()),
        ("--exponent", args.exponent.is_some()),
        ("--hot", args.hot.is_some()),
        ("--drift", args.drift.is_some()),
    ];
    if let Some((flag, _)) = zipf_only.iter().find(|(_, given)| *given) {
        let message = format!("{flag} is for zipf; {} has its own", args.name);
        return Err(Unfit::Usage(message).into());
    }
    let mut twin = Twin {
        seed: args.seed,
        per_connection: args.per_connection,
        rate_rps: args.rate_rps,
        ..Twin::new(*facts)
    };
    twin.structure = args.structure.as_deref().map_or(Ok(twin.structure), structure)?;
    twin.requests = args.requests.unwrap_or(twin.requests);
    let trace = twin.trace().map_err(unfit)?;
    if twin.requests < twin.natural_requests() {
        say(format_args!(
            "{}: with fewer than {} requests popularity is flatter than in the original, and what \
             is rarely asked for larger",
            args.name,
            grouped(twin.natural_requests().into()),
        ));
    }
    Ok(trace)
}

fn zipf(args: &TraceSynth) -> Result<Trace> {
    let usual = Zipf::default();
    let zipf = Zipf {
        targets: args.targets.unwrap_or(usual.targets),
        exponent: args.exponent.unwrap_or(usual.exponent),
        hot: args.hot.map(|(targets, share)| Hot { targets, share }),
        drift: args.drift.map(|(every_requests, ranks)| Drift { every_requests, ranks }),
        requests: args.requests.unwrap_or(usual.requests),
        seed: args.seed,
        per_connection: args.per_connection,
        rate_rps: args.rate_rps,
        ..usual
    };
    zipf.trace().map_err(unfit)
}

fn structure(name: &str) -> Result<Structure, Unfit> {
    let found = Structure::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, structure)| *structure).ok_or_else(|| {
        let names = Structure::ALL.map(|(name, _)| name);
        Unfit::Usage(format!("there is no structure {name:?}; there are {}", quoted(&names)))
    })
}

/// Too few requests is the trace's trouble, all else that of the command line.
fn unfit(error: synth::Unfit) -> anyhow::Error {
    let message = error.to_string();
    match error {
        synth::Unfit::Few => Unfit::Log(message).into(),
        _ => Unfit::Usage(message).into(),
    }
}

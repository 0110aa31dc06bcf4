//! `baton trace convert` and `baton trace anonymize`: logs to one trace, or to one plain log.

use super::info::grouped;
use super::{full_of, one_stdin, out};
use crate::exit::{Exit, Outcome, say};
use crate::flags::{TraceConvert, TraceFormat};
use crate::logs::{Log, Unfit};
use anyhow::{Context, Result};
use std::io::Write;
use workload::{Builder, Clock, Names, Pseudonyms, Record, clf_line};

/// Writes what the logs hold; with pseudonyms, if `anonymous`.
///
/// # Errors
/// When a log cannot be read or has no request in it, or the output cannot be written.
pub fn run(args: &TraceConvert, anonymous: bool) -> Outcome {
    one_stdin(&args.files)?;
    out::is_none_of(&args.out, &args.files)?;
    let mut mask = anonymous.then(Mask::default);
    let mut lost = Lost::default();
    match args.to {
        TraceFormat::Baton => {
            let clock = if args.fold { Clock::Folded } else { Clock::Kept };
            let mut builder = Builder::new(clock);
            for path in &args.files {
                let name = path.display().to_string();
                each(args, path, &mut mask, |record| {
                    lost.note(record);
                    builder.push(&args.site, record).map_err(|full| full_of(&name, full))
                })?;
            }
            let trace = builder.finish();
            out::create(&args.out, |out| {
                trace.write(out).with_context(|| format!("cannot write {}", args.out.display()))
            })?;
        }
        TraceFormat::Clf if args.fold => {
            let remedy = "--fold needs --to baton: in a plain log the days stay";
            return Err(Unfit::Usage(remedy.to_owned()).into());
        }
        TraceFormat::Clf => out::create(&args.out, |out| plain(args, &mut mask, &mut lost, out))?,
    }
    let (requests, bytes) = (grouped(lost.requests), grouped(lost.bytes));
    say(format_args!("{}: {requests} requests for {bytes} bytes", args.out.display()));
    lost.tell();
    if let Some(mask) = mask {
        say(format_args!(
            "{} clients are numbers now, {} values in URLs pseudonyms; look before you publish",
            mask.clients.len(),
            mask.values.count(),
        ));
    }
    Ok(Exit::Done)
}

/// Writes every request as it is read.
fn plain(
    args: &TraceConvert,
    mask: &mut Option<Mask>,
    lost: &mut Lost,
    out: &mut dyn Write,
) -> Result<()> {
    let mut line = String::new();
    for path in &args.files {
        each(args, path, mask, |record| {
            lost.note(record);
            line.clear();
            clf_line(&mut line, record);
            let written = out.write_all(line.as_bytes());
            written.with_context(|| format!("cannot write {}", args.out.display()))
        })?;
    }
    Ok(())
}

/// Reads a log and passes on what is wanted of it, masked if so.
fn each(
    args: &TraceConvert,
    path: &std::path::Path,
    mask: &mut Option<Mask>,
    mut take: impl FnMut(&Record<'_>) -> Result<()>,
) -> Result<()> {
    let log = Log::open(path, args.format.format.as_deref())?;
    log.read(|record| {
        if args.counted && !record.counted() {
            return Ok(());
        }
        match mask {
            Some(mask) => take(&mask.masked(record)?),
            None => take(record),
        }
    })?;
    Ok(())
}

/// What was written, and what a log has that no trace has a place for.
#[derive(Default)]
struct Lost {
    requests: u64,
    /// Those of the replies, not of the file.
    bytes: u64,
    times: u64,
    hits: u64,
    servers: u64,
}

impl Lost {
    fn note(&mut self, record: &Record<'_>) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(record.bytes);
        self.times += u64::from(record.served.or(record.took).is_some());
        self.hits += u64::from(record.hit.is_some());
        self.servers += u64::from(record.server.is_some());
    }

    /// Says what is gone: a simulation of the trace gives other answers than one of the log.
    fn tell(&self) {
        let kinds = [(self.times, "times"), (self.hits, "hits"), (self.servers, "servers")];
        let gone: Vec<&str> =
            kinds.iter().filter(|(count, _)| *count > 0).map(|(_, name)| *name).collect();
        if !gone.is_empty() {
            say(format_args!(
                "what the log says of {} is not in what was written: simulate the log itself \
                 where that matters",
                gone.join(", ")
            ));
        }
    }
}

/// What stands for names, the same in all logs of a run.
#[derive(Default)]
struct Mask {
    clients: Names,
    values: Pseudonyms,
}

impl Mask {
    fn masked(&mut self, record: &Record<'_>) -> Result<Record<'static>> {
        let number = self.clients.number(record.client.as_bytes());
        let number = number.context("there are too many clients to be numbered")?;
        Ok(Record {
            client: format!("c{number:05}").into(),
            url: self.values.url(&record.url).into(),
            ..record.clone().into_owned()
        })
    }
}

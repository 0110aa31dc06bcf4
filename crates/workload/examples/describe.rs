//! Describes prefixes of a trace, for choosing how much to play:
//! `describe TRACE.zst [REQUESTS]...`.

use std::io::BufReader;
use workload::{Builder, Clock, Pick, Plan, Shape, format, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("usage: describe TRACE.zst [REQUESTS]...")?;
    let input = BufReader::new(zstd::Decoder::new(std::fs::File::open(path)?)?);
    let mut builder = Builder::new(Clock::Kept);
    let mut full = Ok(());
    read(format("baton").ok_or("no such format")?, input, |record| {
        full = full.and_then(|()| builder.push("", record));
    })?;
    full?;
    let trace = builder.finish();
    for word in words {
        let plan = Plan::new(trace.clone(), Pick::First(word.parse()?), Shape::default());
        println!(
            "{word} requests: {} sessions, {} targets, working set {:.1} MB, replies {:.1} MB",
            plan.sessions.len(),
            plan.targets,
            plan.working_set_bytes as f64 / 1e6,
            plan.reply_bytes as f64 / 1e6,
        );
    }
    Ok(())
}

//! Describes synthetic twins beside what was published: `twins [NAME [REQUESTS [SEED]]]`.

use std::time::Duration;
use workload::synth::{Facts, Structure, TWINS, Twin};
use workload::{Statistics, Trace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    for facts in TWINS.iter().filter(|facts| words.first().is_none_or(|name| name == facts.name)) {
        for (name, structure) in Structure::ALL {
            let mut twin = Twin { structure, ..Twin::new(*facts) };
            if let Some(word) = words.get(1) {
                twin.requests = word.parse()?;
            }
            if let Some(word) = words.get(2) {
                twin.seed = word.parse()?;
            }
            let (trace, took) = timed(|| twin.trace());
            print(facts, name, &trace?, took);
        }
    }
    Ok(())
}

#[allow(clippy::disallowed_types, reason = "the example measures; the crate itself has no clock")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let made = work();
    (made, start.elapsed())
}

fn print(facts: &Facts, name: &str, trace: &Trace, took: Duration) {
    let found = Statistics::of(trace, None);
    println!(
        "{} {name}: {} requests in {took:.1?}, {} of {} targets ({} once), {:.2} of {:.2} MB, \
         {:.2} a session, top 100 {:.1} %, slope {:.2}, replies {:.0} (median {})",
        facts.name,
        found.requests,
        found.targets,
        facts.targets,
        found.once_only,
        found.footprint_bytes as f64 / 1e6,
        facts.bytes as f64 / 1e6,
        found.counted as f64 / found.sessions as f64,
        found.top_100_share * 100.0,
        found.zipf_slope,
        found.reply_bytes_mean,
        found.reply_bytes_median,
    );
    for (coverage, published) in found.coverage.iter().zip(facts.coverage_bytes) {
        println!(
            "  {} %: {:.2} ({:.2} to {:.2}) MB, published {:.2}",
            coverage.percent,
            coverage.bytes / 1e6,
            coverage.bytes_min as f64 / 1e6,
            coverage.bytes_max as f64 / 1e6,
            published as f64 / 1e6,
        );
    }
}

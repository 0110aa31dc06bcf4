//! How it went, a row for each span of each run.

use super::study::Study;

/// The table, with its head.
pub fn csv(study: &Study) -> String {
    let mut out = "run,at_s,sessions,pages,requests,connections,body_bytes,failed,under_way,\
                   pages_p50_ms,pages_p90_ms,pages_p99_ms\n"
        .to_owned();
    for (run, outcome) in (1..).zip(&study.outcomes) {
        for slice in &outcome.slices {
            // No page, no time of pages.
            let ms = |us: u64| if us > 0 { (us as f64 / 1e3).to_string() } else { String::new() };
            let [p50, p90, p99] = slice.pages_us.map(ms);
            out += &format!(
                "{run},{:.3},{},{},{},{},{},{},{},{p50},{p90},{p99}\n",
                slice.at_s,
                slice.sessions,
                slice.pages,
                slice.requests,
                slice.connections,
                slice.body_bytes,
                slice.failed,
                slice.under_way,
            );
        }
    }
    out
}

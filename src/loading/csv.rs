//! How it went, a row for each span of each run.

use super::study::{SHARES, Study, enough};
use load::Cause;

/// The table, with its head.
pub fn csv(study: &Study) -> String {
    let mut out = "run,at_s,sessions,pages,requests,connections,body_bytes,failed,under_way,\
                   pages_p50_ms,pages_p90_ms,pages_p99_ms,cut_off,length_s"
        .to_owned();
    Cause::ALL.iter().for_each(|cause| out += &format!(",failed_{cause}"));
    out.push('\n');
    for (run, outcome) in (1..).zip(&study.outcomes) {
        for slice in &outcome.slices {
            // Too few pages, no time of pages.
            let ms = |at: usize| match enough(slice.pages, SHARES[at]) {
                true => (slice.pages_us[at] as f64 / 1e3).to_string(),
                false => String::new(),
            };
            let [p50, p90, p99] = [0, 1, 2].map(ms);
            out += &format!(
                "{run},{:.3},{},{},{},{},{},{},{},{p50},{p90},{p99},{},{:.3}",
                slice.at_s,
                slice.sessions,
                slice.pages,
                slice.requests,
                slice.connections,
                slice.body_bytes,
                slice.failed.iter().sum::<u64>(),
                slice.under_way,
                slice.cut_off,
                slice.length_s,
            );
            slice.failed.iter().for_each(|count| out += &format!(",{count}"));
            out.push('\n');
        }
    }
    out
}

//! The report as one JSON object: the same figures as the table, with their intervals.

use super::plan::Asked;
use super::story::{asked, caveats, failures, headline, how, when};
use super::study::{Row, SHARE_NAMES, Study, class_name, enough};
use crate::whatif::words::thousandths;
use load::{Cause, ClassOutcome, Outcome, Slice};
use serde_json::{Value, json};
use sim::stats::Estimate;

/// The version of the object's form: it changes when a key changes its meaning or goes.
pub const VERSION: u32 = 1;

/// One JSON object on one line.
pub fn json(study: &Study) -> String {
    let (job, whole) = (&study.job, &study.whole);
    let examples = whole.examples.iter().map(|example| {
        json!({
            "cause": example.cause.name(),
            "detail": example.detail,
            "target": example.target,
        })
    });
    json!({
        "version": VERSION,
        "command": study.command,
        "url": job.url,
        "asked": asked(job),
        "when": when(job),
        "how": how(job),
        "scenario": match &job.asked {
            Asked::Pages(script) => Value::from(script.name.as_str()),
            Asked::Log(_) | Asked::Object => Value::Null,
        },
        "seed": job.seed,
        "runs": study.outcomes.len(),
        "stopped": study.stopped,
        "headline": headline(study),
        "caveats": caveats(study),
        "took_s": thousandths(whole.took.as_secs_f64()),
        "sessions": whole.arrived,
        "pages": whole.pages.done,
        "pages_failed": whole.pages_failed,
        "requests": whole.answered(),
        "failed": whole.failures(),
        "cut_off": whole.cut_off,
        "oldest_unanswered": whole.unanswered.as_ref().map(|one| json!({
            "waited_ms": one.waited_us as f64 / 1e3,
            "target": one.target,
        })),
        "pages_cut_off": whole.pages.cut_off,
        "sessions_failed": whole.sessions_failed,
        "sessions_cut_off": whole.sessions.cut_off,
        "connections": whole.connections,
        "body_bytes": whole.body_bytes,
        "resent": whole.resent,
        "requests_s": estimate(&study.estimate(Outcome::requests_s)),
        "pages_s": estimate(&study.estimate(Outcome::pages_s)),
        "connections_s": estimate(&study.estimate(Outcome::connections_s)),
        "body_mbit_s": estimate(&study.estimate(Outcome::body_mbit_s)),
        "hit_ratio": study.hit_ratio().as_ref().map(estimate),
        "latency": study.rows().iter().map(row).collect::<Vec<_>>(),
        "classes": whole.classes.iter().map(|of| class(study, of)).collect::<Vec<_>>(),
        "failed_by_cause": by_cause(&whole.failed),
        "examples": examples.collect::<Vec<_>>(),
        "client": client(study),
        "each": study.outcomes.iter().map(run).collect::<Vec<_>>(),
    })
    .to_string()
}

/// Whether the client itself kept up.
fn client(study: &Study) -> Value {
    let whole = &study.whole;
    json!({
        "busy": study.estimate(|outcome| outcome.pace.cpu).mean,
        "waited": study.estimate(|outcome| outcome.pace.waited).mean,
        "cpu_request_us": study.estimate(|outcome| outcome.pace.cpu_request_us).mean,
        "late_p99_ms": whole.pace.late_us.value_at_quantile(0.99) as f64 / 1e3,
        "turned_away": whole.pace.turned_away,
        "not_begun": whole.pace.not_begun,
        "bottleneck": study.bottleneck(),
    })
}

fn estimate(estimate: &Estimate) -> Value {
    let half = estimate.half_width.is_finite().then(|| thousandths(estimate.half_width));
    json!({ "mean": thousandths(estimate.mean), "half_width": half })
}

fn row(row: &Row) -> Value {
    let object = |found: &[Option<Estimate>]| {
        let named = SHARE_NAMES.iter().zip(found);
        let value = named.map(|(name, it)| ((*name).to_owned(), it.as_ref().map(estimate).into()));
        Value::Object(value.collect())
    };
    json!({
        "of": row.of,
        "class": row.class,
        "count": row.count,
        "cut_off": row.cut_off,
        "due_ms": object(&row.due_ms),
        "sent_ms": object(&row.sent_ms),
    })
}

/// Failures by cause.
fn by_cause(failed: &[u64; Cause::ALL.len()]) -> Value {
    let causes = failures(failed).into_iter();
    Value::Object(causes.map(|(cause, count)| (cause.name().to_owned(), count.into())).collect())
}

fn class(study: &Study, class: &ClassOutcome) -> Value {
    // A run in which nobody asked for this class has none a second.
    let requests_s = study.estimate(|outcome| outcome.class_requests_s(class.class));
    json!({
        "class": class_name(class.class),
        "requests": class.requests.done,
        "requests_s": estimate(&requests_s),
        "pages": class.pages.done,
        "failed": class.failures(),
        "failed_by_cause": by_cause(&class.failed),
        "hits": class.hits,
        "misses": class.misses,
    })
}

/// One run: its figures that have an interval above, and how it went.
fn run(outcome: &Outcome) -> Value {
    json!({
        "took_s": thousandths(outcome.took.as_secs_f64()),
        "requests_s": thousandths(outcome.requests_s()),
        "pages_s": thousandths(outcome.pages_s()),
        "failed": outcome.failures(),
        "slices": outcome.slices.iter().map(slice).collect::<Vec<_>>(),
    })
}

fn slice(slice: &Slice) -> Value {
    let [p50_us, p90_us, p99_us] = slice.pages_us;
    let ms = |(us, share)| enough(slice.pages, share).then_some(us as f64 / 1e3);
    json!({
        "at_s": thousandths(slice.at_s),
        "sessions": slice.sessions,
        "pages": slice.pages,
        "requests": slice.requests,
        "connections": slice.connections,
        "body_bytes": slice.body_bytes,
        "failed": slice.failed.iter().sum::<u64>(),
        "failed_by_cause": by_cause(&slice.failed),
        "under_way": slice.under_way,
        "cut_off": slice.cut_off,
        "length_s": thousandths(slice.length_s),
        "pages_ms": {
            "p50": ms((p50_us, 0.5)),
            "p90": ms((p90_us, 0.9)),
            "p99": ms((p99_us, 0.99)),
        },
    })
}

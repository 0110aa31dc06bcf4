//! A run in sentences: what was asked, and what came of it.

use super::picture::figure_short;
use super::plan::{Asked, Job, Logged};
use super::study::{Row, SHARES, Study, enough};
use crate::config::span_text;
use crate::whatif::words::{count, figure, ms, percent};
use load::{Arrivals, Cause, Manner, Outcome, Timing, Users};
use workload::draw::Draw;

/// How much longer than from the sending on a latency is from when it was due, before that is told.
const HIDDEN_MIN: f64 = 1.5;

/// From this share of the requests or pages on it is told that they were cut off: what is under
/// way at any moment is cut off at the last one, and that alone says nothing.
const CUT_OFF_MIN: f64 = 0.05;

/// From this share of the requests on it is told what becomes of failures in the latencies.
const FAILED_MIN: f64 = 0.01;

/// What is emulated and what is not, for whoever wants to judge the figures.
pub const MEANING: [&str; 4] = [
    "Every user is a session of its own over real TCP connections. A page's HTML is asked for \
     first, and what is in it when the HTML is complete; then the user thinks, and looks at the \
     next page. In an open loop users come when they come, however long others wait; in a closed \
     loop the next one comes when one leaves, so that a slow server is asked less.",
    "A request, page or session is due when it would be asked for if nobody had to wait. Latency \
     counts from then to the last byte. Latency from the sending on, which most programs of this \
     kind show, leaves out what a user waited before: for a connection, or for the client itself.",
    "Bodies are read to their end and counted without heads. A page is complete with its last \
     object; if one of them failed, the page and its session count as failed and not among the \
     latencies, but for time-outs, which count with the time until then. What was due and not \
     settled when the time was over is cut off: it counts among the latencies from due on with \
     what it had waited.",
    "Not emulated: caches of browsers, the time to read HTML before what is in it is asked for, \
     TLS (what is secure goes in the clear, to the servers for secure pages), users who give up, \
     and the network's own distance.",
];

/// What is asked of whom, in a line.
pub fn asked(job: &Job) -> String {
    match &job.asked {
        Asked::Pages(script) => format!("{}: {}", job.url, script.name),
        Asked::Log(Logged { name, plan, speed, .. }) => {
            let speed = match speed {
                None => "without the pauses between batches".to_owned(),
                Some(1.0) => "as fast as logged".to_owned(),
                Some(speed) => format!("{} times as fast as logged", figure_short(*speed)),
            };
            let requests = count(plan.trace.requests.len() as u64);
            let sessions = count(plan.sessions.len() as u64);
            format!("{}: {name}, {requests} requests in {sessions} sessions, {speed}", job.url)
        }
        Asked::Object => format!("{}: this one object", job.url),
    }
}

/// When users come, and how long that is watched.
pub fn when(job: &Job) -> String {
    let users = match &job.users {
        Users::Closed(1) => "1 user at a time, one after the other".to_owned(),
        Users::Closed(users) => format!("{} users at a time, all the time", count(*users as u64)),
        Users::Open(Arrivals::Gaps(gap_s)) => {
            let rate_s = gap_s.mean().map_or(f64::NAN, |mean| 1.0 / mean);
            format!("{} sessions a second, {}", figure_short(rate_s), gaps(gap_s))
        }
        Users::Open(Arrivals::Ramp { from_s, to_s }) => {
            format!("from {} to {} sessions a second", figure_short(*from_s), figure_short(*to_s))
        }
        Users::Open(Arrivals::Steps(steps)) => {
            let step = |(rate_s, time): &(f64, std::time::Duration)| {
                format!("{} for {}", figure_short(*rate_s), span_text(*time))
            };
            let steps: Vec<String> = steps.iter().map(step).collect();
            format!("sessions a second: {}", steps.join(", "))
        }
        Users::Open(Arrivals::Logged) => "sessions begin as in the log".to_owned(),
    };
    let time = match &job.asked {
        Asked::Log(_) if job.is_endless() => "to the log's end".to_owned(),
        _ => format!("for {}", span_text(job.duration)),
    };
    let before = match job.warm_up {
        warm_up if warm_up.is_zero() => String::new(),
        warm_up => format!(" after a warm-up of {}", span_text(warm_up)),
    };
    let runs = match job.runs {
        1 => format!("seed {}", job.seed),
        runs => format!("{runs} runs with seeds from {}", job.seed),
    };
    format!("{users}, {time}{before}; {runs}")
}

fn gaps(gap_s: &Draw) -> &'static str {
    match gap_s {
        Draw::Exponential(_) => "independent of each other",
        Draw::Constant(_) => "at equal distances",
        Draw::Weibull(_) => "with Weibull gaps",
        _ => "with gaps of their own distribution",
    }
}

/// How requests go out.
pub fn how(job: &Job) -> String {
    let connections = match job.manner {
        Manner::Parallel(1) => "Each user has one persistent connection".to_owned(),
        Manner::Parallel(count) => format!("Each user has up to {count} persistent connections"),
        Manner::Pipelined => "Each user has one connection, pipelined".to_owned(),
        Manner::Closing(count) => {
            format!("A connection for each request (HTTP/1.0), up to {count} at once")
        }
    };
    let verify = if job.verify { "; every byte is compared" } else { "" };
    format!("{connections}{verify}")
}

/// What came of it: the head line.
pub fn headline(study: &Study) -> String {
    let whole = &study.whole;
    let cut_off = format!(" {} cut off at the end.", requests(whole.cut_off));
    if whole.answered() == 0 {
        return format!("Nothing was answered.{cut_off}");
    }
    let rate = |of: fn(&Outcome) -> f64| figure(study.estimate(of).mean);
    let mut text = match study.job.asked {
        Asked::Object => format!("{} requests/s", rate(Outcome::requests_s)),
        Asked::Pages(_) | Asked::Log(_) => {
            format!("{} pages/s, {} requests/s", rate(Outcome::pages_s), rate(Outcome::requests_s))
        }
    };
    text += &format!(", {} Mb/s. ", rate(Outcome::body_mbit_s));
    text += &times(&study.rows());
    text += &match whole.failures() {
        0 => "No request failed.".to_owned(),
        failed => {
            let all = failed + whole.answered();
            format!("{} of {} requests failed.", count(failed), count(all))
        }
    };
    text + &cut_off
}

fn requests(all: u64) -> String {
    number(all, "request")
}

fn number(all: u64, of: &str) -> String {
    format!("{} {of}{}", count(all), if all == 1 { "" } else { "s" })
}

/// How long pages took, or else requests: what the table says of it.
fn times(rows: &[Row]) -> String {
    let row = |of: &str| rows.iter().find(|row| row.of == of && row.class.is_none());
    let Some(row) = row("pages").or_else(|| row("requests")) else { return String::new() };
    // In the order of the table's columns.
    let words = ["half", "9 in 10", "99 in 100"];
    let told = words.iter().zip(&row.due_ms).filter_map(|(word, known)| {
        known.as_ref().map(|estimate| format!("{word} within {}", ms(estimate.mean)))
    });
    let mut parts: Vec<String> = told.collect();
    parts.extend(
        row.due_ms[SHARES.len() - 1].map(|known| format!("the longest {}", ms(known.mean))),
    );
    format!("Of {} {}: {}. ", count(row.found), row.of, parts.join(", "))
}

/// What a reader of the figures has to know.
pub fn caveats(study: &Study) -> Vec<String> {
    let whole = &study.whole;
    let mut lines = Vec::new();
    if study.stopped {
        let took_s = whole.took.as_secs_f64();
        lines.push(format!(
            "Ctrl-C ended it: these are the first {took_s:.1} s that were measured."
        ));
    }
    if let Some(why) = study.bottleneck() {
        lines.push(format!("The client was itself the bottleneck: {why}."));
    }
    lines.extend(unsent(&whole.requests));
    let is_object = matches!(study.job.asked, Asked::Object);
    lines.extend(not_settled(whole, is_object));
    lines.extend(hanging(whole));
    let all = whole.answered() + whole.failures();
    if whole.failures() as f64 > all as f64 * FAILED_MIN {
        lines.push(format!(
            "{} of the requests failed: those that timed out are among the latencies with the \
             time until then, the others are not, so that latencies may look too good.",
            percent(whole.failures() as f64 / all as f64)
        ));
    }
    if study.sessions_cut_short() && !is_object {
        lines.push(format!(
            "{} sessions ended and {} were not over at the end: the run is too short for how \
             long sessions last, which is therefore not shown.",
            count(whole.sessions.done + whole.sessions_failed),
            count(whole.sessions.cut_off)
        ));
    }
    lines
}

/// Whether users waited before their requests were sent. That is told of what was answered, as the
/// times from the sending on are: what hung or timed out may have been sent at once.
fn unsent(requests: &Timing) -> Option<String> {
    let (found, answered) = (requests.due_us.len(), requests.done);
    if !enough(answered, 0.99) {
        return None;
    }
    // What was not answered is not told apart here. At worst for this sentence it was the longest
    // of all; the 99th percentile of the others is then that of a lesser share of all.
    let share = 0.99 * answered as f64 / found as f64;
    let due_ms = requests.due_us.value_at_quantile(share) as f64 / 1e3;
    let sent_ms = requests.sent_us.value_at_quantile(0.99) as f64 / 1e3;
    let least = if found > answered { "at least " } else { "" };
    (due_ms > sent_ms * HIDDEN_MIN).then(|| {
        format!(
            "Users waited before their requests were even sent: measured from the sending on, 99 \
             in 100 answered requests would seem to take {}; from when they were due it was \
             {least}{}.",
            ms(sent_ms),
            ms(due_ms)
        )
    })
}

/// How many were cut off, of requests and of pages, where that is more than a few. A page that its
/// HTML holds up is one request of it, so that pages may be many where requests are few.
fn not_settled(whole: &Outcome, is_object: bool) -> Option<String> {
    let pages = if is_object { 0 } else { whole.pages.cut_off };
    let kinds = [
        ("request", whole.cut_off, whole.answered() + whole.failures()),
        ("page", pages, whole.pages.done + whole.pages_failed),
    ];
    let share = |(_, waiting, settled): &(&str, u64, u64)| {
        *waiting as f64 / (waiting + settled).max(1) as f64
    };
    let many = kinds.iter().filter(|kind| share(kind) > CUT_OFF_MIN);
    let told: Vec<String> =
        many.map(|kind| format!("{} ({})", number(kind.1, kind.0), percent(share(kind)))).collect();
    (!told.is_empty()).then(|| {
        format!(
            "{} were due and not complete at the end: their latencies are at least as shown, and \
             grow with the time that is measured.",
            told.join(" and ")
        )
    })
}

/// The request that nobody had answered at the end, if it had waited for long.
fn hanging(whole: &Outcome) -> Option<String> {
    let longest = whole.unanswered.as_ref()?;
    let usual_us = whole.requests.due_us.value_at_quantile(0.99);
    // Where many hang it is one of them that the percentile is, but for the histogram's digits.
    let longer = longest.waited_us as f64 * 1.002 >= usual_us as f64;
    longer.then(|| {
        format!(
            "Of the {} cut off, one ({}) had waited {} when the time was over, as long as or \
             longer than 99 in 100 requests seem to have taken.",
            requests(whole.cut_off),
            longest.target,
            ms(longest.waited_us as f64 / 1e3)
        )
    })
}

/// How many pages failed, and how many sessions with them, if any did. Of a single object sessions
/// are nothing that was asked for.
pub fn failed_pages(study: &Study) -> Option<String> {
    let (pages, sessions) = (study.whole.pages_failed, study.whole.sessions_failed);
    let is_object = matches!(study.job.asked, Asked::Object);
    let mut kinds = vec![number(pages, "page")];
    kinds.extend((sessions > 0 && !is_object).then(|| number(sessions, "session")));
    (pages > 0).then(|| format!("{} failed", kinds.join(" and ")))
}

/// Failures by cause, the most frequent first. `failed` has them by [`Cause::index`].
pub fn failures(failed: &[u64; Cause::ALL.len()]) -> Vec<(Cause, u64)> {
    let causes = Cause::ALL.iter().map(|cause| (*cause, failed[cause.index()]));
    let mut failures: Vec<_> = causes.filter(|(_, count)| *count > 0).collect();
    failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    failures
}

//! Method: outcomes are made of counts, without a run, and what a report says of them is read; on
//! either side of the number from which on it says something else.

use super::study::Row;
use super::target::Target;
use super::*;
use load::{Arrivals, Cause, Manner, Outcome, Timing, Unanswered, Users};
use std::time::Duration;
use workload::draw::{Draw, Weibull};

/// Somebody asked for this.
fn job(asked: Asked) -> Job {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 80));
    Job {
        target: Target { authority: "a.test".into(), address, path: "/".into() },
        url: "http://a.test".into(),
        asked,
        users: Users::Closed(1),
        manner: Manner::Parallel(1),
        warm_up: Duration::ZERO,
        duration: Duration::from_secs(30),
        runs: 1,
        seed: 1,
        threads: 1,
        timeout: Duration::from_secs(30),
        sessions_max: 1,
        verify: false,
    }
}

fn pages() -> Asked {
    Asked::Pages(Box::new(Script::usual()))
}

/// So many that took so long each.
fn timing(done: u64, ms: u64) -> Timing {
    let mut timing = Timing { done, ..Timing::default() };
    timing.due_us.record_n(ms * 1000, done).unwrap();
    timing.sent_us.record_n(ms * 1000, done).unwrap();
    timing
}

/// Adds so many that had waited so long at the end.
fn cut_off(timing: &mut Timing, count: u64, ms: u64) {
    timing.due_us.record_n(ms * 1000, count).unwrap();
    timing.cut_off += count;
}

/// Ten seconds in which so many requests were answered, and so many failed.
fn outcome(answered: u64, failed: u64) -> Outcome {
    let mut outcome = Outcome {
        took: Duration::from_secs(10),
        requests: timing(answered, 5),
        pages: timing(answered, 5),
        ..Outcome::default()
    };
    outcome.failed[Cause::Reset.index()] = failed;
    outcome
}

fn study(asked: Asked, outcomes: Vec<Outcome>) -> Study {
    Study::new(job(asked), "baton load".into(), outcomes, false)
}

/// The report as one line, however it is wrapped.
fn report(study: &Study) -> String {
    text(study).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn row<'a>(rows: &'a [Row], of: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.of == of && row.class.is_none())
}

#[test]
fn more_than_one_failure_in_a_hundred_is_said_of_the_latencies() {
    let caveat = "of the requests failed: those that timed out are among the latencies";
    for (answered, failed, wanted) in [
        (1000, 0, None),
        (990, 10, None),
        (989, 11, Some("1.1 % of the requests failed")),
        (1, 3, Some("75.0 % of the requests failed")),
        (0, 5, Some("100.0 % of the requests failed")),
    ] {
        let said = report(&study(pages(), vec![outcome(answered, failed)]));
        let plain = said.replace('\u{a0}', " ");
        assert_eq!(plain.contains(caveat), wanted.is_some(), "{answered} {failed}: {said}");
        assert!(wanted.is_none_or(|part| plain.contains(part)), "{answered} {failed}: {said}");
    }
    let half = study(pages(), vec![outcome(1000, 0), outcome(970, 30)]);
    assert!(report(&half).contains(caveat), "of all runs together");
    assert!(page(&half).contains("are among the latencies"), "the page says so too");
    assert!(json(&half).to_string().contains("are among the latencies"), "and the object");
}

#[test]
fn sessions_have_a_row_only_where_the_run_is_long_enough_for_them() {
    // Sessions of 3 s in 10 s; then a little longer ones; then all of them ended.
    for (ms, under_way, shown) in
        [(3000, 1, true), (3400, 1, false), (3400, 0, true), (9999, 0, true)]
    {
        let mut one = outcome(1000, 0);
        one.sessions = timing(500, ms);
        cut_off(&mut one.sessions, under_way, 10);
        let found = study(pages(), vec![one.clone()]);
        let case = format!("{ms} ms, {under_way} under way");
        assert_eq!(row(&found.rows(), "sessions").is_some(), shown, "{case}");
        let said = report(&found);
        let sentence = format!("500 sessions ended and {under_way} were not over");
        assert_eq!(said.contains(&sentence), !shown, "{case}: {said}");
        assert_eq!(said.contains(" sessions 500 "), shown, "{case}: {said}");
        // Twice as many runs are not twice as long a run.
        let twice = study(pages(), vec![one.clone(), one]);
        assert_eq!(row(&twice.rows(), "sessions").is_some(), shown, "{case}, twice");
    }
}

#[test]
fn sessions_that_failed_are_told_beside_the_pages_and_have_ended() {
    let mut one = outcome(1000, 7);
    one.sessions = timing(500, 9000);
    (one.pages_failed, one.sessions_failed) = (7, 6);
    cut_off(&mut one.sessions, 4, 10);
    let found = study(pages(), vec![one.clone(), one.clone()]);
    let said = report(&found);
    assert!(said.contains(" 14 pages and 12 sessions failed "), "{said}");
    assert!(said.contains("1,012 sessions ended and 8 were not over"), "{said}");
    assert!(page(&found).contains("14 pages and 12 sessions failed. "));
    let object: serde_json::Value = serde_json::from_str(&json(&found)).unwrap();
    assert_eq!((&object["pages_failed"], &object["sessions_failed"]), (&14.into(), &12.into()));
    // An object is its own page, and a session of such pages is nothing that anybody asked for.
    let said = report(&study(Asked::Object, vec![one]));
    assert!(!said.contains("sessions failed") && said.contains(" 7 pages failed "), "{said}");
}

#[test]
fn sessions_that_are_cut_off_count_for_how_long_sessions_last() {
    let mut one = outcome(1000, 0);
    one.sessions = timing(500, 10);
    assert!(row(&study(pages(), vec![one.clone()]).rows(), "sessions").is_some());
    // More than one in a hundred lasts longer than a third of the run, and none of them ended.
    cut_off(&mut one.sessions, 20, 9000);
    assert!(row(&study(pages(), vec![one]).rows(), "sessions").is_none());
}

#[test]
fn a_single_object_has_neither_pages_nor_sessions() {
    let mut one = outcome(1000, 0);
    one.sessions = timing(500, 9000);
    cut_off(&mut one.sessions, 64, 10);
    let found = study(Asked::Object, vec![one]);
    let rows = found.rows();
    assert_eq!(rows.iter().map(|row| row.of).collect::<Vec<_>>(), ["requests"]);
    assert!(!report(&found).contains("sessions ended"), "{}", report(&found));
}

#[test]
fn nothing_has_no_row() {
    let found = study(pages(), vec![outcome(0, 5)]);
    assert!(found.rows().is_empty(), "{:?}", found.rows());
    assert!(report(&found).contains("Nothing was answered."));
}

#[test]
fn more_than_a_twentieth_cut_off_is_said_of_the_latencies() {
    for (answered, waiting, wanted) in [(95, 5, false), (94, 6, true)] {
        let mut one = outcome(answered, 0);
        cut_off(&mut one.requests, waiting, 1);
        one.cut_off = waiting;
        let said = report(&study(pages(), vec![one]));
        assert_eq!(said.contains("latencies are at least as shown"), wanted, "{said}");
        assert!(said.contains(&format!(" {waiting} requests cut off at the end.")), "{said}");
    }
}

#[test]
fn pages_that_are_cut_off_are_said_though_few_requests_are() {
    // What a page names is not asked for while its HTML hangs: many pages, few requests.
    for (waiting, wanted) in [(5, None), (6, Some("6 pages (6.0 %) were due")), (0, None)] {
        let mut one = outcome(10_000, 0);
        (one.pages, one.pages_failed) = (timing(90, 5), if waiting == 5 { 5 } else { 4 });
        cut_off(&mut one.requests, waiting, 1);
        cut_off(&mut one.pages, waiting, 1);
        one.cut_off = waiting;
        let said = report(&study(pages(), vec![one.clone()])).replace('\u{a0}', " ");
        assert_eq!(said.contains("latencies are at least as shown"), wanted.is_some(), "{said}");
        assert!(wanted.is_none_or(|part| said.contains(part)), "{said}");
        // An object is its own page: it is told of requests alone.
        let said = report(&study(Asked::Object, vec![one]));
        assert!(!said.contains("latencies are at least as shown"), "{said}");
    }
    let mut one = outcome(94, 0);
    cut_off(&mut one.requests, 6, 1);
    cut_off(&mut one.pages, 9, 1);
    one.cut_off = 6;
    let said = report(&study(pages(), vec![one])).replace('\u{a0}', " ");
    assert!(said.contains("6 requests (6.0 %) and 9 pages (8.7 %) were due"), "{said}");
}

#[test]
fn one_that_nobody_answered_is_named_if_it_waited_as_long_as_the_slowest() {
    // Of a thousand that took 5 ms; the times of a histogram are exact to a thousandth.
    for (waited_us, named) in [(4900, false), (5000, true), (9000, true)] {
        let mut one = outcome(1000, 0);
        cut_off(&mut one.requests, 1, waited_us / 1000);
        one.cut_off = 1;
        one.unanswered = Some(Unanswered { waited_us, target: "a.test/slow".into() });
        let said = report(&study(pages(), vec![one]));
        assert_eq!(said.contains("one (a.test/slow) had waited"), named, "{waited_us}: {said}");
    }
}

#[test]
fn a_wait_before_the_sending_is_told_where_it_makes_a_difference() {
    let caveat = "Users waited before their requests were even sent";
    for (count, due_ms, told) in
        [(1000, 5, false), (1000, 7, false), (1000, 8, true), (99, 8, false)]
    {
        let mut one = outcome(count, 0);
        one.requests = Timing { sent_us: timing(count, 5).sent_us, ..timing(count, due_ms) };
        let said = report(&study(pages(), vec![one]));
        assert_eq!(said.contains(caveat), told, "{count} {due_ms}: {said}");
    }
    // Sent at once, and two in a hundred hang or time out: nobody waited for the sending.
    for timed_out in [0, 40] {
        let mut one = outcome(1960, timed_out);
        cut_off(&mut one.requests, 40, 9000);
        one.requests.cut_off -= timed_out;
        one.cut_off = one.requests.cut_off;
        let said = report(&study(pages(), vec![one]));
        assert!(!said.contains(caveat), "{said}");
    }
    // Who was answered waited for the sending too.
    let mut one = outcome(9980, 0);
    one.requests = Timing { sent_us: timing(9980, 5).sent_us, ..timing(9980, 50) };
    cut_off(&mut one.requests, 20, 9000);
    one.cut_off = 20;
    let said = report(&study(pages(), vec![one])).replace('\u{a0}', " ");
    assert!(said.contains(caveat) && said.contains("it was at least 50.0 ms"), "{said}");
}

#[test]
fn the_longest_may_be_one_that_was_cut_off() {
    let mut one = outcome(1000, 0);
    cut_off(&mut one.pages, 1, 4000);
    let said = report(&study(pages(), vec![one])).replace('\u{a0}', " ");
    assert!(said.contains("Of 1,001 pages:") && said.contains("the longest 4.0 s."), "{said}");
}

#[test]
fn whole_rates_have_no_point_whatever_fractions_lose_in_binary() {
    // Weibull gaps whose mean is a fiftieth of a second.
    let scale = 1.0 / 50.0 / 1.504_575_488_251_556;
    let gaps = Draw::Weibull(Weibull { scale, shape: 0.6 });
    for (gaps, wanted) in [
        (gaps, "50 sessions"),
        (script::exponential(7.0), "7 sessions"),
        (Draw::Constant(0.4), "2.5"),
    ] {
        let mut job = job(pages());
        job.users = Users::Open(Arrivals::Gaps(gaps));
        let said = super::story::when(&job);
        assert!(said.starts_with(wanted), "{said}");
    }
}

#[test]
fn every_run_tells_a_percentile_or_there_is_none() {
    let found = study(pages(), vec![outcome(1000, 0), outcome(999, 0)]);
    let rows = found.rows();
    let requests = row(&rows, "requests").unwrap();
    let told = requests.due_ms.map(|found| found.is_some());
    assert_eq!(told, [true, true, false, false, true], "of 999 nobody knows the 99th");
    assert_eq!((requests.count, requests.found), (1999, 1999));
    let said = report(&found).replace('\u{a0}', " ");
    assert!(said.contains("9 in 10 within 5.00 ms, the longest"), "nor does the sentence: {said}");
}

#[test]
fn the_sentence_says_what_the_table_says() {
    let mut runs = [outcome(1000, 0), outcome(3000, 0)];
    runs[1].pages = timing(3000, 70);
    let said = report(&study(pages(), runs.to_vec())).replace('\u{a0}', " ");
    let wanted = "half within 37.5 ms, 9 in 10 within 37.5 ms, 99 in 100 within 37.5 ms, the \
                  longest 70.0 ms.";
    assert!(said.contains(&format!("Of 4,000 pages: {wanted}")), "{said}");
}

#[test]
fn the_longest_of_several_runs_is_the_longest_of_all() {
    let mut runs = [outcome(1000, 0), outcome(1000, 0), outcome(0, 5)];
    (runs[1].requests, runs[1].pages) = (timing(1000, 7), timing(1000, 70));
    let found = study(pages(), runs.to_vec());
    let rows = found.rows();
    let requests = row(&rows, "requests").unwrap();
    for times in [&requests.due_ms, &requests.sent_ms] {
        let longest = times[4].as_ref().unwrap();
        assert!((longest.mean - 7.0).abs() < 0.01, "of a run of 5, one of 7 and one without");
        assert!(longest.half_width.is_infinite(), "what happened once has no interval");
        assert!(times[0].is_none(), "a run cannot tell");
    }
    let found = study(pages(), runs[..2].to_vec());
    let rows = found.rows();
    let half = row(&rows, "pages").unwrap().due_ms[0].as_ref().unwrap();
    assert!((half.mean - 37.5).abs() < 0.1 && half.half_width.is_finite(), "{half:?}");
}

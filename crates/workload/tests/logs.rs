//! Method: small logs written out here are read, folded and grouped; each test states one promise.

use workload::{
    Builder, Cause, Clock, EXAMPLES_MAX, LINE_BYTES_MAX, Pick, Plan, Sessions, Shape, Statistics,
    Tally, Trace, detect, format, read,
};

fn load(clock: Clock, logs: &[(&str, &str, &str)]) -> (Trace, Vec<Tally>) {
    let mut builder = Builder::new(clock);
    let tallies = logs
        .iter()
        .map(|(site, name, text)| {
            let format = format(name).expect("tests name formats that exist");
            read(format, text.as_bytes(), |record| {
                builder.push(site, record).expect("it is far from full");
            })
            .expect("reading from memory cannot fail")
        })
        .collect();
    (builder.finish(), tallies)
}

fn clf(client: &str, when: &str, url: &str) -> String {
    format!("{client} - - [{when} +0200] \"GET {url} HTTP/1.1\" 200 100\n")
}

#[test]
fn a_bad_line_is_reported_with_its_number_and_loses_no_other() {
    let good = clf("a", "17/May/2015:10:00:00", "/");
    let text = format!("{good}\nnonsense\n{good}a - - [x] \"GET / HTTP/1.1\" 200 1\r\n{good}");
    let (trace, tallies) = load(Clock::Kept, &[("s", "clf", &text)]);
    let tally = &tallies[0];
    assert_eq!((tally.lines, tally.records, tally.skipped, tally.rejects()), (6, 3, 1, 2));
    let found: Vec<_> = tally.examples.iter().map(|reject| (reject.line, reject.cause)).collect();
    assert_eq!(found, [(3, Cause::Client), (5, Cause::Time)]);
    assert_eq!(trace.requests.len(), 3);
}

#[test]
fn a_log_of_nothing_but_bad_lines_keeps_a_bounded_list_of_them() {
    let text = "x\n".repeat(1000);
    let (_, tallies) = load(Clock::Kept, &[("s", "epa", &text)]);
    assert_eq!((tallies[0].rejects(), tallies[0].examples.len()), (1000, EXAMPLES_MAX));
}

#[test]
fn a_line_too_long_is_passed_over_and_the_next_one_read() {
    let good = clf("a", "17/May/2015:10:00:00", "/");
    for length in [LINE_BYTES_MAX + 1, LINE_BYTES_MAX + 2, 3 * LINE_BYTES_MAX] {
        let text = format!("{}\n{good}", "y".repeat(length));
        let (_, tallies) = load(Clock::Kept, &[("s", "clf", &text)]);
        assert_eq!((tallies[0].lines, tallies[0].records), (2, 1), "{length}");
        assert_eq!(tallies[0].examples[0].cause, Cause::Long);
    }
    let longest = format!("{}\n{good}", "y".repeat(LINE_BYTES_MAX));
    let (_, tallies) = load(Clock::Kept, &[("s", "clf", &longest)]);
    assert_eq!(tallies[0].examples[0].cause, Cause::Client, "just within the limit");
}

#[test]
fn a_last_line_without_an_end_is_read() {
    let text = clf("a", "17/May/2015:10:00:00", "/");
    let (trace, _) = load(Clock::Kept, &[("s", "clf", text.trim_end())]);
    assert_eq!(trace.requests.len(), 1);
}

#[test]
fn days_are_folded_by_local_time_and_sessions_survive() {
    // 23:30 on one day and 00:10 on the next, by the site's clock; one address, two clients.
    let first = [
        clf("a", "17/May/2015:23:30:00", "/late"),
        clf("a", "17/May/2015:23:30:07", "/late.gif"),
        clf("a", "18/May/2015:00:10:00", "/early"),
    ]
    .concat();
    let second = "h [30:00:20:00] \"GET /other HTTP/1.0\" 200 7\n";
    let logs = [("one", "clf", first.as_str()), ("two", "epa", second)];
    let (trace, _) = load(Clock::Folded, &logs);
    let order: Vec<&str> = trace.requests.iter().map(|entry| &*trace.target(entry).url).collect();
    assert_eq!(order, ["/early", "/other", "/late", "/late.gif"]);
    assert_eq!(trace.requests[0].at_ms, 600_000);
    assert_eq!(trace.clients(), 3);
    let sessions = Sessions::of(&trace, Shape::default());
    assert_eq!(sessions.iter().map(|s| s.requests().len()).collect::<Vec<_>>(), [1, 1, 2]);
}

#[test]
fn without_folding_days_follow_each_other_and_an_address_is_one_client() {
    let text = [clf("a", "18/May/2015:12:00:00", "/two"), clf("a", "17/May/2015:12:00:00", "/one")]
        .concat();
    let (trace, _) = load(Clock::Kept, &[("s", "clf", &text)]);
    let at: Vec<u64> = trace.requests.iter().map(|entry| entry.at_ms).collect();
    assert_eq!(at, [36_000_000, 36_000_000 + 86_400_000], "10:00 UTC, and a day later");
    assert_eq!((trace.clients(), &*trace.targets[0].url), (1, "/one"));
}

#[test]
fn sessions_follow_the_rule_of_fifteen_and_five_seconds() {
    let seconds = [0, 1, 2, 6, 7, 13, 27, 42];
    let text: String =
        seconds.map(|s| clf("a", &format!("17/May/2015:10:00:{s:02}"), "/")).concat();
    let (trace, _) = load(Clock::Folded, &[("s", "clf", &text)]);
    let sessions = Sessions::of(&trace, Shape::default());
    let shape: Vec<Vec<usize>> =
        sessions.iter().map(|session| session.batches().map(<[u32]>::len).collect()).collect();
    // 0 alone; 1, 2, 6 within 5 s of each other; 7; 13; 27 (14 s later); 42 is 15 s later.
    assert_eq!(shape, [vec![1, 3, 1, 1, 1], vec![1]]);
}

#[test]
fn the_size_of_a_target_is_its_largest_whole_reply() {
    let text = "h [01:00:00:00] \"GET /a HTTP/1.0\" 200 10\n\
                h [01:00:00:01] \"GET /a HTTP/1.0\" 200 30\n\
                h [01:00:00:02] \"GET /a HTTP/1.0\" 206 90\n\
                h [01:00:00:03] \"POST /a HTTP/1.0\" 200 80\n\
                h [01:00:00:04] \"GET /b HTTP/1.0\" 304 -\n";
    let (trace, _) = load(Clock::Kept, &[("s", "epa", text)]);
    assert_eq!(trace.targets.iter().map(|target| target.size).collect::<Vec<_>>(), [30, 0]);
    let found = Statistics::of(&trace, None);
    assert_eq!((found.requests, found.counted, found.footprint_bytes), (5, 4, 30));
    assert!((found.reply_bytes_mean - 20.0).abs() < 1e-9);
}

#[test]
fn an_empty_log_is_an_empty_trace() {
    let (trace, _) = load(Clock::Folded, &[("s", "clf", "")]);
    let plan = Plan::new(trace, Pick::Clients { of: 0, seed: 0 }, Shape::default());
    assert!(plan.sessions.is_empty() && plan.sessions.get(0).is_none());
    assert_eq!(plan.working_set_bytes, 0);
    assert_eq!(Statistics::of(&plan.trace, None), {
        let mut zero = Statistics::default();
        for (place, percent) in zero.coverage.iter_mut().zip([97, 98, 99]) {
            place.percent = percent;
        }
        zero
    });
}

#[test]
fn a_format_is_recognised_from_its_lines() {
    let combined = clf("a", "17/May/2015:10:00:00", "/");
    let cases: [(&str, &str); 4] = [
        (&combined, "common"),
        ("h [30:00:20:00] \"GET / HTTP/1.0\" 200 7", "epa"),
        ("#baton-trace/1\tat_ms\tclient\tmethod\tstatus\tbytes\tsite\tsize\turl", "baton"),
        ("5\t1\tGET\t200\t7\ts\t7\t/", "baton"),
    ];
    for (line, name) in cases {
        let guess = detect(format!("\n{}", line.trim_end()).as_bytes()).unwrap();
        assert_eq!((guess.format.name, guess.confidence > 0.5), (name, true), "{line}");
    }
    assert!(detect(b"{\"json\": 1}").is_none());
    assert!(detect(b"").is_none());
}

#[test]
fn a_trace_of_whole_seconds_stays_one_of_whole_seconds() {
    let line = |at: u32| {
        format!(
            "a - - [17/May/2015:10:00:{:02} +0000] \"GET /{at} HTTP/1.1\" 200 1 \"-\" \"-\" \
                 0.250\n",
            at % 60
        )
    };
    let text: String = (0..600).map(line).collect();
    for clock in [Clock::Kept, Clock::Folded] {
        let (trace, _) = load(clock, &[("s", "nginx", &text)]);
        assert!(trace.requests.iter().all(|entry| entry.at_ms % 1000 == 0), "{clock:?}");
        let early = trace.requests.iter().filter(|entry| entry.at_ms == 35_999_000).count();
        assert!(early < 10, "{early}: of the 10 in the first second about 2 began before it");
    }
}

#[test]
fn a_time_that_no_web_server_can_have_had_is_a_bad_line() {
    let years = ["0000", "1969", "1970", "2099", "2100", "9999"];
    let text = years.map(|year| clf("a", &format!("02/Jan/{year}:10:00:00"), "/")).concat();
    let (trace, tallies) = load(Clock::Kept, &[("s", "common", &text)]);
    assert_eq!((trace.requests.len(), tallies[0].rejected.get(&Cause::Year)), (2, Some(&4)));
}

//! Method: each file of tests/formats is a log in the format it is named after, in paragraphs: what
//! is special, the line, and what must become of it (`=` a request, `!` why it is none, `~` a line
//! that says nothing). `BLESS=1 cargo test -p workload --test formats` writes what becomes of them
//! now, for review as a diff.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use workload::{FORMATS, Pattern, PatternError, Reader, Record, detect, format, read, whole_lines};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formats/{name}.txt"))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).expect("each format has its file")
}

/// Whether a line of a file says what becomes of the line before it.
fn verdict(line: &str) -> bool {
    line == "=" || ["= ", "! ", "~"].iter().any(|mark| line.starts_with(mark))
}

/// A file as what explains, the line, and the verdict.
fn cases(text: &str) -> Vec<(Vec<&str>, &str, &str)> {
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    paragraphs
        .map(|paragraph| {
            let lines: Vec<&str> = paragraph.trim_matches('\n').lines().collect();
            let [why @ .., line, verdict_line] = lines.as_slice() else { panic!("{paragraph}") };
            assert!(verdict(verdict_line), "{paragraph}");
            assert!(why.iter().all(|line| line.starts_with("# ")), "{paragraph}");
            (why.to_vec(), *line, *verdict_line)
        })
        .collect()
}

/// The log that a file contains.
fn log(name: &str) -> String {
    cases(&text(name)).iter().map(|(_, line, _)| format!("{line}\n")).collect()
}

/// A point in time as people write it; days to a date as the calendar counts them.
fn clock(local_ms: i64) -> String {
    let (mut year, mut day) = (1970, local_ms.div_euclid(86_400_000));
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    while day >= if leap(year) { 366 } else { 365 } {
        day -= if leap(year) { 366 } else { 365 };
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let ms = local_ms.rem_euclid(86_400_000);
    let (h, m, s) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{year}-{month:02}-{:02}T{h:02}:{m:02}:{s:02}.{:03}", day + 1, ms % 1000)
}

fn show(record: &Record<'_>) -> String {
    let Record { at, site, client, method, url, status, bytes, .. } = record;
    let (clock, ahead) = (clock(at.local_ms), at.ahead_s / 60);
    let mut out = format!("= {clock} {ahead:+} {client} {method} {url} {status} {bytes}");
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out += &format!(" {name}={value}");
        }
    };
    let ms = |span: Duration| format!("{}ms", span.as_nanos() as f64 / 1e6);
    add("site", (!site.is_empty()).then(|| site.to_string()));
    add("size", record.size.map(|size| size.to_string()));
    add("took", record.took.map(ms));
    add("served", record.served.map(ms));
    add("server", record.server.as_ref().map(ToString::to_string));
    add("hit", record.hit.map(|hit| hit.to_string()));
    out
}

#[test]
fn every_line_of_every_format_becomes_what_its_table_says() {
    for format in FORMATS {
        let text = text(format.name);
        let cases = cases(&text);
        let mut parser = (format.parser)();
        let mut blessed = String::new();
        for (why, line, verdict) in &cases {
            let found = match parser.line(line.as_bytes()) {
                Ok(Some(record)) => show(&record),
                Ok(None) => "~ passed over".to_owned(),
                Err(cause) => format!("! {cause}"),
            };
            if std::env::var_os("BLESS").is_some() {
                for why in why {
                    writeln!(blessed, "{why}").unwrap();
                }
                writeln!(blessed, "{line}\n{found}\n").unwrap();
            } else {
                assert_eq!(found, *verdict, "{}: {line}", format.name);
            }
        }
        if !blessed.is_empty() {
            std::fs::write(file(format.name), blessed.trim_end().to_owned() + "\n").unwrap();
        }
    }
}

#[test]
fn every_format_is_recognised_among_all_others() {
    for format in FORMATS {
        let guess = detect(log(format.name).as_bytes()).expect("a log of requests");
        let sure = guess.confidence;
        assert_eq!(guess.format.name, format.name, "{sure} against {:?}", runner_up(&guess));
        assert!(!guess.first.is_empty() && guess.fitting <= guess.lines);
        assert!(
            (0.0..=1.0).contains(&sure) && guess.runner_up.is_none_or(|(_, next)| next <= sure)
        );
    }
}

fn runner_up(guess: &workload::Guess) -> Option<(&str, f64)> {
    guess.runner_up.map(|(format, sure)| (format.name, sure))
}

#[test]
fn a_whole_log_and_its_blocks_give_the_same() {
    for format in FORMATS {
        let log = log(format.name).repeat(3);
        let mut whole = Vec::new();
        let tally = read(format, log.as_bytes(), |record| whole.push(show(record))).unwrap();
        assert_eq!(tally.lines, tally.records + tally.skipped + tally.rejects());
        for capacity in [1, 7, 64, 1000] {
            let mut found = Vec::new();
            let input = std::io::BufReader::with_capacity(capacity, log.as_bytes());
            let again = read(format, input, |record| found.push(show(record))).unwrap();
            assert_eq!((&found, &again), (&whole, &tally), "{} by {capacity}", format.name);
        }
        let mut found = Vec::new();
        let mut reader = Reader::new((format.parser)());
        let mut rest = log.as_bytes();
        let mut sum = workload::Tally::default();
        while !rest.is_empty() {
            let (block, _) = whole_lines(&rest[..rest.len().min(2000)]);
            rest = &rest[block.len()..];
            let mut part = reader.fork();
            part.block(block, |record| found.push(show(record)));
            // Headers are learned by whoever reads them.
            reader.block(block, |_| ());
            sum.append(part.finish());
        }
        assert_eq!((&found, &sum), (&whole, &tally), "{} in blocks", format.name);
    }
}

/// The format that 60 lines are found to be in, one for each number.
fn found(line: impl Fn(u32) -> String) -> &'static str {
    let log: String = (0..60).map(|at| line(at) + "\n").collect();
    detect(log.as_bytes()).expect("a log of requests").format.name
}

#[test]
fn addresses_of_version_six_are_clients_and_no_sites() {
    let rest = "- - [12/Nov/2024:08:30:11 +0100] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\"";
    for client in ["::1", "::ffff:10.0.0.", "2001:db8::", "2a00:1450:4001:82b::20", "fe80:1:2:"] {
        assert_eq!(found(|at| format!("{client}{at} {rest}")), "combined", "{client}");
        assert_eq!(found(|at| format!("{client}{at} {rest} 0.00{at}")), "nginx", "{client}");
        assert_eq!(found(|at| format!("a.b:80 {client}{at} {rest}")), "apache-vhost", "{client}");
    }
}

#[test]
fn a_site_before_the_client_is_not_taken_for_it() {
    let rest = "10.0.0.1 - - [12/Nov/2024:08:30:11 +0100] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\"";
    assert_eq!(found(|at| format!("www.x.org:80 {rest} {}", 900 + at)), "apache-vhost-us");
    assert_eq!(found(|_| format!("www.x.org:80 {rest}")), "apache-vhost");
    let other = format!("www.x.org:80 {rest} \"x\" 7 y\n");
    let guess = detect(other.as_bytes()).expect("it has a request");
    assert!(guess.confidence < 0.5, "{}: {}", guess.format.name, guess.confidence);
}

#[test]
fn a_number_at_the_end_of_a_line_leaves_a_doubt() {
    let rest = "10.0.0.1 - - [12/Nov/2024:08:30:11 +0100] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\"";
    for (number, name) in [(400, "apache-us"), (0, "apache-s")] {
        let log = format!("{rest} {number}\n");
        let guess = detect(log.as_bytes()).expect("it has a request");
        assert_eq!(guess.format.name, name);
        assert!(guess.confidence < 0.8 && guess.doubt.is_some(), "{}", guess.confidence);
    }
    let guess = detect(format!("{rest}\n").as_bytes()).expect("it has a request");
    assert_eq!(guess.doubt, None);
    assert_eq!(found(|at| format!("{rest} 0/{}", 1055 + at)), "clf", "two spans are no number");
}

#[test]
fn a_line_too_long_to_be_read_says_nothing_of_the_format() {
    let line = "10.0.0.1 - - [12/Nov/2024:08:30:11 +0100] \"GET /a HTTP/1.1\" 200 5\n";
    let log = format!("{}\n{line}", "y".repeat(workload::LINE_BYTES_MAX + 1));
    let guess = detect(log.as_bytes()).expect("it has a request");
    assert_eq!((guess.format.name, guess.lines, guess.fitting), ("common", 1, 1));
}

/// What a pattern makes of a line.
fn by(pattern: &str, line: &str) -> String {
    let mut parser = Pattern::new(pattern).expect(pattern).parser();
    match parser.line(line.as_bytes()) {
        Ok(Some(record)) => show(&record),
        Ok(None) => "~".to_owned(),
        Err(cause) => format!("! {cause}"),
    }
}

#[test]
fn a_format_of_ones_own_is_understood_in_the_words_of_three_servers() {
    let cases = [
        (
            "$remote_addr|$time_iso8601|$request_method $scheme://$host$request_uri|$status|\
             $body_bytes_sent|$request_time|$upstream_cache_status",
            "10.0.0.1|2024-11-12T08:30:11+00:00|GET https://example.org/a?b|200|5|0.250|HIT",
            "= 2024-11-12T08:30:10.750 +0 10.0.0.1 GET /a?b 200 5 site=example.org took=250ms \
             hit=true",
        ),
        (
            "log_format timed '$remote_addr [$time_local] '\n \
             '\"$request\" ${status} $upstream_addr $odd';",
            "10.0.0.1 [12/Nov/2024:08:30:11 +0000] \"GET /a HTTP/1.1\" 200 10.1.0.1:80, \
             10.1.0.2:80 x",
            "= 2024-11-12T08:30:11.000 +0 10.0.0.1 GET /a 200 0 server=10.1.0.2:80",
        ),
        (
            "$uri$is_args$args $status",
            "/a?b=c 404",
            "= 1970-01-01T00:00:00.000 +0 - GET /a?b=c 404 0",
        ),
        (
            r#"LogFormat "%v %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" %D" timed"#,
            "example.org 10.0.0.1 - - [12/Nov/2024:08:30:11 +0100] \"GET /a HTTP/1.1\" 200 - \
             \"-\" 2500",
            "= 2024-11-12T08:30:11.000 +60 10.0.0.1 GET /a 200 0 site=example.org took=2.5ms",
        ),
        (
            "%{%d/%b/%Y:%H:%M:%S}t %m %U%q %400,501{User-agent}i %>s 100%% %O %{Host}i %{ms}T",
            "12/Nov/2024:08:30:11 PUT /a?b=c - 201 100% 17 example.org 3",
            "= 2024-11-12T08:30:11.000 +0 - PUT /a?b=c 201 17 site=example.org took=3ms",
        ),
        (
            "%START_TIME(%s.%3f)% %REQ(:METHOD)% %REQ(:PATH):30% %RESPONSE_CODE% %DURATION%\\n",
            "1731400211.250 GET /a 200 12",
            "= 2024-11-12T08:30:11.250 +0 - GET /a 200 0 took=12ms",
        ),
        ("$request", "GET /a HTTP/1.1", "= 1970-01-01T00:00:00.000 +0 - GET /a 200 0"),
        ("$status $request_uri", "x /", "! no status code"),
    ];
    for (pattern, line, expected) in cases {
        assert_eq!(by(pattern, line), expected, "{pattern}");
    }
}

#[test]
fn a_format_that_cannot_be_used_is_refused_with_one_sentence() {
    let refused = |text: &str| Pattern::new(text).expect_err(text);
    assert_eq!(refused(""), PatternError::NoFields);
    assert_eq!(refused("combined"), PatternError::NoFields);
    assert_eq!(refused("$remote_addr $status"), PatternError::NoTarget);
    assert_eq!(refused("%h %>s"), PatternError::NoTarget);
    let both = ("$status".to_owned(), "$bytes_sent".to_owned());
    assert_eq!(refused("$uri $status$bytes_sent"), PatternError::Adjacent(both.0, both.1));
    assert_eq!(refused("${uri"), PatternError::Open("${uri".to_owned()));
    assert_eq!(refused("%U %{Host"), PatternError::Open("%{Host".to_owned()));
    assert_eq!(refused("%REQ(:PATH)"), PatternError::Open("%REQ(:PATH)".to_owned()));
    assert!(refused("$status").to_string().contains("$request"), "it says what is missing");
}

#[test]
fn a_log_without_a_request_is_one_clear_error() {
    let common = format("common").expect("it is in the list");
    let error = |log: &str| {
        let tally = read(common, log.as_bytes(), |_| ()).unwrap();
        tally.usable().map_err(|error| error.to_string())
    };
    assert_eq!(error(""), Err("the log is empty".to_owned()));
    let blank = "none of the log's 2 lines is a request: all are blank or comments";
    assert_eq!(error("\n \n"), Err(blank.to_owned()));
    let bad = "none of the log's 3 lines is a request; line 2: no client at the start: nonsense";
    assert_eq!(error("\nnonsense\nmore"), Err(bad.to_owned()));
    let good = "a - - [17/May/2015:10:00:00 +0000] \"GET / HTTP/1.1\" 200 1";
    assert_eq!(error(&format!("nonsense\n{good}")), Ok(()));
}

#[test]
fn the_document_has_a_row_for_each_format_and_patterns_that_work() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/logs.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    for format in FORMATS {
        let name = format!("`{}`", format.name);
        let row = text.lines().find(|line| {
            line.starts_with("| `")
                && line.split(" | ").next().is_some_and(|cell| cell.contains(&name))
        });
        assert!(row.is_some(), "{name} is not in docs/logs.md");
    }
    let patterns: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("--format '")?.1.strip_suffix("'"))
        .collect();
    assert_eq!(patterns.len(), 3, "one in each language");
    for pattern in patterns {
        assert!(Pattern::new(pattern).is_ok(), "{pattern}");
    }
}

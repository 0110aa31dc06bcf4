//! `baton trace` as its user meets it.
//!
//! Method: the real program, on logs written here and on the trace that ships; its JSON, its files,
//! its exit codes and what it says on standard error. What was published of Rice and IBM is typed
//! here once more.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const LOG: &str = "\
10.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET /a.html HTTP/1.1\" 200 1000
10.0.0.2 - - [17/May/2015:10:05:04 +0000] \"GET /a.html HTTP/1.1\" 200 1000
10.0.0.1 - - [17/May/2015:10:05:05 +0000] \"GET /~jdoe/b.gif?q=mary+poppins HTTP/1.1\" 200 500
10.0.0.1 - - [17/May/2015:10:06:05 +0000] \"POST /form HTTP/1.1\" 302 -
";

fn baton(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baton"))
        .arg("trace")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What it wrote, when it must have gone well.
fn done(args: &[&str]) -> String {
    let output = baton(args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// What it said, when it must have ended with this code.
fn refused(args: &[&str], code: i32) -> String {
    let output = baton(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    said
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    text_of(&path)
}

fn text_of(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn info(args: &[&str]) -> Vec<Value> {
    let mut words = vec!["info", "--json"];
    words.extend_from_slice(args);
    serde_json::from_str(&done(&words)).unwrap()
}

fn shipped() -> String {
    text_of(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/three-sites.trace.zst"))
}

#[test]
fn info_on_a_twin_prints_the_published_facts_within_one_per_cent() {
    let folder = folder();
    let published = [
        ("rice", "200000", 31_000, 1015.0, [526.0, 619.0, 745.0]),
        ("ibm", "300000", 38_500, 984.0, [43.0, 69.0, 165.0]),
    ];
    for (name, requests, targets, megabytes, coverage) in published {
        let path = text_of(&folder.path().join(format!("{name}.trace.zst")));
        let output = baton(&["synth", name, "--requests", requests, "-o", &path]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("popularity is flatter"), "few requests are said to be few: {said}");
        let found = &info(&[&path])[0];
        assert_eq!(found["requests"].to_string(), requests);
        assert_eq!(found["targets"], targets);
        let close = |bytes: &Value, megabytes: f64| {
            (bytes.as_f64().unwrap() / 1e6 - megabytes).abs() <= megabytes / 100.0
        };
        assert!(close(&found["footprint_bytes"], megabytes), "{found:#}");
        for (at, megabytes) in coverage.into_iter().enumerate() {
            assert!(close(&found["coverage"][at]["bytes"], megabytes), "{found:#}");
        }
        assert_eq!(found["published"]["targets"], targets, "they stand beside it");
        assert!(done(&["info", &path]).contains("stands in for"));
    }
}

#[test]
fn a_log_is_described_alike_however_it_is_packed_and_given() {
    let folder = folder();
    let plain = file(&folder, "a.log", LOG);
    let zst = file(&folder, "a.log.zst", zstd::encode_all(LOG.as_bytes(), 1).unwrap());
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(LOG.as_bytes()).unwrap();
    let gz = file(&folder, "a.log.gz", encoder.finish().unwrap());
    let mut found = info(&[&plain, &zst, &gz]);
    let stdin = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["trace", "info", "--json", "-"])
        .stdin(File::open(&plain).unwrap())
        .output()
        .unwrap();
    found.extend(serde_json::from_slice::<Vec<Value>>(&stdin.stdout).unwrap());
    assert_eq!(found.len(), 4);
    for each in &mut found {
        each["name"] = Value::Null;
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:#?}");
    let first = &found[0];
    let keys = ["requests", "counted", "clients", "targets", "once_only", "sessions"];
    assert_eq!(keys.map(|key| first[key].as_u64().unwrap()), [4, 3, 2, 2, 1, 2]);
    assert_eq!(first["footprint_bytes"], 1500);
}

#[test]
fn sites_have_columns_of_their_own() {
    let found = info(&["--sites", &shipped()]);
    let names: Vec<&str> = found.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["epa", "airisdata", "semicomplete", "three-sites.trace.zst"]);
    let counted = [40_591, 98_878, 9_581, 149_050];
    assert!(found.iter().zip(counted).all(|(column, counted)| column["counted"] == counted));
    let table = done(&["info", "--sites", &shipped()]);
    let row = table.lines().find(|line| line.starts_with("targets")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["targets", "5,137", "3,297", "1,387", "9,821"]
    );
}

#[test]
fn lines_that_are_no_requests_are_counted_and_shown() {
    let folder = folder();
    let path = file(&folder, "a.log", format!("{LOG}10.0.0.9 - - [nonsense] \"GET / x\"\n"));
    let output = baton(&["info", &path]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("1 of 5 lines are no requests"), "{said}");
    assert!(said.contains("line 5: no valid time: 10.0.0.9"), "{said}");
}

#[test]
fn a_log_in_which_few_lines_are_requests_is_read_and_the_cure_told() {
    let folder = folder();
    let noise = "some app message\n".repeat(200);
    let path = file(&folder, "a.log", format!("{LOG}{noise}"));
    let output = baton(&["info", "--json", &path]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("4 of the first 100 lines fit") && said.contains("--format"), "{said}");
    assert!(said.contains("200 of 204 lines are no requests"), "{said}");
}

#[test]
fn a_first_line_that_never_seems_to_end_hides_no_request() {
    let folder = folder();
    let path = file(&folder, "a.log", format!("{}\n{LOG}", "y".repeat(300_000)));
    let found = &info(&[&path])[0];
    assert_eq!(found["requests"], 4);
}

#[test]
fn of_a_packed_log_that_is_cut_the_beginning_is_described_and_then_the_error_told() {
    let folder = folder();
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let lines = |from: u32| (from..from + 20_000).map(|at| LOG.replace("a.html", &at.to_string()));
    encoder.write_all(lines(0).collect::<String>().as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let path = file(&folder, "a.log.gz", &packed[..packed.len() / 2]);
    let output = baton(&["info", "--json", &path]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot read") && said.contains("of them requests"), "{said}");
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let requests = found[0]["requests"].as_u64().unwrap();
    assert!((20_000..60_000).contains(&requests), "{requests} of 80,000, about half");
}

#[test]
fn what_a_trace_has_no_place_for_is_told() {
    let folder = folder();
    let timed = LOG.lines().map(|line| format!("{line} \"-\" \"-\" 0.250\n")).collect::<String>();
    let (plain, timed) = (file(&folder, "a.log", LOG), file(&folder, "b.log", timed));
    let said = |path: &str| String::from_utf8(baton(&["convert", path]).stderr).unwrap();
    assert!(said(&timed).contains("says of times is not in"), "{}", said(&timed));
    assert!(!said(&plain).contains("is not in"), "{}", said(&plain));
}

#[test]
fn logs_become_one_trace_in_order_of_time() {
    let folder = folder();
    let early = LOG.replace("17/May", "16/May");
    let (first, second) = (file(&folder, "1.log", LOG), file(&folder, "2.log", early));
    let out = text_of(&folder.path().join("both.trace.zst"));
    done(&["convert", &first, &second, "--site", "www", "-o", &out]);
    let text = zstd::decode_all(File::open(&out).unwrap()).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9, "{text}");
    assert!(lines[0].starts_with("#baton-trace/1"));
    assert_eq!(lines[1], "36303000\t0\tGET\t200\t1000\twww\t1000\t/a.html");
    assert!(lines[5].starts_with("122703000\t"), "{}: a day later", lines[5]);
    assert_eq!(info(&[&out])[0]["requests"], 8);

    let folded = done(&["convert", &first, &second, "--fold", "--counted"]);
    let found: Vec<&str> = folded.lines().skip(1).collect();
    assert_eq!(found.len(), 6, "the two that count for nothing are gone");
    assert!(found.iter().all(|line| line.starts_with("363")), "{folded}: all on one day");
}

#[test]
fn the_common_log_format_is_written_as_it_was_read() {
    let folder = folder();
    let path = file(&folder, "a.log", LOG);
    let written = done(&["convert", &path, "--to", "clf"]);
    assert_eq!(written, LOG.replace(" 302 -", " 302 0"));
}

#[test]
fn nobody_is_named_in_an_anonymous_log() {
    let folder = folder();
    let path = file(&folder, "a.log", LOG);
    for to in ["clf", "baton"] {
        let written = done(&["anonymize", &path, "--to", to]);
        for name in ["10.0.0", "jdoe", "mary"] {
            assert!(!written.contains(name), "{to}: {written}");
        }
        assert_eq!(written.matches("/a.html").count(), 2, "{to}: targets stay targets");
        assert!(written.contains("/~p0000"), "{to}: {written}");
    }
    let written = done(&["anonymize", &path, "--to", "clf"]);
    assert_eq!(written.matches("c00000 - -").count(), 3, "{written}: a client stays one client");
}

#[test]
fn a_seed_is_a_trace_and_another_seed_another() {
    let synth = |seed: &str| done(&["synth", "chess", "--requests", "20000", "--seed", seed]);
    let first = synth("1");
    assert_eq!(first.lines().count(), 20_001);
    assert_eq!(first, synth("1"));
    assert_ne!(first, synth("2"));
}

#[test]
fn zipf_takes_its_own_flags() {
    let folder = folder();
    let path = text_of(&folder.path().join("zipf.trace.gz"));
    let words = ["--requests", "20000", "--targets", "500", "--exponent", "0.7"];
    let more = ["--hot", "3:0.5", "--drift", "5000:10", "--per-connection", "4", "-o", &path];
    done(&[&["synth", "zipf"][..], &words, &more].concat());
    let found = &info(&[&path])[0];
    assert_eq!((&found["requests"], &found["targets"]), (&20_000.into(), &500.into()));
    assert!((found["requests_per_session"].as_f64().unwrap() - 4.0).abs() < 0.2, "{found:#}");
}

#[test]
fn what_is_asked_wrongly_is_answered_with_a_remedy() {
    let folder = folder();
    let path = file(&folder, "a.log", LOG);
    let cases: [(&[&str], i32, &str); 12] = [
        (&["info", "/no/such.log"], 3, "cannot read /no/such.log"),
        (&["info", "/dev/null"], 1, "there is nothing in it"),
        (&["info", "--format", "epa", &path], 1, "none of the log's 4 lines is a request"),
        (&["info", "--format", "combine", &path], 2, "did you mean \"combined\"?"),
        (&["info", "-", "-"], 2, "once only"),
        (&["convert", &path, "-o", &path], 2, "give --out another name"),
        (&["convert", &path, "--to", "clf", "--fold"], 2, "--fold needs --to baton"),
        (&["convert", &path, "-o", "/no/such/folder/x"], 3, "cannot write /no/such/folder/x"),
        (&["synth", "rise"], 2, "did you mean \"rice\"?"),
        (&["synth", "rice", "--requests", "1000"], 1, "ask for more"),
        (&["synth", "rice", "--hot", "3:0.5"], 2, "--hot is for zipf"),
        (&["synth", "zipf", "--hot", "3"], 2, "two numbers with a colon"),
    ];
    for (words, code, expected) in cases {
        let said = refused(words, code);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), LOG, "what is read stays as it is");
    let nonsense = file(&folder, "n.log", "Dear Sir,\nI write to you.\n");
    let said = refused(&["info", &nonsense], 1);
    assert!(said.contains("no known format fits it") && said.contains("Dear Sir"), "{said}");
}

#[test]
fn a_trace_that_cannot_be_made_leaves_what_was_there() {
    let folder = folder();
    let old = file(&folder, "out.trace", "precious");
    let empty = file(&folder, "empty.log", "");
    refused(&["convert", &empty, "--to", "clf", "-o", &old], 1);
    assert_eq!(fs::read_to_string(&old).unwrap(), "precious");
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 2, "nothing half-made is left: {names:?}");
}

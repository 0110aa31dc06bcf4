//! Method: the project's own files are read and held against the tables of tests/tidy/tables.rs.
//! Each rule is also tried on a sample that breaks it: a rule that sees nothing would pass.

#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/tables.rs"]
mod tables;
#[path = "tidy/workspace.rs"]
mod workspace;

use rules::Rule;
use source::Source;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of Rust there is, from the program's and the tests' to the fuzz targets'.
fn sources() -> Vec<Source> {
    let root = root();
    let paths = source::files(&root, ".rs");
    assert!(paths.len() > 200, "the project is larger than {} files", paths.len());
    for must in ["src/main.rs", "crates/policy/src/lib.rs", "tests/tidy.rs"] {
        assert!(paths.iter().any(|path| path == must), "{must} is among them");
    }
    let read = |path: &String| {
        let text = fs::read_to_string(root.join(path)).expect("files of the project are UTF-8");
        Source::new(path, &text)
    };
    paths.iter().map(read).collect()
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

fn check(rule: Rule) {
    assert_none(&sources().iter().flat_map(rule).collect::<Vec<_>>());
}

#[test]
fn no_file_takes_more_than_a_sitting_to_read() {
    check(rules::file_length);
}

#[test]
fn no_function_is_longer_than_a_screen() {
    check(rules::function_length);
}

#[test]
fn no_line_is_wider_than_half_a_screen() {
    check(rules::columns);
}

#[test]
fn nothing_is_written_that_is_banned() {
    check(rules::banned);
}

#[test]
fn every_plain_number_that_measures_something_says_its_unit() {
    check(rules::units);
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    check(rules::header);
}

#[test]
fn every_relaxed_lint_has_its_reason() {
    check(rules::relaxed);
}

#[test]
fn names_say_something() {
    check(rules::names);
}

#[test]
fn no_file_is_dead() {
    assert_none(&rules::dead(&sources()));
}

#[test]
fn crates_know_only_whom_they_may() {
    assert_none(&workspace::arrows(&workspace::members(&root())));
}

#[test]
fn every_dependency_says_what_it_is_for_and_is_used() {
    let text = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has one");
    let mut problems = workspace::reasons(&text);
    problems.extend(workspace::unused(&text, &workspace::members(&root()), &sources()));
    assert_none(&problems);
}

#[test]
fn pure_crates_are_kept_pure_by_the_same_bans() {
    let read = |name: &&str| {
        let path = root().join("crates").join(name).join("clippy.toml");
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}/clippy.toml: {error}"))
    };
    let bans: Vec<String> = tables::PURE.iter().map(read).collect();
    assert!(bans[0].contains("std::time::Instant") && bans[0].contains("std::net::TcpStream"));
    assert!(bans.iter().all(|ban| *ban == bans[0]), "{:?} differ in clippy.toml", tables::PURE);
}

#[test]
fn an_exception_that_is_not_needed_any_more_is_found() {
    let lines = |path: &str| {
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        text.lines().count()
    };
    for (path, reason) in tables::LONG_FILES {
        let needed = lines(path) > tables::FILE_LINES_MAX;
        assert!(needed, "{path} is short enough: its row in LONG_FILES ({reason}) can go");
    }
    for ban in tables::BANS {
        for path in ban.except {
            assert!(root().join(path).exists(), "{path}, excepted from {}, is gone", ban.word);
        }
    }
}

/// Which rule finds something in a sample.
#[track_caller]
fn finds(rule: Rule, path: &str, text: &str, part: &str) {
    let found = rule(&Source::new(path, text));
    assert!(found.iter().any(|problem| problem.contains(part)), "{found:?} in {text:?}");
}

#[track_caller]
fn passes(rule: Rule, path: &str, text: &str) {
    assert_none(&rule(&Source::new(path, text)));
}

const SHIPPED: &str = "crates/x/src/a.rs";

#[test]
fn rules_on_sizes_find_what_is_too_large() {
    finds(rules::file_length, SHIPPED, &"\n".repeat(401), "401 lines");
    passes(rules::file_length, SHIPPED, &"\n".repeat(400));
    let long = format!("fn f(a: [u8; 2]) -> u8 {{\n{}}}\n", "    g();\n".repeat(69));
    finds(rules::function_length, SHIPPED, &long, "`f` has 71 lines");
    passes(rules::function_length, SHIPPED, &long.replacen("    g();\n", "", 1));
    finds(rules::columns, SHIPPED, &"x".repeat(101), "101 columns");
    passes(rules::columns, SHIPPED, &"ä".repeat(100));
}

#[test]
fn the_rule_on_bans_looks_at_code_and_knows_what_is_a_test() {
    finds(rules::banned, SHIPPED, "fn f() {\n    a.unwrap();\n}\n", "a.rs:2: .unwrap()");
    passes(
        rules::banned,
        SHIPPED,
        "// a.unwrap()\nlet a = \"x.unwrap()\"; let b = r#\"\"todo!\"#;",
    );
    passes(rules::banned, SHIPPED, "#[cfg(test)]\nmod tests {\n    a.unwrap();\n}\n");
    finds(rules::banned, SHIPPED, "#[cfg(test)]\nmod t {}\nfn f() { a.unwrap() }", "a.rs:3");
    finds(rules::banned, "tests/a.rs", "tokio::time::sleep(x).await;", "condition");
    passes(rules::banned, SHIPPED, "tokio::time::sleep(x).await;");
    finds(rules::banned, SHIPPED, "// TODO later", "issue");
    finds(rules::banned, SHIPPED, "let a = '\"'; unsafe { b() }", "system calls");
    passes(rules::banned, SHIPPED, "#![forbid(unsafe_code)]\nlet reprint = 1;");
    finds(rules::banned, SHIPPED, "eprintln!(\"a\");", "`say` does not");
    passes(rules::banned, "tests/a.rs", "eprintln!(\"a\");");
}

#[test]
fn the_rule_on_units_wants_one_in_the_name_or_in_the_comment() {
    finds(rules::units, SHIPPED, "pub idle_timeout: u64,", "`idle_timeout`");
    finds(rules::units, SHIPPED, "const SIZE: usize = 5;", "`SIZE`");
    finds(rules::units, SHIPPED, "/// How long.\nlatency: Cell<Option<f64>>,", "`latency`");
    passes(rules::units, SHIPPED, "idle_timeout_ms: u64,\nconst SIZE_BYTES: usize = 5;");
    passes(rules::units, SHIPPED, "/// How long it took, in seconds.\nlatency: f64,");
    passes(rules::units, SHIPPED, "timeout: Duration,\nlet size: u64 = 5;\ntimes: u32,");
}

#[test]
fn rules_on_headers_reasons_and_names_find_what_is_missing() {
    finds(rules::header, SHIPPED, "use a::b;\n", "opens");
    finds(rules::header, "crates/x/src/lib.rs", "//! Some things.\n", "capitals");
    passes(rules::header, "crates/x/src/lib.rs", "//! WHO SERVES: the policies.\n");
    finds(rules::relaxed, SHIPPED, "#![allow(dead_code)]\n", "reason");
    passes(rules::relaxed, SHIPPED, "#[expect(dead_code, reason = \"it may\")]\n");
    passes(rules::relaxed, SHIPPED, "#[expect(\n    dead_code,\n    reason = \"it may\"\n)]\n");
    passes(rules::relaxed, SHIPPED, "// Each test uses its part.\n#![allow(dead_code)]\n");
    finds(rules::names, "crates/x/src/utils.rs", "", "utils");
    finds(rules::names, SHIPPED, "fn get_size() {}", "get_size");
    finds(rules::names, SHIPPED, "#[test]\nfn works() {}", "sentence");
    passes(rules::names, SHIPPED, "#[test]\nfn a_full_queue_turns_away() {}");
}

#[test]
fn the_rule_on_dead_files_follows_modules() {
    let sources = [
        Source::new("crates/x/src/lib.rs", "mod a;\n// mod c;\n"),
        Source::new("crates/x/src/a.rs", "pub(crate) mod b;\n"),
        Source::new("crates/x/src/a/b.rs", ""),
        Source::new("crates/x/src/c.rs", ""),
        Source::new("tests/t.rs", "#[path = \"t/x.rs\"]\nmod x;\n"),
        Source::new("tests/t/x.rs", ""),
    ];
    let found = rules::dead(&sources);
    assert!(found.len() == 1 && found[0].contains("crates/x/src/c.rs"), "{found:?}");
}

#[test]
fn rules_on_the_workspace_find_arrows_and_dependencies_that_should_not_be() {
    let member = |text: &str| workspace::Member::new("wire", text);
    let found = workspace::arrows(&[member("[dependencies]\norigin.workspace = true\n")]);
    assert!(found.iter().any(|problem| problem == "wire may not depend on origin"), "{found:?}");
    let found = workspace::arrows(&[member("[dependencies]\nserde = \"1\"\n")]);
    assert!(found.iter().any(|problem| problem.contains("its own version")), "{found:?}");
    let unknown = workspace::Member::new("novel", "[lints]\nworkspace = true\n");
    let found = workspace::arrows(&[unknown]);
    assert!(found.iter().any(|problem| problem.contains("no row")), "{found:?}");
    assert!(!workspace::arrows(&[]).is_empty(), "no crates at all is a mistake too");

    let text = "[workspace.dependencies]\na-b = \"1\" # why\nc = \"1\"\n";
    assert!(workspace::reasons(text)[0].contains("`c`"));
    assert!(!workspace::reasons("").is_empty());
    let user = member("[dependencies]\na-b.workspace = true\n");
    let used = Source::new("crates/wire/src/lib.rs", "use a_b::C;");
    let found = workspace::unused(text, &[user], &[used]);
    assert!(found.len() == 1 && found[0].contains("`c`"), "{found:?}");
    let user = member("[dependencies]\na-b.workspace = true\nc.workspace = true\n");
    let found = workspace::unused(text, &[user], &[Source::new("crates/wire/src/lib.rs", "")]);
    assert_eq!(found.len(), 2, "{found:?}");
}

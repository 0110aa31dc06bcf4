//! Method: every document is read as its reader would: commands are given to the real command
//! line, configurations to the real reader, links and file names are looked up.

use baton::config::Config;
use baton::flags::Flags;
use baton::loading::Script;
use clap::{CommandFactory, Parser};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "tidy/source.rs"]
#[allow(dead_code, reason = "of this file only the search for files is needed")]
mod source;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Path and text of every document.
fn documents() -> Vec<(String, String)> {
    let paths = source::files(&root(), ".md");
    for must in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/ARCHITECTURE.md"] {
        assert!(paths.iter().any(|path| path == must), "{must} is there");
    }
    let read = |path: &String| fs::read_to_string(root().join(path)).expect("UTF-8");
    paths.iter().map(|path| (path.clone(), read(path))).collect()
}

/// The text in fences of these languages.
fn fenced(text: &str, languages: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((languages.contains(&language), String::new())),
            (None, None) => {}
            (Some(_), Some(_)) => found.extend(open.take().filter(|(wanted, _)| *wanted)),
            (Some((_, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    found.into_iter().map(|(_, block)| block).collect()
}

/// The text outside fences.
fn prose(text: &str) -> String {
    let mut fence = false;
    let outside = |line: &&str| {
        let edge = line.starts_with("```");
        fence ^= edge;
        !fence && !edge
    };
    text.lines().filter(outside).map(|line| format!("{line}\n")).collect()
}

/// The calls of `baton` in a block of shell commands, each as its words.
fn calls(block: &str) -> Vec<Vec<String>> {
    let joined = block.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.trim().trim_start_matches("$ "));
    let parts = lines.flat_map(|line| line.split(" && "));
    let is_ours = |part: &&str| part.starts_with("baton ") || part.contains("/baton ");
    parts.map(str::trim).filter(is_ours).map(words).collect()
}

/// The words of one command, up to a comment, a pipe or a redirection.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for char in command.chars() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("there is always one").push(char),
        }
    }
    let ends = |word: &String| ["#", "|", ">", ">>", "<", ";", "&"].contains(&word.as_str());
    words.into_iter().filter(|word| !word.is_empty()).take_while(|word| !ends(word)).collect()
}

/// What is in backquotes.
fn code_spans(text: &str) -> Vec<String> {
    prose(text).split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn commands_in_documents_and_in_help_are_understood() {
    let mut calls_found = Vec::new();
    for (path, text) in documents() {
        for block in fenced(&text, &["sh", "console"]) {
            calls_found.extend(calls(&block).into_iter().map(|call| (path.clone(), call)));
        }
    }
    let documented = calls_found.len();
    assert!(documented >= 5, "documents show commands: {documented}");
    for command in std::iter::once(&Flags::command()).chain(Flags::command().get_subcommands()) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let from = format!("help of {}", command.get_name());
        calls_found.extend(calls(&help).into_iter().map(|call| (from.clone(), call)));
    }
    assert!(calls_found.len() >= documented + 15, "help shows examples: {}", calls_found.len());
    for (path, call) in calls_found {
        if let Err(error) = Flags::try_parse_from(&call) {
            let fine = matches!(
                error.kind(),
                clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
            );
            assert!(fine, "{path}: {}: {error}", call.join(" "));
        }
    }
}

#[test]
fn switches_that_documents_start_with_flags_alone_are_valid() {
    let mut tried = 0;
    for (path, text) in documents() {
        for call in fenced(&text, &["sh", "console"]).iter().flat_map(|block| calls(block)) {
            let is_run = call.get(1).is_some_and(|word| word == "run");
            if !is_run || call.iter().any(|word| word == "-c" || word == "--config") {
                continue;
            }
            let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
            let output = command.args(&call[1..]).arg("--check").output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{path}: {}: {said}", call.join(" "));
            tried += 1;
        }
    }
    assert!(tried >= 1, "the README says how to start one");
}

#[test]
fn configurations_in_documents_are_valid() {
    let mut tried = 0;
    for (path, text) in documents() {
        for block in fenced(&text, &["toml"]) {
            let parsed = Config::parse(&path, &block, &|_| {
                Some("00112233445566778899aabbccddeeff".to_owned())
            });
            assert!(parsed.is_ok(), "{path}: {:?}\n{block}", parsed.err());
            tried += 1;
        }
    }
    assert!(tried >= 1, "docs/configuration.md has one");
}

#[test]
fn scenarios_in_documents_are_valid() {
    let mut tried = 0;
    for (path, text) in documents() {
        for block in fenced(&text, &["toml scenario"]) {
            let parsed = Script::parse(&path, &block);
            assert!(parsed.is_ok(), "{path}: {:?}\n{block}", parsed.err());
            tried += 1;
        }
    }
    assert!(tried >= 1, "docs/load.md has one");
}

#[test]
fn links_lead_somewhere() {
    let mut followed = 0;
    for (path, text) in documents() {
        let folder = root().join(&path).parent().map(Path::to_owned).unwrap_or_default();
        for link in links(&prose(&text)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let there = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            assert!(there.exists(), "{path}: {link} leads nowhere");
            if !anchor.is_empty() {
                let target = fs::read_to_string(&there).expect("anchors are in documents");
                let found = prose(&target).lines().any(|line| slug(line) == anchor);
                assert!(found, "{path}: {link}: there is no such heading");
            }
            followed += 1;
        }
    }
    assert!(followed >= 10, "documents lead to each other: {followed}");
}

/// Where `[text](link)` and `![text](link)` lead.
fn links(text: &str) -> Vec<String> {
    let ends = text.split("](").skip(1);
    ends.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchor that GitHub gives a heading.
fn slug(line: &str) -> String {
    let Some(heading) = line.starts_with('#').then(|| line.trim_start_matches('#').trim()) else {
        return String::new();
    };
    let kept = heading.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn commands_targets_and_files_named_in_passing_exist() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("there is one");
    let program = Flags::command();
    let folders = ["crates/", "src/", "tests/", "docs/", "data/", "fuzz/", "bench/", "benches/"];
    let mut looked_up = 0;
    for (path, text) in documents() {
        for span in code_spans(&text) {
            let mut words = span.split_whitespace();
            let (first, second) = (words.next().unwrap_or(""), words.next());
            let plain = |word: &str| word.chars().all(|char| char.is_ascii_lowercase());
            match (first, second) {
                ("baton", Some(word)) if plain(word) => {
                    let known = program.find_subcommand(word).is_some() || word == "help";
                    assert!(known, "{path}: there is no `{span}`");
                }
                ("make", Some(word)) => {
                    let known = makefile.contains(&format!("\n{word}:"));
                    assert!(known, "{path}: there is no `{span}`");
                }
                (file, None) if folders.iter().any(|folder| file.starts_with(folder)) => {
                    let is_pattern = file.contains(['*', '{', '<']);
                    let known = is_pattern || root().join(file).exists();
                    assert!(known, "{path}: there is no `{span}`");
                }
                _ => continue,
            }
            looked_up += 1;
        }
    }
    assert!(looked_up >= 20, "documents name what there is: {looked_up}");
}

#[test]
fn the_reader_of_documents_sees_what_is_there() {
    let text = "a `make x` [l](docs/a.md#b-c)\n```sh\nbaton run --a 'b c' | d # e\n```\n";
    assert_eq!(fenced(text, &["sh"]), ["baton run --a 'b c' | d # e\n"]);
    assert_eq!(calls(&fenced(text, &["sh"])[0]), [["baton", "run", "--a", "b c"]]);
    assert_eq!(calls("x && baton a \\\n  b\n"), [["baton", "a", "b"]]);
    assert!(fenced(text, &["toml"]).is_empty());
    assert_eq!(links(&prose(text)), ["docs/a.md#b-c"]);
    assert_eq!(code_spans(text), ["make x"]);
    assert_eq!(slug("## B, C"), "b-c");
    assert_eq!(slug("B, C"), "");
}

//! Rules on sources: each takes a file and says what is wrong with it.

use crate::source::{Source, has_word, is_word};
use crate::tables::{
    BANS, Ban, COLUMNS_MAX, FILE_LINES_MAX, FILE_NAMES_BANNED, FUNCTION_LINES_MAX, LONG_FILES,
    QUANTITIES, UNITS, Where,
};
use std::collections::BTreeSet;

/// A rule: what it finds in a file, each with path and line.
pub type Rule = fn(&Source) -> Vec<String>;

/// Files have at most [`FILE_LINES_MAX`] lines.
pub fn file_length(source: &Source) -> Vec<String> {
    let lines = source.text.len();
    let excepted = LONG_FILES.iter().any(|(path, _)| *path == source.path);
    if lines <= FILE_LINES_MAX || excepted {
        return Vec::new();
    }
    vec![format!("{}: {lines} lines, {FILE_LINES_MAX} at most: split it", source.path)]
}

/// Functions have at most [`FUNCTION_LINES_MAX`] lines.
pub fn function_length(source: &Source) -> Vec<String> {
    let functions = source.functions().into_iter();
    let long = functions.filter(|function| function.last - function.first >= FUNCTION_LINES_MAX);
    let say = |function: crate::source::Function| {
        let lines = function.last - function.first + 1;
        let text = format!("`{}` has {lines} lines, {FUNCTION_LINES_MAX} at most", function.name);
        at(source, function.first, &text)
    };
    long.map(say).collect()
}

/// Lines have at most [`COLUMNS_MAX`] columns.
pub fn columns(source: &Source) -> Vec<String> {
    let widths = source.text.iter().map(|line| line.chars().count()).enumerate();
    let wide = widths.filter(|(_, width)| *width > COLUMNS_MAX);
    wide.map(|(line, width)| at(source, line, &format!("{width} columns"))).collect()
}

/// Nothing of [`BANS`] is written.
pub fn banned(source: &Source) -> Vec<String> {
    if source.path.starts_with("tests/tidy") {
        return Vec::new(); // It names what it bans.
    }
    let excepted = |ban: &Ban| {
        ban.except.iter().any(|path| {
            *path == source.path || (path.ends_with('/') && source.path.starts_with(path))
        })
    };
    let mut problems = Vec::new();
    for ban in BANS.iter().filter(|ban| !excepted(ban)) {
        for line in 0..source.text.len() {
            let holds = match ban.place {
                Where::Code | Where::Text => true,
                Where::Shipped => !source.is_test(line),
                Where::Tests => source.is_test(line),
                Where::Libraries => source.path.starts_with("crates/") && !source.is_test(line),
            };
            let lines = if ban.place == Where::Text { &source.text } else { &source.code };
            if holds && has_word(&lines[line], ban.word) {
                problems.push(at(source, line, &format!("{}: {}", ban.word, ban.why)));
            }
        }
    }
    problems
}

/// A field or constant that is a plain number and is named after a quantity of [`QUANTITIES`] says
/// its unit: behind the quantity (`timeout_ms`), or in the comment above it.
pub fn units(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        let Some((name, kind)) = declared(code) else { continue };
        let last = name.rsplit('_').next().unwrap_or(name).to_lowercase();
        if !is_plain_number(kind) || !QUANTITIES.contains(&last.as_str()) {
            continue;
        }
        let above = source.text[..line].iter().rev();
        let comment = above.take_while(|text| text.trim_start().starts_with("//"));
        let says = |text: &String| UNITS.iter().any(|unit| has_word(&text.to_lowercase(), unit));
        if !source.is_test(line) && !comment.into_iter().any(says) {
            let text = format!("`{name}` is in which unit? Say it last in the name, or above it");
            problems.push(at(source, line, &text));
        }
    }
    problems
}

/// Name and type of the field, argument or constant that a line declares.
fn declared(code: &str) -> Option<(&str, &str)> {
    let (name, kind) = code.split_once(": ")?;
    let mut name = name.trim_start();
    for word in ["pub", "(crate)", "(super)", "const", "static"] {
        name = name.strip_prefix(word).unwrap_or(name).trim_start();
    }
    (!name.is_empty() && name.chars().all(is_word)).then_some((name, kind))
}

fn is_plain_number(kind: &str) -> bool {
    let kind = kind.split('=').next().unwrap_or(kind);
    let numbers = ["u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "f32", "f64"];
    let atomics = ["AtomicU32", "AtomicU64", "AtomicUsize", "AtomicI64"];
    // Not a list of numbers, and not an expression.
    let alone = !kind.contains("&[") && !kind.contains("Vec<") && !kind.contains('(');
    alone && numbers.iter().chain(&atomics).any(|number| has_word(kind, number))
}

/// A file opens with what it is for; a crate with what it is, in capitals.
pub fn header(source: &Source) -> Vec<String> {
    let first = source.text.first().map_or("", String::as_str);
    let Some(text) = first.strip_prefix("//! ") else {
        return vec![at(source, 0, "a file opens with `//!` and what it is for")];
    };
    let is_crate = source.path.starts_with("crates/") && source.path.ends_with("/src/lib.rs");
    let noun = text.split_once(": ").map_or("", |(noun, _)| noun);
    if is_crate && (noun.is_empty() || noun.chars().any(char::is_lowercase)) {
        return vec![at(source, 0, "a crate opens with its part in capitals: `//! WHO SERVES: `")];
    }
    Vec::new()
}

/// Where a lint is relaxed, the reason stands within, beside or above.
pub fn relaxed(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        let attribute = code.trim_start().trim_start_matches(['#', '!', '[']);
        let relaxes = attribute.starts_with("allow(") || attribute.starts_with("expect(");
        if !relaxes || !code.trim_start().starts_with('#') {
            continue;
        }
        let end = (line..source.code.len()).find(|at| source.code[*at].contains(']'));
        let within = source.text[line..=end.unwrap_or(line)].iter();
        let reason = within.clone().any(|text| text.contains("reason = ") || text.contains("//"));
        let above = line > 0 && source.text[line - 1].trim_start().starts_with("// ");
        if !reason && !above {
            problems.push(at(source, line, "a lint is relaxed without a reason"));
        }
    }
    problems
}

/// Files have names of the field, functions no `get_`, tests are named by sentences.
pub fn names(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    let stem = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    if FILE_NAMES_BANNED.contains(&stem) {
        problems.push(format!("{}: {stem} says nothing of what is in it", source.path));
    }
    for function in source.functions() {
        let name = &function.name;
        if name.starts_with("get_") && name != "get_mut" {
            let text = format!("`{name}`: a question needs no verb, name it by what it returns");
            problems.push(at(source, function.first, &text));
        }
        let above = function.first.checked_sub(1).map_or("", |at| &source.code[at]);
        if above.trim() == "#[test]" && name.matches('_').count() < 2 {
            let text = format!("`{name}`: a test's name is a sentence that can be true or false");
            problems.push(at(source, function.first, &text));
        }
    }
    problems
}

/// Every file is part of something that is built.
pub fn dead(sources: &[Source]) -> Vec<String> {
    let mut alive = BTreeSet::new();
    let mut open: Vec<&Source> = sources.iter().filter(|source| is_entry(&source.path)).collect();
    while let Some(source) = open.pop() {
        if alive.insert(source.path.as_str()) {
            let modules = modules(source);
            open.extend(sources.iter().filter(|other| modules.contains(&other.path)));
        }
    }
    let dead = sources.iter().filter(|source| !alive.contains(source.path.as_str()));
    dead.map(|source| format!("{}: no module and no target has it", source.path)).collect()
}

/// Whether cargo begins to build here.
fn is_entry(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder_last = folder.rsplit('/').next().unwrap_or(folder);
    let above = folder.rsplit('/').nth(1).unwrap_or("");
    let targets = ["tests", "benches", "examples", "fuzz_targets"];
    (folder_last == "src" && (name == "lib.rs" || name == "main.rs"))
        || name == "build.rs"
        || targets.contains(&folder_last)
        || (targets.contains(&above) && name == "main.rs")
}

/// The files that a file's `mod name;` may mean.
fn modules(source: &Source) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let own = if is_entry(&source.path) || name == "mod.rs" {
        folder.to_owned()
    } else {
        format!("{folder}/{}", name.trim_end_matches(".rs"))
    };
    let mut found = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        let words: Vec<&str> = code.split_whitespace().collect();
        let [.., "mod", module] = words.as_slice() else { continue };
        let Some(module) = module.strip_suffix(';') else { continue };
        let above = line.checked_sub(1).map_or("", |at| source.text[at].trim());
        let path = above.strip_prefix("#[path = \"").and_then(|path| path.strip_suffix("\"]"));
        match path {
            Some(path) => found.push(joined(folder, path)),
            None => {
                found.push(format!("{own}/{module}.rs"));
                found.push(format!("{own}/{module}/mod.rs"));
            }
        }
    }
    found
}

/// A path from a folder, with `..` resolved.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn at(source: &Source, line: usize, text: &str) -> String {
    format!("{}:{}: {text}", source.path, line + 1)
}

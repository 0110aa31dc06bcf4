//! `baton policies`: which policies there are, where they come from and what can be set.

use crate::config::{nearest, quoted};
use crate::exit::{Exit, Outcome, usage};
use crate::flags::Policies;
use policy::{Entry, POLICIES};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Columns of a line.
const WIDTH: usize = 96;

/// Prints all policies in short, or some with their parameters.
///
/// # Errors
/// When nothing can be written.
pub fn run(args: &Policies) -> Outcome {
    let mut chosen = Vec::new();
    for name in &args.names {
        match policy::entry(name) {
            Some(entry) => chosen.push(entry),
            None => return usage(&format!("there is no policy {name:?}; {}", remedy(name))),
        }
    }
    let all = args.names.is_empty();
    let entries = if all { POLICIES.iter().collect() } else { chosen };
    let mut out = io::stdout().lock();
    if args.answer.json {
        let rows: Vec<_> = entries.iter().map(|entry| row(entry)).collect();
        writeln!(out, "{:#}", Value::from(rows))?;
        return Ok(Exit::Done);
    }
    let texts: Vec<_> = entries.iter().map(|entry| text(entry, !all)).collect();
    out.write_all(texts.join("\n").as_bytes())?;
    if all {
        writeln!(out, "\n`baton policies NAME` tells what each parameter means.")?;
    }
    Ok(Exit::Done)
}

fn remedy(name: &str) -> String {
    let names: Vec<_> = POLICIES.iter().map(|entry| entry.name).collect();
    match nearest(name, &names) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are {}", quoted(&names)),
    }
}

fn row(entry: &Entry) -> Value {
    let param = |param: &policy::Param| {
        json!({
            "name": param.name,
            "kind": param.kind.describe(),
            "default": (param.default)().to_string(),
            "about": param.about,
        })
    };
    json!({
        "name": entry.name,
        "aliases": entry.aliases,
        "about": entry.about,
        "paper": entry.paper,
        "params": entry.params.iter().map(param).collect::<Vec<_>>(),
    })
}

fn text(entry: &Entry, full: bool) -> String {
    let mut out = entry.name.to_owned();
    if !entry.aliases.is_empty() {
        out += &format!("  (also {})", entry.aliases.join(", "));
    }
    out.push('\n');
    out += &wrapped(entry.about, 4);
    out += &wrapped(&format!("Source: {}", entry.paper), 4);
    let defaults = |param: &policy::Param| format!("{} = {}", param.name, (param.default)());
    if full {
        for param in entry.params {
            out += &format!("\n    {}\n", defaults(param));
            out += &wrapped(&format!("{}; {}", param.about, param.kind.describe()), 8);
        }
    } else if !entry.params.is_empty() {
        let list: Vec<_> = entry.params.iter().map(defaults).collect();
        out += &wrapped(&format!("Parameters: {}", list.join(", ")), 4);
    }
    out
}

/// Text in lines of at most [`WIDTH`], each begun by `indent` spaces.
fn wrapped(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column == 0 || column + 1 + length > WIDTH {
            if column > 0 {
                out.push('\n');
            }
            out += &" ".repeat(indent);
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out.push('\n');
    out
}

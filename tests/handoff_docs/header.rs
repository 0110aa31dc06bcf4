//! What the C header and the programs say, read as text: for that no compiler has to be there.

use crate::read;
use std::collections::{BTreeMap, BTreeSet};

/// Files of the kernel's side that front-end and server have to do with.
const SOURCES: &[&str] = &[
    "acquaintance.h",
    "adopt.h",
    "back.bpf.c",
    "cookie.h",
    "decide.h",
    "early.h",
    "envelop.h",
    "envelope.h",
    "flow.h",
    "follow.h",
    "front.bpf.c",
    "handoff.h",
    "maps.h",
    "packet.h",
    "relay.h",
    "reply.h",
    "scan.h",
    "siphash.h",
    "stranger.h",
];

/// A field of the envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub offset: u64,
    pub bytes: u64,
    pub name: String,
}

fn source(name: &str) -> String {
    read(&format!("crates/handoff/bpf/{name}"))
}

/// What is between the braces of a struct or an enum.
fn body(what: &str) -> String {
    let header = source("handoff.h");
    let rest = header.split_once(&format!("\n{what} {{")).unwrap_or_else(|| panic!("{what}")).1;
    let body = rest.split_once("}").expect("it is closed").0;
    // Without comments, which may hold commas.
    let mut text = String::new();
    for (at, part) in body.split("/*").enumerate() {
        text += if at == 0 { part } else { part.split_once("*/").map_or("", |(_, rest)| rest) };
    }
    text
}

/// The fields of `struct envelope`, where C puts them; the header's own assertion says that there
/// is no gap.
pub fn envelope() -> Vec<Field> {
    let mut fields = Vec::new();
    let mut offset = 0;
    for declaration in body("struct envelope").split(';') {
        let Some((kind, name)) = declaration.trim().split_once(' ') else { continue };
        let bits: u64 = kind.trim_start_matches("__u").parse().expect("it is an unsigned number");
        let name = name.trim().to_owned();
        fields.push(Field { offset, bytes: bits / 8, name });
        offset += bits / 8;
    }
    let asserted = format!("SIZE(envelope, {offset});");
    assert!(source("handoff.h").contains(&asserted), "{asserted}");
    fields
}

/// The names of an enum's numbers, without their prefix.
pub fn numbers(of: &str, prefix: &str) -> BTreeMap<String, u64> {
    let body = body(&format!("enum {of}"));
    let one = |item: &str| {
        let (name, number) = item.trim().split_once(" = ")?;
        Some((name.strip_prefix(prefix)?.to_owned(), number.trim().parse().ok()?))
    };
    let found: BTreeMap<String, u64> = body.split(',').filter_map(one).collect();
    assert!(!found.is_empty(), "enum {of} has numbers");
    found
}

/// The names of the counters.
pub fn counters() -> Vec<String> {
    let names = body("enum count");
    let names = names.split(',').filter_map(|name| name.trim().strip_prefix("COUNT_"));
    names.map(str::to_lowercase).filter(|name| name != "end").collect()
}

/// The counters that a program counts, by itself or in what it includes.
pub fn counted_by(program: &str) -> BTreeSet<String> {
    let mut wanted = vec![format!("{program}.bpf.c")];
    let mut texts = BTreeMap::new();
    while let Some(name) = wanted.pop() {
        if texts.contains_key(&name) {
            continue;
        }
        let text = source(&name);
        let included = text.lines().filter_map(|line| line.strip_prefix("#include \""));
        wanted.extend(included.filter_map(|rest| Some(rest.strip_suffix('"')?.to_owned())));
        texts.insert(name, text);
    }
    // Where they are declared nobody counts.
    texts.remove("handoff.h");
    let of = |text: &String| -> Vec<String> {
        let uses = text.split("COUNT_").skip(1);
        let word = |rest: &str| {
            let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_');
            rest[..end.unwrap_or(rest.len())].to_lowercase()
        };
        uses.map(word).collect()
    };
    texts.values().flat_map(of).filter(|name| name != "end").collect()
}

/// Whether a field of the header has this name.
pub fn structs_have(name: &str) -> bool {
    let header = source("handoff.h");
    header.contains(&format!(" {name};")) || header.contains(&format!(" {name}["))
}

/// The number that a macro of the kernel's side stands for.
pub fn defined(name: &str) -> u64 {
    let lines: Vec<String> = SOURCES.iter().map(|file| source(file)).collect();
    let mut found = lines.iter().flat_map(|text| text.lines()).filter_map(|line| {
        let rest = line.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix(' ')?;
        let word = rest.trim().split([' ', '\t']).next()?;
        let digits = word.trim_end_matches(['u', 'l']);
        match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => digits.parse().ok(),
        }
    });
    found.next().unwrap_or_else(|| panic!("{name} is defined as a number"))
}

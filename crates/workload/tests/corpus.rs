//! Method: every file of the fuzz targets' corpora, and a few thousand mutations of it drawn from a
//! fixed seed, goes through the same check as under the fuzzer; no panic, no broken promise.

#[path = "../fuzz/check.rs"]
mod check;

use policy::Dice;
use std::path::{Path, PathBuf};

/// Mutations of each corpus file.
const MUTATIONS: usize = 1000;

/// Mutations of each format's table: each is read in every format, in three ways.
const MUTATIONS_OF_TABLES: usize = 40;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let files = std::fs::read_dir(folder).expect("the corpus is part of the repository");
    let mut paths: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    assert!(paths.len() >= 3, "the corpus of {name} is there");
    paths.iter().map(|path| std::fs::read(path).expect("corpus files are readable")).collect()
}

/// The tables of the formats (`formats.rs`): their verdicts and remarks are bad lines here.
fn tables() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let table = |format: &workload::Format| {
        std::fs::read(folder.join(format!("{}.txt", format.name))).expect("each format has one")
    };
    workload::FORMATS.iter().map(table).collect()
}

/// Bytes on which the formats turn.
const TURNS: &[u8] = b" \t\n\r\"[]-:/?%&=~\\#0919GA\0\x7f\xff";

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let turn = TURNS[dice.below(TURNS.len())];
        match dice.below(5) {
            0 => bytes.insert(at, turn),
            1 if at < bytes.len() => bytes[at] = turn,
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            _ => {
                let end = (at + dice.below(24)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = dice.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
        }
    }
}

fn run(seeds: Vec<Vec<u8>>, mutations: usize, check: impl Fn(&[u8])) {
    let mut dice = Dice::new(1);
    for seed in seeds {
        check(&seed);
        for _ in 0..mutations {
            let mut bytes = seed.clone();
            mutate(&mut bytes, &mut dice);
            check(&bytes);
        }
    }
}

#[test]
fn any_bytes_as_a_common_log_are_counted_or_understood() {
    run(corpus("clf"), MUTATIONS, |bytes| check::log("clf", bytes));
}

#[test]
fn any_bytes_as_an_epa_log_are_counted_or_understood() {
    run(corpus("epa"), MUTATIONS, |bytes| check::log("epa", bytes));
}

#[test]
fn any_bytes_as_our_own_trace_are_counted_or_understood() {
    run(corpus("baton"), MUTATIONS, |bytes| check::log("baton", bytes));
}

#[test]
fn any_bytes_in_any_format_are_counted_or_understood() {
    run(tables(), MUTATIONS_OF_TABLES, check::any);
}

#[test]
fn any_bytes_as_a_format_of_ones_own_are_refused_or_understood() {
    run(corpus("pattern"), MUTATIONS, check::pattern);
}

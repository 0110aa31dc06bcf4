//! The configuration reader against hostile text: nothing makes it panic, whatever is wrong has a
//! place within the text and a remedy, and reading twice says the same.
//!
//! Inputs are the fuzzer's corpus (fuzz/corpus/config), the cases of config_mistakes.txt, and
//! mutations of all of them by a seeded generator, so that stable Rust runs in `make test` what
//! `cargo fuzz run config` explores further.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use baton::config::{Config, LoadError};
use policy::Dice;
use std::path::Path;

/// Mutations of each input.
const ROUNDS: usize = 150;

#[test]
fn no_text_makes_reading_it_fail_badly() {
    let inputs = inputs();
    assert!(inputs.len() > 60, "the corpus is read: {}", inputs.len());
    let mut dice = Dice::new(1);
    let mut refused = 0;
    for input in &inputs {
        probe(input);
        for _ in 0..ROUNDS {
            let other = &inputs[dice.below(inputs.len())];
            refused += usize::from(!probe(&mutated(input, other, &mut dice)));
        }
    }
    assert!(refused > inputs.len() * ROUNDS / 4, "mutations do reach the diagnoses: {refused}");
}

/// Reads a text and checks what is promised for all of them; whether it was accepted.
fn probe(text: &str) -> bool {
    let env = |name: &str| name.len().is_multiple_of(2).then(|| name.to_lowercase());
    let read = || Config::parse("fuzz", text, &env);
    let diagnosis = match (read(), read()) {
        (Ok(once), Ok(twice)) => {
            assert_eq!(once.config, twice.config);
            once.warnings
        }
        (Err(LoadError::Invalid(once)), Err(LoadError::Invalid(twice))) => {
            assert_eq!(once.problems, twice.problems);
            assert!(!once.problems.is_empty(), "a refusal has a reason: {text:?}");
            once
        }
        other => panic!("{other:?}"),
    };
    for problem in &diagnosis.problems {
        assert!(!problem.message.is_empty() && !problem.remedy.is_empty(), "{problem:?}");
        if let Some(place) = &problem.place {
            assert!(place.span.end <= diagnosis.sources[place.source].text.len(), "{problem:?}");
        }
    }
    assert!(diagnosis.human(false).len() + diagnosis.json().len() > 0);
    diagnosis.count(baton::config::Gravity::Error) == 0
}

fn inputs() -> Vec<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/config");
    let mut paths: Vec<_> = corpus.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let mut inputs: Vec<_> = paths.into_iter().map(read).collect();
    let mistakes = include_str!("config_mistakes.txt").split("### ").skip(1);
    inputs.extend(mistakes.map(|case| case.split("---").next().unwrap().to_owned()));
    inputs
}

/// One to four edits: bytes lost, doubled, replaced by telling ones, or taken from another input.
fn mutated(text: &str, other: &str, dice: &mut Dice) -> String {
    const TELLING: [&str; 12] =
        ["\"", "[", "]", "=", "${", "}", "\n", "\0", "é", "[[", "99999999999999999999", "-"];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=dice.below(4) {
        let at = dice.below(chars.len() + 1);
        let end = (at + dice.below(12)).min(chars.len());
        match dice.below(4) {
            0 => drop(chars.drain(at..end)),
            1 => chars.splice(at..at, chars[at..end].to_vec()).for_each(drop),
            2 => chars.splice(at..at, TELLING[dice.below(TELLING.len())].chars()).for_each(drop),
            _ => {
                let piece: Vec<_> = other.chars().collect();
                let from = dice.below(piece.len() + 1);
                let to = (from + dice.below(60)).min(piece.len());
                chars.splice(at..end, piece[from..to].iter().copied()).for_each(drop);
            }
        }
    }
    chars.into_iter().collect()
}

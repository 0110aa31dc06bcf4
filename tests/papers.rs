//! What the papers claim, against what the simulator gives. Method: every claim of our notes has
//! exactly one row; the small workloads are run here, and what they give is pinned to the last
//! digit in `tests/papers.txt`; the page of results is what the numbers beside it say, and each
//! finding there is the one that the claim's row foretells.
//!
//! `UPDATE=1 cargo test --test papers` writes the pins anew: read the difference before you keep
//! it, and make the figures again (`make figures`).

use baton::figures;
use sim::{Figures, Scale, Verdict, papers};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{fs, thread};

/// The claims of each paper, numbered from 1.
const NUMBERED: [(&str, usize); 5] =
    [("LARD", 12), ("PH", 15), ("SC", 10), ("CAP", 13), ("CW", 11)];

#[test]
fn every_claim_has_exactly_one_row() {
    let mut rows: Vec<&str> = papers::claims().map(|claim| claim.id).collect();
    let numbered = |(paper, last)| (1..=last).map(move |number| format!("{paper}-C{number}"));
    let mut wanted: Vec<String> = NUMBERED.into_iter().flat_map(numbered).collect();
    rows.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(rows, wanted);
}

#[test]
fn a_claim_names_its_figures_and_says_why_it_fails() {
    let studies: BTreeSet<&str> = papers::studies().map(|study| study.id).collect();
    for claim in papers::claims() {
        let unknown = claim.needs.iter().find(|id| !studies.contains(*id));
        assert_eq!(unknown, None, "{} is judged by a figure that nobody makes", claim.id);
        match claim.verdict {
            Verdict::NotSimulated(why) => {
                assert!(claim.needs.is_empty(), "{}: not simulated, yet judged", claim.id);
                assert!(why.len() > 20, "{} does not say why", claim.id);
            }
            Verdict::NotReproduced(why) => {
                assert!(!claim.needs.is_empty(), "{} is judged by nothing", claim.id);
                assert!(why.len() > 40, "{} has no analysis", claim.id);
            }
            Verdict::Reproduced => assert!(!claim.needs.is_empty(), "{}: by nothing", claim.id),
        }
    }
}

#[test]
fn small_workloads_give_what_is_pinned() {
    let studies: Vec<_> = papers::studies().collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let figures = figures::make(&studies, Scale::Quick, threads, false);
    let mut found = String::new();
    for claim in papers::claims() {
        if let Some(finding) = claim.finding(&figures) {
            let word = if finding.holds { "holds" } else { "fails" };
            let _ = writeln!(found, "{}: {word}: {}", claim.id, finding.measured);
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/papers.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).expect("the pins are written");
    }
    let pinned = fs::read_to_string(&path).expect("the pins are there");
    for (line, pin) in found.lines().zip(pinned.lines()) {
        assert_eq!(line, pin);
    }
    assert_eq!(found.lines().count(), pinned.lines().count());
}

#[test]
fn the_page_of_results_is_what_its_numbers_say() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut stored = Figures::new();
    for study in papers::studies() {
        let figure = figures::load(&docs.join("figures"), study).expect("the numbers are there");
        stored.insert(study.id, figure);
    }
    let (_, counts) = figures::table(&stored, Scale::Full);
    assert_eq!(counts.unexpected, 0, "`baton claims --from docs/figures` shows which");
    let page = fs::read_to_string(docs.join("RESULTS.md")).expect("the page is there");
    assert!(figures::render(&stored) == page, "docs/RESULTS.md is stale: `make figures` makes it");
}

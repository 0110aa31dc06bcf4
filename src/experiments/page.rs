//! Pages of results: one for each experiment beside its numbers, and the live experiments' part of
//! docs/RESULTS-LIVE.md. Made from the tables alone.

use super::claims::{CLAIMS, LiveClaim, Tables};
use super::machine::OTHER_SCENARIO;
use super::picture::axis;
use super::table::short;
use super::{EXPERIMENTS, Experiment, Table};
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Around the part of the page that is ours.
const BEGIN: &str = "<!-- baton experiment --page writes from here -->\n";
const END: &str = "<!-- to here -->\n";

/// The tables that lie in `folder`; those that were never measured are left out.
///
/// # Errors
/// A table that is damaged.
pub fn tables(folder: &Path) -> Result<Tables> {
    let mut all = Tables::new();
    for experiment in EXPERIMENTS {
        if folder.join(experiment.name).join("results.csv").exists() {
            all.insert(experiment.name, Table::load(folder, experiment.name)?);
        }
    }
    Ok(all)
}

/// The page of one experiment.
pub fn readme(experiment: &Experiment, table: &Table) -> String {
    let mut text = format!("# {}\n\nModelled {}.\n\n", experiment.title, experiment.source);
    text.push_str(&section(experiment, table, ""));
    text
}

/// The live experiments' part of the page of results. `folder` is the way from the page to the
/// experiments.
pub fn render(tables: &Tables, folder: &str) -> String {
    let mut text = format!(
        "{BEGIN}\n## Live experiments\n\nWhat the papers did with prototypes, done again by `baton \
         experiment` (`make experiments`, about half an hour; `make experiments-quick`, \
         five), which writes this part from the numbers in [experiments]({folder}). Times and \
         rates are those of the modelled cluster, whose seconds last as long as the time scale \
         says; CPU shares, and what is called real, are the machine's. A number is the middle of \
         its repeats, with the least and the greatest behind it. One with `*` was measured where \
         something other than the modelled cluster may have been the bottleneck; the table's \
         column `limit` says what: `front`, `client`, `origins` and `machine` were busy, `others` \
         used the processors (other programs, or other machines on the same ones), answers were \
         `late`, the `window` of time ended before its requests did. What others disturbed is \
         measured anew by `baton experiment NAME --again`.\n\n"
    );
    text.push_str(
        "### Claims\n\n| claim | outcome | what was published | measured here | notes |\n",
    );
    text.push_str("|---|---|---|---|---|\n");
    for claim in CLAIMS {
        text.push_str(&line(claim, tables));
    }
    for experiment in EXPERIMENTS {
        let Some(table) = tables.get(experiment.name) else {
            let _ = write!(text, "\n### {}\n\nNot measured yet.\n", experiment.title);
            continue;
        };
        let _ = write!(text, "\n### {}\n\nModelled {}.\n\n", experiment.title, experiment.source);
        text.push_str(&section(experiment, table, &format!("{folder}/{}/", experiment.name)));
    }
    text.push_str(END);
    text
}

fn line(claim: &LiveClaim, tables: &Tables) -> String {
    let table = tables.get(claim.needs);
    let outcome = table.and_then(|table| claim.outcome(table));
    let (word, measured) = match &outcome {
        None => ("not measured", "-"),
        Some(outcome) => (outcome.verdict.name(), outcome.measured.as_str()),
    };
    let quick = table.is_some_and(|table| table.note("size") == "quick");
    let quick = if quick && outcome.is_some() { " (quick run)" } else { "" };
    format!(
        "| {} | {word}{quick} | {}: {} | {measured} | {} |\n",
        claim.id, claim.says, claim.published, claim.notes
    )
}

fn section(experiment: &Experiment, table: &Table, folder: &str) -> String {
    let mut text = format!(
        "The paper: {}\n\nHere: {}\n\n",
        collapsed(experiment.paper),
        collapsed(experiment.here)
    );
    let own = !table.note("command").ends_with(OTHER_SCENARIO);
    if own && !experiment.left_out.is_empty() {
        let _ = write!(
            text,
            "Not measured, for all experiments have half an hour together: {}. A scenario that \
             has it is measured by `baton experiment {} --scenario FILE --out FOLDER`.\n\n",
            collapsed(experiment.left_out),
            experiment.name
        );
    }
    text.push_str("```text\n");
    for (key, value) in &table.notes {
        let _ = writeln!(text, "{key}: {value}");
    }
    let _ = writeln!(
        text,
        "```\n\nScenario: [{folder}scenario.toml]({folder}scenario.toml). All numbers: \
         [results.csv]({folder}results.csv)."
    );
    text.push_str(&busy(table));
    for case in table.cases() {
        let _ = write!(text, "\n#### {case}\n\n");
        for picture in experiment.pictures.iter().filter(|picture| picture.case == case) {
            let _ = writeln!(text, "![{}]({folder}{})", picture.title, picture.file());
        }
        for column in experiment.columns {
            text.push_str(&grid(table, case, column));
        }
    }
    text
}

/// Whether the machine had other work, said aloud; empty if it had none.
fn busy(table: &Table) -> String {
    let mut text = String::new();
    let cores = table.note("machine").split(' ').next().and_then(|word| word.parse::<f64>().ok());
    let load = table.note("load average").parse::<f64>().ok();
    if let Some((load, cores)) = load.zip(cores).filter(|(load, cores)| *load > 0.5 * cores) {
        let _ = write!(
            text,
            "\n**The machine was busy when this began**: load average {load} on {cores:.0} cores \
             (an experiment just before counts too).\n"
        );
    }
    let disturbed = table.rows.iter().filter(|row| row.is_disturbed()).count();
    let points = table.rows.len();
    if disturbed > 0 {
        let _ = write!(
            text,
            "\n**Other programs worked during {disturbed} of {points} points** (`others`): \
             claims are judged by the repeats without them where two remain, and by none where \
             not.\n"
        );
    }
    text
}

/// One column: curves downwards, places to the right.
fn grid(table: &Table, case: &str, column: &'static str) -> String {
    let places = table.places(case);
    let mut text = format!("\n{}:\n\n| |", axis(table, case, column));
    places.iter().for_each(|x| text.push_str(&format!(" {} |", short(*x))));
    text.push_str("\n|---|");
    places.iter().for_each(|_| text.push_str("---|"));
    text.push('\n');
    let mut any = false;
    for curve in table.curves(case) {
        let _ = write!(text, "| {curve} |");
        for x in &places {
            let Some(spread) = table.at(case, curve, *x, column) else {
                text.push_str(" - |");
                continue;
            };
            any = true;
            let mark = if spread.limited { "*" } else { "" };
            let _ = write!(text, " {}{mark}", rounded(spread.median));
            if spread.max > spread.min {
                let _ = write!(text, " ({} to {})", rounded(spread.min), rounded(spread.max));
            }
            text.push_str(" |");
        }
        text.push('\n');
    }
    if any { text } else { String::new() }
}

/// As many digits as can be told apart.
pub(super) fn rounded(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The page with our part replaced; at its end where it had none.
pub fn inserted(page: &str, part: &str) -> String {
    match (page.find(BEGIN), page.find(END)) {
        (Some(begin), Some(end)) if begin < end => {
            format!("{}{part}{}", &page[..begin], &page[end + END.len()..])
        }
        _ => format!("{}\n\n{part}", page.trim_end()),
    }
}

/// Our part of a page; empty if it has none.
pub fn part(page: &str) -> &str {
    match (page.find(BEGIN), page.find(END)) {
        (Some(begin), Some(end)) if begin < end => &page[begin..end + END.len()],
        _ => "",
    }
}

/// Writes our part of the page at `path` anew from the tables in `folder`.
///
/// # Errors
/// A table that is damaged, or a page that cannot be read or written.
pub fn write(folder: &Path, path: &Path) -> Result<()> {
    let page =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(
        page.contains(BEGIN),
        "{} has no part for the experiments: put the lines\n{BEGIN}{END}where it shall be",
        path.display()
    );
    let text = inserted(&page, &render(&tables(folder)?, &way(path, folder)));
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The way from a page to a folder, for links. Where it cannot be told, the folder as it is named.
fn way(page: &Path, folder: &Path) -> String {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    let (Some(page), Some(to)) = (whole(page), whole(folder)) else {
        return folder.display().to_string();
    };
    let from = page.parent().unwrap_or(&page);
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).map(|part| part.as_os_str().display().to_string());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Row;

    #[test]
    fn our_part_is_replaced_and_others_are_left_alone() {
        let first = inserted("# Page\n\ntheirs\n", &format!("{BEGIN}one\n{END}"));
        assert_eq!(first, format!("# Page\n\ntheirs\n\n{BEGIN}one\n{END}"));
        let after = format!("{first}\nbelow\n");
        let second = inserted(&after, &format!("{BEGIN}two\n{END}"));
        assert_eq!(second, format!("# Page\n\ntheirs\n\n{BEGIN}two\n{END}\nbelow\n"));
        assert_eq!(part(&second), format!("{BEGIN}two\n{END}"));
        assert_eq!(part("# Page\n"), "");
    }

    #[test]
    fn links_lead_from_the_page_to_the_numbers_and_a_page_without_a_place_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (docs, out) = (folder.path().join("docs"), folder.path().join("found/here"));
        fs::create_dir_all(&docs).expect("made");
        fs::create_dir_all(&out).expect("made");
        let page = docs.join("page.md");
        fs::write(&page, "# Page\n").expect("written");
        assert_eq!(way(&page, &out), "../found/here");
        let error = write(&out, &page).expect_err("it has no place").to_string();
        assert!(error.contains("page.md") && error.contains(BEGIN), "{error}");
        assert_eq!(fs::read_to_string(&page).expect("read"), "# Page\n");
    }

    #[test]
    fn a_busy_machine_is_said_aloud() {
        let note = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        let mut row = Row::new("rice", "WRR", 6.0, 1);
        let notes = vec![note("machine", "2 x CPU, Linux"), note("load average", "0.90")];
        let mut table = Table { notes, rows: vec![row.clone()] };
        assert_eq!(busy(&table), "");
        table.notes[1].1 = "1.10".to_owned();
        assert!(busy(&table).contains("load average 1.1 on 2 cores"));
        row.limited_by("others");
        table.rows.push(row);
        assert!(busy(&table).contains("1 of 2 points"));
    }

    #[test]
    fn every_claim_has_its_experiment_and_every_picture_its_column() {
        for claim in CLAIMS {
            assert!(EXPERIMENTS.iter().any(|one| one.name == claim.needs), "{}", claim.id);
        }
        for experiment in EXPERIMENTS {
            let columns = experiment.pictures.iter().map(|picture| picture.column);
            for column in columns.chain(experiment.columns.iter().copied()) {
                assert!(super::super::COLUMNS.contains(&column), "{column}");
            }
        }
    }
}

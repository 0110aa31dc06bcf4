//! LIVE EXPERIMENTS: what the papers did with prototypes, done again with the real switch before
//! emulated servers, and beside other programs.
//!
//! An [`Experiment`] is a row of [`EXPERIMENTS`]: a scenario (`experiments/<name>/scenario.toml`),
//! the points that it makes, and pictures of them. All write the same table ([`Table`]), with what
//! may have been the bottleneck other than the modelled cluster noted at each point. The page of
//! results and the claims are read off those tables alone ([`page`]).

mod bars;
mod bed;
mod cap;
mod claims;
mod closed;
mod clubweb;
mod clubweb_static;
mod cluster;
mod gauge;
mod judges;
mod lab;
mod lard;
mod machine;
pub mod page;
mod peers;
mod phttp;
mod picture;
mod reader;
mod table;
mod users;
mod wrr;

pub use bed::Front;
pub use claims::{CLAIMS, LiveClaim, Outcome, Tables, Verdict};
pub use gauge::Reading;
pub use lab::{Job, Lab, Work};
pub use picture::Picture;
pub use reader::Reader;
pub use table::{COLUMNS, Row, Spread, Table};

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The shape: all of them together in less than five minutes.
    Quick,
    /// What the page is made from: about half an hour.
    Full,
}

impl Size {
    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// What part of the plan may be spent once more, on points that others disturbed: all
    /// experiments together have half an hour, or five minutes.
    pub const fn spare(self) -> f64 {
        match self {
            Self::Quick => 0.0,
            Self::Full => 0.08,
        }
    }
}

/// A live experiment.
pub struct Experiment {
    /// Its name on the command line, and its folder.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// After which paper and figures, as pictures say it: what they show was measured here.
    pub source: &'static str,
    /// What the paper did, and found.
    pub paper: &'static str,
    /// What is done here: what is real, and what is emulated.
    pub here: &'static str,
    /// What of the paper's is not measured by its own scenario; empty if everything is.
    pub left_out: &'static str,
    /// Its scenario, as TOML.
    pub scenario: &'static str,
    /// The points of a scenario, in the order in which they are measured.
    pub plan: fn(&str, Size) -> Result<Vec<Job>>,
    /// What is drawn.
    pub pictures: &'static [Picture],
    /// The columns that its page shows.
    pub columns: &'static [&'static str],
}

/// All of them.
pub const EXPERIMENTS: &[Experiment] = &[
    lard::EXPERIMENT,
    phttp::EXPERIMENT,
    clubweb_static::EXPERIMENT,
    cap::EXPERIMENT,
    clubweb::EXPERIMENT,
    wrr::EXPERIMENT,
];

/// The note of a point that could not be measured, and why.
pub const NOT_MEASURED: &str = "not measured";

/// The note of points that were measured again, and when.
const AGAIN: &str = "again";

/// What is said of a table: keys, which may come again, and texts.
type Notes = Vec<(String, String)>;

/// The experiments with these names; all of them for none.
///
/// # Errors
/// The first name that is no experiment's.
pub fn choose(names: &[String]) -> Result<Vec<&'static Experiment>, &str> {
    if names.is_empty() {
        return Ok(EXPERIMENTS.iter().collect());
    }
    let named = |name: &String| EXPERIMENTS.iter().find(|experiment| experiment.name == name);
    names.iter().map(|name| named(name).ok_or(name.as_str())).collect()
}

impl Experiment {
    /// About how long its own scenario takes, as planned.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn about(&self, size: Size) -> Result<Duration> {
        Ok((self.plan)(self.scenario, size)?.iter().map(|job| job.about).sum())
    }

    /// Measures a scenario; `None` when we were asked to stop. Of `known`, which was measured
    /// on the same machine, everything stays that others did not disturb.
    ///
    /// # Errors
    /// What is wrong with the scenario or with what is known, or that no point can be measured.
    pub fn measure(
        &self,
        lab: &Lab,
        scenario: &str,
        size: Size,
        known: Option<Table>,
    ) -> Result<Option<Table>> {
        let now = machine::notes(self, scenario, size);
        let mut jobs = (self.plan)(scenario, size)
            .with_context(|| format!("the scenario of {}", self.name))?;
        let order: Vec<Row> = jobs.iter().map(|job| job.row.clone()).collect();
        let mut rows = Vec::new();
        // Who asks for a few points again wants them undisturbed.
        let spare = if known.is_some() { 1.0 } else { size.spare() };
        if let Some(known) = &known {
            rows = kept(known, &order, &now)?;
            jobs.retain(|job| !rows.iter().any(|row| row.is_of(&job.row)));
            if jobs.is_empty() {
                return Ok(Some(known.clone()));
            }
        }
        let (left, all) = (jobs.len(), order.len());
        let began_ns = gauge::now_ns();
        let Some((found, failed)) = lab.run(self.name, jobs, spare)? else { return Ok(None) };
        rows.extend(found);
        let place = |row: &Row| order.iter().position(|planned| planned.is_of(row));
        rows.sort_by_key(place);
        let took_s = gauge::now_ns().saturating_sub(began_ns) as f64 / 1e9;
        let took = ("took".to_owned(), format!("{took_s:.0} s"));
        let now = now.into_iter().chain([took]).collect();
        let mut notes = match &known {
            Some(known) => chained(known, &now, &format!("{left} of {all} points")),
            None => now,
        };
        notes.extend(failed.into_iter().map(|reason| (NOT_MEASURED.to_owned(), reason)));
        Ok(Some(Table { notes, rows }))
    }

    /// Makes `<folder>/<name>`, and sees that something can be written there.
    ///
    /// # Errors
    /// When it cannot.
    pub fn prepare(&self, folder: &Path) -> Result<()> {
        let own = folder.join(self.name);
        fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
        let draft = own.join(".draft");
        fs::write(&draft, "").with_context(|| format!("cannot write to {}", own.display()))?;
        fs::remove_file(&draft).with_context(|| format!("cannot remove {}", draft.display()))
    }

    /// Writes table, pictures and page to `<folder>/<name>`.
    ///
    /// # Errors
    /// When the folder or a file cannot be written.
    pub fn save(&self, table: &Table, folder: &Path) -> Result<()> {
        let own = folder.join(self.name);
        fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
        for picture in self.pictures {
            picture.draw(table, self.source, &own)?;
        }
        // Read again as others will read it: pages are made from what is written.
        let text = table.csv();
        let write = |name: &str, text: &str| {
            let path = own.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write("results.csv", &text)?;
        write("README.md", &page::readme(self, &Table::parse(&text)?))
    }

    /// Writes what was measured to `<folder>/<name>`, where the page says that it is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_scenario(&self, scenario: &str, folder: &Path) -> Result<()> {
        let path = folder.join(self.name).join("scenario.toml");
        fs::write(&path, scenario).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The circumstances of a table of which `points` were measured again: those of the first time, and
/// a line for each time since.
fn chained(known: &Table, now: &Notes, points: &str) -> Notes {
    let told = |key: &str| now.iter().find(|(known, _)| known == key).map_or("", |(_, text)| text);
    let [date, commit, load, took] = ["date", "commit", "load average", "took"].map(told);
    let line = format!("{points}: {date}, commit {commit}, load average {load}, took {took}");
    let before = known.notes.iter().filter(|(key, _)| key != NOT_MEASURED).cloned();
    before.chain([(AGAIN.to_owned(), line)]).collect()
}

/// The rows of a table that need not be measured again: those that are planned and that others did
/// not disturb.
fn kept(known: &Table, planned: &[Row], notes: &Notes) -> Result<Vec<Row>> {
    for key in ["machine", "size", "scenario"] {
        let now = notes.iter().find(|(known, _)| known == key).map_or("", |(_, text)| text);
        let then = known.note(key);
        ensure!(
            now == then,
            "what is there was measured with {key} {then}, and this is {now}: measure all of it, \
             without --again"
        );
    }
    let is_planned = |row: &Row| planned.iter().any(|planned| planned.is_of(row));
    let good = known.rows.iter().filter(|row| !row.is_disturbed() && is_planned(row));
    Ok(good.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_disturbed_is_measured_again_and_the_rest_stays() {
        let row = |x: f64| Row::new("rice", "WRR", x, 1);
        let mut disturbed = row(2.0);
        disturbed.limited_by("others");
        let notes = |machine: &str| vec![("machine".to_owned(), machine.to_owned())];
        let known = Table { notes: notes("this one"), rows: vec![row(1.0), disturbed, row(3.0)] };
        let planned = [row(1.0), row(2.0), row(4.0)];
        let rows = kept(&known, &planned, &notes("this one")).expect("the same machine");
        assert_eq!(rows.iter().map(|row| row.x).collect::<Vec<_>>(), [1.0]);
        assert!(kept(&known, &planned, &notes("another")).is_err());
    }

    #[test]
    fn every_time_that_something_was_measured_again_stays_known() {
        let notes = |date: &str| -> Notes {
            let pairs = [("date", date), ("commit", "c"), ("load average", "0.1"), ("took", "9 s")];
            pairs.map(|(key, text)| (key.to_owned(), text.to_owned())).into()
        };
        let first = Table { notes: notes("monday"), rows: Vec::new() };
        let mut second = Table { notes: chained(&first, &notes("tuesday"), "2 of 9"), ..first };
        second.notes.push((NOT_MEASURED.to_owned(), "one".to_owned()));
        let third = Table { notes: chained(&second, &notes("friday"), "1 of 9"), ..second };
        assert_eq!((third.note("date"), third.note(NOT_MEASURED)), ("monday", ""));
        let again = third.notes.iter().filter(|(key, _)| key == AGAIN).map(|(_, text)| text);
        let again: Vec<&str> = again.map(String::as_str).collect();
        assert!(again[0].starts_with("2 of 9: tuesday, commit c"), "{again:?}");
        assert!(again[1].starts_with("1 of 9: friday, commit c"), "{again:?}");
    }
}

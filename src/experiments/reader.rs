//! Reading a table for a judgement: what nothing but the modelled cluster limited, and why the rest
//! is no ground for one.

use super::table::middle;
use super::{Row, Spread, Table};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// More requests than this share cut off at the end: latencies say too little then.
const CUT_OFF_MAX: f64 = 0.05;

/// Repeats without disturbance that replace all.
const CLEAN_MIN: usize = 2;

/// A table that remembers why what was read from it is no ground for a judgement.
pub struct Reader {
    pub(super) table: Table,
    doubts: RefCell<BTreeSet<String>>,
}

/// Repeats that were asked the same, one of each curve, which agree by themselves, and by how much
/// the one has to be above the other in each. Of two that are alike, the one is above the other in
/// three of three pairs once in 8 times, in five of five once in 32: fewer are no ground.
const PAIRS_MIN: usize = 5;
const PAIRS_APART: f64 = 1.02;

/// Two curves at one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// How many times as much: the middle of the repeats, each over the other's that was asked the
    /// same.
    pub ratio: f64,
    /// Whether every repeat of the one is above every repeat of the other, or each of at least
    /// five by 2 % above the other's that was asked the same.
    pub apart: bool,
}

/// What a figure has to be for its claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    /// As measured.
    Exact,
    /// At least as measured: what was cut off counts with its wait, so that a latency is never
    /// less than the figure.
    AtLeast,
}

/// The table without the repeats during which other programs worked, wherever enough others
/// remain. What these say plays no part in the choice.
fn undisturbed(table: &Table) -> Table {
    let clean = |row: &Row| {
        let same =
            |other: &&Row| other.case == row.case && other.curve == row.curve && other.x == row.x;
        table.rows.iter().filter(same).filter(|other| !other.is_disturbed()).count()
    };
    let kept = |row: &&Row| !row.is_disturbed() || clean(row) < CLEAN_MIN;
    Table { notes: table.notes.clone(), rows: table.rows.iter().filter(kept).cloned().collect() }
}

impl Reader {
    /// Reads `table`, of which nothing is doubted yet.
    pub fn new(table: &Table) -> Self {
        Self { table: undisturbed(table), doubts: RefCell::default() }
    }

    /// Why what was read is no ground for a judgement; empty if it is.
    pub fn doubts(&self) -> String {
        let doubts = self.doubts.borrow();
        doubts.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn doubt(&self, reason: String) {
        self.doubts.borrow_mut().insert(reason);
    }

    pub(super) fn rows(&self, case: &str, curve: &str, x: f64) -> Vec<&Row> {
        let here = |row: &&Row| row.case == case && row.curve == curve && row.x == x;
        self.table.rows.iter().filter(here).collect()
    }

    /// A figure that is the modelled cluster's.
    pub(super) fn at(&self, case: &str, curve: &str, x: f64, column: &str) -> Option<Spread> {
        self.read("", Sense::Exact, (case, curve, x), column)
    }

    /// The same of a figure that may be more in truth: a latency of which the claim says that it is
    /// the greater one.
    pub(super) fn at_least(&self, case: &str, curve: &str, x: f64, column: &str) -> Option<Spread> {
        self.read("", Sense::AtLeast, (case, curve, x), column)
    }

    /// The same where this limit is what the claim is about.
    pub(super) fn at_despite(
        &self,
        expected: &str,
        place: (&str, &str, f64),
        column: &str,
    ) -> Option<Spread> {
        self.read(expected, Sense::Exact, place, column)
    }

    fn read(
        &self,
        expected: &str,
        sense: Sense,
        (case, curve, x): (&str, &str, f64),
        column: &str,
    ) -> Option<Spread> {
        for row in self.rows(case, curve, x) {
            let limits = row.limit.split('+').filter(|limit| !limit.is_empty());
            for limit in limits.filter(|limit| *limit != expected) {
                self.doubt(format!("measured at another limit ({limit})"));
            }
            // In closed loop what is under way at the end is always cut off; rates do not care.
            let cut_off = column.ends_with("_ms") && row.get("cut_off") > CUT_OFF_MAX;
            if cut_off && sense == Sense::Exact {
                let most = CUT_OFF_MAX * 100.0;
                self.doubt(format!("more than {most:.0} % of {curve} at {x} were cut off"));
            }
            if row.get(column).is_nan() {
                self.doubt(format!("no {column} of {curve} at {x}"));
            }
        }
        self.table.at(case, curve, x, column)
    }

    /// `over` beside `under`: how many times as much, and whether repeats agree on it.
    pub(super) fn pair(&self, (case, x): (&str, f64), (over, under): (&str, &str)) -> Option<Pair> {
        let (all, others) =
            (self.at(case, over, x, "requests_s")?, self.at(case, under, x, "requests_s")?);
        let ratios = self.ratios((case, x), (over, under));
        let pairs = ratios.len() >= PAIRS_MIN && ratios.iter().all(|ratio| *ratio >= PAIRS_APART);
        // Where nothing was left of the same repeat of both, only the middles can be compared.
        let ratio = middle(&ratios).unwrap_or(all.median / others.median);
        Some(Pair { ratio, apart: self.above(&all, &others) || pairs })
    }

    /// `over` beside `under`, of the repeats that were asked the same, for the reader alone: no
    /// claim is judged by it, so that once is enough.
    pub(super) fn beside(&self, at: (&str, f64), (over, under): (&str, &str)) -> Option<f64> {
        middle(&self.ratios(at, (over, under)))
    }

    /// Each repeat of `over` over that of `under` that was asked the same, in order of size.
    fn ratios(&self, (case, x): (&str, f64), (over, under): (&str, &str)) -> Vec<f64> {
        let others = self.rows(case, under, x);
        let ratio = |row: &&Row| {
            let other = others.iter().find(|other| other.repeat == row.repeat)?;
            Some(row.get("requests_s") / other.get("requests_s"))
        };
        let mut ratios: Vec<f64> = self.rows(case, over, x).iter().filter_map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    /// What was measured once is no ground for a judgement.
    pub(super) fn repeats(&self, figure: &Spread) {
        if figure.count < 2 {
            self.doubt("measured once".to_owned());
        }
    }

    /// Whether every repeat of the one is above every repeat of the other.
    pub(super) fn above(&self, over: &Spread, under: &Spread) -> bool {
        self.repeats(over);
        self.repeats(under);
        over.min > under.max
    }

    /// Where a curve was repeated, and any of the others too; everywhere if that is nowhere.
    pub(super) fn repeated(&self, case: &str, curve: &str, others: &[&str]) -> Vec<f64> {
        let there = |least: usize| {
            let often = |curve: &str, x: f64| self.rows(case, curve, x).len() >= least;
            let any = |x: f64| others.iter().any(|other| often(other, x));
            let places = self.table.places(case).into_iter();
            places.filter(|x| often(curve, *x) && any(*x)).collect::<Vec<f64>>()
        };
        let repeated = there(2);
        if repeated.is_empty() { there(1) } else { repeated }
    }
}

//! Moving a connection against fetching the reply laterally, over the size of replies.
//!
//! Moving has a price for each request, fetching one for each byte, so there is a size at which
//! they cost the same: about 12 KB for Apache in Aron, Druschel, Zwaenepoel: *Efficient Support for
//! P-HTTP in Cluster-Based Web Servers*, USENIX 1999, section 5.

use crate::modes::{Load, Mode, SIZES};
use crate::pairs::Paired;
use crate::run::drive;
use crate::site::Site;
use anyhow::Result;
use baton::figures;
use sim::{Axis, Figure, Row, Study};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The published crossing, KB.
pub const PUBLISHED_KB: f64 = 12.0;

/// The two mechanisms.
pub const MECHANISMS: [Mode; 2] = [Mode::MultiHandoff, Mode::Forward];

static STUDY: Study = Study {
    id: "crossover",
    title: "Moving a connection at every request, or fetching every reply laterally",
    source: "P-HTTP, section 5, on today's machine",
    x: Axis::log("size of replies (KB)"),
    y: Axis::linear("CPU time of the whole machine (us a request)"),
    columns: &["cpu_us", "cpu_us_min", "cpu_us_max"],
    caption: |_| String::new(),
    runs: |_, _| Vec::new(),
};

/// Moving over fetching at one size: see [`Paired`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub kilobytes: f64,
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// What was found: both curves, and by how much they differ at each size.
pub struct Crossover {
    pub figure: Figure,
    /// Empty if one of the two was not measured.
    pub ratios: Vec<Ratio>,
}

/// CPU time by mechanism and size. Within a round the two take turns about each other (one begins
/// in even rounds, the other in odd ones), each through all sizes in a row; two measurements of a
/// round at a size are a pair, and what the machine did meanwhile is in both.
pub fn measure(site: &Site, modes: &[Mode], rounds: usize, time: Duration) -> Result<Crossover> {
    let mut measured = vec![vec![Vec::new(); SIZES.len()]; modes.len()];
    for round in 0..rounds {
        for turn in 0..modes.len() {
            let which = (round + turn) % modes.len();
            let stand = site.stand(modes[which], &SIZES[0])?;
            for (load, cpu_us) in SIZES.iter().zip(&mut measured[which]) {
                if round == 0 {
                    stand.check(load)?;
                }
                cpu_us.push(drive(site, &stand, load, time)?.cpu_us);
            }
        }
    }
    Ok(Crossover { figure: figure(modes, &measured), ratios: ratios(&measured) })
}

/// Both curves.
fn figure(modes: &[Mode], measured: &[Vec<Vec<f64>>]) -> Figure {
    let mut rows = Vec::new();
    for (mode, sizes) in modes.iter().zip(measured) {
        for (load, cpu_us) in SIZES.iter().zip(sizes) {
            let cpu_us = cpu_us.iter().copied();
            let spread = crate::measure::Spread::of(cpu_us).expect("there is at least one round");
            let values = vec![spread.median, spread.min, spread.max];
            rows.push(Row::new(mode.name(), kilobytes(load), values));
        }
    }
    Figure { columns: STUDY.columns, rows }
}

fn kilobytes(load: &Load) -> f64 {
    load.bytes as f64 / 1024.0
}

/// The pairs of each size.
fn ratios(measured: &[Vec<Vec<f64>>]) -> Vec<Ratio> {
    let [moving, fetching] = measured else { return Vec::new() };
    let pairs = SIZES.iter().zip(moving.iter().zip(fetching));
    pairs
        .map(|(load, (ours, theirs))| {
            let pairs = Paired::of(ours.iter().zip(theirs).map(|(a, b)| a / b));
            let Paired { median, low, high } = pairs.expect("there is at least one round");
            Ratio { kilobytes: kilobytes(load), median, low, high }
        })
        .collect()
}

/// Which of the two costs less.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// One of them was not measured.
    Missing,
    /// This one wherever they can be told apart; at these sizes they cannot.
    Always(Mode, Vec<f64>),
    /// This one from a size on, and at the smaller ones they cannot be told apart.
    From(Mode, f64, Vec<f64>),
    /// This one above, the other below: by the middles the crossing is at `at` KB, and it is surely
    /// between `low`, up to which the other costs less, and `high`.
    Above { mode: Mode, at: f64, low: f64, high: f64 },
    /// At no size can they be told apart.
    Equal,
    /// Surely less at one size, more at a larger one, and less again.
    Several,
}

/// Holds the two against each other.
pub fn verdict(ratios: &[Ratio]) -> Verdict {
    if ratios.is_empty() {
        return Verdict::Missing;
    }
    // Sizes at which the interval is on one side of 1, and whether moving costs more there.
    let is_sure = |ratio: &&Ratio| ratio.low > 1.0 || ratio.high < 1.0;
    let sure: Vec<(f64, bool)> =
        ratios.iter().filter(is_sure).map(|ratio| (ratio.kilobytes, ratio.low > 1.0)).collect();
    let Some(&(_, dearer)) = sure.last() else { return Verdict::Equal };
    let mode = MECHANISMS[usize::from(dearer)];
    let changes: Vec<_> = sure.windows(2).filter(|two| two[0].1 != two[1].1).collect();
    match changes[..] {
        [] => {
            let unsure = ratios.iter().filter(|ratio| !is_sure(ratio));
            let unsure: Vec<f64> = unsure.map(|ratio| ratio.kilobytes).collect();
            let from = sure[0].0;
            match unsure.iter().all(|size| *size < from) && !unsure.is_empty() {
                true => Verdict::From(mode, from, unsure),
                false => Verdict::Always(mode, unsure),
            }
        }
        [&[(low, _), (high, _)]] => {
            Verdict::Above { mode, at: crossing(ratios, low, high), low, high }
        }
        _ => Verdict::Several,
    }
}

/// Where the middles cross between two sizes that lie on different sides, on the logarithmic axis:
/// the middle of all crossings, should noise have made several.
fn crossing(ratios: &[Ratio], low: f64, high: f64) -> f64 {
    let between: Vec<_> =
        ratios.iter().filter(|ratio| (low..=high).contains(&ratio.kilobytes)).collect();
    let crossings = between.windows(2).filter_map(|two| {
        let (before, after) = (two[0].median.ln(), two[1].median.ln());
        let (small, large) = (two[0].kilobytes.ln(), two[1].kilobytes.ln());
        let crosses = (before > 0.0) != (after > 0.0);
        crosses.then(|| (small + before / (before - after) * (large - small)).exp())
    });
    crate::measure::Spread::of(crossings).map_or((low * high).sqrt(), |spread| spread.median)
}

/// Writes picture and numbers to a folder.
pub fn save(figure: &Figure, caption: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    figures::save(folder, &STUDY, figure)?;
    figures::draw(&STUDY, figure, caption, &folder.join("crossover.svg"))
}

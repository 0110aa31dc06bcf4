//! Moving a connection against fetching the reply laterally, over the size of replies.
//!
//! Moving has a price for each request, fetching one for each byte, so there is a size at which
//! they cost the same: about 12 KB for Apache in Aron, Druschel, Zwaenepoel: *Efficient Support for
//! P-HTTP in Cluster-Based Web Servers*, USENIX 1999, section 5.

use crate::modes::{Mode, SIZES};
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

/// CPU time by mechanism and size: in turns, the middle of the rounds.
pub fn measure(site: &Site, modes: &[Mode], rounds: usize, time: Duration) -> Result<Figure> {
    let mut measured = vec![vec![Vec::new(); SIZES.len()]; modes.len()];
    for round in 0..rounds {
        for turn in 0..modes.len() {
            let which = (round + turn) % modes.len();
            let stand = site.stand(modes[which], &SIZES[0])?;
            for (load, cpu_us) in SIZES.iter().zip(&mut measured[which]) {
                stand.check(load)?;
                cpu_us.push(drive(site, &stand, load, time)?.cpu_us);
            }
        }
    }
    let mut rows = Vec::new();
    for (mode, sizes) in modes.iter().zip(measured) {
        for (load, cpu_us) in SIZES.iter().zip(sizes) {
            let spread = crate::measure::Spread::of(cpu_us).expect("there is at least one round");
            let kilobytes = load.bytes as f64 / 1024.0;
            let values = vec![spread.median, spread.min, spread.max];
            rows.push(Row::new(mode.name(), kilobytes, values));
        }
    }
    Ok(Figure { columns: STUDY.columns, rows })
}

/// Which of the two costs less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// One of them was not measured.
    Missing,
    /// This one at every size.
    Always(Mode),
    /// This one above a size in KB, the other below.
    Above(Mode, f64),
    /// The curves cross this many times: their distance is lost in the noise.
    Unclear(usize),
}

/// Holds the two curves against each other.
pub fn verdict(figure: &Figure) -> Verdict {
    let [moving, fetching] = MECHANISMS.map(|mode| figure.curve(mode.name(), "cpu_us"));
    // By how much moving costs more, by size.
    let gaps: Vec<(f64, f64)> =
        moving.iter().zip(&fetching).map(|(ours, theirs)| (ours.0, ours.1 - theirs.1)).collect();
    let Some(&(_, last)) = gaps.last() else { return Verdict::Missing };
    let above = MECHANISMS[usize::from(last > 0.0)];
    let changes = gaps.windows(2).filter(|two| (two[0].1 > 0.0) != (two[1].1 > 0.0));
    match changes.collect::<Vec<_>>()[..] {
        [] => Verdict::Always(above),
        // Between the two sizes about it, on the logarithmic axis.
        [&[(small, before), (large, after)]] => {
            let share = before / (before - after);
            Verdict::Above(above, (small.ln() + share * (large.ln() - small.ln())).exp())
        }
        ref several => Verdict::Unclear(several.len()),
    }
}

/// Writes picture and numbers to a folder.
pub fn save(figure: &Figure, caption: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    figures::save(folder, &STUDY, figure)?;
    figures::draw(&STUDY, figure, caption, &folder.join("crossover.svg"))
}

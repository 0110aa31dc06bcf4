//! What the log itself measured, beside what a simulated cluster gives for it.

use super::cell::Cell;
use super::study::Study;
use super::words;
use maud::{Markup, html};
use sim::replay::{Histogram, Outcome};
use std::fmt::Write;
use std::time::Duration;
use workload::Ask;

/// Replies that must have a figure before it is compared.
const KNOWN_MIN: u64 = 100;

/// What a log measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The times of replies: the server's where the log tells it apart, else the client's.
    pub times: Histogram,
    /// Of the times, those till the client had everything.
    pub till_sent: u64,
    /// Requests of which it says whether a cache had it, and those that one had.
    pub judged: u64,
    /// See [`Measured::judged`].
    pub hits: u64,
    /// Requests by server.
    pub servers: Vec<u64>,
}

/// A figure that both have.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What it is.
    pub name: &'static str,
    /// What the log says.
    pub logged: f64,
    /// What the simulated cluster gives.
    pub simulated: f64,
    /// Whether the error is a difference rather than a ratio.
    pub difference: bool,
}

impl Measured {
    pub(super) fn count(&mut self, ask: &Ask) {
        if let Some(took) = ask.served().or(ask.took()) {
            self.times.count(took.as_nanos() as u64);
            self.till_sent += u64::from(ask.served().is_none());
        }
        if let Some(hit) = ask.hit() {
            self.judged += 1;
            self.hits += u64::from(hit);
        }
        if let Some(server) = ask.server() {
            let at = server as usize;
            if at >= self.servers.len() {
                self.servers.resize(at + 1, 0);
            }
            self.servers[at] += 1;
        }
    }

    /// Whether most of its times have the client's network in them.
    pub fn is_till_sent(&self) -> bool {
        self.till_sent * 2 > self.times.total()
    }

    /// Whether it has times but does not tell hits from misses, so that what was a hit there passes
    /// for a quick miss.
    pub fn hides_hits(&self) -> bool {
        self.judged < KNOWN_MIN && self.times.total() > 0
    }

    /// Requests of the busiest server over the mean of all that the log names.
    fn imbalance(&self) -> Option<f64> {
        let all: u64 = self.servers.iter().sum();
        let most = self.servers.iter().max()?;
        let mean = all as f64 / self.servers.len() as f64;
        (self.servers.len() > 1 && all >= KNOWN_MIN).then(|| *most as f64 / mean)
    }

    /// Every figure that the log has, beside that of a cluster. Times in milliseconds.
    pub fn compare(&self, cell: &Cell) -> Vec<Comparison> {
        let mut found = Vec::new();
        let mut add = |name, logged, simulated, difference| {
            found.push(Comparison { name, logged, simulated, difference });
        };
        if self.judged >= KNOWN_MIN {
            let logged = 100.0 * self.hits as f64 / self.judged as f64;
            add("hit ratio, %", logged, 100.0 * judged_hit_ratio(cell), true);
        }
        if self.times.total() >= KNOWN_MIN {
            let ms = |span: Duration| span.as_secs_f64() * 1e3;
            let simulated = [cell.figures.p50_ms, cell.figures.p90_ms, cell.figures.p99_ms];
            for ((name, quantile), simulated) in
                [("p50, ms", 0.5), ("p90, ms", 0.9), ("p99, ms", 0.99)].into_iter().zip(simulated)
            {
                add(name, ms(self.times.quantile(quantile)), simulated.mean, false);
            }
        }
        if let Some(logged) = self.imbalance() {
            add("busiest server's requests over the mean", logged, cell.busiest_requests(), false);
        }
        found
    }
}

/// Share of hits among the requests of which the log says whether its own cache had the target:
/// it judges none that no cache could answer, and perhaps only some of the others.
fn judged_hit_ratio(cell: &Cell) -> f64 {
    let ratios = cell.outcomes.iter().map(Outcome::judged_hit_ratio);
    ratios.sum::<f64>() / cell.outcomes.len().max(1) as f64
}

impl Comparison {
    /// The unit of [`Comparison::error`].
    pub const fn unit(&self) -> &'static str {
        if self.difference { "points" } else { "%" }
    }

    /// By how much the simulation is off: in percent of the logged figure, or for shares in points.
    pub fn error(&self) -> f64 {
        if self.difference {
            return self.simulated - self.logged;
        }
        100.0 * (self.simulated / self.logged.max(1e-9) - 1.0)
    }
}

/// What is said where the log has nothing to compare with.
const NOTHING: &str = "nothing: it has neither times nor cache status nor servers.";

/// What is to be borne in mind.
const CAUTION: &str = "The cluster that ran when the log was written is the one to look at. Logged \
                       times have the queues of that time in them.";

/// Each cluster beside what was logged, for the page.
pub(super) fn section(study: &Study) -> Markup {
    let rows: Vec<(&Cell, Vec<Comparison>)> =
        study.cells.iter().map(|cell| (cell, study.survey.measured.compare(cell))).collect();
    let any = rows.iter().any(|(_, found)| !found.is_empty());
    html! {
        h2 { "Beside what the log itself measured" }
        p class="soft" { (if any { CAUTION } else { NOTHING }) }
        @if any {
            div class="scroll" {
                table {
                    tr {
                        th class="left" { "cluster" } th class="left" { "figure" }
                        th { "logged" } th { "simulated" } th { "error" }
                    }
                    @for (cell, found) in &rows {
                        @for one in found {
                            tr {
                                td class="left" { (name(cell)) }
                                td class="left" { (one.name) }
                                td { (format!("{:.2}", one.logged)) }
                                td { (format!("{:.2}", one.simulated)) }
                                td { (format!("{:+.1} {}", one.error(), one.unit())) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn name(cell: &Cell) -> String {
    format!("{}, {} x {}", cell.policy, cell.servers, words::size(cell.cache_bytes))
}

/// Each cluster beside what was logged, for a terminal.
pub fn text(study: &Study) -> String {
    let (measured, cells) = (&study.survey.measured, &study.cells);
    let mut out = String::from("\nBeside what the log itself measured:\n");
    let before = out.len();
    for cell in cells {
        for one in measured.compare(cell) {
            let _ = writeln!(
                out,
                "  {:<30} {:<42} logged {:>10.2}  simulated {:>10.2}  error {:+.1} {}",
                name(cell),
                one.name,
                one.logged,
                one.simulated,
                one.error(),
                one.unit()
            );
        }
    }
    if out.len() == before {
        let _ = writeln!(out, "  {NOTHING}");
    } else {
        out.push_str(&words::wrapped(CAUTION, 98, "  "));
        out.push('\n');
    }
    out
}

//! docs/RESULTS-LIVE.md: what was measured, for who did not run it.

use crate::crossover::{self, Crossover, PUBLISHED_KB, Ratio, Verdict};
use crate::measure::machine::Machine;
use crate::modes::{LOADS, Load, Mode};
use crate::report::Results;
use crate::run::KernelCost;
use anyhow::Result;
use baton::experiments::page as experiments;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Segments that a stock kernel's connection begins with (RFC 6928).
pub const KERNELS: u16 = 10;

/// How far our client is from wrk.
pub fn client(results: &Results, wrk_us: Option<f64>) -> String {
    let ours = results.cell(Mode::Direct, LOADS[0].name);
    let ours = ours.map(|cell| cell.spread(|round| round.cpu_us).median);
    match ours.zip(wrk_us) {
        Some((ours, wrk)) => format!(
            "The client instead of wrk: direct, 1.5 KB kept, takes {ours:.1} us of CPU a request \
             with it, {wrk:.1} us with wrk."
        ),
        None => "wrk is not there: our client is not compared with it.".to_owned(),
    }
}

/// Which of the two mechanisms costs less, and from where on.
pub fn crossing(crossover: &Crossover) -> String {
    let way = |mode: Mode| match mode {
        Mode::MultiHandoff => "moving the connection",
        _ => "fetching the reply laterally",
    };
    let found = match crossover::verdict(&crossover.ratios) {
        Verdict::Missing => {
            "Fetching replies laterally was not measured: there is no crossing".into()
        }
        Verdict::Always(mode, unsure) if unsure.is_empty() => {
            format!("At every size {} costs less: there is no crossing", way(mode))
        }
        Verdict::Always(mode, unsure) => {
            let sizes: Vec<String> = unsure.iter().map(f64::to_string).collect();
            format!(
                "Wherever the two can be told apart {} costs less, so no crossing is shown; they \
                 cannot at {} KB",
                way(mode),
                sizes.join(", ")
            )
        }
        Verdict::From(mode, from, unsure) => {
            let sizes: Vec<String> = unsure.iter().map(f64::to_string).collect();
            format!(
                "From {from} KB on {} costs less; below, at {} KB, the two cannot be told apart",
                way(mode),
                sizes.join(", ")
            )
        }
        Verdict::Above { mode, at, low, high } => format!(
            "From about {at:.1} KB on (surely between {low} and {high} KB) {} costs less, below \
             the other way",
            way(mode)
        ),
        Verdict::Equal => "At no size can the two be told apart".into(),
        Verdict::Several => {
            "Surely less, more and less again: something disturbed the run, measure anew".into()
        }
    };
    format!("{found}. Published for Apache in 1999: moving costs less from {PUBLISHED_KB} KB on.")
}

/// Moving over fetching, size by size.
pub fn ratios(crossover: &Crossover) -> String {
    let mut text = "| KB | moving over fetching | 95 % |\n|---|---|---|\n".to_owned();
    for ratio in &crossover.ratios {
        let Ratio { kilobytes, median, low, high } = ratio;
        text += &format!("| {kilobytes} | {median:.3} | {low:.3} to {high:.3} |\n");
    }
    text
}

/// Writes the page, its picture and its numbers; of the two crossovers the second is with the
/// kernel's own initial window.
pub fn write(
    root: &Path,
    machine: &Machine,
    settings: &str,
    client: &str,
    results: &Results,
    [crossover, kernels]: [&Crossover; 2],
) -> Result<()> {
    let caption = format!(
        "{} {}, Linux {}, {}. `make bench-oneway`",
        crossing(crossover),
        machine.cpu,
        machine.kernel,
        machine.date
    );
    crossover::save(&crossover.figure, &caption, &root.join("docs/live"))?;
    let mut text = format!(
        "# Results of the live system\n\n\
         Measured by `make bench-oneway`, which writes this page, at commit `{}`. How, and why so, \
         is in [bench/README.md](../bench/README.md); lines of all runs are in \
         `bench/results-oneway.jsonl`. Microseconds are this machine's; ratios say more.\n\n\
         ```text\n{settings}```\n\n{client}\n\n## What a request costs\n\n\
         CPU: the whole machine's, client and servers included. Front, back: the programs in the \
         kernel of the front-end and of the servers. Moved: times that a request went to another \
         server than the one before. Middle of the rounds.\n",
        machine.commit
    );
    for load in &LOADS {
        table(&mut text, results, load)?;
    }
    for (mode, why) in &results.skipped {
        write!(text, "\nNot measured: {} ({why}).\n", mode.name())?;
    }
    write!(
        text,
        "\n```text\n{}\n```\n\n{}\n\n\
         ## Moving the connection, or fetching the reply laterally\n\n\
         {}\n\n{}\nThe middle of the pairs of each size, and an interval in which the true middle \
         is with 95 %.\n\n![CPU time over the size of replies](live/crossover.svg)\n\n\
         Every request but a connection's first is for the other server. The numbers are in \
         [live/crossover.csv](live/crossover.csv).\n\n\
         That is with an initial window of {} segments on all ways. With the kernel's own \
         {KERNELS} a moved connection, whose new socket begins with it at every move, waits for \
         acknowledgements that a pooled connection does not wait for: {}{}\n\n{}",
        results.last(),
        results.goals(),
        crossing(crossover),
        ratios(crossover),
        testbed::INITIAL_WINDOW,
        crossing(kernels)[..1].to_lowercase(),
        &crossing(kernels)[1..],
        ratios(kernels)
    )?;
    let path = root.join("docs/RESULTS-LIVE.md");
    // The live experiments write their own part of the page.
    let before = fs::read_to_string(&path).unwrap_or_default();
    let experiments = experiments::part(&before);
    if !experiments.is_empty() {
        text = experiments::inserted(&text, experiments);
    }
    fs::write(path, text)?;
    Ok(())
}

/// What was measured under one load.
fn table(text: &mut String, results: &Results, load: &'static Load) -> Result<()> {
    write!(
        text,
        "\n### {}\n\n\
         | way | CPU us | over direct | requests/s | p50 us | p99 us | moved | front us | \
         packets at front | back us |\n|---|---|---|---|---|---|---|---|---|---|\n",
        load.about
    )?;
    for cell in results.under(load) {
        let kernel = |of: fn(&KernelCost) -> f64| {
            cell.kernel(of).map_or("-".to_owned(), |cost| format!("{:.2}", cost.median))
        };
        let over = results.over_direct(cell.mode, load.name);
        writeln!(
            text,
            "| {} | {:.1} | {} | {:.0} | {:.0} | {:.0} | {:.2} | {} | {} | {} |",
            cell.mode.name(),
            cell.spread(|round| round.cpu_us).median,
            over.map_or("-".to_owned(), |over| format!("{over:.2}")),
            cell.spread(|round| round.requests_per_second).median,
            cell.spread(|round| round.p50_us as f64).median,
            cell.spread(|round| round.p99_us as f64).median,
            cell.spread(|round| round.moved).median,
            kernel(|cost| cost.front_us),
            kernel(|cost| cost.front_packets),
            kernel(|cost| cost.back_us),
        )?;
    }
    Ok(())
}

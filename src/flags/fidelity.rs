//! Flags of `baton fidelity`.

use clap::{Args, ValueEnum};

/// Flags of `baton fidelity`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton fidelity                         # everything, as many live runs as it takes: minutes
  baton fidelity --quick                 # a look, in two minutes
  baton fidelity --only trace --json

Exit code 1: a figure is further off than it may be (hits 3 points, throughput 10 %,
90 % of pages 20 %), or is not known that exactly. Runs during which others used the processors
are repeated.")]
pub struct Fidelity {
    /// Less of everything
    #[arg(long)]
    pub quick: bool,
    /// One kind of experiment alone
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<FidelityKind>,
    /// Live runs of each experiment, at most [default: 16, or 3 with --quick]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=20))]
    pub runs: Option<u8>,
    /// Seed of users and arrivals
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Print JSON before the last line, in place of the table
    #[arg(long)]
    pub json: bool,
}

/// The kinds of experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FidelityKind {
    /// A trace, closed loop: hits and throughput.
    Trace,
    /// Users with browsers, open loop: hits, pages a second, and how long pages take.
    Pages,
}

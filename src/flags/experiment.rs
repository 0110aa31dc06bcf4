//! Flags of the command that does the papers' prototypes again.

use clap::Args;
use std::path::PathBuf;

/// Flags of `baton experiment`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton experiment                       # all of them: about half an hour, on a quiet machine
  baton experiment lard --quick --out /tmp/experiments
  baton experiment lard --again          # the points that others disturbed, once more
  baton experiment --page                # docs/RESULTS-LIVE.md from the numbers that are there
  baton experiment cap --scenario mine.toml --out mine   # other places, loads, time scales
  baton experiment --list

Servers, switch and clients are in this process, on ports of the kernel's choice; HAProxy, nginx and
Apache are started where they are installed and stopped with it. Nothing outlives the command.")]
pub struct Experiment {
    /// Which ones [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Few points: the shape in five minutes
    #[arg(long)]
    pub quick: bool,
    /// Where numbers, pictures and pages go, a folder for each experiment
    #[arg(long, value_name = "FOLDER", default_value = "experiments")]
    pub out: PathBuf,
    /// Measure this scenario instead of the experiment's own, which lies in experiments/NAME
    #[arg(long, value_name = "FILE", requires = "names")]
    pub scenario: Option<PathBuf>,
    /// Measure again only what others on the machine disturbed, or what is missing; keep the rest
    #[arg(long)]
    pub again: bool,
    /// List the experiments and end
    #[arg(long, conflicts_with_all = ["names", "quick", "page", "again", "scenario"])]
    pub list: bool,
    /// Measure nothing: make pictures and pages again from the numbers in FOLDER, and the live
    /// experiments' part of this page
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "quick", "again"],
          num_args = 0..=1, default_missing_value = "docs/RESULTS-LIVE.md")]
    pub page: Option<PathBuf>,
}

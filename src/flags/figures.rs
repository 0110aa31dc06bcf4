//! Flags of the commands that make the papers' figures again.

use clap::Args;
use std::path::PathBuf;

/// Flags of `baton figures`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton figures                          # all of them, and docs/RESULTS.md
  baton figures --only phttp-7 --out /tmp/figures
  baton figures --list

Every figure is deterministic: the same program writes the same bytes, with any number of
threads.")]
pub struct Figures {
    /// Make only these (repeatable, or a list with commas); no page of results then
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub only: Vec<String>,
    /// List the figures and end
    #[arg(long)]
    pub list: bool,
    /// Where pictures and numbers go; the page of results goes beside this folder
    #[arg(long, value_name = "FOLDER", default_value = "docs/figures")]
    pub out: PathBuf,
    /// How much is run.
    #[command(flatten)]
    pub effort: Effort,
}

/// Flags of `baton claims`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton claims                           # runs everything, then judges
  baton claims --from docs/figures       # judges the figures that are there
  baton claims --quick                   # small workloads: a first look, no verdict")]
pub struct Claims {
    /// Judge figures that `baton figures` wrote, instead of making them
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["quick", "threads"])]
    pub from: Option<PathBuf>,
    /// How much is run.
    #[command(flatten)]
    pub effort: Effort,
}

/// How much is run, and on how many cores.
#[derive(Args, Debug)]
pub struct Effort {
    /// Small workloads: the shape in a minute or two, not the figures
    #[arg(long)]
    pub quick: bool,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
}

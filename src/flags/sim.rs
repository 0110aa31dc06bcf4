//! Flags of `baton sim`.

use super::{size, span};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `baton sim`.
#[derive(Args, Debug)]
#[command(after_help = "\
Reads access logs as they are (gz and zst too; - is standard input) and plays them to clusters on
paper: every policy with every number of servers and every cache.

Examples:
  baton sim access.log --servers 2..16 --cache 1GiB,4GiB --policy wrr,lard-r
  baton sim access.log.2.gz access.log.1 access.log --miss 20ms --html report.html
  baton sim access.log --servers 8 --cache 4GiB --closed --policy all
  baton sim access.log --rules baton.toml --demand cpu=cpu:8ms --speed 20
  baton sim access.log --servers 4 --cache 1GiB --policy wrr --live

docs/what-if.md tells what is modelled and what is not.")]
pub struct Sim {
    /// Access logs, in the order of their times; - is standard input
    #[arg(value_name = "LOG", required = true)]
    pub logs: Vec<PathBuf>,
    /// The format: a name, or a pattern as in the server's own configuration [default: found out]
    #[arg(long, value_name = "NAME|PATTERN", allow_hyphen_values = true)]
    pub format: Option<String>,
    /// Numbers of servers: a list, or a range. 2..16/1 is all of them; 2..16 is 2, 4, 8 and 16, and
    /// then, for the two policies that the advice compares, every number between two of these in
    /// which one stops to be too few or the choice of policy stops to matter (logs that are files)
    #[arg(short, long, value_name = "COUNT,...", default_value = "2..16")]
    pub servers: String,
    /// Cache of each server: a list of sizes
    #[arg(short, long, value_name = "SIZE,...", default_value = "256MiB,1GiB",
          value_delimiter = ',', value_parser = size)]
    pub cache: Vec<u64>,
    /// What a full cache gives up: lru, or a Greedy-Dual-Size such as gds
    #[arg(long, value_name = "NAME", default_value = "lru")]
    pub cache_policy: String,
    /// Policies to compare: names of `baton policies`, or all
    #[arg(
        short,
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "wrr,least-loaded,bounded-hash,lard,lard-r"
    )]
    pub policy: Vec<String>,
    /// Set a parameter of the policies that have it, such as policy.t_high=80 (repeatable)
    #[arg(long, value_name = "policy.KEY=VALUE")]
    pub set: Vec<String>,
    /// A configuration whose rules give requests their classes and targets
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// What servers cost.
    #[command(flatten)]
    pub costs: SimCosts,
    /// How many times as fast as logged requests come
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, conflicts_with = "closed")]
    pub speed: f64,
    /// Let a request in as soon as another one has ended: the most the cluster can do; at once in
    /// it are COUNT, or as many as LARD's front-end lets in
    #[arg(long, value_name = "COUNT", num_args = 0..=1)]
    pub closed: Option<Option<u32>>,
    /// How the capacity of a cluster is found: by a run in a closed loop beside the others, or from
    /// how busy its servers were, which takes half the time and errs for policies that choose by
    /// load
    #[arg(long, value_enum, default_value_t)]
    pub capacity: Capacity,
    /// Repetitions, from which the confidence comes
    #[arg(long, value_name = "COUNT", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=100))]
    pub seeds: u16,
    /// Compare with what the log itself measured: times, cache status, servers
    #[arg(long)]
    pub live: bool,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Memory that clusters may take together; when they would take more, some wait for another
    /// reading of the log
    #[arg(long = "memory", value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub memory_bytes: u64,
    /// Print one JSON object instead of the table
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print the rows as CSV instead of the table
    #[arg(long)]
    pub csv: bool,
    /// Write a report as one page that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// What a request costs a server.
#[derive(Args, Debug)]
pub struct SimCosts {
    /// What requests cost the CPU: asplos, apache or flash, machines of 1998
    #[arg(long, value_name = "NAME", default_value = "asplos")]
    pub costs: String,
    /// What every request costs the CPU, instead of the formula or the log's times, such as 0.2ms
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub hit: Option<Duration>,
    /// What every miss costs the disk, or whatever makes it slow, instead of the formula or
    /// the log's times
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub miss: Option<Duration>,
    /// What a miss costs a disk of yours, by size: an access, each 4 KiB, and each further block of
    /// 44 KiB, such as first:4ms,page:0.1ms,again:4ms; where the log has times, those count
    #[arg(long, value_name = "KEY:SPAN,...", conflicts_with = "miss")]
    pub disk: Option<String>,
    /// What a class of the rules costs beyond a file, such as search=cpu:5ms,disk:40ms,cacheable:0
    /// (repeatable)
    #[arg(long, value_name = "CLASS=KEY:VALUE,...")]
    pub demand: Vec<String>,
    /// Whether the log's own times are used where it has them
    #[arg(long, value_enum, default_value_t)]
    pub times: TimesFrom,
    /// Requests that a server's CPU works on at once, each at full speed
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cores: u16,
    /// Misses that a server works on at once, each at full speed
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub disks: u16,
}

/// Where the times of requests come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TimesFrom {
    /// The log where it has them, otherwise the costs.
    #[default]
    Auto,
    /// The log.
    Log,
    /// The costs.
    Costs,
}

/// How the capacity of a cluster is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Capacity {
    /// By a run of its own.
    #[default]
    Measured,
    /// From the work that was given.
    Estimated,
}

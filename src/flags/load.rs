//! Flags of `baton load`.

use super::span;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `baton load`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without more than a URL: users who come independently of each other, look at pages with what is in
them, and think in between, as ClubWeb's did (WWW 2003). A URL with a path asks for that one object
again and again.

Examples:
  baton load http://127.0.0.1:8080 --rate 20 --duration 1m
  baton load http://127.0.0.1:8080/index.html --clients 64
  baton load http://127.0.0.1:8080 --mix commerce-c --ramp 5..80 --html report.html
  baton load http://127.0.0.1:8080 --scenario shop.toml --runs 5 --json
  baton load http://127.0.0.1:8080 --replay access.log --speed 10
  baton load --print-scenario clubweb-disk > mine.toml

Latency counts from when a request was due, so that a slow server cannot hide that users waited;
beside it stands what a client sees that measures replies alone. docs/load.md tells how to read it.

Exit codes: 0 done, 1 a wrong scenario or wrong content, 2 wrong usage, 3 nothing was answered or a
file cannot be read or written, 130 Ctrl-C, after the report of what was measured until then.")]
pub struct Load {
    /// Who is asked.
    #[arg(
        value_name = "URL",
        required_unless_present = "print_scenario",
        help = "Who is asked: http://HOST[:PORT][/PATH]"
    )]
    pub url: Option<String>,
    /// What is asked, and when.
    #[command(flatten)]
    pub work: LoadWork,
    /// How it is asked.
    #[command(flatten)]
    pub way: LoadWay,
    /// What becomes of it.
    #[command(flatten)]
    pub report: LoadReport,
}

/// What is asked, and when.
#[derive(Args, Debug)]
#[command(next_help_heading = "What is asked, and when")]
pub struct LoadWork {
    /// A workload of the papers [default: clubweb-cpu]; a wrong name lists them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scenario", "replay"])]
    pub mix: Option<String>,
    /// A scenario of your own, see --print-scenario
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub scenario: Option<PathBuf>,
    /// Ask what the clients of an access log asked, session by session; - is standard input
    #[arg(long, value_name = "LOG")]
    pub replay: Option<PathBuf>,
    /// The log's format: a name, or a pattern as in the server's configuration [default: found out]
    #[arg(long, value_name = "NAME|PATTERN", requires = "replay", allow_hyphen_values = true)]
    pub format: Option<String>,
    /// How many times as fast as logged; 0 skips the pauses between the batches of a session
    #[arg(long, value_name = "FACTOR", requires = "replay")]
    pub speed: Option<f64>,
    /// Sessions a second that begin, however long others wait (open loop) [default: 10]
    #[arg(long = "rate", value_name = "SESSIONS",
          conflicts_with_all = ["ramp", "steps", "clients"])]
    pub rate_s: Option<f64>,
    /// The gaps between them: independent (poisson), in bursts (weibull, of shape 0.6), always
    /// the same, or as in the log
    #[arg(long, value_enum, conflicts_with_all = ["ramp", "steps", "clients"])]
    pub arrivals: Option<ArrivalKind>,
    /// A rate that changes steadily from one to another
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["steps", "clients"])]
    pub ramp: Option<String>,
    /// One rate after another, each for its time, such as 10:30s,50:30s; gives the duration too
    #[arg(long, value_name = "RATE:SPAN,...", conflicts_with_all = ["clients", "duration"])]
    pub steps: Option<String>,
    /// So many users at a time; when one leaves, the next one comes (closed loop) [default for a
    /// single object: 64]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: Option<u32>,
    /// How long is measured [default: 30s; 10s for a single object; a log to its end]
    #[arg(short, long, value_name = "SPAN", value_parser = span)]
    pub duration: Option<Duration>,
    /// What is asked before and not measured [default: 5s; 1s for a single object; 0s for a log]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub warm_up: Option<Duration>,
    /// Repetitions with other seeds, from which 95 % confidence intervals come
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=100))]
    pub runs: u16,
    /// Seed of arrivals and visits, and of the site itself
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
}

/// How it is asked.
#[derive(Args, Debug)]
#[command(next_help_heading = "How it is asked")]
pub struct LoadWay {
    /// Connections of a user: 1 to 6 side by side, as browsers have; pipelined, one for all that is
    /// in a page at once; http10, a new one for each request [default: the scenario's, or 6; 1 for
    /// a log or a single object]
    #[arg(long, value_name = "1..6|pipelined|http10")]
    pub connections: Option<String>,
    /// Threads that ask
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// How long to wait while nothing comes, before a request fails
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    pub timeout: Duration,
    /// Sessions under way at once; further users turn away, and are counted
    #[arg(long, value_name = "COUNT", default_value_t = 100_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions_max: u32,
    /// Compare every byte with what `baton origin`, or a tree of --write-site, has there
    #[arg(long)]
    pub verify: bool,
}

/// What becomes of it.
#[derive(Args, Debug)]
#[command(next_help_heading = "What becomes of it")]
pub struct LoadReport {
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write how it went, second by second, as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write latencies and rates as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a report as one page that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Show nothing while it runs
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the site's files for a real server to serve, and end
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub write_site: Option<PathBuf>,
    /// Print a scenario as a file to change, and end; without a name the one that would be used
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    pub print_scenario: Option<Option<String>>,
}

/// How sessions arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArrivalKind {
    /// Independent of each other.
    Poisson,
    /// In bursts.
    Weibull,
    /// At equal distances.
    Constant,
    /// As in the log.
    Logged,
}

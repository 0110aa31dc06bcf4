//! Flags of `baton trace`: traces and logs described, converted, made.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Flags of `baton trace`.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  baton trace info access.log old.log.gz
  baton trace convert access.log.1 access.log --site www -o www.trace.zst
  baton trace anonymize access.log -o public.trace.zst
  baton trace synth rice --requests 1000000 -o rice.trace.zst
  baton trace synth zipf --targets 50000 --hot 5:0.3 --drift 100000:1000 -o hot.trace

Logs are read as they are: packed by gzip or zstd or not, in any format of `baton sim`, which is
found out. docs/traces.md tells what the figures mean.

Exit codes: 0 done, 1 nothing in a log can be used or a trace cannot be made so, 2 wrong usage,
3 a file cannot be read or written."
)]
pub struct Trace {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The subcommands of `baton trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Describe logs: targets, working sets, popularity, sessions
    Info(TraceInfo),
    /// Make one trace of logs, or write them in the Common Log Format
    Convert(TraceConvert),
    /// Convert, with pseudonyms for clients and for what names people in URLs
    Anonymize(TraceConvert),
    /// Make a stand-in for a trace that was never published, or plain Zipf
    Synth(TraceSynth),
}

/// The format of logs.
#[derive(Args, Debug)]
pub struct LogFormat {
    /// The format: a name, or a pattern as in the server's own configuration [default: found out]
    #[arg(long, value_name = "NAME|PATTERN", allow_hyphen_values = true)]
    pub format: Option<String>,
}

/// Flags of `baton trace info`.
#[derive(Args, Debug)]
pub struct TraceInfo {
    /// Logs or traces, each described by itself; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// How they are written.
    #[command(flatten)]
    pub format: LogFormat,
    /// Describe each site of a log by itself, too
    #[arg(long)]
    pub sites: bool,
    /// Print one JSON array, an object for each column
    #[arg(long)]
    pub json: bool,
}

/// Flags of `baton trace convert` and `baton trace anonymize`.
#[derive(Args, Debug)]
pub struct TraceConvert {
    /// Logs or traces, which become one; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// How they are written.
    #[command(flatten)]
    pub format: LogFormat,
    /// Where it goes: packed if it ends in .zst or .gz; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// What is written
    #[arg(long, value_enum, default_value_t)]
    pub to: TraceFormat,
    /// The site of logs that name none
    #[arg(long, value_name = "NAME", default_value = "site")]
    pub site: String,
    /// Lay all days over one, by local time of day, with new clients each day
    #[arg(long)]
    pub fold: bool,
    /// Only what counts: GETs answered with 200, 206 or 304
    #[arg(long)]
    pub counted: bool,
}

/// What `baton trace convert` writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// Baton's own: in order of time, clients as numbers, sizes of targets.
    #[default]
    Baton,
    /// The Common Log Format, line by line as read.
    Clf,
}

/// Flags of `baton trace synth`.
#[derive(Args, Debug)]
pub struct TraceSynth {
    /// rice, ibm, rice-1998, ibm-1998, chess, or zipf
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Requests [default: those of the published trace, at most 4 million; zipf: 1 million]
    #[arg(long, value_name = "COUNT")]
    pub requests: Option<u32>,
    /// Which of all such traces
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Where it goes: packed if it ends in .zst or .gz; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// What the requests of a connection have to do with each other: pages (their own objects),
    /// shared-objects (those of all pages) or independent
    #[arg(long, value_name = "NAME", conflicts_with_all = ["targets", "exponent", "hot", "drift"])]
    pub structure: Option<String>,
    /// Mean requests of a connection, 1 to 64
    #[arg(long, value_name = "MEAN", default_value_t = workload::synth::PER_CONNECTION)]
    pub per_connection: f64,
    /// Requests per second
    #[arg(long = "rate", value_name = "COUNT", default_value_t = workload::synth::RATE_RPS)]
    pub rate_rps: f64,
    /// zipf: targets [default: 10000]
    #[arg(long, value_name = "COUNT")]
    pub targets: Option<u32>,
    /// zipf: how much popularity falls with rank, 0 to 10 [default: 0.9]
    #[arg(long, value_name = "EXPONENT")]
    pub exponent: Option<f64>,
    /// zipf: so many targets that share this part of the requests, such as 5:0.3
    #[arg(long, value_name = "COUNT:SHARE", value_parser = pair::<u32, f64>)]
    pub hot: Option<(u32, f64)>,
    /// zipf: after so many requests every target moves up so many ranks, such as 100000:1000
    #[arg(long, value_name = "REQUESTS:RANKS", value_parser = pair::<u32, u32>)]
    pub drift: Option<(u32, u32)>,
}

/// Two numbers with a colon between them.
fn pair<A: std::str::FromStr, B: std::str::FromStr>(text: &str) -> Result<(A, B), String> {
    let parts = text
        .split_once(':')
        .and_then(|(left, right)| Some((left.trim().parse().ok()?, right.trim().parse().ok()?)));
    parts.ok_or_else(|| "write two numbers with a colon between them, such as 5:0.3".to_owned())
}

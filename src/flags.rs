//! The command line: every subcommand with its flags, help and examples.
//!
//! What flags set of the configuration becomes a [`Flag`] and is checked with the file's keys, so
//! that the same mistake gets the same answer.

mod agent;
mod doctor;
mod experiment;
mod fidelity;
mod figures;
mod load;
mod origin;
mod reference;
mod sim;
mod testbed;
mod trace;

pub use agent::Agent;
pub use doctor::{Doctor, HostRole, NetworkForm, SiteFlags};
pub use experiment::Experiment;
pub use fidelity::{Fidelity, FidelityKind};
pub use figures::{Claims, Effort, Figures};
pub use load::{ArrivalKind, Load, LoadReport, LoadWay, LoadWork};
pub use origin::{DocumentCache, Origin};
pub use reference::{Completions, Man, Schema, SchemaFormat};
pub use sim::{Capacity, Sim, SimCosts, TimesFrom};
pub use testbed::{Testbed, TestbedCommand, TestbedDemo, TestbedDown, TestbedStatus, TestbedUp};
pub use trace::{Trace, TraceCommand, TraceConvert, TraceFormat, TraceInfo, TraceSynth};

use crate::config::Flag;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Baton, a content-aware web switch: it reads each request and decides which server answers it.
#[derive(Debug, Parser)]
#[command(name = "baton", version, propagate_version = true, max_term_width = 100)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
#[command(after_long_help = concat!("Exit codes: 0 done, 1 invalid configuration, 2 wrong usage, ",
    "3 environment (a port in use, a file that is missing, no switch to ask).\n\n",
    "NO_COLOR is respected."))]
pub struct Flags {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  baton run --listen :8080 --server 10.0.0.1:80 --server 10.0.0.2:80
  baton check baton.toml
  baton demo";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve: accept clients and pass their requests to servers
    Run(Run),
    /// Say everything that is wrong with a configuration
    Check(Check),
    /// Ask a running switch which server it would choose for a URL, and why
    Explain(Explain),
    /// Show how a running switch and its servers are
    Status(Status),
    /// Give a server no new requests
    Drain(Named),
    /// Give a drained server requests again
    Undrain(Named),
    /// Change a server's weight until the next reload
    Weight(Weight),
    /// List the policies with their papers and parameters
    Policies(Policies),
    /// Replay a real trace under several policies and compare them
    Demo(Demo),
    /// Play an access log to clusters on paper: what would another policy, or more servers, bring?
    Sim(Box<Sim>),
    /// Do the papers' prototypes again: the real switch before emulated servers, beside others
    Experiment(Experiment),
    /// Hold the simulator against the live switch: the same experiments, and how far they are apart
    Fidelity(Fidelity),
    /// Make the papers' figures again with the simulator
    Figures(Figures),
    /// Say which claims of the papers the simulator reproduces
    Claims(Claims),
    /// Describe, convert and make traces
    Trace(Trace),
    /// Check whether this host can do one-way delivery, as front-end or as server
    Doctor(Doctor),
    /// Run beside a server: take over connections that are handed to it, and report its load
    Agent(Agent),
    /// Be an emulated Web server, for demonstrations and experiments
    Origin(Box<Origin>),
    /// Ask a server or switch as many users would, and say what they had to wait
    Load(Box<Load>),
    /// Make a site of network namespaces with unmodified servers, to try one-way delivery
    Testbed(Testbed),
    /// Print the JSON Schema of the configuration, or its reference
    Schema(Schema),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print a manual page, or list them
    Man(Man),
}

/// Flags of `baton run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton run --listen :8080 --policy lard-r --server 127.0.0.1:9001 --server 127.0.0.1:9002
  baton run --listen :8080 --server a=10.0.0.1:80,weight=2 --server b=10.0.0.2:80 \\
            --policy lard --set policy.t_high=80 --access-log json
  baton run -c baton.toml --set limits.connections=50000

Signals: TERM and INT finish what is open and exit; HUP reads the configuration again.")]
pub struct Run {
    /// Configuration file; flags replace what it says and add listeners and servers
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Check everything, then exit without serving
    #[arg(long)]
    pub check: bool,
    /// Where clients connect; `:8080` is every address of the machine (repeatable)
    #[arg(short, long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<String>,
    /// How requests reach their server, of every --listen: relay, splice, handoff, multi-handoff
    /// or forward
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub delivery: Option<String>,
    /// A server, with a name, weight, capacity or max_inflight if wanted (repeatable)
    #[arg(short, long, value_name = "[NAME=]HOST:PORT[,KEY=VALUE...]")]
    pub server: Vec<String>,
    /// How servers are chosen [default: lard-r]; see `baton policies`
    #[arg(short, long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Set any key of the configuration, such as policy.t_high=80 (repeatable)
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub set: Vec<String>,
    /// Write a line for each request: json or combined
    #[arg(long, value_name = "FORMAT")]
    pub access_log: Option<String>,
    /// Threads that serve; 0 is one for each core
    #[arg(long, value_name = "COUNT")]
    pub workers: Option<String>,
    /// The admin socket
    #[arg(long, value_name = "PATH")]
    pub admin: Option<String>,
}

impl Run {
    /// What the flags set of the configuration.
    pub fn settings(&self) -> Vec<Flag> {
        let one = |flag: &Option<String>, make: fn(String) -> Flag| flag.clone().map(make);
        let many = |list: &[String], make: fn(String) -> Flag| {
            list.iter().cloned().map(make).collect::<Vec<_>>()
        };
        let mut flags = many(&self.listen, Flag::Listen);
        if let Some(name) = &self.delivery {
            let of = |listener: &String| Flag::Delivery {
                listener: listener.clone(),
                name: name.clone(),
            };
            flags.extend(self.listen.iter().map(of));
        }
        flags.extend(many(&self.server, Flag::Server));
        flags.extend(one(&self.policy, Flag::Policy));
        flags.extend(one(&self.access_log, Flag::AccessLog));
        flags.extend(one(&self.workers, Flag::Workers));
        flags.extend(one(&self.admin, Flag::Admin));
        flags.extend(many(&self.set, Flag::Set));
        flags
    }
}

/// Flags of `baton check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton check baton.toml
  baton check --json baton.toml | jq '.problems[].message'
  baton check --strict --connect baton.toml   # before a deployment

Exit codes: 0 valid, 1 invalid (with --strict: warnings too), 2 wrong usage,
3 the file cannot be read, or with --connect a server or port cannot be used.")]
pub struct Check {
    /// The configuration file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// For whom it is said.
    #[command(flatten)]
    pub answer: Answer,
    /// The same in another word: `--format json` is `--json`
    #[arg(long, value_enum, default_value_t, hide_default_value = true)]
    pub format: Format,
    /// Fail on warnings too
    #[arg(long)]
    pub strict: bool,
    /// Also resolve and connect to every server, and try to bind every listener
    #[arg(long)]
    pub connect: bool,
}

/// How a command answers.
#[derive(Args, Debug)]
pub struct Answer {
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// For whom output is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// People.
    #[default]
    Human,
    /// Programs.
    Json,
}

/// How to reach a running switch.
#[derive(Args, Debug)]
pub struct AdminAt {
    /// The admin socket of the switch [default: $XDG_RUNTIME_DIR/baton/admin.sock or
    /// /run/baton/admin.sock]
    #[arg(long, value_name = "SOCKET", env = "BATON_ADMIN")]
    pub admin: Option<PathBuf>,
}

impl AdminAt {
    /// The socket that was named, or the usual one.
    pub fn socket(&self) -> PathBuf {
        let usual = || crate::config::socket_default(&|name| std::env::var(name).ok());
        self.admin.clone().unwrap_or_else(usual)
    }
}

/// Flags of `baton explain`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing is chosen by asking: no counter moves and no target is mapped.

Examples:
  baton explain http://www.example.com/shop?id=7
  baton explain --method POST --header 'Cookie: user=7' /login")]
pub struct Explain {
    /// A URL, or a path
    pub url: String,
    /// Where the switch is asked.
    #[command(flatten)]
    pub at: AdminAt,
    /// The method of the request
    #[arg(long, default_value = "GET")]
    pub method: String,
    /// A header field of the request (repeatable)
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// For whom it is said.
    #[command(flatten)]
    pub answer: Answer,
}

/// Flags of `baton status`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  baton status --json | jq '.servers[] | {name, load}'\n  \
    baton status --connections 1000 | grep 192.0.2.7")]
pub struct Status {
    /// Where the switch is asked.
    #[command(flatten)]
    pub at: AdminAt,
    /// Connections that are handed over instead: which server has each, and how it is delivered
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "100",
        value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub connections: Option<u16>,
    /// For whom it is said.
    #[command(flatten)]
    pub answer: Answer,
}

/// Flags of `baton drain` and `baton undrain`.
#[derive(Args, Debug)]
#[command(after_help = "\
A drained server finishes what it has; `baton undrain` gives it requests again.

Example:
  baton drain a && sleep 30 && systemctl restart app@a && baton undrain a")]
pub struct Named {
    /// The server's name, as `baton status` shows it
    #[arg(value_name = "SERVER")]
    pub server: String,
    /// Where the switch is asked.
    #[command(flatten)]
    pub at: AdminAt,
}

/// Flags of `baton weight`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  baton weight a 3   # three times the share of a weight of 1")]
pub struct Weight {
    /// The server's name, as `baton status` shows it
    #[arg(value_name = "SERVER")]
    pub server: String,
    /// Its new share relative to the others
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub weight: u32,
    /// Where the switch is asked.
    #[command(flatten)]
    pub at: AdminAt,
}

/// Flags of `baton policies`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton policies              # all, in short
  baton policies lard-r cap   # these, with their parameters
  baton policies --json")]
pub struct Policies {
    /// Only these, with their parameters
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// For whom it is said.
    #[command(flatten)]
    pub answer: Answer,
}

/// Flags of `baton demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
The trace ships with the program. Every policy meets fresh servers with cold caches, each large
enough for about a quarter of what is asked for.

Examples:
  baton demo
  baton demo --policy wrr,lard-r --requests 20000
  baton demo --json | tail -1 | jq '.policies[] | {policy, hit_ratio}'")]
pub struct Demo {
    /// Policies to compare, in this order
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Requests of the trace to replay under each policy; as many as fit in three minutes if not
    /// given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Emulated servers
    #[arg(long, value_name = "COUNT", default_value_t = 4,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub servers: u16,
    /// Where plots and tables are written
    #[arg(long, value_name = "DIR", default_value = "demo-out")]
    pub out: PathBuf,
    /// Print one JSON object as the last line
    #[arg(long)]
    pub json: bool,
}

fn span(text: &str) -> Result<std::time::Duration, String> {
    let units = "write a span of time with a unit, such as 20ms";
    crate::config::span(text).ok_or_else(|| units.to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let units = "write a size with a unit, such as 32MiB";
    crate::config::size(text).ok_or_else(|| units.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Flags::command().debug_assert();
    }
}

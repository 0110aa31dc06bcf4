//! Flags of `baton origin`.

use super::{size, span};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `baton origin`.
#[derive(Args, Debug)]
#[command(after_help = "\
Real HTTP over real sockets; service times follow a model of CPU, disk and cache. The path says
what an answer costs: /cpu/x is a program that computes, /secure/x a file over a secure connection,
any other a file; --services lists them. Its size is in the path (/bytes/1500/x), in the query
(?size=1500), or drawn by the path's hash.

How it is: /.origin/status now, /.origin/utilisation over time (JSON, or ?format=csv),
/.origin/load as `baton agent` tells it.

Examples:
  baton origin --listen 127.0.0.1:9001
  baton origin --listen 127.0.0.1:9001 --cache 32MiB --cache-policy gds --costs flash
  baton origin --count 4 --listen 127.0.0.1:9001 --name web --time-scale 0.1
  baton origin --service cpu=cpu:12ms --service report=cpu:6ms,disk:2,cacheable:0.3 \\
               --prefix /cgi-bin/=cpu --utilisation used.csv
  baton origin --services")]
pub struct Origin {
    /// Where it listens; with --count, the first of as many ports in a row, unless the port is 0
    #[arg(short, long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Size of its cache
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = size)]
    pub cache: u64,
    /// Which targets leave a full cache: `lru`, or a Greedy-Dual-Size such as `gds`
    #[arg(long, value_name = "NAME", default_value = "lru")]
    pub cache_policy: String,
    /// What requests cost its CPU: asplos, apache or flash
    #[arg(long, value_name = "NAME", default_value = "asplos")]
    pub costs: String,
    /// Real seconds for each second of the model; 0 answers at once
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub time_scale: f64,
    /// Its name in Cache-Status and on its status page; with --count, followed by -1, -2 and so on
    #[arg(long, default_value = "origin")]
    pub name: String,
    /// Servers in this process
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub count: u16,
    /// What a service costs beyond a file, or a new one; what is not said of a known one stays as
    /// it is. Keys: cpu and cpu_per_kib (spans), disk (accesses, or a span), cacheable (0 to 1),
    /// handshake (a span, once a connection), reads (yes or no: whether a miss reads the file; no
    /// where disk is given) (repeatable)
    #[arg(long, value_name = "NAME=KEY:VALUE,...")]
    pub service: Vec<String>,
    /// Requests whose path begins so are of that service, before all other prefixes (repeatable)
    #[arg(long, value_name = "/PATH/=SERVICE")]
    pub prefix: Vec<String>,
    /// A field of the request that names its service, before its path does
    #[arg(long, value_name = "NAME")]
    pub class_field: Option<String>,
    /// List the services with their costs and where these come from, and end
    #[arg(long)]
    pub services: bool,
    /// Real time between samples of the utilisation; the last 3600 are kept
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = span)]
    pub sample: Duration,
    /// Write the samples that are kept to a file at the end
    #[arg(long, value_name = "FILE.csv")]
    pub utilisation: Option<PathBuf>,
    /// Real time over which the load is told; the prototype of CAP asked every 10s
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = span)]
    pub report_period: Duration,
    /// Answer GET /load too, as the agent beside a server would
    #[arg(long)]
    pub agent: bool,
}

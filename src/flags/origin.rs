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
  baton origin --real --root /var/tmp/origin --costs flash --time-scale 0.1
  baton origin --services")]
pub struct Origin {
    /// Where it listens; with --count, the first of as many ports in a row, unless the port is 0
    #[arg(short, long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0",
          value_parser = listen)]
    pub listen: SocketAddr,
    /// Size of its cache; in the real mode also kernel: documents are left to the kernel's cache,
    /// where otherwise reads go past it
    #[arg(long, value_name = "SIZE|kernel", default_value = "32MiB", value_parser = cache)]
    pub cache: DocumentCache,
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
    /// Burn CPU time and read files instead of reckoning how long that would take: --time-scale
    /// holds for the CPU, disks take as long as they take. Each server has threads of its own
    #[arg(long, requires = "root")]
    pub real: bool,
    /// Where the real mode keeps its documents, which it makes when they are first asked for, and
    /// its database; a disk each, over which documents are spread (repeatable). With --count, each
    /// server has a folder of its name below
    #[arg(long, value_name = "DIR", requires = "real")]
    pub root: Vec<PathBuf>,
    /// How large the documents of a root may become together
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size,
          requires = "real")]
    pub root_max: u64,
    /// Size of the database of a root, from which queries read 8 KB pages anywhere
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size,
          requires = "real")]
    pub database: u64,
    /// CPUs of a server in the real mode: threads that burn
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "real",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
}

/// Who keeps documents in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentCache {
    /// The server, so many bytes.
    Bytes(u64),
    /// The kernel, as it likes.
    Kernel,
}

fn cache(text: &str) -> Result<DocumentCache, String> {
    if text == "kernel" {
        return Ok(DocumentCache::Kernel);
    }
    let help = |_| "write a size with a unit, such as 32MiB, or kernel".to_owned();
    size(text).map(DocumentCache::Bytes).map_err(help)
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    let help = |_| "write an address and a port, such as 0.0.0.0:9001 or [::]:9001".to_owned();
    text.parse().map_err(help)
}

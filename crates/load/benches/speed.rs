//! The client beside wrk: what a request costs each of them, and what each of them measures.
//!
//! `cargo bench -p load --bench speed [-- ROUNDS [SECONDS [CONNECTIONS]]]`. nginx serves a file of
//! 1.5 KB from one core; client and wrk take turns on another, with the same connections, closed
//! loop. Both measure from the sending of a request to the last byte of its reply. The ratios in
//! the last line are medians over the rounds. On a machine that has other work, rates and
//! latencies say little, CPU time for a request still does.

use load::{One, Scenario, Site, Users, run};
use policy::Class;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::error::Error;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// CPUs of client and server.
const CPU_CLIENT: usize = 0;
const CPU_SERVER: usize = 1;

/// The file, in bytes.
const FILE_BYTES: usize = 1500;

/// What one of them did in one round.
struct Figures {
    requests_s: f64,
    cpu_us: f64,
    p50_us: f64,
    p99_us: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let word = |place: usize, usual| words.get(place).copied().unwrap_or(usual);
    let (rounds, seconds, connections) = (word(0, 5).max(1), word(1, 3).max(1), word(2, 50).max(1));
    for program in ["wrk", "nginx", "taskset", "setpriv"] {
        if Command::new(program)
            .arg("-v")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            println!("bench-load: skipped, {program} is not installed");
            return Ok(());
        }
    }
    if std::thread::available_parallelism()?.get() < 2 {
        println!("bench-load: skipped, there is one CPU only");
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let server = Nginx::start(dir.path())?;
    let mut cpus = CpuSet::new();
    cpus.set(CPU_CLIENT);
    sched_setaffinity(None, &cpus)?;
    println!("{rounds} rounds of {seconds} s each, {connections} connections, {FILE_BYTES} bytes");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        for wrk in [round % 2 == 0, round % 2 == 1] {
            let figures = if wrk {
                by_wrk(server.address, seconds, connections)?
            } else {
                by_us(server.address, seconds, connections)?
            };
            println!(
                "{} {:>7.0} requests/s, {:.2} us of CPU each, p50 {:.0} us, p99 {:.0} us",
                if wrk { "wrk  " } else { "baton" },
                figures.requests_s,
                figures.cpu_us,
                figures.p50_us,
                figures.p99_us
            );
            if wrk { theirs.push(figures) } else { ours.push(figures) }
        }
    }
    let ratio = |of: fn(&Figures) -> f64| {
        median(ours.iter().zip(&theirs).map(|(ours, theirs)| of(ours) / of(theirs)).collect())
    };
    println!(
        "bench-load: rps={:.0} cpu_us={:.2} cpu_vs_wrk={:.2} rate_vs_wrk={:.2} p50_vs_wrk={:.2} \
         p99_vs_wrk={:.2}",
        median(ours.iter().map(|figures| figures.requests_s).collect()),
        median(ours.iter().map(|figures| figures.cpu_us).collect()),
        ratio(|figures| figures.cpu_us),
        ratio(|figures| figures.requests_s),
        ratio(|figures| figures.p50_us),
        ratio(|figures| figures.p99_us),
    );
    Ok(())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn by_us(address: SocketAddr, seconds: u64, connections: u64) -> Result<Figures, Box<dyn Error>> {
    let (host, path) = (address.to_string(), "/file".to_owned());
    let site = Site::One(One { host, path, requests: 0, class: Class::STATIC });
    let users = Users::Closed(connections as usize);
    let (warm_up, duration) = (Duration::from_millis(100), Duration::from_secs(seconds));
    let scenario = Scenario { warm_up, duration, ..Scenario::new(address, site, users) };
    let outcome = run(&scenario, |_| {}, &AtomicBool::new(false))?;
    if outcome.failures() > 0 {
        return Err(format!("requests failed: {:?}", outcome.examples).into());
    }
    let at = |share| outcome.requests.sent_us.value_at_quantile(share) as f64;
    Ok(Figures {
        requests_s: outcome.requests_s(),
        cpu_us: outcome.pace.cpu_request_us,
        p50_us: at(0.5),
        p99_us: at(0.99),
    })
}

fn by_wrk(address: SocketAddr, seconds: u64, connections: u64) -> Result<Figures, Box<dyn Error>> {
    let before_us = children_us()?;
    let said = Command::new("wrk")
        .args(["-t", "1", "-c", &connections.to_string(), "-d", &format!("{seconds}s")])
        .args(["--latency", &format!("http://{address}/file")])
        .output()?;
    let cpu_us = children_us()? - before_us;
    let said = String::from_utf8(said.stdout)?;
    if said.contains("Socket errors") || said.contains("Non-2xx") {
        return Err(format!("requests failed:\n{said}").into());
    }
    let behind = |label: &str| {
        let line = said.lines().find(|line| line.trim_start().starts_with(label));
        line.and_then(|line| line.trim_start()[label.len()..].split_whitespace().next())
            .ok_or(format!("wrk did not say {label}:\n{said}"))
    };
    let before = said.lines().find(|line| line.contains(" requests in "));
    let requests: f64 = before
        .and_then(|line| line.split_whitespace().next())
        .ok_or("wrk did not say how many requests it made")?
        .parse()?;
    Ok(Figures {
        requests_s: behind("Requests/sec:")?.parse()?,
        cpu_us: cpu_us / requests,
        p50_us: microseconds(behind("50%")?)?,
        p99_us: microseconds(behind("99%")?)?,
    })
}

/// A time as wrk writes it.
fn microseconds(text: &str) -> Result<f64, Box<dyn Error>> {
    for (unit, factor) in [("us", 1.0), ("ms", 1e3), ("s", 1e6)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(number.parse::<f64>()? * factor);
        }
    }
    Err(format!("no time: {text}").into())
}

/// CPU time of the processes that we started and that have ended, in microseconds; counted in
/// hundredths of a second.
fn children_us() -> Result<f64, Box<dyn Error>> {
    const TICK_US: f64 = 10_000.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may hold spaces; cutime and cstime are fields 16 and 17.
    let (_, fields) = stat.rsplit_once(')').ok_or("no stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Ok((fields[13].parse::<f64>()? + fields[14].parse::<f64>()?) * TICK_US)
}

/// nginx on its CPU, gone when we are.
struct Nginx {
    process: Child,
    address: SocketAddr,
}

impl Nginx {
    fn start(dir: &Path) -> Result<Self, Box<dyn Error>> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        fs::write(dir.join("file"), [b'x'; FILE_BYTES])?;
        let conf: PathBuf = dir.join("nginx.conf");
        let at = dir.display();
        fs::write(
            &conf,
            format!(
                "daemon off; master_process off; pid {at}/pid; error_log {at}/log;\n\
                 events {{ worker_connections 4096; }}\n\
                 http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;\n\
                 open_file_cache max=10; sendfile on; tcp_nopush on;\n\
                 server {{ listen {address}; root {at}; }} }}\n"
            ),
        )?;
        let cpu = CPU_SERVER.to_string();
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "taskset", "-c", &cpu, "nginx", "-p"])
            .arg(dir)
            .arg("-c")
            .arg(&conf)
            .stderr(Stdio::null())
            .spawn()?;
        let server = Self { process, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if began.elapsed() > Duration::from_secs(10) {
                let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
                return Err(format!("nginx does not listen; it said:\n{log}").into());
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Already gone is as good; and it must be reaped either way.
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

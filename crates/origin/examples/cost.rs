//! What an origin costs in real CPU, and how late its answers are:
//!
//! ```text
//! cargo run --release -p origin --example cost
//! ```
//!
//! Loads an origin with wrk for some seconds in each case and prints CPU microseconds (user and
//! system) per request, requests per second, and for paced cases how late the model's answers
//! left. nginx, one worker and its best settings for a file of 1,500 bytes, goes first and last for
//! comparison. Both programs come from apt; without nginx its rows are left out, and said so.

use origin::{Config, Origin};
use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds of load in each case.
const SECONDS: u32 = 4;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A case: what it is called, the path, the time scale, origins on the thread, and whether each
/// request has a connection of its own.
struct Case(&'static str, &'static str, f64, usize, bool);

const CASES: [Case; 7] = [
    Case("1.5 KB, keep-alive, at once", "/bytes/1500/a", 0.0, 1, false),
    Case("1.5 KB, one request a connection", "/bytes/1500/a", 0.0, 1, true),
    Case("64 KB, keep-alive, at once", "/bytes/65536/a", 0.0, 1, false),
    Case("1 MB, keep-alive, at once", "/bytes/1048576/a", 0.0, 1, false),
    Case("1.5 KB at 1/20 of Apache's time", "/bytes/1500/a", 0.05, 1, false),
    Case("1.5 KB, 16 origins at 1/10", "/bytes/1500/a", 0.1, 16, false),
    Case("disk queries at 1/20", "/disk/bytes/1500/a", 0.05, 1, false),
];

fn main() -> Outcome<()> {
    println!("{:34} {:>10} {:>10} {:>22}", "", "us/request", "requests/s", "late us (mean, max)");
    nginx()?;
    for Case(name, path, scale, origins, close) in CASES {
        let addrs = start(scale, origins)?;
        let before = cpu_of("self")?;
        let counts = load(&addrs, path, close)?;
        let spent = cpu_of("self")? - before;
        let (mean, max) = lateness(addrs[0])?;
        let late = if scale > 0.0 { format!("{mean:.0}, {max:.0}") } else { "-".into() };
        print(name, spent, counts, &late);
    }
    nginx()
}

fn print(name: &str, spent: Duration, requests: f64, late: &str) {
    let us = spent.as_secs_f64() * 1e6 / requests;
    println!("{name:34} {us:10.2} {:10.0} {late:>22}", requests / f64::from(SECONDS));
}

/// Starts origins on a thread that ends with the program.
fn start(time_scale: f64, count: usize) -> Outcome<Vec<SocketAddr>> {
    let config = Config { time_scale, ..Config::default() };
    let origins: Vec<Origin> =
        (0..count).map(|_| Origin::bind(config.clone())).collect::<Result<_, _>>()?;
    let addrs = origins.iter().map(Origin::addr).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    std::thread::spawn(move || {
        let local = tokio::task::LocalSet::new();
        for origin in origins {
            local.spawn_local(origin.serve(std::future::pending()));
        }
        runtime.block_on(local);
    });
    Ok(addrs)
}

/// Runs wrk against all addresses at once and returns how many requests were answered.
fn load(addrs: &[SocketAddr], path: &str, close: bool) -> Outcome<f64> {
    let connections = (32 / addrs.len()).max(1).to_string();
    let mut loads = Vec::new();
    for addr in addrs {
        let mut wrk = Command::new("wrk");
        wrk.args(["-t1", "-c", &connections, &format!("-d{SECONDS}s")]);
        if close {
            wrk.args(["-H", "Connection: close"]);
        }
        wrk.arg(format!("http://{addr}{path}")).stdout(Stdio::piped());
        loads.push(wrk.spawn().map_err(|cause| format!("wrk (apt-get install wrk): {cause}"))?);
    }
    let mut requests = 0.0;
    for load in loads {
        let text = String::from_utf8(load.wait_with_output()?.stdout)?;
        let line = text.lines().find(|line| line.contains("requests in"));
        let line = line.ok_or_else(|| format!("wrk said: {text}"))?;
        requests += line.split_whitespace().next().unwrap_or("").parse::<f64>()?;
    }
    Ok(requests)
}

/// User and system time of a process.
fn cpu_of(pid: &str) -> Outcome<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("a process has a stat line")?;
    let mut ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u64>);
    let (Some(user), Some(system)) = (ticks.next(), ticks.next()) else {
        return Err("a stat line has user and system time".into());
    };
    Ok(Duration::from_millis((user? + system?) * 10))
}

fn lateness(addr: SocketAddr) -> Outcome<(f64, f64)> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(addr)?;
    stream.write_all(b"GET /.origin/status HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (_, body) = text.split_once("\r\n\r\n").ok_or("an answer has a body")?;
    let late = &serde_json::from_str::<serde_json::Value>(body)?["late_us"];
    Ok((late["mean"].as_f64().unwrap_or(f64::NAN), late["max"].as_f64().unwrap_or(f64::NAN)))
}

/// The row of nginx.
fn nginx() -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let root = dir.path();
    fs::write(root.join("file"), vec![b'x'; 1500])?;
    let addr = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let config = format!(
        "daemon off; master_process off; worker_processes 1; pid {0}/pid; error_log {0}/log;
         events {{ worker_connections 1024; }}
         http {{ access_log off; tcp_nopush off; keepalive_requests 1000000000;
                 open_file_cache max=10; client_body_temp_path {0}/1; proxy_temp_path {0}/2;
                 fastcgi_temp_path {0}/3; uwsgi_temp_path {0}/4; scgi_temp_path {0}/5;
                 server {{ listen {addr}; root {0}; }} }}",
        root.display()
    );
    let file = root.join("conf");
    fs::write(&file, config)?;
    let Ok(child) = Command::new("nginx").arg("-c").arg(&file).stderr(Stdio::null()).spawn() else {
        println!("nginx is not installed (apt-get install nginx-light): no comparison");
        return Ok(());
    };
    let child = Guard(child);
    let start = Instant::now();
    while std::net::TcpStream::connect(addr).is_err() {
        if start.elapsed() > Duration::from_secs(5) {
            return Err("nginx did not start".into());
        }
        std::thread::yield_now();
    }
    let pid = child.0.id().to_string();
    let before = cpu_of(&pid)?;
    let requests = load(&[addr], "/file", false)?;
    print("nginx, 1.5 KB, keep-alive", cpu_of(&pid)? - before, requests, "-");
    Ok(())
}

/// A process that ends with the value.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

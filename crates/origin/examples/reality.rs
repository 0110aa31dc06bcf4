//! The model against reality: the same requests at the same times to an origin that reckons and to
//! one that burns CPU time and reads files.
//!
//! ```text
//! cargo run --release -p origin --example reality -- /var/tmp/reality
//! ```
//!
//! The argument is a folder on the disk to be read; `/var/tmp/origin-reality` without one. What a
//! read costs there is measured first, one at a time, and given to the model; CPU costs are the
//! model's. So what is compared is what follows: queues, cache, and how all of it adds up. Each
//! load takes a quarter of a minute on each of the two. Other programs must leave a CPU free, or
//! `chrt -r 1` goes before the example's name.

use model::{CpuCost, DiskCost, Reading, Service};
use origin::{Config, Origin, RealSettings, Usage, model};
use policy::Dice;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Seconds of each run, and of these the first, in which the cache fills and nothing is counted.
const SECONDS: f64 = 15.0;
const WARM_UP_SECONDS: f64 = 3.0;

/// Documents of the site, and the share of their bytes that the cache has room for.
const DOCUMENTS: u64 = 600;
const CACHE_BYTES: u64 = 800_000;

/// Parts in a hundred of the requests: mostly files, as in the mixes of the papers.
const MIX: [(&str, f64); 7] = [
    ("static", 52.0),
    ("light", 18.0),
    ("cpu", 4.0),
    ("disk", 6.0),
    ("cpu+disk", 2.0),
    ("query", 10.0),
    ("secure", 8.0),
];

/// Requests a second, from which the CPU is busy a fifth, half and most of the time.
const LOADS: [f64; 3] = [60.0, 130.0, 200.0];

/// Of the time in which there was work, the CPU was got for at least this share, or what came out
/// says more about the machine's other programs.
const GOT_MIN: f64 = 0.95;

/// What requests came to, by service.
type Times = BTreeMap<&'static str, Vec<f64>>;

fn main() -> Outcome<()> {
    let root = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp/origin-reality".into());
    let usual = Config {
        model: model::Config {
            cpu: CpuCost::FLASH,
            reading: Reading::Whole,
            cache_bytes: CACHE_BYTES,
            ..model::Config::default()
        },
        sample: Duration::from_millis(100),
        ..Config::default()
    };
    let mut real = Config { real: Some(RealSettings::below(&root)), ..usual.clone() };
    // What the services are is taken over by name: `usual` has the model's default ones.
    let mut paper = usual;
    for row in model::ROWS {
        real.offer(row.name, row.service);
        paper.offer(row.name, row.service);
    }
    let (disk, access) = measure(&real)?;
    println!(
        "A read here: {:?}, and {:?} for each 4 KB; a page of the database: {access:?}\n",
        disk.first, disk.page
    );
    paper.model.disk = disk;
    for row in model::ROWS.iter().filter(|row| !row.service.disk.is_zero()) {
        let accesses = (row.service.disk.as_secs_f64() / model::cost::QUERY_ACCESS.as_secs_f64())
            .round() as u32;
        paper.offer(row.name, Service { disk: access * accesses, ..row.service });
    }
    for (at, rate) in LOADS.into_iter().enumerate() {
        let plan = plan(rate, at as u64 + 1);
        let [reckoned, happened] = [&paper, &real].map(|config| run(config, &plan));
        print(rate, &reckoned?, &happened?);
    }
    Ok(())
}

/// What single reads take on the real disk: a document's, by size, and a page of the database.
fn measure(real: &Config) -> Outcome<(DiskCost, Duration)> {
    const READS: u32 = 200;
    let mut config = real.clone();
    config.model.cache_bytes = 0;
    config.time_scale = 0.0;
    let running = Running::start(config)?;
    let spent = |path: &dyn Fn(u32) -> String| -> Outcome<f64> {
        // The first pass makes the documents, the second reads them.
        running.ask((0..READS).map(path))?;
        let before = running.disk_seconds()?;
        running.ask((0..READS).map(path))?;
        Ok((running.disk_seconds()? - before) / f64::from(READS))
    };
    let small_s = spent(&|at| format!("/bytes/4096/m{at}"))?;
    let block_s = spent(&|at| format!("/bytes/45056/m{at}"))?;
    let query_s = spent(&|_| "/query/bytes/10".to_owned())?;
    let page_s = ((block_s - small_s) / 10.0).max(0.0);
    let first = Duration::from_secs_f64((small_s - page_s).max(0.0));
    let page = Duration::from_secs_f64(page_s);
    // Blocks of a file lie together here, so that there is nothing to be found again.
    let disk = DiskCost { first, page, again: Duration::ZERO };
    Ok((disk, Duration::from_secs_f64(query_s / f64::from(model::cost::QUERY_ACCESSES))))
}

/// A request: when, of which service, and what for.
struct Planned {
    at: Duration,
    service: &'static str,
    path: String,
}

/// Independent arrivals, files by Zipf's law.
fn plan(rate: f64, seed: u64) -> Vec<Planned> {
    let mut dice = Dice::new(seed);
    let shares: Vec<f64> = (1..=DOCUMENTS).map(|rank| 1.0 / rank as f64).collect();
    let all: f64 = shares.iter().sum();
    let (mut at_s, mut plan) = (0.0, Vec::new());
    while at_s < SECONDS {
        at_s -= (1.0 - dice.unit()).ln() / rate;
        let (mut left, mut service) = (dice.unit() * 100.0, MIX[0].0);
        for (name, parts) in MIX {
            service = name;
            left -= parts;
            if left < 0.0 {
                break;
            }
        }
        let (mut left, mut document) = (dice.unit() * all, 0);
        while document < shares.len() - 1 && left >= shares[document] {
            left -= shares[document];
            document += 1;
        }
        let path = format!("/{service}/{document}");
        plan.push(Planned { at: Duration::from_secs_f64(at_s), service, path });
    }
    plan
}

/// What a run came to.
struct Ran {
    times: Times,
    usage: Usage,
}

fn run(config: &Config, plan: &[Planned]) -> Outcome<Ran> {
    let running = Running::start(config.clone())?;
    if config.real.is_some() {
        // Makes the documents, in an origin of its own: this one's cache is to be cold.
        let making = Config { time_scale: 0.0, ..config.clone() };
        Running::start(making)?.ask(plan.iter().map(|planned| planned.path.clone()))?;
    }
    let times = running.replay(plan)?;
    Ok(Ran { times, usage: running.usage.clone() })
}

/// An origin on a thread of its own, until it is dropped.
struct Running {
    addr: SocketAddr,
    usage: Usage,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start(config: Config) -> Outcome<Self> {
        let origin = Origin::bind(Config { drain_timeout: Duration::ZERO, ..config })?;
        let (addr, usage) = (origin.addr(), origin.usage());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let thread = std::thread::spawn(move || {
            let over = async { stopped.await.unwrap_or(()) };
            runtime.block_on(origin.serve(over)).expect("the kernel keeps the epoll set");
        });
        Ok(Self { addr, usage, stop: Some(stop), thread: Some(thread) })
    }

    /// Asks for paths one after the other.
    fn ask(&self, paths: impl Iterator<Item = String>) -> Outcome<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let mut stream = TcpStream::connect(self.addr).await?;
            let mut last = String::new();
            for path in paths {
                last = get(&mut stream, &path).await?;
            }
            Ok(last)
        })
    }

    fn disk_seconds(&self) -> Outcome<f64> {
        let text = self.ask(["/.origin/status".to_owned()].into_iter())?;
        let status: serde_json::Value = serde_json::from_str(&text)?;
        status["disk"]["busy_seconds"].as_f64().ok_or_else(|| "a status has busy times".into())
    }

    /// Asks for everything at its time and says how long it took, after the warm-up.
    fn replay(&self, plan: &[Planned]) -> Outcome<Times> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (local, addr) = (tokio::task::LocalSet::new(), self.addr);
        let (times, idle) =
            (Rc::new(RefCell::new(Times::new())), Rc::new(RefCell::new(Vec::new())));
        let all = async {
            let (start, mut tasks) = (Instant::now(), tokio::task::JoinSet::new());
            for Planned { at, service, path } in plan {
                tokio::time::sleep_until((start + *at).into()).await;
                let (service, path, at) = (*service, path.clone(), *at);
                let (times, idle) = (Rc::clone(&times), Rc::clone(&idle));
                tasks.spawn_local(async move {
                    let kept = idle.borrow_mut().pop();
                    let begun = Instant::now();
                    let mut stream = match kept {
                        Some(stream) => stream,
                        None => TcpStream::connect(addr).await?,
                    };
                    get(&mut stream, &path).await?;
                    if at.as_secs_f64() >= WARM_UP_SECONDS {
                        let ms = begun.elapsed().as_secs_f64() * 1e3;
                        times.borrow_mut().entry(service).or_default().push(ms);
                    }
                    idle.borrow_mut().push(stream);
                    Ok::<_, Box<dyn Error>>(())
                });
            }
            while let Some(task) = tasks.join_next().await {
                task??;
            }
            Ok::<_, Box<dyn Error>>(())
        };
        local.block_on(&runtime, all)?;
        Ok(times.take())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was reported.
            let _reported = thread.join();
        }
    }
}

/// One request and its answer's body, which is text or does not matter.
async fn get(stream: &mut TcpStream, path: &str) -> Outcome<String> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n\r\n").as_bytes()).await?;
    let mut held = Vec::new();
    loop {
        if stream.read_buf(&mut held).await? == 0 {
            return Err("the origin closed".into());
        }
        let Some(end) = held.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(held[..end].to_vec())?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(format!("{path}: {head}").into());
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.ok_or("an answer has a length")?.parse()?;
        let mut body = held.split_off(end + 4);
        let had = body.len();
        body.resize(length, 0);
        stream.read_exact(&mut body[had..]).await?;
        return Ok(String::from_utf8_lossy(&body).into_owned());
    }
}

fn print(rate: f64, reckoned: &Ran, happened: &Ran) {
    println!("{rate} requests/s{:>32} {:>10} {:>8}", "model", "reality", "ratio");
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    for (service, times) in &reckoned.times {
        let Some(other) = happened.times.get(service) else { continue };
        let (a, b) = (mean(times), mean(other));
        let what = format!("{service}, mean of {}, ms", times.len());
        println!("  {what:32} {a:12.3} {b:10.3} {:8.3}", b / a);
    }
    let part = |of: fn(&origin::Sample) -> f64, ran: &Ran| {
        let samples = ran.usage.samples();
        let (from, to) = (WARM_UP_SECONDS, SECONDS);
        let first = samples.iter().find(|sample| sample.requests > 0).map_or(0.0, |one| one.at_s);
        let counted = samples.iter().filter(|one| (from..to).contains(&(one.at_s - first)));
        let (sum, span) = counted
            .fold((0.0, 0.0), |(sum, span), one| (sum + of(one) * one.span_s, span + one.span_s));
        sum / span
    };
    for (what, of) in [
        ("CPU, busy share", (|one| one.cpu) as fn(&origin::Sample) -> f64),
        ("CPU, share with work", |one| one.occupied.unwrap_or(one.cpu)),
        ("disk, busy share", |one| one.disk),
        ("disk, mean queue", |one| one.disk_queue),
        ("hits per second", |one| one.hits as f64 / one.span_s),
        ("requests per second", |one| one.requests as f64 / one.span_s),
    ] {
        let (a, b) = (part(of, reckoned), part(of, happened));
        println!("  {what:32} {a:12.3} {b:10.3} {:8.3}", b / a);
    }
    let got = part(|one| one.cpu, happened) / part(|one| one.occupied.unwrap_or(1.0), happened);
    if got < GOT_MIN {
        let parts = got * 100.0;
        println!(
            "  Other programs took the CPU: work got {parts:.0} % of it. This is no comparison."
        );
    }
    println!();
}

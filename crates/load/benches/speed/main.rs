//! The client beside wrk: what a request costs each of them, and what each of them measures.
//!
//! `cargo bench -p load --bench speed [-- PAIRS [SECONDS [CONNECTIONS]]]`. A server answers 1.5 KB
//! from one CPU; client and wrk take short turns on another, closed loop, same connections, one
//! of them first in even pairs, the other in odd ones. Ratios are taken within a pair, so that what
//! the machine did meanwhile is in both, and the middle of the pairs counts, with the sign test's
//! interval. The server is the one that needs the least CPU time of those that are installed.
//!
//! Both are measured as whole processes, from their beginning: connecting is in it. Both times are
//! from the sending of a request to the last byte of its reply; wrk then adds the requests that it
//! would have sent in the time of a slow one (`stats_correct`), and so is done here for the client.
//!
//! A rate is the client's own only where the client is busy all the time. Where the server is, what
//! one CPU of client would carry is reckoned from its CPU time for a request: a little too low,
//! because a client that waits finds fewer replies at a time and so spends more on each.

mod cpus;
#[path = "../../../../benches/measure/pairs.rs"]
mod pairs;
mod server;
mod turn;

use cpus::{Cpus, Spent};
use pairs::Paired;
use server::{Served, Server};
use std::error::Error;
use std::process::{Command, Stdio};
use turn::Figures;

/// From this share of the CPUs' time on, what others took is more than noise.
const FOREIGN_MAX: f64 = 0.05;

/// The turns of one pair: the client's, and wrk's.
struct Pair {
    ours: Figures,
    theirs: Figures,
}

/// How long and with how many connections everybody asks.
#[derive(Clone, Copy)]
struct Load {
    seconds: u64,
    connections: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let word = |place: usize, usual| words.get(place).copied().unwrap_or(usual).max(1);
    let (pairs, load) = (word(0, 25), Load { seconds: word(1, 1), connections: word(2, 50) });
    for program in ["wrk", "nginx", "taskset", "setpriv"] {
        if !is_installed(program) {
            println!("bench-load: skipped, {program} is not installed");
            return Ok(());
        }
    }
    let Some(cpus) = Cpus::take()? else {
        println!("bench-load: skipped, there is one CPU only");
        return Ok(());
    };
    let dir = tempfile::tempdir()?;
    let mut servers = vec![Server::nginx(dir.path(), cpus.server)?];
    if is_installed("haproxy") {
        servers.push(Server::haproxy(dir.path(), cpus.server)?);
    }
    let server = fastest(&servers, load)?;
    println!(
        "{pairs} pairs of turns, {} s each; {} connections; {} bytes; client on CPU {}, server on \
         CPU {}",
        load.seconds,
        load.connections,
        server::BODY_BYTES,
        cpus.client,
        cpus.server
    );
    let before = Spent::now(&cpus)?;
    let served_us = server.cpu_us()?;
    let mut found = Vec::new();
    for number in 0..pairs {
        found.push(pair(&server, load, number % 2 == 0)?);
    }
    let spent = Spent::now(&cpus)?.since(&before, server.cpu_us()? - served_us);
    report(&found, &spent);
    Ok(())
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The server, and of its replies the one, that needs the least CPU time for a request: the rates
/// that they reach on a machine with other work say less.
fn fastest(servers: &[Server], load: Load) -> Result<Served<'_>, Box<dyn Error>> {
    let mut best: Option<(f64, Served<'_>)> = None;
    for served in servers.iter().flat_map(Server::served) {
        let before_us = served.cpu_us()?;
        let figures = turn::by_wrk(&served, load)?;
        let cpu_us = (served.cpu_us()? - before_us) / figures.requests;
        println!(
            "{:<30} {cpu_us:>6.2} us of CPU for a request, {:.0} requests/s",
            served.name, figures.requests_s
        );
        if best.as_ref().is_none_or(|(least_us, _)| cpu_us < *least_us) {
            best = Some((cpu_us, served));
        }
    }
    let (_, served) = best.ok_or("there is no server")?;
    println!("asked: {}", served.name);
    Ok(served)
}

fn pair(server: &Served<'_>, load: Load, wrk_first: bool) -> Result<Pair, Box<dyn Error>> {
    let (ours, theirs) = if wrk_first {
        let theirs = turn::by_wrk(server, load)?;
        (turn::by_us(server, load)?, theirs)
    } else {
        (turn::by_us(server, load)?, turn::by_wrk(server, load)?)
    };
    for (name, figures) in [("baton", &ours), ("wrk", &theirs)] {
        println!(
            "{name:<5} {:>7.0} requests/s, {:.2} us of CPU each, busy {:>3.0} % (server \
             {:>3.0} %), p50 {:.0} us, p99 {:.0} us",
            figures.requests_s,
            figures.cpu_us,
            figures.busy * 100.0,
            figures.server_busy * 100.0,
            figures.p50_us,
            figures.p99_us
        );
    }
    Ok(Pair { ours, theirs })
}

/// The middle of a figure of the client, and that of the same figure of wrk.
fn middles(pairs: &[Pair], of: fn(&Figures) -> f64) -> (f64, f64) {
    let middle = |pick: fn(&Pair) -> &Figures| {
        let figures = Paired::of(pairs.iter().map(|pair| of(pick(pair))));
        figures.expect("there is at least one pair").median
    };
    (middle(|pair| &pair.ours), middle(|pair| &pair.theirs))
}

/// The client's figure over wrk's.
fn ratio(pairs: &[Pair], of: fn(&Figures) -> f64) -> Paired {
    let ratios = pairs.iter().map(|pair| of(&pair.ours) / of(&pair.theirs));
    Paired::of(ratios).expect("there is at least one pair")
}

fn report(pairs: &[Pair], spent: &Spent) {
    println!(
        "of the two CPUs' time {:.1} % was stolen by the hypervisor, {:.1} % went to other \
         programs and interrupts",
        spent.stolen * 100.0,
        spent.others * 100.0
    );
    if spent.stolen + spent.others > FOREIGN_MAX {
        println!("others use this machine: rates and latencies say little, CPU time still does");
    }
    let (busy, _) = middles(pairs, |figures| figures.busy);
    let (server_busy, _) = middles(pairs, |figures| figures.server_busy);
    println!("client busy {:.0} %, server {:.0} %", busy * 100.0, server_busy * 100.0);
    let (cpu_us, wrk_us) = middles(pairs, |figures| figures.cpu_us);
    let rate = |figures: &Figures| figures.requests_s;
    let highest = pairs.iter().map(|pair| rate(&pair.ours)).fold(0.0, f64::max);
    let wrk_highest = pairs.iter().map(|pair| rate(&pair.theirs)).fold(0.0, f64::max);
    let (usual, wrk_usual) = middles(pairs, rate);
    println!(
        "requests/s: highest {highest:.0} (wrk {wrk_highest:.0}), median {usual:.0} (wrk \
         {wrk_usual:.0}); at {cpu_us:.2} us of CPU (wrk {wrk_us:.2}) one CPU of client carries \
         {:.0}",
        1e6 / cpu_us
    );
    let ratios: [(&str, Paired); 4] = [
        ("cpu_over_wrk", ratio(pairs, |figures| figures.cpu_us)),
        ("rate_over_wrk", ratio(pairs, rate)),
        ("p50_over_wrk", ratio(pairs, |figures| figures.p50_us)),
        ("p99_over_wrk", ratio(pairs, |figures| figures.p99_us)),
    ];
    for (name, Paired { median, low, high }) in &ratios {
        println!("{name}: {median:.3}, surely between {low:.3} and {high:.3}");
    }
    let words = ratios.map(|(name, ratio)| format!("{name}={:.2}", ratio.median));
    println!("bench-load: requests_s={highest:.0} {}", words.join(" "));
}

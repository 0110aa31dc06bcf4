//! What one-way delivery costs beside relays: CPU time of the whole machine, and of the programs in
//! the kernel, for each request.
//!
//! Method: one test bed, and on it one way of delivery at a time, each by the programs that ship
//! (`baton run`, `baton agent`), started afresh and seen to give the right bytes and to do what it
//! is called. The ways take turns within a round and a load, each round beginning with the next
//! one, so that what the machine does to one it does to all; the middle of the rounds counts. No
//! process is bound to a CPU. `bench/README.md` says who is configured how, and why.

mod busy;
mod check;
mod client;
mod counters;
mod crossover;
mod kernel;
#[path = "../measure/mod.rs"]
mod measure;
mod modes;
mod page;
#[path = "../measure/pairs.rs"]
mod pairs;
mod report;
mod run;
mod site;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use measure::child;
use measure::machine::{Machine, load_average, said};
use modes::{LOADS, Mode};
use report::Results;
use run::{Cell, drive, weigh, with_wrk};
use site::Site;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Set, and not to 0: a minute instead of six, nothing recorded.
const QUICK: &str = "BATON_BENCH_QUICK";
/// Above this, somebody else is using the machine, and the whole machine's CPU time is theirs too.
const LOAD_QUIET: f64 = 0.5;

/// CPU time per request of ways from client to server and back, measured in turns.
#[derive(Parser)]
#[command(name = "bench-oneway")]
struct Args {
    #[command(subcommand)]
    role: Option<Role>,
    /// Another build of Baton.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_baton"))]
    baton: PathBuf,
    /// Segments that front-end and servers begin with; only runs with the default are recorded.
    #[arg(long, default_value_t = testbed::INITIAL_WINDOW)]
    initial_window: u16,
    /// Set by `cargo bench`; without it nothing is measured (`cargo test --benches`).
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Role {
    /// Be the client.
    #[command(hide = true)]
    Client(client::Order),
}

/// How long everything takes.
struct Pace {
    rounds: usize,
    time: Duration,
    /// With the kernel's clocks on.
    weighing: Duration,
    /// Pairs at each size of the crossover, and the time of one half of a pair.
    pairs: usize,
    sizing: Duration,
    full: bool,
}

impl Pace {
    fn chosen() -> Self {
        let full = std::env::var_os(QUICK).is_none_or(|value| value == "0");
        let ms = Duration::from_millis;
        match full {
            true => {
                let (time, weighing, sizing) = (ms(1500), ms(400), ms(500));
                Self { rounds: 3, time, weighing, pairs: 12, sizing, full }
            }
            false => {
                let (time, weighing, sizing) = (ms(500), ms(300), ms(250));
                Self { rounds: 1, time, weighing, pairs: 2, sizing, full }
            }
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.role {
        Some(Role::Client(order)) => client::run(&order),
        None if args.bench => run(&args.baton, args.initial_window),
        None => {
            println!("bench-oneway: nothing measured; cargo bench --bench oneway does it");
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-oneway: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn run(baton: &Path, initial_window: u16) -> Result<()> {
    let pace = Pace::chosen();
    for program in ["haproxy", "bpftool", "tc"] {
        ensure!(said(program, &["-V"]).is_some(), "{program} is needed: `make bench-oneway`");
    }
    child::watch_signals()?;
    let machine = Machine::look();
    let load_average = load_average();
    let site = Site::up(baton.to_owned(), initial_window)?;
    let settings = settings(&site, &machine, &pace, load_average);
    print!("{settings}");
    let results = measured(&site, &pace)?;
    println!("\n{}", results.tables());
    let wrk = with_wrk(&site, &LOADS[0], if pace.full { 2 } else { 1 })?;
    let client = page::client(&results, wrk);
    println!("{client}");
    let sized: Vec<Mode> = crossover::MECHANISMS
        .into_iter()
        .filter(|mode| results.skipped.iter().all(|(skipped, _)| skipped != mode))
        .collect();
    let crossover = crossover::measure(&site, &sized, pace.pairs, pace.sizing)?;
    println!("\n{}", crossover.figure.csv("kilobytes"));
    println!("{}\n{}\n", page::ratios(&crossover), page::crossing(&crossover));
    if pace.full && initial_window == testbed::INITIAL_WINDOW {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let kept = root.join("bench/results-oneway.jsonl");
        results.keep(&kept, &machine, pace.time.as_millis(), load_average)?;
        drop(site);
        let site = Site::up(baton.to_owned(), page::KERNELS)?;
        let kernels = crossover::measure(&site, &sized, pace.pairs, pace.sizing)?;
        println!("initial window of {}:\n{}", page::KERNELS, page::ratios(&kernels));
        page::write(root, &machine, &settings, &client, &results, [&crossover, &kernels])?;
        println!("appended to bench/results-oneway.jsonl; wrote docs/RESULTS-LIVE.md");
    } else {
        println!("not recorded: only whole runs with the usual window are");
    }
    println!("{}\n{}", results.goals(), results.last());
    Ok(())
}

/// Who takes part, with which settings.
fn settings(site: &Site, machine: &Machine, pace: &Pace, load_average: f64) -> String {
    let others = match load_average > LOAD_QUIET {
        true => "others use this machine, and their CPU time is counted too",
        false => "nobody else used this machine",
    };
    let baton = site.baton().display().to_string();
    let version = |name: &str, args: &[&str]| said(name, args).unwrap_or_default();
    let (threads, connections) = (client::THREADS, client::CONNECTIONS);
    let haproxy = |load: usize| site::settings(&LOADS[load]).label;
    format!(
        "{}, Linux {}, {}\n\
         bed: client, front-end and 2 servers as namespaces on one bridge, MTU 1500, reno on all, \
         initial window of {} segments on front-end and servers, nobody bound to a CPU\n\
         client: {threads} threads of {connections} connections\n\
         servers: {}, one worker each, sendfile, no log\n\
         baton: {}, one worker, policy target-hash, no log\n\
         haproxy: {}, nbthread 1, http-reuse always, no log; {} (64 KB, 1 MB: {})\n\
         {} rounds of {} ms; kernel's clocks on in as many passes of {} ms of their own\n\
         load average at the beginning: {load_average:.2} ({others})\n",
        machine.cpu,
        machine.kernel,
        machine.date,
        site.bed().plan().initial_window,
        version("nginx", &["-v"]),
        version(&baton, &["--version"]),
        version("haproxy", &["-v"]),
        haproxy(0),
        haproxy(2),
        pace.rounds,
        pace.time.as_millis(),
        pace.weighing.as_millis(),
    )
}

/// Every way under every load, in turns.
fn measured(site: &Site, pace: &Pace) -> Result<Results> {
    let cells = LOADS.iter().flat_map(|load| {
        Mode::ALL.map(|mode| Cell { mode, load, rounds: Vec::new(), kernel: Vec::new() })
    });
    let mut results = Results { cells: cells.collect(), skipped: Vec::new() };
    let ways = Mode::ALL.len();
    for round in 0..pace.rounds {
        for load in 0..LOADS.len() {
            for turn in 0..ways {
                let at = load * ways + (round + turn) % ways;
                turn_of(site, pace, &mut results, at)?;
            }
        }
    }
    Ok(results)
}

/// One way under one load, once.
fn turn_of(site: &Site, pace: &Pace, results: &mut Results, at: usize) -> Result<()> {
    let cell = &mut results.cells[at];
    if results.skipped.iter().any(|(mode, _)| *mode == cell.mode) {
        return Ok(());
    }
    let stand = match site.stand(cell.mode, cell.load) {
        Ok(stand) => stand,
        // Not there in every build; all others are.
        Err(why) if matches!(cell.mode, Mode::Forward | Mode::Splice) && cell.rounds.is_empty() => {
            child::go_on()?;
            println!("SKIPPED {why:#}");
            results.skipped.push((cell.mode, format!("{:#}", why.root_cause())));
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    cell.rounds.push(drive(site, &stand, cell.load, pace.time)?);
    if cell.mode.is_one_way() {
        cell.kernel.push(weigh(site, &stand, cell.load, pace.weighing)?);
    }
    Ok(())
}

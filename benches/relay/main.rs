//! What the relay costs beside HAProxy and nginx: CPU microseconds for each request.
//!
//! Method: one worker of each program on a CPU of its own, server and load (wrk) on another. The
//! programs take turns within each round, and each round starts with the next one, so that what the
//! machine does to one it does to all. Ratios are taken pair by pair, within a round; the middle of
//! the rounds counts. Beside them runs `floor`, which only moves bytes: nobody gets far below it.
//! `bench/README.md` says what each program is configured to do, and why.

mod cases;
mod congestion;
mod floor;
mod load;
#[path = "../measure/mod.rs"]
mod measure;
mod report;
mod stage;

use anyhow::{Result, bail};
use cases::{BATON, CASES, Case, NGINX, SPLICED};
use clap::Parser;
use congestion::Congestion;
use load::{Figures, drive};
use measure::haproxy::HAPROXY;
use measure::machine::{Machine, load_average, said};
use measure::{Variant, child};
use report::{Row, Setting, Versions};
use stage::{Program, Stage};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What everybody uses: bbr's pacing timers cost much CPU in virtual machines.
const CONGESTION: &str = "cubic";
/// A run before the rounds: connections to the server, caches, branch predictors.
const WARM_UP: Duration = Duration::from_secs(1);
/// Above this, somebody else is using the machine.
const LOAD_QUIET: f64 = 0.5;

/// CPU time per request of HAProxy, nginx and Baton, measured in turns.
#[derive(Parser)]
#[command(name = "bench-relay")]
struct Args {
    /// Five rounds of one second instead of seven of three; nothing is recorded.
    #[arg(long)]
    quick: bool,
    /// All settings tried for HAProxy and nginx, to see which are best; nothing is recorded.
    #[arg(long)]
    tune: bool,
    /// Only these cases: keepalive, close, 64k, 1m; nothing is recorded.
    #[arg(long = "case")]
    cases: Vec<String>,
    /// Another build of Baton.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_baton"))]
    baton: PathBuf,
    /// Be the floor: listen, server, `copy` or `splice`.
    #[arg(long, hide = true, num_args = 3)]
    floor: Option<Vec<String>>,
    /// Set by `cargo bench`; without it nothing is measured (`cargo test --benches`).
    #[arg(long, hide = true)]
    bench: bool,
    /// What `cargo bench WORDS` passes on; not used.
    #[arg(hide = true)]
    _filter: Option<String>,
}

impl Args {
    fn rounds(&self) -> (usize, Duration) {
        match self.quick || self.tune {
            true => (5, Duration::from_secs(1)),
            false => (7, Duration::from_secs(3)),
        }
    }

    /// Only whole runs are worth keeping.
    fn recorded(&self) -> bool {
        !self.quick && !self.tune && self.cases.is_empty()
    }

    fn chosen(&self) -> Result<Vec<&'static Case>> {
        if let Some(name) = self.cases.iter().find(|&name| CASES.iter().all(|c| c.name != *name)) {
            bail!("there is no case {name:?}; there are keepalive, close, 64k and 1m");
        }
        let chosen =
            |case: &&Case| self.cases.is_empty() || self.cases.iter().any(|n| *n == case.name);
        Ok(CASES.iter().filter(chosen).collect())
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if !args.bench && args.floor.is_none() {
        println!("bench-relay: nothing measured; cargo bench --bench relay does it");
        return ExitCode::SUCCESS;
    }
    let done = match args.floor.as_deref() {
        Some([here, there, way]) => be_floor(here, there, way),
        _ => run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-relay: {error:#}");
            ExitCode::from(3)
        }
    }
}

/// Relays for another process of this program, the one that measures.
fn be_floor(here: &str, there: &str, way: &str) -> Result<()> {
    floor::run(here.parse()?, there.parse()?, way == SPLICED)
}

fn run(args: &Args) -> Result<()> {
    let cases = args.chosen()?;
    let versions = versions(&args.baton)?;
    child::watch_signals()?;
    let machine = Machine::look();
    let congestion = Congestion::set(CONGESTION);
    let (rounds, time) = args.rounds();
    println!("{}, Linux {}, {} for all", machine.cpu, machine.kernel, congestion.now);
    versions.0.iter().for_each(|(_, version)| println!("{version}"));
    println!("{rounds} rounds of {} s, {} connections", time.as_secs(), load::CONNECTIONS);
    if load_average() > LOAD_QUIET {
        println!("others use this machine (load {:.1}): expect noise", load_average());
    }
    let stage = Stage::build(&cases, args.baton.clone())?;
    let setting = Setting {
        machine: &machine,
        versions: &versions,
        congestion: &congestion.now,
        seconds: time.as_secs(),
    };
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/results.jsonl");
    let mut measured = Vec::new();
    for case in cases {
        let rows = measure(&stage, case, &cast(args, &versions, case), rounds, time)?;
        report::table(case, &rows);
        measured.push((case, rows));
    }
    println!();
    if args.recorded() {
        for (case, rows) in &measured {
            report::keep(&kept, &setting, case, rows)?;
        }
        println!("appended to bench/results.jsonl");
    } else {
        println!("not recorded: only whole runs are");
    }
    println!("bench-relay: {}", summary(&measured));
    Ok(())
}

/// What is installed. Without load or server nothing can be measured.
fn versions(baton: &Path) -> Result<Versions> {
    let asked = [
        ("haproxy", said("haproxy", &["-v"])),
        ("nginx", said("nginx", &["-v"])),
        ("baton", said(&baton.display().to_string(), &["--version"])),
        ("wrk", said("wrk", &["-v"])),
    ];
    let missing = |name: &str| asked.iter().any(|(of, version)| *of == name && version.is_none());
    if missing("nginx") || missing("wrk") {
        bail!("nginx (the server) and wrk (the load) are needed: apt-get install nginx-light wrk");
    }
    if missing("baton") {
        bail!("there is no program {}", baton.display());
    }
    if missing("haproxy") {
        println!("no rows for haproxy and no ratios: it is missing (apt-get install haproxy)");
    }
    let found = asked.into_iter().filter_map(|(name, version)| Some((name, version?)));
    Ok(Versions(found.collect()))
}

/// Who takes part in a case, and how.
fn cast(args: &Args, versions: &Versions, case: &Case) -> Vec<(Program, &'static Variant)> {
    let mut cast = match args.tune {
        false => vec![(Program::HaProxy, case.haproxy), (Program::Nginx, case.nginx)],
        true => {
            let haproxy = HAPROXY.iter().map(|variant| (Program::HaProxy, variant));
            haproxy.chain(NGINX.iter().map(|variant| (Program::Nginx, variant))).collect()
        }
    };
    cast.retain(|(program, _)| versions.0.iter().any(|(name, _)| *name == program.name()));
    cast.push((Program::Baton, &BATON));
    cast.extend(case.floor.map(|variant| (Program::Floor, variant)));
    cast
}

fn measure(
    stage: &Stage,
    case: &Case,
    cast: &[(Program, &'static Variant)],
    rounds: usize,
    time: Duration,
) -> Result<Vec<Row>> {
    let mut proxies = Vec::new();
    let mut rows = Vec::new();
    for &(program, variant) in cast {
        let proxy = stage.enter(program, variant, case)?;
        drive(&proxy, case, WARM_UP, stage.dir())?;
        proxies.push(proxy);
        rows.push(Row { program, variant, rounds: Vec::new() });
    }
    for round in 0..rounds {
        for turn in 0..proxies.len() {
            let at = (round + turn) % proxies.len();
            proxies[at].child.must_run()?;
            let figures: Figures = drive(&proxies[at], case, time, stage.dir())?;
            rows[at].rounds.push(figures);
        }
    }
    Ok(rows)
}

/// `keepalive=0.80 close=0.70 64k=0.55 1m=0.60`.
fn summary(measured: &[(&Case, Vec<Row>)]) -> String {
    let word = |(case, rows): &(&Case, Vec<Row>)| {
        let ours = rows.iter().find(|row| row.program == Program::Baton);
        match ours.zip(report::reference(case, rows)) {
            Some((ours, theirs)) => format!("{}={:.2}", case.name, ours.ratio(theirs).median),
            None => format!("{}=n/a", case.name),
        }
    };
    measured.iter().map(word).collect::<Vec<_>>().join(" ")
}

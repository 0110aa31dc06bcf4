//! `baton testbed`: a site in network namespaces, which stays when the command has ended, or shows
//! one-way delivery and goes.

mod demo;

use crate::exit::{self, Exit, Outcome, say};
use crate::flags::{Testbed, TestbedCommand, TestbedDown, TestbedStatus, TestbedUp};
use anyhow::Context;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testbed::{Both, Condition, Error, Host, Plan, TestBed, Variant};
use tokio::signal::unix::{SignalKind, signal};

/// Makes, removes or lists test beds.
///
/// # Errors
/// When this is not root, something is missing, or the system says no.
pub fn run(args: &Testbed) -> Outcome {
    match &args.command {
        TestbedCommand::Up(args) => up(args),
        TestbedCommand::Down(args) => down(args),
        TestbedCommand::Status(args) => status(args),
        TestbedCommand::Demo(args) => demo::run(args),
    }
}

fn up(args: &TestbedUp) -> Outcome {
    let variant = if args.routed { Variant::Routed } else { Variant::Bridge };
    let plan = Plan::new(args.servers).named(&args.name).wired(variant);
    let plan = Plan { mtu: args.mtu, initial_window: args.initial_window, ..plan };
    if let Err(mistake) = plan.check() {
        return exit::usage(&mistake.to_string());
    }
    if let Ok(found) = TestBed::find(&plan.name) {
        if *found.plan() != plan {
            say(format_args!(
                "baton: there is a test bed {name}, and it is another: {}; remove it with \
                 `baton testbed down {name}`, or give this one another name",
                shape(found.plan()),
                name = plan.name
            ));
            return Ok(Exit::Invalid);
        }
        say(format_args!("baton: test bed {} is there already", plan.name));
    } else {
        match made(&plan) {
            Ok(bed) => bed.stand()?,
            Err(Error::Interrupted) => {
                say("baton: interrupted; what was made is removed");
                return Ok(Exit::Interrupted);
            }
            Err(error @ Error::Exists(_)) => {
                let remedy = format!("it is not ready; `baton testbed down {}` ends it", plan.name);
                return Err(error).context(remedy);
            }
            Err(error) => return Err(error.into()),
        }
    }
    io::stdout().lock().write_all(described(&plan).as_bytes())?;
    Ok(Exit::Done)
}

/// Makes the bed, unless a signal to end comes meanwhile.
fn made(plan: &Plan) -> Result<TestBed, Error> {
    let plan = plan.clone();
    let made = until_signal(move |stop| TestBed::up_unless(&plan, stop));
    made.map_err(|source| Error::System { doing: "await signals".to_owned(), source })?
}

/// Does work that can be told to stop, and tells it so when a signal to end comes.
///
/// # Errors
/// When signals cannot be awaited; then nothing is done.
fn until_signal<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut work = tokio::task::spawn_blocking(move || work(&told));
        loop {
            tokio::select! {
                done = &mut work => match done {
                    Ok(done) => return Ok(done),
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                _ = interrupt.recv() => stop.store(true, Ordering::Relaxed),
                _ = terminate.recv() => stop.store(true, Ordering::Relaxed),
            }
        }
    })
}

fn down(args: &TestbedDown) -> Outcome {
    let names = if args.all { testbed::beds() } else { vec![args.name.clone()] };
    let mut out = io::stdout().lock();
    for name in &names {
        let was = testbed::condition(name);
        testbed::down(name)?;
        match was {
            Some(_) => writeln!(out, "test bed {name} is removed")?,
            None => writeln!(out, "there is no test bed {name}")?,
        }
    }
    if names.is_empty() {
        writeln!(out, "there is no test bed")?;
    }
    Ok(Exit::Done)
}

fn status(args: &TestbedStatus) -> Outcome {
    let mut out = io::stdout().lock();
    let mut rows = Vec::new();
    for name in testbed::beds() {
        let Some(condition) = testbed::condition(&name) else { continue };
        let plan = TestBed::find(&name).ok().map(|bed| bed.plan().clone());
        let shape = plan.as_ref().map_or("not ready".to_owned(), shape);
        if args.answer.json {
            let row = serde_json::json!({
                "name": name,
                "condition": in_words(condition),
                "servers": plan.as_ref().map(|plan| plan.servers),
                "routed": plan.as_ref().map(|plan| plan.variant == Variant::Routed),
            });
            rows.push(row);
        } else {
            writeln!(out, "{name:<16} {shape}; {}", in_words(condition))?;
        }
    }
    match args.answer.json {
        true => writeln!(out, "{}", serde_json::json!({ "testbeds": rows }))?,
        false if testbed::beds().is_empty() => writeln!(out, "there is no test bed")?,
        false => {}
    }
    Ok(Exit::Done)
}

fn in_words(condition: Condition) -> String {
    match condition {
        Condition::Standing => "standing".to_owned(),
        Condition::Held(process) => format!("held by process {process}"),
        Condition::Begun(process) => format!("being made by process {process}"),
        Condition::Abandoned => "abandoned: its maker is dead".to_owned(),
        Condition::Remains => "remains of one".to_owned(),
    }
}

fn shape(plan: &Plan) -> String {
    let servers = if plan.servers == 1 { "server" } else { "servers" };
    let wired = match plan.variant {
        Variant::Bridge => "all neighbours",
        Variant::Routed => "behind a router",
    };
    format!(
        "{} {servers}, {wired}, packets of {} bytes, initial window of {}",
        plan.servers, plan.mtu, plan.initial_window
    )
}

fn in_columns(both: Both) -> String {
    format!("{:<12} {}", both.v4.to_string(), both.v6)
}

/// Who is where, and how to go on from here.
fn described(plan: &Plan) -> String {
    let mut text = format!("test bed {}: {}\n\n", plan.name, shape(plan));
    let mut row = |who: &str, space: &str, addresses: String| {
        let line = format!("  {who:<9} {space:<width$}  {addresses}", width = plan.name.len() + 15);
        writeln!(text, "{}", line.trim_end()).expect("a string takes all");
    };
    row("machine", "namespace", "addresses".to_owned());
    for host in plan.hosts() {
        let addresses = plan.address(host).map(in_columns).unwrap_or_default();
        row(&host.to_string(), &plan.namespace(host), addresses);
    }
    row("(virtual)", "", in_columns(plan.vip()));
    let server = plan.address(Host::Server(1)).expect("there is a first server");
    let files: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
    let client = plan.namespace(Host::Client);
    write!(
        text,
        "\nEvery server has an nginx at port 80 with {}\n\
         To run something on a machine:  nsenter --net=/run/netns/{client} \
         curl -I http://{}/1500\n\
         To remove it all:               baton testbed down {}\n",
        files.join(" "),
        server.v4,
        plan.name
    )
    .expect("a string takes all");
    text
}

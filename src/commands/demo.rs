//! `baton demo`: the main job, on the trace that ships with the program.

use crate::demo::{self, Plot};
use crate::exit::{self, Exit, Outcome, say};
use crate::flags::Demo;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// Plays the trace under each policy and shows table and picture.
///
/// # Errors
/// When servers or switch cannot be started or the picture cannot be written.
pub fn run(args: &Demo) -> Outcome {
    let policies: Vec<String> = match args.policy.as_slice() {
        [] => demo::POLICIES.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    if let Some(unknown) = policies.iter().find(|name| policy::entry(name).is_none()) {
        return exit::usage(&format!("there is no policy {unknown}; see `baton policies`"));
    }
    let servers = usize::from(args.servers);
    let requests = args.requests.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let plan = Arc::new(demo::plan(requests)?);
    // Clients, switch and servers are one process here: each session is six descriptors.
    crate::limits::connections_allowed(4 * demo::sessions(servers));
    let caption = format!(
        "{}: {} requests in {} sessions for {} targets of {:.0} MB, {servers} servers with {:.0} \
         MB of cache each, {} sessions at a time",
        demo::TRACE_NAME,
        plan.trace.requests.len(),
        plan.sessions.len(),
        plan.targets,
        plan.working_set_bytes as f64 / 1e6,
        plan.working_set_bytes as f64 / 1e6 / servers as f64,
        demo::sessions(servers),
    );
    let plot = Plot { policies, servers, requests };
    say(format_args!("{caption}"));
    let rows = demo::play(&plot, &plan, io::stderr().is_terminal())?;
    if rows.len() < plot.policies.len() {
        if !rows.is_empty() {
            writeln!(io::stdout().lock(), "{}", demo::text(&rows))?;
        }
        say(format_args!("baton: interrupted; servers and switch are stopped"));
        return Ok(Exit::Interrupted);
    }
    let picture = demo::draw(&rows, &caption, &args.out)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", demo::text(&rows))?;
    writeln!(out, "picture: {}", picture.display())?;
    if args.json {
        writeln!(out, "{}", demo::json(demo::TRACE_NAME, servers, &rows))?;
    }
    Ok(if rows.iter().all(|row| row.failed == 0) { Exit::Done } else { Exit::Invalid })
}

//! `baton sim`: an access log, played to clusters on paper.

use crate::exit::{Exit, Outcome, say};
use crate::flags::Sim;
use crate::logs::report;
use crate::whatif::{self, Bar, Logs, Plan, advice};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;
use std::thread;

/// Plays the logs to every cluster that is asked for, and says what came of it.
///
/// # Errors
/// When a log or the configuration cannot be read, or a report cannot be written.
pub fn run(args: &Sim) -> Outcome {
    let plan = Plan::new(args)?;
    let bar = Rc::new(Progress::new());
    let note = Rc::clone(&bar);
    let mut logs =
        Logs::new(&args.logs, args.format.as_deref(), Box::new(move |text| note.say(text)))?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(cores, usize::from);
    let mut study = whatif::play(&plan, &mut logs, threads, bar.as_ref())?;
    whatif::narrow(&mut study, plan, &mut logs, threads, bar.as_ref())?;
    bar.bar.finish_and_clear();
    study.logs.iter().for_each(|log| report(&log.name, &log.tally));
    if args.json || args.csv {
        // The table has them at its head; who has a program read the figures sees only this.
        study.caveats().iter().for_each(say);
    }
    if let Some(path) = &args.html {
        let page = whatif::page(&study, args.live);
        fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
        say(format_args!("report: {}", path.display()));
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", whatif::json(&study, args.live))?;
    } else if args.csv {
        out.write_all(whatif::csv(&study).as_bytes())?;
    } else {
        out.write_all(whatif::table(&study).as_bytes())?;
        out.write_all(advice::text(&advice::advice(&study)).as_bytes())?;
        if args.live {
            out.write_all(whatif::live(&study).as_bytes())?;
        }
    }
    // What could be read is worth its answer; that it was not all is still an error.
    logs.damage().map_or(Ok(Exit::Done), Err)
}

/// Progress for people: on a terminal only.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        if !io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{bar:30} {bytes}/{total_bytes} of the log, {eta} left: {msg}";
        let style = ProgressStyle::with_template(style);
        Self { bar: bar.with_style(style.expect("the template is valid")) }
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }
}

impl Bar for Progress {
    fn read(&self, bytes: u64, of: Option<u64>, (done, all): (usize, usize)) {
        match of {
            Some(of) => self.bar.set_length(of.max(bytes)),
            None => self.bar.set_length(bytes),
        }
        self.bar.set_position(bytes);
        if done > 0 {
            self.bar.set_message(format!("{done} of {all} runs are done"));
        } else {
            self.bar.set_message(format!("{all} runs"));
        }
    }
}

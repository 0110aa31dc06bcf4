//! Independent runs on all cores, with progress.
//!
//! The rows come out in the order of the runs whatever the order in which threads finish them, so
//! the number of cores cannot be seen in the result.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim::{Figure, Figures, Row, Run, Scale, Study, Traces};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// One run of one study, and where its rows go.
struct Job {
    study: usize,
    run: Mutex<Option<Run>>,
    rows: Mutex<Vec<Row>>,
}

/// Makes the figures of `studies` with `threads` threads. Progress is shown when `shown`.
pub fn make(studies: &[&'static Study], scale: Scale, threads: usize, shown: bool) -> Figures {
    let bar = progress(shown);
    bar.set_message("making the traces");
    let mut traces = Traces::default();
    let mut jobs = Vec::new();
    for (number, study) in studies.iter().enumerate() {
        bar.tick();
        jobs.extend((study.runs)(&mut traces, scale).into_iter().map(|run| Job {
            study: number,
            run: Mutex::new(Some(run)),
            rows: Mutex::default(),
        }));
    }
    // What runs need of the traces they hold themselves; the rest is free again.
    drop(traces);
    bar.set_length(jobs.len() as u64);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| work(&jobs, &next, &bar));
        }
    });
    bar.finish_and_clear();
    gather(studies, jobs)
}

/// Takes runs until none is left.
fn work(jobs: &[Job], next: &AtomicUsize, bar: &ProgressBar) {
    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
        let run = job.run.lock().expect("no run holds its own lock").take();
        let run = run.expect("each number is given out once");
        bar.set_message(run.label);
        let rows = (run.work)();
        *job.rows.lock().expect("no run holds its own lock") = rows;
        bar.inc(1);
    }
}

fn gather(studies: &[&'static Study], jobs: Vec<Job>) -> Figures {
    let empty = |study: &&'static Study| Figure { columns: study.columns, rows: Vec::new() };
    let mut figures: Vec<Figure> = studies.iter().map(empty).collect();
    for job in jobs {
        let rows = job.rows.into_inner().expect("no run holds its own lock");
        figures[job.study].rows.extend(rows);
    }
    studies.iter().map(|study| study.id).zip(figures).collect()
}

fn progress(shown: bool) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if !shown {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left: {msg}");
    bar.with_style(style.expect("the template is valid"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Axis;

    fn runs(_: &mut Traces, _: Scale) -> Vec<Run> {
        let run = |number: u32| {
            Run::new(format!("run {number}"), move || {
                vec![Row::new("line", f64::from(number), vec![f64::from(number * 2)])]
            })
        };
        (0..50).map(run).collect()
    }

    static STUDY: Study = Study {
        id: "test",
        title: "a test",
        source: "none",
        x: Axis::linear("x"),
        y: Axis::linear("y"),
        columns: &["y"],
        caption: |_| String::new(),
        runs,
    };

    #[test]
    fn the_number_of_threads_cannot_be_seen_in_the_figure() {
        let alone = make(&[&STUDY], Scale::Quick, 1, false);
        assert_eq!(alone["test"].rows.len(), 50);
        assert_eq!(alone["test"].at("line", 7.0, "y"), 14.0);
        assert_eq!(alone, make(&[&STUDY], Scale::Quick, 8, false));
    }
}

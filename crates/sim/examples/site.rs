//! Makes the studies of CAP and ClubWeb and prints what becomes of their claims:
//! `cargo run --release -p sim --example site -- [--full] [STUDY...]`.

use sim::{Figure, Figures, Run, Scale, Study, Traces, papers};

fn main() {
    let names: Vec<_> = std::env::args().skip(1).collect();
    let scale = if names.iter().any(|name| name == "--full") { Scale::Full } else { Scale::Quick };
    let asked: Vec<_> = names.iter().filter(|name| !name.starts_with("--")).collect();
    let is_ours = |study: &&Study| study.id.starts_with("cap") || study.id.starts_with("clubweb");
    let is_asked = |study: &&Study| asked.is_empty() || asked.iter().any(|name| *name == study.id);
    let mut figures = Figures::new();
    for study in papers::studies().filter(is_ours).filter(is_asked) {
        figures.insert(study.id, made(study, scale));
        println!("{}", study.id);
        if !asked.is_empty() {
            println!("{}\n{}", (study.caption)(scale), figures[study.id].csv("x"));
        }
    }
    for claim in papers::claims() {
        let is_made = claim.needs.iter().all(|id| figures.contains_key(id));
        if let Some(finding) = is_made.then(|| claim.finding(&figures)).flatten() {
            let mark = if finding.holds { "holds" } else { "does not hold" };
            println!("{}: {mark}: {} [{}]", claim.id, finding.measured, claim.published);
        }
    }
}

/// The figure, its runs spread over two threads.
fn made(study: &Study, scale: Scale) -> Figure {
    let runs: Vec<Run> = (study.runs)(&mut Traces::default(), scale);
    let halves = std::thread::scope(|scope| {
        let mut parts: [Vec<(usize, Run)>; 2] = [Vec::new(), Vec::new()];
        for (number, run) in runs.into_iter().enumerate() {
            parts[number % 2].push((number, run));
        }
        let work = |part: Vec<(usize, Run)>| {
            scope.spawn(move || {
                part.into_iter().map(|(number, run)| (number, (run.work)())).collect::<Vec<_>>()
            })
        };
        parts.map(work).map(|thread| thread.join().expect("a run does not panic"))
    });
    let mut rows: Vec<_> = halves.into_iter().flatten().collect();
    rows.sort_by_key(|(number, _)| *number);
    let rows = rows.into_iter().flat_map(|(_, rows)| rows).collect();
    Figure { columns: study.columns, rows }
}

//! The live experiments. Method: a very small form of one is measured for real; every scenario is
//! read and planned; the page of results and the pages beside the numbers are what the numbers say.

use baton::experiments::{EXPERIMENTS, Lab, Size, Table, page};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The stress test with one short point for each program, and nothing that takes long.
fn small(scenario: &str) -> String {
    let (head, _) = scenario.split_once("[full]").expect("it has a full form");
    let extent = "servers = [2]\nwarm_s = 0.2\nmeasure_s = 0.3\nrepeats = 1\nsaturation_s = 0.2\n\
                  saturation_repeats = 0\n";
    format!("{head}[full]\n{extent}\n[quick]\n{extent}")
}

#[test]
fn a_small_form_of_the_stress_test_is_measured_and_written() {
    let named = |name: &str| EXPERIMENTS.iter().find(|one| one.name == name).expect("it is there");
    let experiment = named("clubweb-static");
    let lab = Lab::open().expect("reactors");
    let scenario = small(experiment.scenario);
    let table = experiment.measure(&lab, &scenario, Size::Quick, None).expect("measured");
    let table = table.expect("nobody stopped it");
    let ours = table.at("small-file", "Baton relay", 2.0, "requests_s").expect("a point");
    assert_eq!(table.note("not measured"), "", "every program that is installed was measured");
    // Two emulated servers give 866 requests a second of their time each, and never more.
    assert!(ours.median > 100.0 && ours.median < 2.0 * 866.0 * 1.05, "{ours:?}");
    let failed = table.at("small-file", "Baton relay", 2.0, "failed").expect("a point");
    assert_eq!(failed.max, 0.0);
    assert!(table.at("small-file", "Baton relay", 2.0, "front_us").expect("a point").min > 0.0);

    let folder = tempfile::tempdir().expect("a folder");
    experiment.save(&table, folder.path()).expect("written");
    let own = folder.path().join(experiment.name);
    let read = Table::load(folder.path(), experiment.name).expect("it is read");
    assert_eq!(read.csv(), table.csv());
    assert_eq!(read.note("size"), "quick");
    assert!(own.join("small-file-requests-s.svg").exists());
    let readme = fs::read_to_string(own.join("README.md")).expect("a page");
    assert!(readme.contains("Baton relay") && readme.contains("Emulated"), "{readme}");
    let tables = page::tables(folder.path()).expect("tables");
    let text = page::render(&tables, "there");
    assert!(text.contains("| CW-C4 |") && text.contains("Not measured yet"), "{text}");
}

#[test]
fn every_scenario_is_the_file_beside_its_results_and_plans_points_of_both_sizes() {
    for experiment in EXPERIMENTS {
        let path = root().join("experiments").join(experiment.name).join("scenario.toml");
        let file = fs::read_to_string(&path).expect("the scenario is there");
        assert_eq!(file, experiment.scenario, "{}: built from another file", experiment.name);
        let points = |size| (experiment.plan)(&file, size).expect("a plan").len();
        let (quick, full) = (points(Size::Quick), points(Size::Full));
        assert!(0 < quick && quick < full, "{}: {quick} and {full} points", experiment.name);
        let unknown = format!("unheard_of = 1\n{file}");
        assert!((experiment.plan)(&unknown, Size::Quick).is_err(), "{}", experiment.name);
    }
}

#[test]
fn all_of_them_take_twenty_minutes_and_four_in_their_quick_form() {
    // In seconds, as planned.
    let most = [
        ("lard", 520.0),
        ("phttp", 120.0),
        ("clubweb-static", 100.0),
        ("cap", 265.0),
        ("clubweb", 215.0),
        ("wrr", 130.0),
    ];
    for (name, full_s) in most {
        let experiment = EXPERIMENTS.iter().find(|one| one.name == name).expect("it is there");
        let about_s = experiment.about(Size::Full).expect("a plan").as_secs_f64();
        assert!(about_s <= full_s, "{name}: {about_s} s");
    }
    let minutes = |size| {
        let about = |one: &baton::experiments::Experiment| one.about(size).expect("a plan");
        EXPERIMENTS.iter().map(about).sum::<std::time::Duration>().as_secs_f64() / 60.0
    };
    assert_eq!(most.len(), EXPERIMENTS.len());
    assert!(minutes(Size::Quick) <= 4.0, "{}", minutes(Size::Quick));
    assert!(minutes(Size::Full) <= 22.0, "{}", minutes(Size::Full));
}

#[test]
fn pages_are_what_their_numbers_say() {
    let folder = root().join("experiments");
    let tables = page::tables(&folder).expect("tables");
    for experiment in EXPERIMENTS {
        let Some(table) = tables.get(experiment.name) else { continue };
        let readme = read(&folder.join(experiment.name).join("README.md"));
        assert!(readme == page::readme(experiment, table), "{}: stale README", experiment.name);
    }
    let live = read(&root().join("docs/RESULTS-LIVE.md"));
    let part = page::part(&live);
    assert!(
        part == page::render(&tables, "../experiments"),
        "docs/RESULTS-LIVE.md is stale: `baton experiment --page` writes its part"
    );
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

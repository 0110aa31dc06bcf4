//! The live experiments. Method: a very small form of each is measured for real; every scenario is
//! read and planned; the page of results and the pages beside the numbers are what the numbers say.

use baton::experiments::{EXPERIMENTS, Lab, Row, Size, Table, page};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The stress test with one short point for each program, and nothing that takes long.
fn small(scenario: &str) -> String {
    let (head, _) = scenario.split_once("[full]").expect("it has a full form");
    let extent = "servers = [2]\nwarm_s = 0.2\nmeasure_s = 1.0\nrepeats = 1\nsaturation_s = 0.2\n\
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
    // Two emulated servers give 866 requests a second of their time each, and never more; but what
    // was held up before may be answered in the second that is measured.
    assert!(ours.median > 20.0 && ours.median < 2.0 * 866.0 * 1.5, "{ours:?}");
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

/// What is made smaller in a scenario, so that a point takes a second.
const SMALLER: [(&str, &[(&str, &str)]); 5] = [
    ("lard", &[("warm_requests = 12_000", "warm_requests = 500"), FEW]),
    ("phttp", &[("warm_requests = 14_000", "warm_requests = 500"), FEW]),
    ("cap", &[("late_s = 10.0", "late_s = 0.5"), ("warm_s = 4.0", "warm_s = 0.3"), SHORT]),
    ("clubweb", &[("warm_s = 2.0", "warm_s = 0.3"), ("measure_s = 2.2", "measure_s = 0.8")]),
    (
        "wrr",
        &[
            ("periods_s = [0.5, 2.0]", "periods_s = [0.2, 0.4]"),
            ("warm_s = 1.4", "warm_s = 0.3"),
            ("measure_s = 3.5", "measure_s = 0.8"),
        ],
    ),
];
const FEW: (&str, &str) = ("measured_requests = ", "measured_requests = 500 # ");
const SHORT: (&str, &str) = ("measure_s = 10.0", "measure_s = 0.8");

/// Figures of a second mean nothing; that every policy, peer and class of requests is measured and
/// written does.
#[test]
fn a_small_form_of_every_other_experiment_is_measured_and_written() {
    let lab = Lab::open().expect("reactors");
    let folder = tempfile::tempdir().expect("a folder");
    for experiment in EXPERIMENTS.iter().filter(|one| one.name != "clubweb-static") {
        let name = experiment.name;
        let (_, smaller) =
            SMALLER.iter().find(|(known, _)| *known == name).expect("it has a small form");
        let mut scenario = experiment.scenario.to_owned();
        for (usual, small) in *smaller {
            assert!(scenario.contains(usual), "{name}: no {usual}");
            scenario = scenario.replace(usual, small);
        }
        let planned = (experiment.plan)(&scenario, Size::Quick).expect("a plan").len();
        let table = experiment.measure(&lab, &scenario, Size::Quick, None).expect("measured");
        let mut table = table.expect("nobody stopped it");
        // Others may have the processors for longer than a point takes: once more, then.
        let held_up = |row: &Row| row.get("requests_s") == 0.0 && row.is_disturbed();
        if table.rows.iter().any(held_up) {
            let again = experiment.measure(&lab, &scenario, Size::Quick, Some(table));
            table = again.expect("measured").expect("nobody stopped it");
        }
        assert_eq!(table.note("not measured"), "", "{name}");
        assert!(!table.rows.is_empty() && table.rows.len() <= planned, "{name}");
        for row in &table.rows {
            let (answered, failed) = (row.get("requests_s"), row.get("failed"));
            assert!(answered > 0.0 && failed == 0.0, "{name}: {row:?}");
        }
        experiment.save(&table, folder.path()).expect("written");
        assert_eq!(Table::load(folder.path(), name).expect("it is read").csv(), table.csv());
    }
    let text = page::render(&page::tables(folder.path()).expect("tables"), "there");
    assert!(text.contains("not judged"), "what is measured once judges nothing: {text}");
}

#[test]
fn all_of_them_take_half_an_hour_and_five_minutes_in_their_quick_form() {
    // As planned, and with what may be measured once more.
    let minutes = |size: Size| {
        let about = |one: &baton::experiments::Experiment| one.about(size).expect("a plan");
        let all = EXPERIMENTS.iter().map(about).sum::<std::time::Duration>();
        all.mul_f64(1.0 + size.spare()).as_secs_f64() / 60.0
    };
    assert!(minutes(Size::Quick) <= 5.0, "{}", minutes(Size::Quick));
    assert!(minutes(Size::Full) <= 30.0, "{}", minutes(Size::Full));
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

#[test]
fn a_scenario_of_ones_own_is_measured_elsewhere_and_lies_beside_its_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (mine, out) = (path("mine.toml"), path("out"));
    let experiment = EXPERIMENTS.iter().find(|one| one.name == "clubweb-static").expect("is there");
    fs::write(&mine, small(experiment.scenario)).expect("written");
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_baton"));
        let output = command.arg("experiment").args(args).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let asked = ["clubweb-static", "--quick", "--scenario", &mine, "--out", &out];
    let (code, said) = run(&asked);
    assert_eq!(code, Some(0), "{said}");
    let there = folder.path().join("out/clubweb-static");
    assert_eq!(read(&there.join("scenario.toml")), small(experiment.scenario));
    let page = read(&there.join("README.md"));
    assert!(page.contains("small-file") && page.contains("--scenario scenario.toml"), "{page}");
    // What is there is not mixed with what comes of another scenario.
    fs::write(&mine, small(experiment.scenario).replace("[2]", "[3]")).expect("written");
    let refused = |args: &[&str], word: &str| {
        let (code, said) = run(args);
        assert!(code == Some(2) && said.contains(word), "{code:?} {said}");
    };
    refused(&asked, "another scenario");
    refused(&["clubweb-static", "--quick", "--again", "--out", &out], "another scenario");
    refused(&["lard", "cap", "--scenario", &mine, "--out", &out], "one experiment");
    refused(&["lard", "--scenario", &path("none.toml"), "--out", &out], "cannot read");
    refused(&["lard", "--scenario", &mine, "--out", &out], "no scenario of lard: TOML");
}

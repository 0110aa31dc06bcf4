//! Rules on the workspace: who may know whom, and what dependencies are for.

use crate::source::{self, Source, has_word};
use crate::tables::{ARROWS, TEST_ARROWS};
use std::fs;
use std::path::Path;

/// A package of the workspace.
pub struct Member {
    pub name: String,
    manifest: toml::Table,
}

impl Member {
    pub fn new(name: &str, manifest: &str) -> Self {
        let manifest = manifest.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), manifest }
    }

    /// Every dependency, of the crate and of its tests, with what is said of it.
    fn dependencies(&self) -> impl Iterator<Item = (&String, &toml::Value)> {
        let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
        let tables = sections.into_iter().filter_map(|name| self.manifest.get(name)?.as_table());
        tables.flatten()
    }

    fn folder(&self) -> String {
        if self.name == "baton" { String::new() } else { format!("crates/{}/", self.name) }
    }
}

/// The crates, and the root.
pub fn members(root: &Path) -> Vec<Member> {
    let crates = source::files(&root.join("crates"), "Cargo.toml");
    let paths = crates.iter().filter(|path| path.matches('/').count() == 1);
    let read = |path: &Path| fs::read_to_string(path).expect("manifests are readable");
    let mut members: Vec<Member> = paths
        .map(|path| {
            let name = path.split('/').next().unwrap_or_default();
            Member::new(name, &read(&root.join("crates").join(path)))
        })
        .collect();
    members.push(Member::new("baton", &read(&root.join("Cargo.toml"))));
    members
}

/// Arrows between crates that [`ARROWS`] does not have; versions and lints of a crate's own.
pub fn arrows(members: &[Member]) -> Vec<String> {
    let mut problems = Vec::new();
    if members.is_empty() {
        problems.push("there are no crates to look at".to_owned());
    }
    for member in members {
        let name = &member.name;
        let inherits = member.manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if inherits.and_then(toml::Value::as_bool) != Some(true) {
            problems.push(format!("{name} does without the lints of the workspace"));
        }
        for (dependency, value) in member.dependencies() {
            if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                problems.push(format!("{name} has its own version of {dependency}"));
            }
        }
        if name == "baton" {
            continue;
        }
        let Some((_, may)) = ARROWS.iter().find(|(from, _)| from == name) else {
            problems.push(format!("{name} has no row in the table of arrows"));
            continue;
        };
        let inside = |other: &str| ARROWS.iter().any(|(from, _)| *from == other);
        let tests = TEST_ARROWS.iter().find(|(from, _)| from == name).map_or(&[][..], |row| row.1);
        let in_tests = |other: &String| {
            let shipped = member.manifest.get("dependencies").and_then(|table| table.get(other));
            shipped.is_none() && tests.contains(&other.as_str())
        };
        for (other, _) in member.dependencies().filter(|(other, _)| inside(other)) {
            if !may.contains(&other.as_str()) && !in_tests(other) {
                problems.push(format!("{name} may not depend on {other}"));
            }
        }
    }
    problems
}

/// Shared dependencies without a comment that says what they are for.
pub fn reasons(text: &str) -> Vec<String> {
    let listed: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .collect();
    if listed.is_empty() {
        return vec!["Cargo.toml: there are no shared dependencies to look at".to_owned()];
    }
    let bare = listed.iter().filter(|line| !line.contains(" # "));
    let name = |line: &str| line.split([' ', '.', '=']).next().unwrap_or(line).to_owned();
    bare.map(|line| format!("Cargo.toml: what is `{}` for?", name(line))).collect()
}

/// Shared dependencies that no crate has, and dependencies of crates that no file names.
pub fn unused(root: &str, members: &[Member], sources: &[Source]) -> Vec<String> {
    let manifest: toml::Table = root.parse().expect("cargo has read it");
    let shared = manifest["workspace"]
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .expect("the workspace shares dependencies");
    let mut problems = Vec::new();
    for name in shared.keys() {
        if !members.iter().any(|member| member.dependencies().any(|(used, _)| used == name)) {
            problems.push(format!("Cargo.toml: nobody depends on `{name}`"));
        }
    }
    for member in members {
        let folder = member.folder();
        let own = |source: &&Source| {
            source.path.starts_with(&folder)
                && !(folder.is_empty() && source.path.starts_with("crates/"))
        };
        for (name, _) in member.dependencies() {
            let word = name.replace('-', "_");
            let named = |source: &Source| source.code.iter().any(|line| has_word(line, &word));
            if !sources.iter().filter(own).any(named) {
                problems.push(format!("{}: no file names `{name}`", member.name));
            }
        }
    }
    problems
}

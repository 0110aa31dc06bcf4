//! Scenario files: what users do and what they ask for, in TOML.
//!
//! A file gives everything itself, or names another scenario by `base` and gives what differs. Each
//! distribution of the papers' tables can be replaced. What is wrong is found all at once, with its
//! line, as in the configuration; shares that do not sum to 1 and means that are infinite are said.

mod draws;
mod sections;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use write::text;

use crate::config::{Diagnosis, Gravity, LoadError, Source, nearest, quoted, read_toml};
use load::Manner;
use std::path::Path;
use table::Table;
use workload::draw::Draw;
use workload::visits::{Answer, CLUBWEB_CPU, Mix, Service, Site, Visits};

/// What a scenario file says: a [`Mix`] of its own, and when and how it is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// See [`Mix::name`].
    pub name: String,
    /// See [`Mix::source`].
    pub source: String,
    /// See [`Mix::pages`].
    pub pages: Draw,
    /// See [`Mix::think_s`].
    pub think_s: Draw,
    /// See [`Mix::objects`].
    pub objects: Draw,
    /// See [`Mix::objects_with_html`].
    pub objects_with_html: bool,
    /// See [`Mix::html_bytes`].
    pub html_bytes: Draw,
    /// See [`Mix::embedded_bytes`].
    pub embedded_bytes: Draw,
    /// See [`Mix::services`].
    pub services: Vec<Kind>,
    /// See [`Mix::site`].
    pub site: Site,
    /// From one session to the next, in seconds.
    pub gap_s: Draw,
    /// How the requests of a page go out.
    pub manner: Manner,
}

/// A [`Service`] of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// See [`Service::share`].
    pub share: f64,
    /// See [`Service::html`].
    pub html: Answer,
    /// See [`Service::secure`].
    pub secure: bool,
    /// See [`Service::embedded`].
    pub embedded: Vec<(f64, Answer)>,
}

impl Kind {
    fn service(&self) -> Service<'_> {
        let Self { share, html, secure, embedded } = self;
        Service { share: *share, html: *html, secure: *secure, embedded }
    }
}

/// The scenarios that ship: name and text. The only list.
pub const SHIPPED: [(&str, &str); 8] = [
    ("clubweb-cpu", include_str!("../../../data/scenarios/clubweb-cpu.toml")),
    ("clubweb-disk", include_str!("../../../data/scenarios/clubweb-disk.toml")),
    ("publishing-static", include_str!("../../../data/scenarios/publishing-static.toml")),
    ("publishing-light", include_str!("../../../data/scenarios/publishing-light.toml")),
    ("transaction", include_str!("../../../data/scenarios/transaction.toml")),
    ("commerce-a", include_str!("../../../data/scenarios/commerce-a.toml")),
    ("commerce-b", include_str!("../../../data/scenarios/commerce-b.toml")),
    ("commerce-c", include_str!("../../../data/scenarios/commerce-c.toml")),
];

/// Sessions a second when nobody says how many.
pub const RATE_S: f64 = 10.0;

/// A file larger than this is no scenario.
const FILE_BYTES_MAX: u64 = 1 << 20;

impl Script {
    /// The scenario that ships under this name.
    pub fn shipped(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        let (script, _) = Self::parse(name, text).expect("what ships is right: a test reads it");
        Some(script)
    }

    /// What is asked when nothing is said: ClubWeb's CPU-bound model, 6 connections, independent
    /// arrivals.
    pub fn usual() -> Self {
        Self::of(&CLUBWEB_CPU)
    }

    /// A mix of the papers, with independent arrivals and 6 connections.
    pub fn of(mix: &Mix<'_>) -> Self {
        let kind = |service: &Service<'_>| {
            let Service { share, html, secure, embedded } = *service;
            Kind { share, html, secure, embedded: embedded.to_vec() }
        };
        Self {
            name: mix.name.to_owned(),
            source: mix.source.to_owned(),
            pages: mix.pages,
            think_s: mix.think_s,
            objects: mix.objects,
            objects_with_html: mix.objects_with_html,
            html_bytes: mix.html_bytes,
            embedded_bytes: mix.embedded_bytes,
            services: mix.services.iter().map(kind).collect(),
            site: mix.site,
            gap_s: exponential(RATE_S),
            manner: Manner::Parallel(6),
        }
    }

    /// The site and what its visitors do.
    pub fn visits(&self, seed: u64) -> Visits {
        let services: Vec<Service<'_>> = self.services.iter().map(Kind::service).collect();
        let mix = Mix {
            name: &self.name,
            source: &self.source,
            pages: self.pages,
            think_s: self.think_s,
            objects: self.objects,
            objects_with_html: self.objects_with_html,
            html_bytes: self.html_bytes,
            embedded_bytes: self.embedded_bytes,
            services: &services,
            site: self.site,
        };
        Visits::new(&mix, seed)
    }

    /// Reads a file, beside what is odd about it.
    ///
    /// # Errors
    /// When it cannot be read, or with everything that is wrong.
    pub fn load(path: &Path) -> Result<(Self, Diagnosis), LoadError> {
        let text =
            read(path).map_err(|error| LoadError::Unreadable { path: path.to_owned(), error })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a text, beside what is odd about it.
    ///
    /// # Errors
    /// With everything that is wrong.
    pub fn parse(name: &str, text: &str) -> Result<(Self, Diagnosis), LoadError> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let mut problems = Vec::new();
        let env = |name: &str| std::env::var(name).ok();
        let entries = read_toml(0, &source, &env, &mut problems);
        let mut script = None;
        if problems.is_empty() {
            let mut top = Table::new("the scenario", None, entries, &mut problems);
            script = sections::script(&mut top);
            top.finish();
        }
        let wrong = problems.iter().any(|problem| problem.gravity == Gravity::Error);
        let mut diagnosis = Diagnosis { sources: vec![source], problems };
        diagnosis.sort();
        match script {
            Some(script) if !wrong => Ok((script, diagnosis)),
            _ => Err(LoadError::Invalid(diagnosis)),
        }
    }
}

/// Independent gaps at so many a second.
pub fn exponential(rate_s: f64) -> Draw {
    Draw::Exponential(workload::draw::Exponential { mean: 1.0 / rate_s })
}

/// A word on a name that no scenario has.
pub fn unknown(name: &str) -> String {
    let names = SHIPPED.map(|(name, _)| name);
    let there = match nearest(name, &names) {
        Some(near) => format!("did you mean {near:?}? There are"),
        None => "there are".to_owned(),
    };
    format!("there is no scenario {name:?}; {there} {}", quoted(&names))
}

fn read(path: &Path) -> std::io::Result<String> {
    if std::fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    std::fs::read_to_string(path)
}

//! What is wrong with a configuration, for people and for programs.

use super::source::{Place, Source};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
    Severity,
};
use serde::Serialize;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gravity {
    /// It cannot be run.
    Error,
    /// It can, but is hardly what was meant.
    Warning,
    /// It can, and may be meant; this is what follows from it.
    Note,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad.
    pub gravity: Gravity,
    /// Where, if anywhere.
    pub place: Option<Place>,
    /// What, in one clause.
    pub message: String,
    /// What to do, in one clause.
    pub remedy: String,
    /// Of two that do not go together, the other one: the first that a reader meets.
    pub first: Option<Place>,
}

/// Everything that is wrong, with the texts it is in.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Texts that places refer to; the first is the file itself.
    pub sources: Vec<Source>,
    /// In the order of their places.
    pub problems: Vec<Problem>,
}

/// A problem as JSON.
#[derive(Serialize)]
struct Row<'a> {
    severity: Gravity,
    file: Option<&'a str>,
    line: Option<usize>,
    column: Option<usize>,
    source: Option<String>,
    message: &'a str,
    remedy: &'a str,
    first: Option<First<'a>>,
}

/// Where the first of two is, as JSON.
#[derive(Serialize)]
struct First<'a> {
    file: &'a str,
    line: usize,
    column: usize,
}

impl Problem {
    pub(crate) fn error(
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (message, remedy) = (message.into(), remedy.into());
        Self { gravity: Gravity::Error, place: place.into(), message, remedy, first: None }
    }

    pub(crate) fn warning(
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { gravity: Gravity::Warning, ..Self::error(place, message, remedy) }
    }

    pub(crate) fn note(
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { gravity: Gravity::Note, ..Self::error(place, message, remedy) }
    }

    /// Adds where the first of two is.
    pub(crate) fn after(self, first: Option<Place>) -> Self {
        Self { first, ..self }
    }
}

impl Diagnosis {
    /// Problems of one gravity.
    pub fn count(&self, gravity: Gravity) -> usize {
        self.problems.iter().filter(|problem| problem.gravity == gravity).count()
    }

    /// Each problem with its lines, a label under the place, and the remedy.
    pub fn human(&self, colour: bool) -> String {
        let theme =
            if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        let mut out = String::new();
        for problem in &self.problems {
            if !out.is_empty() {
                out.push('\n');
            }
            let report = self.report(problem);
            handler
                .render_report(&mut out, report.as_ref())
                .expect("a string takes all that is written to it");
        }
        out
    }

    /// One JSON object: counts, and the problems with their places.
    pub fn json(&self) -> String {
        let rows: Vec<_> = self.problems.iter().map(|problem| self.row(problem)).collect();
        let value = serde_json::json!({
            "ok": self.count(Gravity::Error) == 0,
            "errors": self.count(Gravity::Error),
            "warnings": self.count(Gravity::Warning),
            "notes": self.count(Gravity::Note),
            "problems": rows,
        });
        format!("{value:#}\n")
    }

    /// Puts problems in the order in which a reader of the files meets them.
    pub(crate) fn sort(&mut self) {
        let key = |place: &Option<Place>| {
            place.as_ref().map_or((usize::MAX, 0), |place| (place.source, place.span.start))
        };
        self.problems.sort_by_key(|problem| key(&problem.place));
    }

    fn report(&self, problem: &Problem) -> Report {
        let severity = match problem.gravity {
            Gravity::Error => Severity::Error,
            Gravity::Warning => Severity::Warning,
            Gravity::Note => Severity::Advice,
        };
        let diagnostic = MietteDiagnostic::new(problem.message.clone()).with_severity(severity);
        let Some((place, source)) = self.place(problem) else {
            return Report::new(diagnostic.with_help(problem.remedy.clone()));
        };
        let mut labels = vec![LabeledSpan::new_primary_with_span(None, place.span.clone())];
        let mut help = problem.remedy.clone();
        match &problem.first {
            // One picture shows one text.
            Some(first) if first.source == place.source => {
                let label = Some("the first".to_owned());
                labels.push(LabeledSpan::new_with_span(label, first.span.clone()));
            }
            first => help += &self.first_in_words(first.as_ref(), None),
        }
        let source = NamedSource::new(&source.name, source.text.clone());
        let diagnostic = diagnostic.with_help(help).with_labels(labels);
        Report::new(diagnostic).with_source_code(source)
    }

    /// Where the first of two is, in brackets; without the file if that is `here`.
    fn first_in_words(&self, first: Option<&Place>, here: Option<usize>) -> String {
        let Some(First { file, line, column }) = first.and_then(|first| self.first(first)) else {
            return String::new();
        };
        let same = first.map(|first| first.source) == here;
        let file = if same { String::new() } else { format!("{file}:") };
        format!(" (the first is at {file}{line}:{column})")
    }

    fn first(&self, first: &Place) -> Option<First<'_>> {
        let source = self.sources.get(first.source)?;
        let spot = source.spot(first.span.start);
        Some(First { file: &source.name, line: spot.line, column: spot.column })
    }

    fn row<'a>(&'a self, problem: &'a Problem) -> Row<'a> {
        let found = self.place(problem);
        let spot = found.as_ref().map(|(place, source)| source.spot(place.span.start));
        Row {
            severity: problem.gravity,
            file: found.map(|(_, source)| source.name.as_str()),
            line: spot.as_ref().map(|spot| spot.line),
            column: spot.as_ref().map(|spot| spot.column),
            source: spot.map(|spot| spot.text),
            message: &problem.message,
            remedy: &problem.remedy,
            first: problem.first.as_ref().and_then(|first| self.first(first)),
        }
    }

    fn place<'a>(&'a self, problem: &'a Problem) -> Option<(&'a Place, &'a Source)> {
        let place = problem.place.as_ref()?;
        Some((place, self.sources.get(place.source)?))
    }
}

/// One line for each problem: `file:line:column: message; remedy`.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            if let Some((place, source)) = self.place(problem) {
                let spot = source.spot(place.span.start);
                write!(f, "{}:{}:{}: ", source.name, spot.line, spot.column)?;
            }
            match problem.gravity {
                Gravity::Error => {}
                Gravity::Warning => write!(f, "warning: ")?,
                Gravity::Note => write!(f, "note: ")?,
            }
            let here = problem.place.as_ref().map(|place| place.source);
            let first = self.first_in_words(problem.first.as_ref(), here);
            write!(f, "{}{first}; {}", problem.message, problem.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnosis {}

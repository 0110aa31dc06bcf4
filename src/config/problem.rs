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
}

impl Problem {
    pub(crate) fn error(
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (message, remedy) = (message.into(), remedy.into());
        Self { gravity: Gravity::Error, place: place.into(), message, remedy }
    }

    pub(crate) fn warning(
        place: impl Into<Option<Place>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { gravity: Gravity::Warning, ..Self::error(place, message, remedy) }
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
        };
        let diagnostic = MietteDiagnostic::new(problem.message.clone())
            .with_severity(severity)
            .with_help(problem.remedy.clone());
        let Some((place, source)) = self.place(problem) else { return Report::new(diagnostic) };
        let label = LabeledSpan::underline(place.span.clone());
        let source = NamedSource::new(&source.name, source.text.clone());
        Report::new(diagnostic.with_label(label)).with_source_code(source)
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
            if problem.gravity == Gravity::Warning {
                write!(f, "warning: ")?;
            }
            write!(f, "{}; {}", problem.message, problem.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnosis {}

//! Reading a configuration: the file, the files it includes, and flags.

use super::build::build;
use super::document::Document;
use super::flag::Flag;
use super::problem::{Diagnosis, Gravity, Problem};
use super::raw::{self, Entry, Env, Raw};
use super::ready::Config;
use super::source::{Place, Source};
use std::path::{Path, PathBuf};

/// A file larger than this is no configuration.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Files that may be included.
const FILES_MAX: usize = 1000;

/// A configuration and what is odd about it.
#[derive(Debug)]
pub struct Loaded {
    /// Ready for use.
    pub config: Config,
    /// Warnings only.
    pub warnings: Diagnosis,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
    /// It is wrong.
    #[error("{0}")]
    Invalid(Diagnosis),
}

impl Config {
    /// Reads a file and flags; flags replace what the file says and add listeners and servers.
    ///
    /// # Errors
    /// When the file cannot be read, or with everything that is wrong.
    pub fn load(path: &Path, flags: &[Flag]) -> Result<Loaded, LoadError> {
        let text =
            read(path).map_err(|error| LoadError::Unreadable { path: path.to_owned(), error })?;
        let source = Source { name: path.display().to_string(), text };
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        let env = |name: &str| std::env::var(name).ok();
        Loading::new(flags, &env, Some(directory)).finish(Some(source))
    }

    /// A configuration of flags alone.
    ///
    /// # Errors
    /// With everything that is wrong.
    pub fn from_flags(flags: &[Flag]) -> Result<Loaded, LoadError> {
        let env = |name: &str| std::env::var(name).ok();
        Loading::new(flags, &env, Some(PathBuf::new())).finish(None)
    }

    /// Reads a text without touching files or the environment: for tests, fuzzing and tools.
    ///
    /// # Errors
    /// With everything that is wrong; an `include` is.
    pub fn parse(
        name: &str,
        text: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Loaded, LoadError> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        Loading::new(&[], env, None).finish(Some(source))
    }
}

struct Loading<'a> {
    sources: Vec<Source>,
    document: Document,
    env: Env<'a>,
    /// Where included files are; `None`: files are not read.
    directory: Option<PathBuf>,
}

impl<'a> Loading<'a> {
    fn new(flags: &[Flag], env: Env<'a>, directory: Option<PathBuf>) -> Self {
        let sources: Vec<_> = flags.iter().map(Flag::source).collect();
        let mut document = Document::new(sources.len(), Vec::new());
        for (number, flag) in flags.iter().enumerate() {
            let entries = flag.entries(number, &mut document.problems);
            document.add(entries);
        }
        Self { sources, document, env, directory }
    }

    fn finish(mut self, file: Option<Source>) -> Result<Loaded, LoadError> {
        let anchor = self.sources.len();
        if let Some(source) = file {
            self.file(source);
        }
        let readable = self.document.problems.iter().all(|p| p.gravity != Gravity::Error);
        let unread = !readable && self.document.is_empty();
        let directory = self.directory.as_deref();
        let config = if unread { None } else { build(&mut self.document, self.env, directory) };
        let mut problems = std::mem::take(&mut self.document.problems);
        for problem in &mut problems {
            // What is missing altogether is missing in the file.
            if problem.place.is_none() && anchor < self.sources.len() {
                problem.place = Some(Place::new(anchor, 0..0));
            }
        }
        let mut diagnosis = Diagnosis { sources: self.sources, problems };
        diagnosis.sort();
        match config {
            Some(config) if diagnosis.count(Gravity::Error) == 0 => {
                Ok(Loaded { config, warnings: diagnosis })
            }
            _ => Err(LoadError::Invalid(diagnosis)),
        }
    }

    /// The main file and what it includes.
    fn file(&mut self, source: Source) {
        let (include, rest) = self.source(source);
        self.document.add(rest);
        for (pattern, place) in include {
            match self.matching(&pattern) {
                Ok(paths) => paths.iter().for_each(|path| self.included(path, &place)),
                Err(message) => self.problem(place, message, "name files beside this one"),
            }
        }
    }

    fn included(&mut self, path: &Path, place: &Place) {
        if self.sources.len() >= FILES_MAX {
            let message = format!("more than {FILES_MAX} files are included");
            return self.problem(place.clone(), message, "join them");
        }
        match read(path) {
            Err(error) => {
                let message = format!("cannot read {}: {error}", path.display());
                self.problem(place.clone(), message, "include files that can be read");
            }
            Ok(text) => {
                let name = path.display().to_string();
                let (include, rest) = self.source(Source { name, text });
                self.document.add(rest);
                for (_, place) in include {
                    let message = "an included file includes another";
                    self.problem(place, message, "include all files in the main one");
                }
            }
        }
    }

    /// Reads one source: what it includes, with places, and the rest.
    fn source(&mut self, source: Source) -> (Vec<(String, Place)>, Vec<Entry>) {
        let number = self.sources.len();
        let entries = raw::read(number, &source, self.env, &mut self.document.problems);
        self.sources.push(source);
        let (include, rest): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.key == "include");
        let mut patterns = Vec::new();
        for entry in include {
            let single = vec![(entry.value.clone(), entry.place)];
            let list = if let Raw::List(list) = entry.value { list } else { single };
            for (raw, place) in list {
                match raw.text() {
                    Some(text) => patterns.push((text.to_owned(), place)),
                    None => self.problem(
                        place,
                        format!("include is {}, not a string or a list of strings", raw.describe()),
                        "write include = [\"conf.d/*.toml\"]",
                    ),
                }
            }
        }
        (patterns, rest)
    }

    /// The files of a pattern in the order of their names.
    fn matching(&self, pattern: &str) -> Result<Vec<PathBuf>, String> {
        let Some(base) = &self.directory else {
            return Err("files are not read here".to_owned());
        };
        let whole = base.join(pattern);
        let (Some(directory), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(format!("{pattern:?} is no file"));
        };
        let name = name.to_string_lossy();
        let Some((front, back)) = name.split_once('*') else { return Ok(vec![whole]) };
        if pattern.matches('*').count() > 1 {
            return Err(format!("{pattern:?} has more than one * or one in a directory's name"));
        }
        let fits = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.len() >= front.len() + back.len()
                && name.starts_with(front)
                && name.ends_with(back)
                && !name.starts_with('.')
        };
        let listing = std::fs::read_dir(directory)
            .map_err(|error| format!("cannot read {}: {error}", directory.display()))?;
        let mut paths: Vec<_> =
            listing.filter_map(|entry| Some(entry.ok()?.path())).filter(fits).collect();
        paths.sort();
        Ok(paths)
    }

    fn problem(&mut self, place: Place, message: impl Into<String>, remedy: &str) {
        self.document.problems.push(Problem::error(place, message, remedy));
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(std::io::Error::other("it is too large for a configuration"));
    }
    std::fs::read_to_string(path)
}

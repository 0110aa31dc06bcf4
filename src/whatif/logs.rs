//! The logs of a question, one after the other, as chunks of asks.
//!
//! A shell names rotated logs newest first (access.log, access.log.1), so files are played in the
//! order of their first requests, whatever the order on the command line.

use crate::input::Input;
use crate::logs::{CURE, Unfit, as_named, broken, found_out, parser, report};
use anyhow::{Context, Result};
use std::io;
use std::path::{Path, PathBuf};
use workload::{Ask, Chunks, Intake, Reader, Tally, detect};

/// Requests of a chunk: what stays in a core's cache while a cluster plays it.
const CHUNK: usize = 1 << 14;

/// A log that was read, or is being read.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its path; `-` for standard input.
    pub name: String,
    /// The name of its format, or the pattern.
    pub format: String,
    /// How sure that is, 0 to 1; `None` when it was named.
    pub confidence: Option<f64>,
    /// What became of its lines.
    pub tally: Tally,
}

/// The logs of a question.
pub struct Logs {
    paths: Vec<PathBuf>,
    format: Option<String>,
    note: Box<dyn Fn(&str)>,
    /// The next to be opened.
    next: usize,
    open: Option<(Chunks<'static>, Input)>,
    /// What numbers stand for, between two logs.
    intake: Intake,
    asks: Vec<Ask>,
    read: Vec<Read>,
    bytes_before: u64,
    late: u64,
    /// When the last request of the logs before came, in microseconds since 1970.
    last_us: i64,
    repeated: bool,
    /// Why the first log that cannot be read to its end cannot.
    damage: Option<anyhow::Error>,
}

impl Logs {
    /// The logs at `paths`, in a format that has this name or is this pattern, or that is found
    /// out. `note` is told what was found.
    ///
    /// # Errors
    /// [`Unfit::Usage`] for a format that is none.
    pub fn new(
        paths: &[PathBuf],
        format: Option<&str>,
        note: Box<dyn Fn(&str)>,
    ) -> Result<Self, Unfit> {
        if let Some(text) = format {
            parser(text)?;
        }
        if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(Unfit::Usage("standard input can be read once only".into()));
        }
        Ok(Self {
            paths: in_order(paths, format),
            format: format.map(str::to_owned),
            note,
            next: 0,
            open: None,
            intake: Intake::default(),
            asks: Vec::new(),
            read: Vec::new(),
            bytes_before: 0,
            late: 0,
            last_us: i64::MIN,
            repeated: false,
            damage: None,
        })
    }

    /// Reads the next requests; false at the end of the last log. A log that breaks off is at its
    /// end there, see [`Logs::damage`].
    ///
    /// # Errors
    /// When a log cannot be read, or no format fits.
    pub fn advance(&mut self) -> Result<bool> {
        self.asks.clear();
        while self.asks.is_empty() {
            if self.open.is_none() && !self.open_next()? {
                return Ok(false);
            }
            let (chunks, _) = self.open.as_mut().expect("one was opened");
            match chunks.advance() {
                Ok(given) => self.asks.extend_from_slice(given),
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    return Err(error).with_context(|| self.cannot());
                }
                Err(error) => self.break_off(error)?,
            }
            if self.asks.is_empty() {
                self.close();
            }
        }
        Ok(true)
    }

    fn cannot(&self) -> String {
        let name = self.read.last().map_or("the log", |read| &read.name);
        format!("cannot read {name}")
    }

    /// Takes note of a log that cannot be read to its end; without a request before that nothing
    /// can be said of it.
    fn break_off(&mut self, error: io::Error) -> Result<()> {
        let Some((chunks, _)) = &self.open else { return Ok(()) };
        let name = &self.read.last().expect("it is noted when it is opened").name;
        let records = chunks.tally().records;
        let error = broken(name, chunks.tally(), error);
        if records == 0 {
            report(name, chunks.tally());
            return Err(error);
        }
        if self.damage.is_none() {
            (self.note)(&format!("{name}: it breaks off; what follows is of {records} requests"));
            self.damage = Some(error);
        }
        Ok(())
    }

    /// Why a log could not be read to its end, if one could not; once.
    pub fn damage(&mut self) -> Option<anyhow::Error> {
        self.damage.take()
    }

    /// The requests read last.
    pub fn asks(&self) -> &[Ask] {
        &self.asks
    }

    /// Begins again with the first log.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn again(&mut self) -> Result<()> {
        assert!(self.can_repeat(), "what was read from standard input is gone");
        self.intake = Intake::default();
        (self.open, self.next, self.repeated) = (None, 0, true);
        (self.bytes_before, self.late, self.last_us) = (0, 0, i64::MIN);
        self.read.clear();
        Ok(())
    }

    /// Whether all logs are files, which can be read more than once.
    pub fn can_repeat(&self) -> bool {
        self.paths.iter().all(|path| path.is_file())
    }

    /// What the numbers given out so far stand for.
    pub fn intake(&self) -> &Intake {
        self.open.as_ref().map_or(&self.intake, |(chunks, _)| chunks.intake())
    }

    /// The URL of a number, with its site before it where the log names one.
    pub fn url(&self, number: u32) -> String {
        let (site, url) = self.intake().targets.name(number);
        format!("{site}{url}")
    }

    /// Requests that were given out later than they came.
    pub fn late(&self) -> u64 {
        self.late + self.open.as_ref().map_or(0, |(chunks, _)| chunks.late())
    }

    /// Bytes of all logs, packed as they are; `None` when one of them does not say.
    pub fn bytes(&self) -> Option<u64> {
        let length = |path: &PathBuf| {
            let meta = path.metadata().ok().filter(std::fs::Metadata::is_file);
            meta.map(|meta| meta.len())
        };
        self.paths.iter().map(length).sum()
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_before + self.open.as_ref().map_or(0, |(_, input)| input.bytes_read())
    }

    /// What became of the logs.
    pub fn read(&self) -> Vec<Read> {
        self.read.clone()
    }

    /// Why nothing in the logs can be played.
    pub fn unusable(&self) -> String {
        let why = self.read.iter().find_map(|read| {
            let error = read.tally.usable().err()?;
            Some(format!("{}: {error} (read as {}){CURE}", read.name, read.format))
        });
        why.unwrap_or_else(|| "there is no log".to_owned())
    }

    fn open_next(&mut self) -> Result<bool> {
        let Some(path) = self.paths.get(self.next).cloned() else { return Ok(false) };
        self.next += 1;
        let name = path.display().to_string();
        let mut input = Input::open(&path).with_context(|| format!("cannot read {name}"))?;
        let sample = input.sample().with_context(|| format!("cannot read {name}"))?;
        let (parser, format, confidence) = match &self.format {
            Some(text) => {
                let parser = parser(text)?;
                if let Some(word) = as_named(&name, &*parser, &sample).filter(|_| !self.repeated) {
                    (self.note)(&word);
                }
                (parser, text.clone(), None)
            }
            None => {
                let (guess, word) = found_out(&name, &sample)?;
                if !self.repeated {
                    // What is no file is played where it was given.
                    let order = if self.can_repeat() { " in order of time" } else { "" };
                    let (place, all) = (self.next, self.paths.len());
                    let place = (all > 1).then(|| format!("log {place} of {all}{order}: "));
                    (self.note)(&(place.unwrap_or_default() + &word));
                }
                let confidence = Some(guess.confidence);
                ((guess.format.parser)(), guess.format.name.to_owned(), confidence)
            }
        };
        let intake = std::mem::take(&mut self.intake);
        let chunks = Chunks::new(parser, input.reader(), "", CHUNK, intake).behind(self.last_us);
        self.open = Some((chunks, input));
        self.read.push(Read { name, format, confidence, tally: Tally::default() });
        Ok(true)
    }

    /// Says how many requests of this log came before the end of the one before it.
    fn tell_late(&self, late: u64) {
        let [.., before, this] = self.read.as_slice() else { return };
        if late > 0 && !self.repeated {
            (self.note)(&format!(
                "{}: {late} of its requests came before the last one of {}, and are played behind \
                 that; of logs that overlap make one in order of time: baton trace convert",
                this.name, before.name
            ));
        }
    }

    fn close(&mut self) {
        let Some((chunks, input)) = self.open.take() else { return };
        self.tell_late(chunks.late());
        self.late += chunks.late();
        self.last_us = chunks.last_us();
        self.bytes_before += input.bytes_read();
        let (intake, tally) = chunks.finish();
        self.intake = intake;
        self.read.last_mut().expect("it is noted when it is opened").tally = tally;
    }
}

/// Files by their first requests, if all are files; equal ones, and logs that cannot be read or
/// tell no time (which is said when they are opened), as they were given.
fn in_order(paths: &[PathBuf], format: Option<&str>) -> Vec<PathBuf> {
    let mut paths = paths.to_vec();
    if paths.len() > 1 && paths.iter().all(|path| path.is_file()) {
        paths.sort_by_cached_key(|path| first_ms(path, format));
    }
    paths
}

/// When the first request of a log came, by its beginning.
fn first_ms(path: &Path, format: Option<&str>) -> Option<i64> {
    let sample = Input::open(path).ok()?.sample().ok()?;
    let parser = match format {
        Some(text) => parser(text).ok()?,
        None => (detect(&sample)?.format.parser)(),
    };
    let mut first = None;
    Reader::new(parser).block(&sample, |record| {
        first.get_or_insert(record.at.utc_ms());
    });
    first
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

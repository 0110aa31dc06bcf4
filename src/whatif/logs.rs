//! The logs of a question, one after the other, as chunks of asks.

use crate::input::Input;
use crate::logs::{Unfit, found_out, parser};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use workload::{Ask, Chunks, Intake, Tally};

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
    repeated: bool,
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
            paths: paths.to_vec(),
            format: format.map(str::to_owned),
            note,
            next: 0,
            open: None,
            intake: Intake::default(),
            asks: Vec::new(),
            read: Vec::new(),
            bytes_before: 0,
            late: 0,
            repeated: false,
        })
    }

    /// Reads the next requests; false at the end of the last log.
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
            let name = &self.read.last().expect("it is noted when it is opened").name;
            let given = chunks.advance().with_context(|| format!("cannot read {name}"))?;
            self.asks.extend_from_slice(given);
            if self.asks.is_empty() {
                self.close();
            }
        }
        Ok(true)
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
        (self.bytes_before, self.late) = (0, 0);
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
            Some(format!("{}: {error} (read as {})", read.name, read.format))
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
            Some(text) => (parser(text)?, text.clone(), None),
            None => {
                let (guess, word) = found_out(&name, &sample)?;
                if !self.repeated {
                    (self.note)(&word);
                }
                let confidence = Some(guess.confidence);
                ((guess.format.parser)(), guess.format.name.to_owned(), confidence)
            }
        };
        let intake = std::mem::take(&mut self.intake);
        let chunks = Chunks::new(parser, input.reader(), "", CHUNK, intake);
        self.open = Some((chunks, input));
        self.read.push(Read { name, format, confidence, tally: Tally::default() });
        Ok(true)
    }

    fn close(&mut self) {
        let Some((chunks, input)) = self.open.take() else { return };
        self.late += chunks.late();
        self.bytes_before += input.bytes_read();
        let (intake, tally) = chunks.finish();
        self.intake = intake;
        self.read.last_mut().expect("it is noted when it is opened").tally = tally;
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

//! The logs of a question, one after the other, as chunks of asks.

use super::{Wrong, words};
use crate::config::{nearest, quoted};
use crate::input::Input;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use workload::{Ask, Chunks, FORMATS, Guess, Intake, Parse, Pattern, Tally, detect, format};

/// Requests of a chunk: what stays in a core's cache while a cluster plays it.
const CHUNK: usize = 1 << 14;

/// How sure a format must be, 0 to 1, to be taken without being named.
const SURE_MIN: f64 = 0.5;

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
    /// [`Wrong::Usage`] for a format that is none.
    pub fn new(
        paths: &[PathBuf],
        format: Option<&str>,
        note: Box<dyn Fn(&str)>,
    ) -> Result<Self, Wrong> {
        if let Some(text) = format {
            parser(text)?;
        }
        if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(Wrong::Usage("standard input can be read once only".into()));
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
                let guess = detected(&name, &sample)?;
                if !self.repeated {
                    (self.note)(&said(&name, &guess));
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

/// A parser for the format with this name, or written down so.
fn parser(text: &str) -> Result<Box<dyn Parse>, Wrong> {
    if let Some(known) = format(text) {
        return Ok((known.parser)());
    }
    if text.contains(['$', '%']) {
        let pattern = Pattern::new(text);
        return pattern
            .map(|pattern| pattern.parser())
            .map_err(|error| Wrong::Usage(format!("--format {text:?}: {error}")));
    }
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let remedy = match nearest(text, &names) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are {}, and patterns such as '$remote_addr ...'", quoted(&names)),
    };
    Err(Wrong::Usage(format!("there is no log format {text:?}; {remedy}")))
}

fn detected(name: &str, sample: &[u8]) -> Result<Guess, Wrong> {
    let guess = detect(sample).filter(|guess| guess.confidence >= SURE_MIN);
    guess.ok_or_else(|| {
        if sample.is_empty() {
            return Wrong::Log(format!("{name}: the log is empty"));
        }
        let line = sample.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(&line[..line.len().min(160)]);
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        Wrong::Log(format!(
            "{name}: no known format fits its first lines; name one by --format ({}, or a pattern \
             as in the server's configuration).\nIts first line: {line}",
            names.join(", ")
        ))
    })
}

/// What was found out of a log, with its first request as it was understood.
fn said(name: &str, guess: &Guess) -> String {
    let mut text = format!(
        "{name}: format {} (confidence {:.0} %, {} of {} lines fit)",
        guess.format.name,
        guess.confidence * 100.0,
        guess.fitting,
        guess.lines
    );
    if let Some(first) = guess.first.first() {
        let took = first.served.or(first.took);
        let took = took.map_or(String::new(), |took| format!(", took {}", words::span(took)));
        let server = first.server.as_ref();
        let server = server.map_or(String::new(), |server| format!(", by {server}"));
        let hit = match first.hit {
            Some(true) => ", a hit",
            Some(false) => ", a miss",
            None => "",
        };
        text += &format!(
            "\n  read as: {} asks {} {}{}: status {}, {} bytes{took}{server}{hit}",
            first.client, first.method, first.site, first.url, first.status, first.bytes
        );
    }
    text
}

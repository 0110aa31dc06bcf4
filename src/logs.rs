//! Logs and traces as the user names them: files or standard input, packed or not, in a format
//! that is named or found out.

use crate::config::{nearest, quoted};
use crate::exit::say;
use crate::input::Input;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;
use workload::{FORMATS, Guess, Parse, Pattern, Reader, Record, Tally, detect, format};

/// How sure a format is, 0 to 1, of which no more is to be said than that.
const SURE_MIN: f64 = 0.5;

/// Records from one look at the progress to the next.
const BAR_RECORDS: u64 = 10_000;

/// Characters of a log that are shown when nothing fits it.
const EXCERPT_CHARS_MAX: usize = 120;

/// Why a log cannot be used, beside what keeps it from being read at all.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// A word on the command line means nothing.
    #[error("{0}")]
    Usage(String),
    /// The log has nothing in it that can be used.
    #[error("{0}")]
    Log(String),
}

/// A log that is open.
pub struct Log {
    /// How the user named it.
    pub name: String,
    parser: Box<dyn Parse>,
    input: Input,
    /// What helps when no line is a request.
    cure: String,
}

impl Log {
    /// Opens a log; `-` is standard input. What was found out of its format is said on standard
    /// error.
    ///
    /// # Errors
    /// When it cannot be read; [`Unfit`] when the format is none or cannot be found out.
    pub fn open(path: &Path, format: Option<&str>) -> Result<Self> {
        let name = path.display().to_string();
        // A format that is none is refused before anything is opened.
        let named = format.map(parser).transpose()?;
        let cannot = || format!("cannot read {name}");
        let mut input = Input::open(path).with_context(cannot)?;
        let sample = input.sample().with_context(cannot)?;
        let mut cure = CURE.to_owned();
        let parser = match named {
            Some(parser) => {
                if let Some(guess) = detect(&sample) {
                    cure = format!("; without --format it is read as {}", guess.format.name);
                }
                if let Some(word) = as_named(&name, &*parser, &sample) {
                    say(word);
                }
                parser
            }
            None => {
                let (guess, word) = found_out(&name, &sample)?;
                say(word);
                (guess.format.parser)()
            }
        };
        Ok(Self { name, parser, input, cure })
    }

    /// Reads it to its end and says which lines were no requests.
    ///
    /// # Errors
    /// When it cannot be read; [`Unfit`] when no line is a request; the first of `each`.
    pub fn read(self, mut each: impl FnMut(&Record<'_>) -> Result<()>) -> Result<Tally> {
        let Self { name, parser, mut input, cure } = self;
        let bar = bar(&name, input.total_bytes());
        let mut reader = Reader::new(parser);
        let (mut outcome, mut records) = (Ok(()), 0_u64);
        let read = reader.input(&mut input.reader(), |record| {
            if outcome.is_ok() {
                outcome = each(record);
            }
            records += 1;
            if records.is_multiple_of(BAR_RECORDS) {
                bar.set_position(input.bytes_read());
            }
        });
        bar.finish_and_clear();
        outcome?;
        let tally = reader.finish();
        if let Err(error) = read {
            report(&name, &tally);
            return Err(broken(&name, &tally, error));
        }
        tally.usable().map_err(|error| Unfit::Log(format!("{name}: {error}{cure}")))?;
        report(&name, &tally);
        Ok(tally)
    }
}

/// What helps when the format may be another.
pub(crate) const CURE: &str = "; if it is in another format, name that by --format";

/// That a log broke off, and behind what.
pub(crate) fn broken(name: &str, tally: &Tally, error: io::Error) -> anyhow::Error {
    let behind = format!("behind {} lines, {} of them requests", tally.lines, tally.records);
    anyhow::Error::from(error).context(format!("cannot read {name} {behind}"))
}

/// A parser for the format with this name, or written down as a pattern.
pub(crate) fn parser(text: &str) -> Result<Box<dyn Parse>, Unfit> {
    if let Some(known) = format(text) {
        return Ok((known.parser)());
    }
    if text.contains(['$', '%']) {
        let wrong = |error| Unfit::Usage(format!("--format {text:?}: {error}"));
        return Pattern::new(text).map(|pattern| pattern.parser()).map_err(wrong);
    }
    let names = names();
    let remedy = match nearest(text, &names) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are {}, and patterns such as '$remote_addr ...'", quoted(&names)),
    };
    Err(Unfit::Usage(format!("there is no log format {text:?}; {remedy}")))
}

fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// The format of a log that begins with `sample`, and a word on it for the user.
pub(crate) fn found_out(name: &str, sample: &[u8]) -> Result<(Guess, String), Unfit> {
    if sample.trim_ascii().is_empty() {
        return Err(Unfit::Log(format!("{name}: there is nothing in it")));
    }
    // A format that fits few lines is better than none: the others are counted as bad.
    if let Some(guess) = detect(sample) {
        let word = as_read(name, &guess);
        return Ok((guess, word));
    }
    let line = sample.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line: String = String::from_utf8_lossy(line).chars().take(EXCERPT_CHARS_MAX).collect();
    Err(Unfit::Log(format!(
        "{name}: no known format fits it; name one by --format ({}, or a pattern as in the \
         server's configuration)\n  its first line: {line}",
        names().join(", ")
    )))
}

/// What was found out of a log, with its first request as it was understood.
fn as_read(name: &str, guess: &Guess) -> String {
    let (sure, format) = (guess.confidence * 100.0, guess.format.name);
    let mut word = format!("{name}: read as {format} ({sure:.0} % sure");
    if guess.confidence < SURE_MIN {
        let Guess { fitting, lines, .. } = guess;
        let _ = write!(word, ", {fitting} of the first {lines} lines fit{CURE}");
    }
    word.push(')');
    if let Some(doubt) = guess.doubt {
        let _ = write!(word, "; {doubt}");
    }
    if let Some(first) = guess.first.first() {
        ask(&mut word, first);
    }
    word
}

/// The first request of a log in a named format, as it was understood; `None` when its beginning
/// has none.
pub(crate) fn as_named(name: &str, parser: &dyn Parse, sample: &[u8]) -> Option<String> {
    let mut word = None;
    Reader::new(parser.fork()).block(sample, |record| {
        word.get_or_insert_with(|| {
            let mut word = format!("{name}: read as --format says");
            ask(&mut word, record);
            word
        });
    });
    word
}

/// Adds what a log's first request asks for.
fn ask(word: &mut String, first: &Record<'_>) {
    let _ = write!(word, "; its first request: {} asks", first.client);
    let _ = write!(word, " {} {}{}", first.method, first.site, first.url);
    let _ = write!(word, ", status {}, {} bytes", first.status, first.bytes);
    if let Some(took) = first.served.or(first.took) {
        // Logs have microseconds at most.
        let _ = write!(word, ", {} ms", took.as_micros() as f64 / 1e3);
    }
    if let Some(server) = &first.server {
        let _ = write!(word, ", by {server}");
    }
    match first.hit {
        Some(true) => word.push_str(", a hit"),
        Some(false) => word.push_str(", a miss"),
        None => {}
    }
}

/// Says which lines were no requests, and why.
pub(crate) fn report(name: &str, tally: &Tally) {
    if tally.rejects() == 0 {
        return;
    }
    say(format_args!("{name}: {} of {} lines are no requests:", tally.rejects(), tally.lines));
    for (cause, count) in &tally.rejected {
        say(format_args!("  {count}: {cause}"));
    }
    for reject in &tally.examples {
        say(format_args!("  line {}: {}: {}", reject.line, reject.cause, reject.excerpt));
    }
}

fn bar(name: &str, length: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, style) = match length {
        Some(length) => {
            (ProgressBar::new(length), "{prefix} [{bar:40}] {bytes}/{total_bytes}, {eta} left")
        }
        None => (ProgressBar::no_length(), "{prefix} {spinner} {bytes} read"),
    };
    let style = ProgressStyle::with_template(style)
        .expect("the template is a constant that was tried")
        .progress_chars("=> ");
    bar.with_style(style).with_prefix(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "10.0.0.1 - - [12/Nov/2024:08:30:11 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"x y\"\n";

    #[test]
    fn the_first_request_of_a_named_format_is_shown_as_it_was_understood() {
        let named = parser("combined").unwrap();
        let word = as_named("a.log", &*named, LINE.as_bytes()).unwrap();
        assert!(word.ends_with("10.0.0.1 asks GET /a, status 200, 5 bytes"), "{word}");
        assert_eq!(as_named("a.log", &*named, b"noise\n"), None);
    }

    #[test]
    fn a_named_format_that_fits_no_line_is_answered_with_the_one_that_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        std::fs::write(&path, LINE).unwrap();
        let short = "$remote_addr [$time_local] \"$request\" $status $body_bytes_sent";
        let error = Log::open(&path, Some(short)).unwrap().read(|_| Ok(())).unwrap_err();
        assert!(error.to_string().ends_with("without --format it is read as combined"), "{error}");
    }
}

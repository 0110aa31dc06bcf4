//! Which format a log is in, found out from its first lines.

use super::reader::{LINE_BYTES_MAX, whole_lines};
use super::{FORMATS, Format, texts};
use crate::Record;

/// Lines that are looked at.
const SAMPLE_LINES_MAX: usize = 100;

/// Records shown as read.
const FIRST_MAX: usize = 3;

/// What a log seems to be.
pub struct Guess {
    /// The format that fits best.
    pub format: &'static Format,
    /// How sure that is, 0 to 1: the mean over the lines.
    pub confidence: f64,
    /// Lines looked at, those that say nothing (headers, comments, blanks) not counted.
    pub lines: usize,
    /// Of these, lines that are requests in this format.
    pub fitting: usize,
    /// The first requests, as read.
    pub first: Vec<Record<'static>>,
    /// The format that fits next best, and how well (0 to 1).
    pub runner_up: Option<(&'static Format, f64)>,
    /// What no line can say for certain, as a sentence for whoever gave the log.
    pub doubt: Option<&'static str>,
}

/// The format that the beginning of a log (some kilobytes) looks most like; `None` when no format
/// knows any of its lines. A last line without its end is not judged, unless it is the only one.
pub fn detect(sample: &[u8]) -> Option<Guess> {
    let whole = match whole_lines(sample) {
        (whole, cut) if whole.trim_ascii_start().is_empty() => cut,
        (whole, _) => whole,
    };
    let lines: Vec<&[u8]> = whole
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii_start().is_empty() && line.len() <= LINE_BYTES_MAX)
        .take(SAMPLE_LINES_MAX)
        .collect();
    let mut fits: Vec<(f64, usize, usize, &'static Format)> = Vec::new();
    for format in FORMATS {
        let mut parser = (format.parser)();
        let sures: Vec<u8> = lines.iter().filter_map(|line| parser.sure(line)).collect();
        let sum: f64 = sures.iter().map(|&sure| f64::from(sure) / 100.0).sum();
        let fitting = sures.iter().filter(|&&sure| sure > 0).count();
        if sum > 0.0 {
            fits.push((sum / sures.len() as f64, sures.len(), fitting, format));
        }
    }
    // A stable sort: of formats that fit equally well, the first in the list.
    fits.sort_by(|left, right| right.0.total_cmp(&left.0));
    let &(confidence, looked, fitting, format) = fits.first()?;
    let mut parser = (format.parser)();
    let first = lines
        .iter()
        .filter_map(|line| parser.line(line).ok().flatten())
        .map(Record::into_owned)
        .take(FIRST_MAX)
        .collect();
    let runner_up = fits.get(1).map(|&(sure, _, _, format)| (format, sure));
    let doubt = texts::DOUBTS.iter().find(|(name, _)| *name == format.name).map(|(_, why)| *why);
    Some(Guess { format, confidence, lines: looked, fitting, first, runner_up, doubt })
}

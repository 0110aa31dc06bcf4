//! A log as blocks of whole lines: nothing is copied but the line that two blocks share.

use super::{Cause, Format, Parse, Tally};
use crate::Record;
use std::io::{self, BufRead};

/// Longest line that is read; no server logs more than its head limit, of which this is a multiple.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// Reads the lines of one log, block by block.
///
/// To use several threads, read the first block with the one reader, then give each thread a
/// [`Reader::fork`] and blocks of its own ([`whole_lines`]), and [`Tally::append`] the tallies in
/// the order of the blocks. (A log whose header comes again with other columns cannot be read so.)
pub struct Reader {
    parser: Box<dyn Parse>,
    tally: Tally,
}

impl Reader {
    /// A reader at the start of a log.
    pub fn new(parser: Box<dyn Parse>) -> Self {
        Self { parser, tally: Tally::default() }
    }

    /// A reader that knows what this one has learned of the format, with a tally of its own.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::new(self.parser.fork())
    }

    /// What became of the lines so far.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What became of the lines.
    pub fn finish(self) -> Tally {
        self.tally
    }

    /// Reads a block of whole lines (the last one's end may be missing) and gives each record to
    /// `each`.
    pub fn block(&mut self, block: &[u8], mut each: impl FnMut(&Record<'_>)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', block) {
            self.line(&block[start..end], &mut each);
            start = end + 1;
        }
        if start < block.len() {
            self.line(&block[start..], &mut each);
        }
    }

    fn line(&mut self, line: &[u8], each: &mut impl FnMut(&Record<'_>)) {
        self.tally.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > LINE_BYTES_MAX {
            self.tally.reject(Cause::Long, line);
        } else if line.trim_ascii_start().is_empty() {
            self.tally.skipped += 1;
        } else {
            match self.parser.line(line) {
                Ok(Some(record)) if !record.at.plausible() => self.tally.reject(Cause::Year, line),
                Ok(Some(record)) => {
                    self.tally.records += 1;
                    each(&record);
                }
                Ok(None) => self.tally.skipped += 1,
                Err(cause) => self.tally.reject(cause, line),
            }
        }
    }

    /// Reads an input to its end and gives each record to `each`, in the order of the log.
    ///
    /// # Errors
    /// Only those of `input`. Lines that are no records are in the [`Tally`].
    pub fn input(
        &mut self,
        input: &mut dyn BufRead,
        mut each: impl FnMut(&Record<'_>),
    ) -> io::Result<()> {
        let mut shared = Vec::new();
        while self.part(input, &mut shared, &mut each)? {}
        Ok(())
    }

    /// Reads the lines that end in the input's buffer; the start of the next one goes to `shared`,
    /// from where the next call takes it. False at the end.
    pub(crate) fn part(
        &mut self,
        input: &mut dyn BufRead,
        shared: &mut Vec<u8>,
        each: &mut impl FnMut(&Record<'_>),
    ) -> io::Result<bool> {
        let buffer = input.fill_buf()?;
        let length = buffer.len();
        if length == 0 {
            let rest = std::mem::take(shared);
            if !rest.is_empty() {
                self.line(&rest, each);
            }
            return Ok(false);
        }
        let mut whole = buffer;
        if !shared.is_empty() {
            let end = memchr::memchr(b'\n', buffer);
            keep(shared, &buffer[..end.unwrap_or(length)]);
            whole = &buffer[end.map_or(length, |end| end + 1)..];
            if end.is_some() {
                let line = std::mem::take(shared);
                self.line(&line, each);
                *shared = line;
                shared.clear();
            }
        }
        let (lines, rest) = whole_lines(whole);
        self.block(lines, &mut *each);
        keep(shared, rest);
        input.consume(length);
        Ok(true)
    }
}

/// Adds to a line that is not whole yet; of one that is too long, no more than shows that.
fn keep(shared: &mut Vec<u8>, more: &[u8]) {
    let room = (LINE_BYTES_MAX + 2).saturating_sub(shared.len());
    shared.extend_from_slice(&more[..more.len().min(room)]);
}

/// Parts a block behind its last line end: whole lines, and the start of the next one.
pub fn whole_lines(block: &[u8]) -> (&[u8], &[u8]) {
    block.split_at(memchr::memrchr(b'\n', block).map_or(0, |end| end + 1))
}

/// Reads a log to its end and gives each record to `each`, in the order of the log.
///
/// # Errors
/// Only those of `input`. Lines that are no records are in the [`Tally`].
pub fn read(
    format: &Format,
    mut input: impl BufRead,
    each: impl FnMut(&Record<'_>),
) -> io::Result<Tally> {
    let mut reader = Reader::new((format.parser)());
    reader.input(&mut input, each)?;
    Ok(reader.finish())
}

//! Our own format: what ships with the project and what `baton` writes.
//!
//! Tab-separated; the first line is `#baton-trace/1` and the names of the columns, which a reader
//! finds by name, in any order. Columns: `at_ms` (since the start of the first day, by the site's
//! clock), `client` (a number), `method`, `status`, `bytes` (of this reply), `site`, `size` (of the
//! target: its largest 200 reply) and `url`. Neighbours repeat together, which compresses well.

use super::{Cause, Format, Parse};
use crate::civil::number;
use crate::record::{Record, Stamp, clean_url};
use std::borrow::Cow;
use std::fmt::Write as _;

pub(super) const FORMAT: Format = Format {
    name: "baton",
    about: "Baton's own trace: tab-separated, the columns named in the first line",
    parser: || Box::new(Native { columns: None }),
};

const MAGIC: &[u8] = b"#baton-trace/";
const NAMES: [&[u8]; COLUMNS] =
    [b"at_ms", b"client", b"method", b"status", b"bytes", b"site", b"size", b"url"];
const COLUMNS: usize = 8;

/// The first line of a file, without its end.
pub(crate) const HEADER: &str =
    "#baton-trace/1\tat_ms\tclient\tmethod\tstatus\tbytes\tsite\tsize\turl";

/// Appends the line of one request, with its end, to `out`. The order is the header's.
pub(crate) fn row(out: &mut String, record: &Record<'_>) {
    let Record { at, client, method, status, bytes, site, url, .. } = record;
    let (at, size) = (at.local_ms, record.size.unwrap_or(0));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{at}\t{client}\t{method}\t{status}\t{bytes}\t{site}\t{size}\t{url}");
}

#[derive(Clone)]
struct Native {
    columns: Option<Columns>,
}

/// Where each column of [`NAMES`] is in a line.
#[derive(Clone, Copy)]
struct Columns([usize; COLUMNS]);

impl Columns {
    /// The columns that a header names; `None` when the line is no header.
    fn named(line: &[u8]) -> Result<Option<Self>, Cause> {
        let Some(rest) = line.strip_prefix(MAGIC) else { return Ok(None) };
        let mut words = rest.split(|&byte| byte == b'\t');
        if words.next() != Some(b"1") {
            return Err(Cause::Version);
        }
        let words: Vec<&[u8]> = words.take(4 * COLUMNS).collect();
        let mut columns = [0; COLUMNS];
        for (column, name) in columns.iter_mut().zip(NAMES) {
            *column = words.iter().position(|word| *word == name).ok_or(Cause::Header)?;
        }
        Ok(Some(Self(columns)))
    }

    /// The order in which we write.
    const WRITTEN: Self = Self([0, 1, 2, 3, 4, 5, 6, 7]);
}

impl Parse for Native {
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause> {
        if let Some(columns) = Columns::named(line)? {
            self.columns = Some(columns);
            return Ok(None);
        }
        let Some(columns) = self.columns else { return Err(Cause::Header) };
        record(line, columns).map(Some)
    }

    fn sure(&mut self, line: &[u8]) -> Option<u8> {
        Some(match self.line(line) {
            Ok(_) => 100,
            // A later version is surely ours, too, and then the error says so.
            Err(_) if line.starts_with(MAGIC) => 100,
            Err(_) if values(line).is_ok() => 60,
            Err(_) => 0,
        })
    }

    fn fork(&self) -> Box<dyn Parse> {
        Box::new(self.clone())
    }
}

fn values(line: &[u8]) -> Result<Record<'_>, Cause> {
    record(line, Columns::WRITTEN)
}

fn record(line: &[u8], Columns(columns): Columns) -> Result<Record<'_>, Cause> {
    let mut fields = [&b""[..]; COLUMNS];
    let mut found = 0;
    for (place, word) in line.split(|&byte| byte == b'\t').enumerate() {
        if let Some(field) = columns.iter().position(|&column| column == place) {
            fields[field] = word;
            found += 1;
        }
    }
    if found < COLUMNS {
        return Err(Cause::Columns);
    }
    let [at, client, method, status, bytes, site, size, url] = fields;
    let at = number(at, i64::MAX as u64).and_then(|at| i64::try_from(at).ok());
    let status = number(status, 999).filter(|&status| status >= 100);
    if url.is_empty() || method.is_empty() {
        return Err(Cause::Request);
    }
    Ok(Record {
        at: Stamp { local_ms: at.ok_or(Cause::Time)?, ahead_s: 0 },
        site: String::from_utf8_lossy(site),
        client: if client.is_empty() {
            return Err(Cause::Client);
        } else {
            String::from_utf8_lossy(client)
        },
        method: Cow::Borrowed(std::str::from_utf8(method).map_err(|_| Cause::Request)?),
        url: clean_url(url),
        status: status.and_then(|status| u16::try_from(status).ok()).ok_or(Cause::Status)?,
        bytes: number(bytes, u64::MAX).ok_or(Cause::Bytes)?,
        size: Some(number(size, u64::MAX).ok_or(Cause::Size)?),
        ..Record::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_what_a_row_writes() {
        let mut parser = (FORMAT.parser)();
        assert_eq!(parser.line(HEADER.as_bytes()), Ok(None));
        let line = b"61000\t7\tGET\t206\t12\tepa\t300\t/a?b";
        let record = parser.line(line).unwrap().unwrap();
        let mut written = String::new();
        row(&mut written, &record);
        assert_eq!(written.trim_end().as_bytes(), line);
    }

    #[test]
    fn columns_are_found_by_name_and_further_ones_passed_over() {
        let mut parser = (FORMAT.parser)();
        let header =
            b"#baton-trace/1\turl\tsize\tagent\tsite\tbytes\tstatus\tmethod\tclient\tat_ms";
        assert_eq!(parser.line(header), Ok(None));
        let record = parser.line(b"/x\t9\tbot\ts\t8\t200\tHEAD\t3\t5").unwrap().unwrap();
        assert_eq!((record.url.as_ref(), record.size, record.at.local_ms), ("/x", Some(9), 5));
    }

    #[test]
    fn a_file_without_header_or_of_a_later_version_is_refused() {
        let mut parser = (FORMAT.parser)();
        assert_eq!(parser.line(b"1\t2\tGET\t200\t1\ts\t1\t/"), Err(Cause::Header));
        assert_eq!(parser.line(b"#baton-trace/2\tat_ms"), Err(Cause::Version));
        assert_eq!(parser.line(b"#baton-trace/1\tat_ms"), Err(Cause::Header));
    }
}

//! A log as a stream of text: a file or standard input, packed by gzip or zstd or not.
//!
//! How a log is packed is seen by its first bytes, not by its name: rotated logs are renamed, and
//! standard input has none. Errors are those of the system; whoever opens a log knows its name and
//! says it.

use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::LINE_BYTES_MAX;

/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Bytes of text from which the format is found out, lines that are too long to be read not
/// counted.
const SAMPLE_BYTES: usize = 1 << 16;

/// Bytes of such lines that are passed over for a sample at most: a file of one line that never
/// ends is no log.
const PASSED_BYTES_MAX: usize = 1 << 26;

/// Bytes of a line that a sample keeps: as many as show that it is too long.
const KEPT_BYTES_MAX: usize = LINE_BYTES_MAX + 2;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A log that is being read.
pub struct Input {
    reader: Box<dyn BufRead + Send>,
    read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
}

/// Counts what passes.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened or read, or is a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Self::of(Box::new(io::stdin()), None);
        }
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let total_bytes = meta.is_file().then_some(meta.len());
        Self::of(Box::new(file), total_bytes)
    }

    fn of(raw: Box<dyn Read + Send>, total_bytes: Option<u64>) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: raw, read: Arc::clone(&read) };
        let mut packed = BufReader::with_capacity(BUFFER_BYTES, counted);
        // A pipe may give its first byte alone.
        let mut magic = Vec::new();
        packed.by_ref().take(ZSTD.len() as u64).read_to_end(&mut magic)?;
        let (gzip, zstd) = (magic.starts_with(&GZIP), magic.starts_with(&ZSTD));
        let packed = Cursor::new(magic).chain(packed);
        let reader: Box<dyn BufRead + Send> = if gzip {
            // Rotated logs are often several members, one behind the other.
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(packed)))
        } else if zstd {
            let unpacked = zstd::Decoder::with_buffer(packed)?;
            Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked))
        } else {
            Box::new(packed)
        };
        Ok(Self { reader, read, total_bytes })
    }

    /// The beginning of the text in whole lines, which stay to be read; of a line that is too long
    /// to be read, its beginning.
    ///
    /// # Errors
    /// Those of the system, and what is packed and damaged, when there is nothing before it; else
    /// it comes behind what is.
    pub fn sample(&mut self) -> io::Result<Vec<u8>> {
        let mut reader = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        let mut sample = Vec::new();
        let broken = fill(&mut reader, &mut sample).err();
        if sample.is_empty()
            && let Some(error) = broken
        {
            return Err(error);
        }
        let rest: Box<dyn Read + Send> = match broken {
            Some(error) => Box::new(Broken(Some(error))),
            None => Box::new(reader),
        };
        let text = Cursor::new(sample.clone()).chain(rest);
        self.reader = Box::new(BufReader::with_capacity(BUFFER_BYTES, text));
        Ok(sample)
    }

    /// The text, from where it was read to; once.
    pub fn reader(&mut self) -> Box<dyn BufRead + Send> {
        std::mem::replace(&mut self.reader, Box::new(io::empty()))
    }

    /// Bytes read so far, as they are packed.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes there are, as they are packed; `None` when nobody knows (standard input, a pipe).
    pub const fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }
}

/// Fails as a reader before it did, and is then at its end.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Reads lines until there is a sample of them.
fn fill(reader: &mut dyn BufRead, sample: &mut Vec<u8>) -> io::Result<()> {
    let (mut useful, mut passed) = (0, 0);
    while useful < SAMPLE_BYTES && passed < PASSED_BYTES_MAX {
        let mut kept = Read::take(&mut *reader, KEPT_BYTES_MAX as u64);
        let length = kept.read_until(b'\n', sample)?;
        if length == 0 {
            break;
        }
        if length < KEPT_BYTES_MAX {
            useful += length;
            continue;
        }
        passed += length;
        if !sample.ends_with(b"\n") {
            passed += pass_line(reader)?;
            sample.push(b'\n');
        }
    }
    Ok(())
}

/// Reads to behind the next line end, or as far as a sample goes; gives the bytes.
fn pass_line(reader: &mut dyn BufRead) -> io::Result<usize> {
    let mut passed = 0;
    while passed < PASSED_BYTES_MAX {
        let buffer = reader.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(length);
        passed += length;
        if end.is_some() || length == 0 {
            break;
        }
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// Longer than a sample, so that the second half comes from the file.
    fn log() -> Vec<u8> {
        (0..20_000).flat_map(|at| format!("line {at}\n").into_bytes()).collect()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).expect("writing to memory cannot fail");
        packed.finish().expect("writing to memory cannot fail")
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 1).expect("writing to memory cannot fail")
    }

    fn open(bytes: &[u8]) -> Input {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        file.write_all(bytes).expect("it can be written");
        Input::open(file.path()).expect("it was just made")
    }

    fn text(input: &mut Input) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        input.reader().read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn a_log_is_the_same_however_it_is_packed() {
        let log = log();
        let (first, second) = log.split_at(70_000);
        let pieces = [
            log.clone(),
            gzip(&log),
            zstd(&log),
            [gzip(first), gzip(second)].concat(),
            [zstd(first), zstd(second)].concat(),
        ];
        for bytes in pieces {
            let mut input = open(&bytes);
            let sample = input.sample().expect("it can be read");
            assert!(sample.len() >= SAMPLE_BYTES && sample.ends_with(b"\n"), "whole lines");
            assert!(log.starts_with(&sample));
            assert_eq!(text(&mut input).expect("it can be read"), log, "the sample stays in it");
            assert_eq!(input.bytes_read(), bytes.len() as u64);
            assert_eq!(input.total_bytes(), Some(bytes.len() as u64));
        }
    }

    #[test]
    fn short_and_empty_logs_are_read() {
        for bytes in [&b""[..], b"\x1f", b"a", b"ab\n", &gzip(b""), &zstd(b"")] {
            let mut input = open(bytes);
            let packed = bytes.len() > 3;
            let expected = if packed { b"" } else { bytes };
            assert_eq!(input.sample().expect("it can be read"), expected);
            assert_eq!(text(&mut input).expect("it can be read"), expected);
        }
    }

    #[test]
    fn a_packed_log_that_is_cut_is_an_error_behind_what_can_be_read() {
        let log = log();
        for packed in [gzip(&log), zstd(&log)] {
            let mut input = open(&packed[..packed.len() / 2]);
            assert!(text(&mut input).is_err(), "half of it is not all of it");
        }
    }

    #[test]
    fn a_cut_log_gives_its_beginning_and_then_the_error() {
        let log = log();
        let packed = gzip(&log);
        let mut input = open(&packed[..packed.len() / 2]);
        let sample = input.sample().expect("its beginning is whole");
        let mut found = Vec::new();
        let error = input.reader().read_to_end(&mut found).expect_err("half of it is missing");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(found.starts_with(&sample) && log.starts_with(&found));
    }

    #[test]
    fn a_line_that_is_too_long_hides_no_other() {
        let line = |length: usize| [vec![b'y'; length], b"\n".to_vec()].concat();
        for length in [LINE_BYTES_MAX + 1, LINE_BYTES_MAX + 2, 3 * BUFFER_BYTES] {
            let bytes = [line(length), log()].concat();
            let mut input = open(&bytes);
            let sample = input.sample().expect("it can be read");
            let seen = String::from_utf8_lossy(&sample).contains("\nline 9\n");
            assert!(seen, "{length}");
            let text = text(&mut input).expect("it can be read");
            assert!(text.starts_with(&sample) && text.ends_with(b"line 19999\n"));
            let first = text.split(|&byte| byte == b'\n').next().map_or(0, <[u8]>::len);
            assert_eq!(
                first,
                length.min(KEPT_BYTES_MAX),
                "{length}: enough to be seen as too long"
            );
        }
    }

    #[test]
    fn a_folder_and_a_file_that_is_not_there_are_errors() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let kind = |path: &Path| Input::open(path).err().map(|error| error.kind());
        assert_eq!(kind(folder.path()), Some(io::ErrorKind::IsADirectory));
        assert_eq!(kind(&folder.path().join("none")), Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_pipe_that_gives_its_bytes_one_by_one_is_read() {
        struct Slow(Cursor<Vec<u8>>);
        impl Read for Slow {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let room = into.len().min(1);
                self.0.read(&mut into[..room])
            }
        }
        let bytes = gzip(b"one\ntwo\n");
        let mut input =
            Input::of(Box::new(Slow(Cursor::new(bytes))), None).expect("it can be read");
        assert_eq!(text(&mut input).expect("it can be read"), b"one\ntwo\n");
        assert_eq!(input.total_bytes(), None);
    }
}

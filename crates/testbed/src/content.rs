//! What the files of the servers contain: a pure function of path and offset, so that a client can
//! check each byte it is given without having the file. It is the origin's pattern.

use origin::content;
use std::io::{self, Write};

/// The byte at `offset` of the file that has this path, such as `/4k`.
pub fn content(path: &str, offset: u64) -> u8 {
    slice(path, offset, 1)[0]
}

/// What the file has from `offset` on: at most `len_max` bytes, and at least that many or
/// [`content::SLICE_BYTES`].
pub fn slice(path: &str, offset: u64, len_max: u64) -> &'static [u8] {
    content::slice(content::target(None, path), offset, len_max)
}

/// Whether `bytes` is what the file has from `offset` on.
pub fn verify(path: &str, offset: u64, bytes: &[u8]) -> bool {
    content::verify(content::target(None, path), offset, bytes)
}

/// Writes the whole file.
///
/// # Errors
/// What writing answers.
pub fn write(path: &str, bytes: u64, out: &mut impl Write) -> io::Result<()> {
    let mut offset = 0;
    while offset < bytes {
        let piece = slice(path, offset, bytes - offset);
        out.write_all(piece)?;
        offset += piece.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_written_whole_is_verified_byte_by_byte_and_no_other_byte_passes() {
        let mut bytes = Vec::new();
        write("/10m", 300_000, &mut bytes).unwrap();
        assert_eq!(bytes.len(), 300_000);
        assert!(verify("/10m", 0, &bytes) && verify("/10m", 299_000, &bytes[299_000..]));
        assert_eq!(content("/10m", 299_999), bytes[299_999]);
        assert!(!verify("/10m", 1, &bytes[..299_999]) && !verify("/1m", 0, &bytes));
        bytes[250_001] ^= 1;
        assert!(!verify("/10m", 0, &bytes));
    }

    #[test]
    fn nothing_in_a_file_looks_like_a_server_side_include() {
        // nginx is told to look for them where a reply's length is not to be known: see nginx.rs.
        let mut bytes = Vec::new();
        write("/1m", content::PERIOD_BYTES + 4, &mut bytes).unwrap();
        assert!(!bytes.windows(4).any(|window| window == b"<!--"));
    }
}

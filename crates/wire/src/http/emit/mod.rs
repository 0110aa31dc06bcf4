//! The heads this switch sends: forwarded ones, its own errors, and those of a server or client.
//!
//! All append to a buffer the caller keeps, so a warm buffer means no allocation. Fields that pass
//! unchanged are copied in runs, line ends included, straight from the head that was read.

mod build;
mod error;
mod request;
mod response;

pub use build::{HeadBuilder, Unsendable};
pub use error::{ErrorEdit, error};
pub use request::{RequestEdit, RequestId, request};
pub use response::{BodyEdit, ResponseEdit, response};

/// What ends a chunked body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// What ends the data of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// Appends the size line of a chunk. A chunk of no bytes would end the body; nothing is written.
pub fn chunk_size(bytes: u64, out: &mut Vec<u8>) {
    if bytes == 0 {
        return;
    }
    let digits = (67 - bytes.leading_zeros() as usize) / 4;
    for digit in (0..digits).rev() {
        let value = (bytes >> (4 * digit) & 0xf) as usize;
        out.push(b"0123456789abcdef"[value]);
    }
    out.extend_from_slice(CHUNK_END);
}

/// Appends a number in decimal.
pub(crate) fn decimal(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a field line. Name and value are ours: from the configuration or made here.
fn field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    debug_assert!(!value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)), "{name} is one line");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

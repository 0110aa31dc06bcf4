//! Captured packets as files: read as tcpdump writes them, written so that Wireshark opens them.
//!
//! The format is that of libpcap (draft-ietf-opsawg-pcap): a header of 24 bytes, then each packet
//! behind 16 bytes of its own; a reader tells the byte order and the clock's unit by the first
//! four. Here it is little-endian with nanoseconds, which is what tcpdump writes on this machine
//! when asked for them, and Ethernet alone.

use std::io::{self, Read, Write};

/// The first four bytes: nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Frames that begin with an Ethernet header.
const LINK_ETHERNET: u32 = 1;
/// The longest frame that is taken, in bytes: more than any segment that the kernel joins.
const FRAME_BYTES_MAX: u32 = 262_144;

/// A frame, and when it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    /// From the Ethernet header on.
    pub bytes: Vec<u8>,
}

/// Reads frames from the stream of a capture.
pub struct Reader<R>(R);

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// The stream's; it ends early, or is none that is read here.
    pub fn new(mut stream: R) -> io::Result<Self> {
        let magic = word(&mut stream)?;
        let mut rest = [0; 16];
        stream.read_exact(&mut rest)?;
        let link = word(&mut stream)?;
        if (magic, link) != (MAGIC, LINK_ETHERNET) {
            let what = format!("a capture of kind {magic:08x} with link {link}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Self(stream))
    }

    /// Waits for the next frame.
    ///
    /// # Errors
    /// The stream's; a frame longer than any can be. [`io::ErrorKind::UnexpectedEof`]: it has
    /// ended.
    pub fn next(&mut self) -> io::Result<Frame> {
        let mut heading = [0; 4];
        for field in &mut heading {
            *field = word(&mut self.0)?;
        }
        let [seconds, ns, kept_bytes, _whole_bytes] = heading;
        if kept_bytes > FRAME_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that is too long"));
        }
        let mut bytes = vec![0; kept_bytes as usize];
        self.0.read_exact(&mut bytes)?;
        Ok(Frame { at_ns: u64::from(seconds) * 1_000_000_000 + u64::from(ns), bytes })
    }
}

fn word(stream: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Writes a whole capture.
///
/// # Errors
/// What writing answers.
pub fn write<'a>(
    frames: impl IntoIterator<Item = &'a Frame>,
    out: &mut impl Write,
) -> io::Result<()> {
    // Version 2.4, no time zone, no accuracy.
    let header = [MAGIC, 2 | 4 << 16, 0, 0, FRAME_BYTES_MAX, LINK_ETHERNET];
    let mut put = |words: &[u32], bytes: &[u8]| -> io::Result<()> {
        words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
        out.write_all(bytes)
    };
    put(&header, &[])?;
    for frame in frames {
        let (seconds, ns) = (frame.at_ns / 1_000_000_000, frame.at_ns % 1_000_000_000);
        let bytes = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        // The format's own clock ends in 2106.
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        put(&[seconds, u32::try_from(ns).unwrap_or(0), bytes, bytes], &frame.bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_what_is_cut_short_is_an_error() {
        let frames = [
            Frame { at_ns: 1_700_000_000_123_456_789, bytes: vec![1, 2, 3] },
            Frame { at_ns: 1_700_000_001_000_000_000, bytes: Vec::new() },
        ];
        let mut file = Vec::new();
        write(&frames, &mut file).unwrap();
        let mut reader = Reader::new(file.as_slice()).unwrap();
        assert_eq!(frames.each_ref().map(|_| reader.next().unwrap()), frames);
        assert_eq!(reader.next().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        for bytes in 0..24 {
            assert!(Reader::new(&file[..bytes]).is_err());
        }
        assert!(Reader::new(&file[..41]).unwrap().next().is_err());
    }

    #[test]
    fn another_kind_of_capture_and_a_frame_without_end_are_refused() {
        let mut file = Vec::new();
        write(&[Frame { at_ns: 0, bytes: vec![7] }], &mut file).unwrap();
        let mut other = file.clone();
        other[0] = 0xd4;
        assert!(Reader::new(other.as_slice()).is_err());
        file[24 + 8..24 + 12].fill(0xff);
        let error = Reader::new(file.as_slice()).unwrap().next().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}

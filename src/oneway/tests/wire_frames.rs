//! Frames as a client of the proof sends them, and what the program made of them. The seal is
//! computed here anew (SipHash-1-3, as docs/handoff.md says), not by the code under test.

use std::net::{Ipv4Addr, SocketAddr};

const ETHERNET: usize = 14;
/// Ethernet, IPv4 and TCP headers.
const HEADERS: usize = 54;
/// Ethernet, outer IPv4 and UDP headers.
const ENVELOPE: usize = 42;
const ENVELOPE_BYTES: usize = 28;
const NOTE: [u8; 2] = [0x02, 0xba];
const REDIRECT: i32 = 7;

const FIN_ACK: u8 = 0x11;
const SYN: u8 = 0x02;
const PSH_ACK: u8 = 0x18;

/// The next segment of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    client: SocketAddr,
    vip: SocketAddr,
    seq: u32,
    ack: u32,
    flags: u8,
}

/// A frame that the program holds.
#[derive(Clone, Debug)]
pub(super) struct Held(Vec<u8>);

/// What became of a frame.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A SYN was answered with this sequence number.
    Answered(u32),
    /// It is held for an answer.
    Asked(Held),
    /// It goes in an envelope that hands over, to this address.
    HandedOver(Ipv4Addr),
    /// It goes to the holder as a question.
    Queried(Vec<u8>),
    /// It goes on as it is.
    Plain,
    /// Something else, by the verdict.
    #[expect(dead_code, reason = "a test that fails shows it")]
    Else(i32),
}

impl Frame {
    pub(super) fn syn(client: SocketAddr, vip: SocketAddr) -> Self {
        Self { client, vip, seq: u32::from(client.port()) << 12, ack: 0, flags: SYN }
    }

    /// The first segment with payload, when the SYN was answered with `seq`.
    pub(super) fn after(self, seq: u32) -> Self {
        Self { seq: self.seq.wrapping_add(1), ack: seq.wrapping_add(1), flags: PSH_ACK, ..self }
    }

    /// The one behind so many bytes, a reply having come meanwhile.
    pub(super) fn behind(self, bytes: usize) -> Self {
        let bytes = u32::try_from(bytes).unwrap();
        Self { seq: self.seq.wrapping_add(bytes), ack: self.ack.wrapping_add(1000), ..self }
    }

    pub(super) fn fin(self) -> Vec<u8> {
        Self { flags: FIN_ACK, ..self }.bytes(b"")
    }

    pub(super) fn bytes(self, payload: &[u8]) -> Vec<u8> {
        let (SocketAddr::V4(client), SocketAddr::V4(vip)) = (self.client, self.vip) else {
            panic!("the proof is about IPv4");
        };
        let total = u16::try_from(HEADERS - ETHERNET + payload.len()).unwrap();
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        frame.extend(total.to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend(client.ip().octets());
        frame.extend(vip.ip().octets());
        frame.extend(client.port().to_be_bytes());
        frame.extend(vip.port().to_be_bytes());
        frame.extend(self.seq.to_be_bytes());
        frame.extend(self.ack.to_be_bytes());
        frame.extend([0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        frame.extend(payload);
        frame
    }
}

impl Held {
    /// The same, with the answer that this slot serves.
    pub(super) fn answered(mut self, slot: u16) -> Vec<u8> {
        self.0[..2].copy_from_slice(&NOTE);
        self.0[2..6].copy_from_slice(&u32::from(slot).to_ne_bytes());
        self.0
    }
}

impl What {
    pub(super) fn read(verdict: i32, frame: Vec<u8>) -> Self {
        if verdict != REDIRECT {
            return Self::Else(verdict);
        }
        let word = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
        if frame[23] == 17 {
            let to = Ipv4Addr::from(word(30));
            return match frame[ENVELOPE + 3] {
                1 => Self::HandedOver(to),
                2 => Self::Queried(frame),
                _ => Self::Else(verdict),
            };
        }
        match frame[47] {
            0x12 => Self::Answered(word(38)),
            _ if frame[6..8] == NOTE => Self::Asked(Held(frame)),
            _ => Self::Plain,
        }
    }
}

/// A question, turned into the answer of its server: released.
pub(super) fn released(key: &[u8; 16], mut letter: Vec<u8>) -> Vec<u8> {
    let (from, to) = (letter[26..30].to_owned(), letter[30..34].to_owned());
    letter[26..30].copy_from_slice(&to);
    letter[30..34].copy_from_slice(&from);
    letter[ENVELOPE + 3] = 3;
    let seal = seal(key, &letter);
    letter[ENVELOPE + 20..ENVELOPE + 24].copy_from_slice(&((seal >> 32) as u32).to_ne_bytes());
    letter[ENVELOPE + 24..ENVELOPE + 28].copy_from_slice(&(seal as u32).to_ne_bytes());
    letter
}

/// The seal of an envelope around an IPv4 packet.
fn seal(key: &[u8; 16], letter: &[u8]) -> u64 {
    let native = |at: usize| u32::from_ne_bytes(letter[at..at + 4].try_into().unwrap());
    let short = |at: usize| u16::from_ne_bytes(letter[at..at + 2].try_into().unwrap());
    let inner = ENVELOPE + ENVELOPE_BYTES;
    let e = |at: usize| letter[ENVELOPE + at];
    let words = [
        u64::from(native(inner + 12)) << 32 | u64::from(native(inner + 16)),
        u64::from(short(inner + 20)) << 48
            | u64::from(short(inner + 22)) << 32
            | u64::from(native(ENVELOPE + 4)),
        u64::from(native(ENVELOPE + 8)) << 32
            | u64::from(short(ENVELOPE + 12)) << 16
            | u64::from(e(14)) << 8
            | u64::from(e(15)),
        u64::from(short(ENVELOPE + 16)) << 16 | u64::from(e(2)) << 8 | u64::from(e(3)),
    ];
    let key = |at: usize| u64::from_ne_bytes(key[at..at + 8].try_into().unwrap());
    let mut v = [
        key(0) ^ 0x736f_6d65_7073_6575,
        key(8) ^ 0x646f_7261_6e64_6f6d,
        key(0) ^ 0x6c79_6765_6e65_7261,
        key(8) ^ 0x7465_6462_7974_6573,
    ];
    for word in words {
        v[3] ^= word;
        round(&mut v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

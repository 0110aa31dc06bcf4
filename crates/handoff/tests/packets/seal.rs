//! The keyed hash a second time, written from the paper (Aumasson, Bernstein: SipHash, INDOCRYPT
//! 2012; here one round a word and three at the end), and what is sealed with it: envelopes by the
//! site's key, SYN cookies by a key derived from it.

use std::net::{IpAddr, SocketAddr};

pub fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

pub struct Sip {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

impl Sip {
    pub fn new(key: &[u8; 16]) -> Self {
        let half = |at: usize| u64::from_le_bytes(key[at..at + 8].try_into().unwrap());
        let text = b"somepseudorandomlygeneratedbytes";
        let word = |at: usize| u64::from_be_bytes(text[at..at + 8].try_into().unwrap());
        let (low, high) = (half(0), half(8));
        Self { a: low ^ word(0), b: high ^ word(8), c: low ^ word(16), d: high ^ word(24) }
    }

    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.a = self.a.wrapping_add(self.b);
            self.c = self.c.wrapping_add(self.d);
            self.b = self.b.rotate_left(13) ^ self.a;
            self.d = self.d.rotate_left(16) ^ self.c;
            self.a = self.a.rotate_left(32);
            self.c = self.c.wrapping_add(self.b);
            self.a = self.a.wrapping_add(self.d);
            self.b = self.b.rotate_left(17) ^ self.c;
            self.d = self.d.rotate_left(21) ^ self.a;
            self.c = self.c.rotate_left(32);
        }
    }

    pub fn word(&mut self, word: u64) {
        self.d ^= word;
        self.rounds(1);
        self.a ^= word;
    }

    /// A connection, and a number that belongs to it.
    pub fn flow(&mut self, client: SocketAddr, vip: SocketAddr, number: u32) {
        let (from, to) = (octets(client.ip()), octets(vip.ip()));
        let quarter = |bytes: &[u8; 16], at: usize| {
            u64::from(u32::from_ne_bytes(bytes[at * 4..at * 4 + 4].try_into().unwrap()))
        };
        let port = |of: SocketAddr| u64::from(u16::from_ne_bytes(of.port().to_be_bytes()));
        if client.is_ipv4() {
            self.word(quarter(&from, 3) << 32 | quarter(&to, 3));
        } else {
            for (bytes, at) in [(&from, 0), (&from, 2), (&to, 0), (&to, 2)] {
                self.word(quarter(bytes, at) << 32 | quarter(bytes, at + 1));
            }
        }
        self.word(port(client) << 48 | port(vip) << 32 | u64::from(number));
    }

    pub fn end(mut self) -> u64 {
        self.finish().0
    }

    fn finish(&mut self) -> (u64, u64) {
        self.c ^= 0xff;
        self.rounds(3);
        let low = self.a ^ self.b ^ self.c ^ self.d;
        self.b ^= 0xdd;
        self.rounds(3);
        (low, self.a ^ self.b ^ self.c ^ self.d)
    }
}

/// The secret of cookies and memos.
pub fn cookie_key(site: &[u8; 16]) -> [u8; 16] {
    let mut sip = Sip::new(site);
    sip.word(u64::from_le_bytes(*b"cookie\0\0"));
    sip.word(6);
    let (low, high) = sip.finish();
    [low.to_ne_bytes(), high.to_ne_bytes()].concat().try_into().unwrap()
}

/// What rides in our sequence number: MSS by its number, whether SACK, the window scale.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    pub mss: u8,
    pub sack: bool,
    pub wscale: u8,
}

/// The sequence number with which a SYN with number `isn` is answered in a step of 69 seconds.
pub fn cookie(client: SocketAddr, vip: SocketAddr, isn: u32, step: u64, c: Carried) -> u32 {
    let low = u32::from(c.mss) << 5 | u32::from(c.sack) << 4 | u32::from(c.wscale);
    let mut sip = Sip::new(&cookie_key(&super::segment::KEY));
    sip.flow(client, vip, 0);
    sip.word(step << 8 | u64::from(low));
    let hash = u32::try_from(sip.end() & 0xffff_fc00).unwrap();
    hash.wrapping_add(isn << 10) | u32::try_from(step & 3).unwrap() << 8 | low
}

/// The step that a time (CLOCK_MONOTONIC, nanoseconds) lies in.
pub fn step(now_ns: u64) -> u64 {
    now_ns >> 36
}

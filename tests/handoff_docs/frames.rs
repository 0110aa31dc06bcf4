//! Frames with an envelope in them, laid out by what the header says, and a file of such.

use crate::header::{Field, envelope};
use std::collections::BTreeMap;

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    V4,
    V6,
}

/// A letter on the wire: a request of 127.0.0.1 or ::1, the forty-third byte of its stream.
#[derive(Clone, Debug)]
pub struct Frame {
    values: BTreeMap<String, u64>,
    outer: Inner,
    inner: Inner,
    port: u16,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Frame {
    pub fn new(kind: u64, outer: Inner, inner: Inner) -> Self {
        let values = [
            ("magic", 0xba71),
            ("version", 1),
            ("kind", kind),
            ("seq", 1_000_042),
            ("connection", 1_000_000),
            ("mss", 1460),
            ("wscale", 10),
            ("flags", 0b101),
            ("server", 0x0102_0304),
            ("mac_high", 0x8899_aabb),
            ("mac_low", 0xccdd_eeff),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        Self { values, outer, inner, port: 7117 }
    }

    pub fn with(mut self, name: &str, value: u64) -> Self {
        let old = self.values.insert(name.to_owned(), value);
        assert!(old.is_some(), "{name} is a field");
        self
    }

    pub fn at_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    pub fn value(&self, name: &str) -> u64 {
        self.values[name]
    }

    fn envelope(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Field { bytes: count, name, .. } in envelope() {
            let value = self.value(&name).to_be_bytes();
            bytes.extend(&value[8 - usize::try_from(count).unwrap()..]);
        }
        bytes
    }

    fn bytes(&self) -> Vec<u8> {
        let letter = [self.envelope(), ip(self.inner, TCP, &request())].concat();
        let length = u16::try_from(8 + letter.len()).unwrap();
        let mut udp = Vec::new();
        [0xc001, self.port, length, 0].iter().for_each(|word| udp.extend(word.to_be_bytes()));
        udp.extend(letter);
        let family: [u8; 2] = if self.outer == Inner::V4 { [8, 0] } else { [0x86, 0xdd] };
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &family[..], &ip(self.outer, UDP, &udp)].concat()
    }
}

/// A segment with a request.
fn request() -> Vec<u8> {
    let mut tcp = Vec::new();
    [40_000u16, 80].iter().for_each(|port| tcp.extend(port.to_be_bytes()));
    [1_000_042u32, 5_000].iter().for_each(|number| tcp.extend(number.to_be_bytes()));
    tcp.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend(b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n");
    tcp
}

/// An IP packet of a host to itself. Checksums are left out: nobody here looks at them.
fn ip(family: Inner, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if family == Inner::V4 {
        let total = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
        bytes.extend([0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0]);
        bytes.extend([127, 0, 0, 1, 127, 0, 0, 1]);
    } else {
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        bytes.extend([0x60, 0, 0, 0, length[0], length[1], protocol, 64]);
        (0..2).for_each(|_| bytes.extend(std::net::Ipv6Addr::LOCALHOST.octets()));
    }
    bytes.extend(payload);
    bytes
}

/// A file in the format of libpcap, with Ethernet frames.
pub fn capture(frames: &[Frame]) -> Vec<u8> {
    let mut file = Vec::new();
    [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1]
        .iter()
        .for_each(|word| file.extend(word.to_le_bytes()));
    for (second, frame) in (0u32..).zip(frames) {
        let bytes = frame.bytes();
        let length = u32::try_from(bytes.len()).unwrap();
        [second, 0, length, length].iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(bytes);
    }
    file
}

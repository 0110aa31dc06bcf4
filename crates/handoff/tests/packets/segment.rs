//! Packets as values: a client's segment and our envelope, built field by field, with every length
//! and checksum right unless a fixture says otherwise. Written after the RFCs, not after `bpf/`:
//! two descriptions that agree.

use crate::seal::{Sip, octets};
use std::net::{IpAddr, SocketAddr};

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

/// Ethernet addresses: who sends, and the machine that runs the program.
pub const SENDER: [u8; 6] = [0x02, 0x42, 0, 0, 0, 0x77];
pub const OURS: [u8; 6] = [0x02, 0x42, 0, 0, 0, 0x01];

pub const ETHERNET: usize = 14;

/// Options of TCP.
pub fn mss(bytes: u16) -> Vec<u8> {
    let [high, low] = bytes.to_be_bytes();
    vec![2, 4, high, low]
}
pub fn scale(shift: u8) -> Vec<u8> {
    vec![3, 3, shift]
}
pub fn sack() -> Vec<u8> {
    vec![4, 2]
}
pub fn stamps(value: u32, echo: u32) -> Vec<u8> {
    [&[8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat()
}
pub const NOP: u8 = 1;

/// The stamps of every segment but SYNs, where all systems put them.
pub fn usual_stamps(value: u32, echo: u32) -> Vec<u8> {
    [vec![NOP, NOP], stamps(value, echo)].concat()
}

/// A TCP segment in an IP packet in an Ethernet frame.
#[derive(Clone, Debug)]
pub struct Segment {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub options: Vec<u8>,
    pub window: u16,
    pub payload: Vec<u8>,
    /// Of the IPv4 header: options, and the word of fragments.
    pub ip_options: Vec<u8>,
    pub fragment: u16,
    /// Routers it may still pass.
    pub hops: u8,
}

impl Segment {
    pub fn new(from: SocketAddr, to: SocketAddr) -> Self {
        Self {
            from,
            to,
            seq: 0,
            ack: 0,
            flags: ACK,
            options: vec![],
            window: 501,
            payload: vec![],
            ip_options: vec![],
            fragment: 0x4000,
            hops: 64,
        }
    }

    pub fn flags(mut self, flags: u8) -> Self {
        self.flags = flags;
        self
    }

    pub fn numbers(mut self, seq: u32, ack: u32) -> Self {
        (self.seq, self.ack) = (seq, ack);
        self
    }

    pub fn with(mut self, options: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.options = options.into_iter().flatten().collect();
        self
    }

    pub fn saying(mut self, payload: impl AsRef<[u8]>) -> Self {
        self.payload = payload.as_ref().to_vec();
        self
    }

    /// Bytes of the stream that it takes up.
    pub fn length(&self) -> u32 {
        u32::try_from(self.payload.len()).unwrap()
    }

    /// The TCP header and what is behind it.
    fn tcp(&self) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let words = u8::try_from(5 + options.len() / 4).unwrap();
        let mut tcp = Vec::new();
        tcp.extend(self.from.port().to_be_bytes());
        tcp.extend(self.to.port().to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([words << 4, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0, 0, 0, 0]);
        tcp.extend(options);
        tcp.extend(&self.payload);
        let sum = checksum(&[&pseudo(self.from.ip(), self.to.ip(), 6, tcp.len()), &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        tcp
    }

    /// The IP packet.
    pub fn ip(&self) -> Vec<u8> {
        let tcp = self.tcp();
        let mut ip = ip_header(self.from.ip(), self.to.ip(), 6, &self.ip_options, tcp.len());
        if self.from.is_ipv4() {
            ip[4..6].copy_from_slice(&0x1234_u16.to_be_bytes());
            ip[6..8].copy_from_slice(&self.fragment.to_be_bytes());
            ip[8] = self.hops;
            sign(&mut ip);
        } else {
            ip[7] = self.hops;
        }
        ip.extend(tcp);
        ip
    }

    pub fn frame(&self) -> Vec<u8> {
        framed(SENDER, OURS, &self.ip())
    }

    /// What a router says of this segment, which was too large for its next link (RFC 1191, 4443).
    pub fn refused_by_router(&self) -> Vec<u8> {
        let v4 = self.from.is_ipv4();
        let router: IpAddr =
            if v4 { [10, 77, 0, 254].into() } else { [0xfd77, 0, 0, 0, 0, 0, 0, 1].into() };
        let mut icmp = if v4 { vec![3, 4, 0, 0, 0, 0, 5, 0] } else { vec![2, 0, 0, 0, 0, 0, 5, 0] };
        icmp.extend(self.ip());
        let protocol = if v4 { 1 } else { 58 };
        let pseudo = pseudo(router, self.from.ip(), protocol, icmp.len());
        let sum = checksum(&[if v4 { &[] } else { &pseudo }, &icmp]);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut ip = ip_header(router, self.from.ip(), protocol, &[], icmp.len());
        ip.extend(icmp);
        framed(SENDER, OURS, &ip)
    }

    /// The answer's frame: it goes back to the Ethernet address the question came from.
    pub fn answer(&self) -> Vec<u8> {
        framed(OURS, SENDER, &self.ip())
    }
}

/// An Ethernet frame around an IP packet.
pub fn framed(from: [u8; 6], to: [u8; 6], ip: &[u8]) -> Vec<u8> {
    let proto: [u8; 2] = if ip[0] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] };
    [&to[..], &from, &proto, ip].concat()
}

fn ip_header(from: IpAddr, to: IpAddr, protocol: u8, options: &[u8], bytes: usize) -> Vec<u8> {
    let mut ip = Vec::new();
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header = 20 + options.len();
            let words = u8::try_from(header / 4).unwrap();
            ip.extend([0x40 | words, 0]);
            ip.extend(u16::try_from(header + bytes).unwrap().to_be_bytes());
            ip.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
            ip.extend(from.octets());
            ip.extend(to.octets());
            ip.extend(options);
            sign(&mut ip);
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            ip.extend([0x60, 0, 0, 0]);
            ip.extend(u16::try_from(bytes).unwrap().to_be_bytes());
            ip.extend([protocol, 64]);
            ip.extend(from.octets());
            ip.extend(to.octets());
        }
        _ => panic!("one header has addresses of one family"),
    }
    ip
}

/// Puts the checksum of an IPv4 header right.
pub fn sign(ip: &mut [u8]) {
    ip[10..12].fill(0);
    let header = usize::from(ip[0] & 15) * 4;
    let sum = checksum(&[&ip[..header]]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// What TCP and UDP sum up besides themselves.
pub fn pseudo(from: IpAddr, to: IpAddr, protocol: u8, bytes: usize) -> Vec<u8> {
    let (mut words, bytes) = (Vec::new(), u32::try_from(bytes).unwrap());
    for address in [from, to] {
        match address {
            IpAddr::V4(v4) => words.extend(v4.octets()),
            IpAddr::V6(v6) => words.extend(v6.octets()),
        }
    }
    words.extend(bytes.to_be_bytes());
    words.extend([0, 0, 0, protocol]);
    words
}

/// RFC 1071. Every part but the last has an even length.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let pairs = parts.iter().flat_map(|part| part.chunks(2));
    let words = pairs.map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

pub const PLAIN: u8 = 0;
pub const HANDOFF: u8 = 1;
pub const QUERY: u8 = 2;
pub const RELEASED: u8 = 3;
pub const TAGGED: u8 = 4;

/// Flags of an envelope.
pub const WITH_SACK: u8 = 1;
pub const TRACK: u8 = 2;
pub const AGENT: u8 = 4;

/// No window scaling, in an envelope.
pub const UNSCALED: u8 = 15;

/// The envelope between front-end and server.
#[derive(Clone, Debug)]
pub struct Letter {
    pub from: IpAddr,
    pub to: IpAddr,
    pub magic: u16,
    pub version: u8,
    pub kind: u8,
    pub seq: u32,
    pub connection: u32,
    pub mss: u16,
    pub wscale: u8,
    pub flags: u8,
    pub server: u32,
    pub inner: Segment,
}

/// The site's key in all fixtures, and the port of envelopes.
pub const KEY: [u8; 16] = *b"sixteen secrets!";
pub const PORT: u16 = 7117;

impl Letter {
    /// A hand-over of this segment, which is the first of its connection.
    pub fn around(inner: &Segment, from: IpAddr, to: IpAddr) -> Self {
        Self {
            from,
            to,
            magic: 0xba71,
            version: 1,
            kind: HANDOFF,
            seq: inner.seq,
            connection: inner.seq,
            mss: 1460,
            wscale: 7,
            flags: WITH_SACK,
            server: 0,
            inner: inner.clone(),
        }
    }

    pub fn kind(mut self, kind: u8) -> Self {
        self.kind = kind;
        self
    }

    pub fn flags(mut self, flags: u8) -> Self {
        self.flags = flags;
        self
    }

    /// Of a connection whose first byte has this number.
    pub fn of(mut self, connection: u32) -> Self {
        self.connection = connection;
        self
    }

    fn mac(&self) -> u64 {
        let mut sip = Sip::new(&KEY);
        sip.flow(self.inner.from, self.inner.to, self.seq.swap_bytes());
        // Numbers are hashed as a little-endian machine reads them off the wire.
        let read = |number: u32| u64::from(number.swap_bytes());
        let what = read(self.connection) << 32
            | u64::from(self.mss.swap_bytes()) << 16
            | u64::from(self.wscale) << 8
            | u64::from(self.flags);
        sip.word(what);
        let whom = read(self.server) << 16 | u64::from(self.version) << 8;
        sip.word(whom | u64::from(self.kind));
        sip.end()
    }

    /// The 28 bytes of the envelope, sealed.
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        head.extend(self.magic.to_be_bytes());
        head.extend([self.version, self.kind]);
        head.extend(self.seq.to_be_bytes());
        head.extend(self.connection.to_be_bytes());
        head.extend(self.mss.to_be_bytes());
        head.extend([self.wscale, self.flags]);
        head.extend(self.server.to_be_bytes());
        // Two words, each as the machine has it.
        let [a, b, c, d, e, f, g, h] = self.mac().to_le_bytes();
        head.extend([e, f, g, h, a, b, c, d]);
        head
    }

    /// What a UDP socket would have to send.
    pub fn datagram(&self) -> Vec<u8> {
        [self.head(), self.inner.ip()].concat()
    }

    /// The envelope around another packet than the segment it is sealed for.
    pub fn around_frame(&self, frame: &[u8]) -> Vec<u8> {
        self.framed_around(SENDER, OURS, &[self.head(), frame[ETHERNET..].to_vec()].concat())
    }

    /// The source port: chosen by the connection, for the receiver's queues.
    fn source(&self) -> u16 {
        let client = octets(self.inner.from.ip());
        let words = (&client[12..], self.inner.from.port().to_be_bytes());
        let hash = u32::from_ne_bytes(words.0.try_into().unwrap())
            ^ u32::from(u16::from_ne_bytes(words.1));
        0xc000 | u16::try_from(hash & 0x3fff).unwrap()
    }

    /// The frame as the front-end sends it: it keeps the Ethernet addresses, which the way to the
    /// server replaces.
    pub fn frame(&self) -> Vec<u8> {
        self.framed_by(SENDER, OURS)
    }

    pub fn framed_by(&self, from: [u8; 6], to: [u8; 6]) -> Vec<u8> {
        self.framed_around(from, to, &self.datagram())
    }

    fn framed_around(&self, from: [u8; 6], to: [u8; 6], body: &[u8]) -> Vec<u8> {
        let bytes = u16::try_from(8 + body.len()).unwrap();
        let mut ip = ip_header(self.from, self.to, 17, &[], usize::from(bytes));
        ip.extend(self.source().to_be_bytes());
        ip.extend(PORT.to_be_bytes());
        ip.extend(bytes.to_be_bytes());
        ip.extend([0, 0]);
        ip.extend(body);
        framed(from, to, &ip)
    }
}

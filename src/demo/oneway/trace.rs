//! What a frame says, as far as the diagram shows it: a TCP segment over IPv4 or IPv6 over
//! Ethernet, bare or in one of our envelopes (docs/decisions/0013).
//!
//! A pure function of outside bytes: whatever is cut short or is something else is `None`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What precedes the IP header, in bytes.
const ETHERNET_BYTES: usize = 14;
/// Our envelope behind the UDP header, in bytes: `struct envelope` of crate `handoff`.
const ENVELOPE_BYTES: usize = 28;
/// How it begins: its magic number and the version that is read here.
const ENVELOPE_BEGINNING: [u8; 3] = [0xba, 0x71, 1];
/// The longest first line that is kept, in bytes.
const LINE_BYTES_MAX: usize = 60;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// A TCP segment and how it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// To whom the frame goes on this network.
    pub to_mac: Mac,
    /// Where its outermost IP header sends it.
    pub to: IpAddr,
    /// What the envelope says, if it is in one.
    pub envelope: Option<Kind>,
    /// The segment's sender.
    pub source: SocketAddr,
    /// The segment's addressee.
    pub destination: SocketAddr,
    /// FIN, SYN, RST, PSH, ACK: the lower bits of the header's flags.
    pub flags: Flags,
    /// Of its first byte, as sent.
    pub seq: u32,
    /// Of the first byte that its sender expects, as sent.
    pub ack: u32,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// The payload's first line, if it begins a request or a reply.
    pub line: Option<String>,
}

/// What an envelope is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but the way past a router.
    Plain,
    /// Create the connection from this segment.
    Handoff,
    /// Release the connection if it is at rest.
    Query,
    /// It was at rest, and is released.
    Released,
    /// This request is for another server, which the holder is to ask.
    Tagged,
}

impl Kind {
    fn read(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Plain,
            1 => Self::Handoff,
            2 => Self::Query,
            3 => Self::Released,
            4 => Self::Tagged,
            _ => return None,
        })
    }

    /// The word in diagrams.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Handoff => "HANDOFF",
            Self::Query => "QUERY",
            Self::Released => "RELEASED",
            Self::Tagged => "TAGGED",
        }
    }
}

/// The flags of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Closes one direction.
    pub const FIN: Self = Self(0x01);
    /// Begins a connection.
    pub const SYN: Self = Self(0x02);
    /// Ends it at once.
    pub const RST: Self = Self(0x04);
    /// Nothing follows for the moment.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement counts.
    pub const ACK: Self = Self(0x10);

    /// Whether all of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// In words, as textbooks have them.
    pub fn words(self) -> String {
        let all = [
            (Self::SYN, "SYN"),
            (Self::FIN, "FIN"),
            (Self::RST, "RST"),
            (Self::PSH, "PSH"),
            (Self::ACK, "ACK"),
        ];
        let set = all.iter().filter(|(flag, _)| self.has(*flag)).map(|(_, word)| *word);
        set.collect::<Vec<_>>().join(" ")
    }
}

/// Bytes that are taken from the front; every step may find that there are no more.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn short(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
}

/// An IP header, and what it carries: without the padding that Ethernet adds to short frames.
struct Ip<'a> {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    carries: Bytes<'a>,
}

/// Of an IP header: what comes behind it.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Reads a frame; `envelope_port` is the UDP port of envelopes.
pub fn decode(frame: &[u8], envelope_port: u16) -> Option<Packet> {
    let to_mac = *frame.first_chunk()?;
    let outer = ip(Bytes(frame.get(ETHERNET_BYTES..)?))?;
    let (envelope, inner) = match outer.protocol {
        UDP => {
            let (kind, rest) = envelope(outer.carries, envelope_port)?;
            (Some(kind), ip(rest)?)
        }
        _ => (None, Ip { ..outer }),
    };
    if inner.protocol != TCP {
        return None;
    }
    let mut tcp = inner.carries;
    let whole_bytes = tcp.0.len();
    let (from_port, to_port) = (tcp.short()?, tcp.short()?);
    let (seq, ack) = (tcp.word()?, tcp.word()?);
    let header_bytes = usize::from(tcp.byte()? >> 4) * 4;
    let flags = Flags(tcp.byte()? & 0x1f);
    // Window, checksum, urgent pointer, then options up to where the header says it ends.
    tcp.take(6)?;
    tcp.take(header_bytes.checked_sub(20)?)?;
    Some(Packet {
        to_mac,
        to: outer.to,
        envelope,
        source: SocketAddr::new(inner.from, from_port),
        destination: SocketAddr::new(inner.to, to_port),
        flags,
        seq,
        ack,
        payload_bytes: u32::try_from(whole_bytes - header_bytes).ok()?,
        line: line(tcp.0),
    })
}

fn ip(mut bytes: Bytes<'_>) -> Option<Ip<'_>> {
    let whole = bytes.0;
    let first = bytes.byte()?;
    match first >> 4 {
        4 => {
            let header_bytes = usize::from(first & 0x0f) * 4;
            bytes.byte()?;
            let total_bytes = usize::from(bytes.short()?);
            bytes.take(5)?;
            let protocol = bytes.byte()?;
            bytes.take(2)?;
            let from = Ipv4Addr::from(bytes.array::<4>()?).into();
            let to = Ipv4Addr::from(bytes.array::<4>()?).into();
            let carries = Bytes(whole.get(header_bytes.max(20)..total_bytes)?);
            Some(Ip { from, to, protocol, carries })
        }
        6 => {
            bytes.take(3)?;
            let payload_bytes = usize::from(bytes.short()?);
            let protocol = bytes.byte()?;
            bytes.byte()?;
            let from = Ipv6Addr::from(bytes.array::<16>()?).into();
            let to = Ipv6Addr::from(bytes.array::<16>()?).into();
            Some(Ip { from, to, protocol, carries: Bytes(bytes.take(payload_bytes)?) })
        }
        _ => None,
    }
}

/// Opens an envelope: what is behind the UDP header. The seal is for those who have the key.
fn envelope(mut udp: Bytes<'_>, port: u16) -> Option<(Kind, Bytes<'_>)> {
    udp.short()?;
    if udp.short()? != port {
        return None;
    }
    udp.take(4)?;
    let head = udp.take(ENVELOPE_BYTES)?;
    let kind = head.strip_prefix(&ENVELOPE_BEGINNING)?.first()?;
    Some((Kind::read(*kind)?, udp))
}

/// The first line of a request or a reply, without its end.
fn line(payload: &[u8]) -> Option<String> {
    let end = payload.iter().position(|byte| *byte == b'\r')?;
    let text = std::str::from_utf8(payload.get(..end.min(LINE_BYTES_MAX))?).ok()?;
    let is_head = text.starts_with("HTTP/1.") || text.ends_with(" HTTP/1.1");
    (is_head && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: u16 = 7117;
    const MAC: Mac = [2, 0x42, 10, 77, 0, 1];

    fn ethernet(proto: u16, rest: &[u8]) -> Vec<u8> {
        let mut frame = MAC.to_vec();
        frame.extend([2, 0x42, 10, 77, 0, 2]);
        frame.extend(proto.to_be_bytes());
        frame.extend(rest);
        frame
    }

    fn v4(protocol: u8, from: u8, to: u8, rest: &[u8]) -> Vec<u8> {
        let total = u16::try_from(20 + rest.len()).unwrap().to_be_bytes();
        let mut out = vec![0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0];
        out.extend([10, 77, 0, from, 10, 77, 0, to]);
        out.extend(rest);
        out
    }

    fn v6(protocol: u8, from: u8, to: u8, rest: &[u8]) -> Vec<u8> {
        let payload = u16::try_from(rest.len()).unwrap().to_be_bytes();
        let mut out = vec![0x60, 0, 0, 0, payload[0], payload[1], protocol, 64];
        for host in [from, to] {
            out.extend([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
        out.extend(rest);
        out
    }

    /// With a timestamp option of 12 bytes.
    fn tcp(payload: &[u8]) -> Vec<u8> {
        let mut out = vec![0x9c, 0x40, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, 0x80, 0x18, 1, 0, 0, 0, 0, 0];
        out.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        out.extend(payload);
        out
    }

    fn letter(kind: u8, rest: &[u8]) -> Vec<u8> {
        let bytes = u16::try_from(8 + ENVELOPE_BYTES + rest.len()).unwrap().to_be_bytes();
        let mut out = vec![0xc0, 0, 0x1b, 0xcd, bytes[0], bytes[1], 0, 0, 0xba, 0x71, 1, kind];
        out.extend([0; ENVELOPE_BYTES - 4]);
        out.extend(rest);
        out
    }

    #[test]
    fn a_request_is_read_with_its_line_and_without_the_padding_of_short_frames() {
        let mut frame =
            ethernet(0x0800, &v4(TCP, 2, 9, &tcp(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n")));
        frame.extend([0; 9]);
        let packet = decode(&frame, PORT).unwrap();
        assert_eq!((packet.to_mac, packet.to), (MAC, "10.77.0.9".parse().unwrap()));
        assert_eq!(packet.source, "10.77.0.2:40000".parse().unwrap());
        assert_eq!(packet.destination, "10.77.0.9:80".parse().unwrap());
        assert_eq!((packet.seq, packet.ack, packet.payload_bytes), (256, 512, 28));
        assert_eq!(packet.flags.words(), "PSH ACK");
        assert_eq!((packet.envelope, packet.line.as_deref()), (None, Some("GET /a HTTP/1.1")));
    }

    #[test]
    fn an_envelope_of_either_family_is_opened() {
        let inner = v6(TCP, 2, 9, &tcp(b"x"));
        for kind in [Kind::Plain, Kind::Handoff, Kind::Query, Kind::Released, Kind::Tagged] {
            let letter = letter(kind as u8, &inner);
            for outer in [
                ethernet(0x0800, &v4(UDP, 1, 11, &letter)),
                ethernet(0x86dd, &v6(UDP, 1, 11, &letter)),
            ] {
                let packet = decode(&outer, PORT).unwrap();
                assert_eq!(packet.envelope, Some(kind));
                assert_eq!(packet.destination, "[fd77::9]:80".parse().unwrap());
                assert_ne!(packet.to, packet.destination.ip());
            }
        }
        let unknown = ethernet(0x0800, &v4(UDP, 1, 11, &letter(9, &inner)));
        assert_eq!(decode(&unknown, PORT), None);
        let elsewhere = ethernet(0x0800, &v4(UDP, 1, 11, &letter(1, &inner)));
        assert_eq!(decode(&elsewhere, PORT + 1), None);
    }

    #[test]
    fn whatever_is_cut_short_or_damaged_is_no_packet_and_no_panic() {
        let request = tcp(b"GET /a HTTP/1.1\r\n\r\n");
        let frame = ethernet(0x0800, &v4(UDP, 1, 11, &letter(1, &v4(TCP, 2, 9, &request))));
        assert!(decode(&frame, PORT).is_some());
        for length in 0..frame.len() {
            assert_eq!(decode(&frame[..length], PORT), None, "{length} bytes");
        }
        for at in 0..frame.len() {
            for value in [0, 0x0f, 0x7f, 0xff] {
                let mut damaged = frame.clone();
                damaged[at] = value;
                let _either = decode(&damaged, PORT);
            }
        }
    }
}

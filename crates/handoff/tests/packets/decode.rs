//! A packet as lines of text, one field each, and two packets side by side where they differ.

use crate::segment::{ETHERNET, PORT, checksum, pseudo};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

struct Reader<'a> {
    left: &'a [u8],
    prefix: String,
    lines: Vec<(String, String)>,
}

impl<'a> Reader<'a> {
    fn put(&mut self, name: &str, value: impl ToString) {
        self.lines.push((format!("{}{name}", self.prefix), value.to_string()));
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(count)?;
        self.left = left;
        Some(taken)
    }

    fn rest(&mut self, name: &str) {
        if !self.left.is_empty() {
            let text = self.left.escape_ascii().to_string();
            self.put(name, format!("{} bytes {text}", self.left.len()));
        }
        self.left = &[];
    }

    fn ip(&mut self) -> Option<()> {
        let whole = self.left;
        let (from, to, protocol): (IpAddr, IpAddr, u8) = match whole.first()? >> 4 {
            4 => {
                let header = usize::from(whole[0] & 15) * 4;
                let ip = self.take(header.max(20))?;
                self.put("ip4 total", word(ip, 2));
                self.put("ip4 id", word(ip, 4));
                self.put("ip4 fragment", format!("{:#06x}", word(ip, 6)));
                self.put("ip4 ttl", ip[8]);
                self.put("ip4 checksum", right(checksum(&[ip])));
                self.put("ip4 options", format!("{:02x?}", &ip[20..]));
                let at = |at: usize| -> [u8; 4] { ip[at..at + 4].try_into().unwrap() };
                (Ipv4Addr::from(at(12)).into(), Ipv4Addr::from(at(16)).into(), ip[9])
            }
            6 => {
                let ip = self.take(40)?;
                self.put("ip6 payload", word(ip, 4));
                self.put("ip6 hops", ip[7]);
                let at = |at: usize| -> [u8; 16] { ip[at..at + 16].try_into().unwrap() };
                (Ipv6Addr::from(at(8)).into(), Ipv6Addr::from(at(24)).into(), ip[6])
            }
            _ => return None,
        };
        self.put("ip from", from);
        self.put("ip to", to);
        self.put("ip protocol", protocol);
        match protocol {
            6 => self.tcp(from, to),
            17 => self.udp(),
            _ => None,
        }
    }

    fn tcp(&mut self, from: IpAddr, to: IpAddr) -> Option<()> {
        let whole = self.left;
        let tcp = self.take(20)?;
        let options = self.take((usize::from(tcp[12] >> 4) * 4).checked_sub(20)?)?;
        self.put("tcp from", word(tcp, 0));
        self.put("tcp to", word(tcp, 2));
        self.put("tcp seq", double(tcp, 4));
        self.put("tcp ack", double(tcp, 8));
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set = names.iter().enumerate().filter(|(bit, _)| tcp[13] >> bit & 1 == 1);
        self.put("tcp flags", set.map(|(_, name)| *name).collect::<Vec<_>>().join(" "));
        self.put("tcp reserved", tcp[12] & 15);
        self.put("tcp window", word(tcp, 14));
        let sum = checksum(&[&pseudo(from, to, 6, whole.len()), whole]);
        self.put("tcp checksum", right(sum));
        self.put("tcp urgent", word(tcp, 18));
        self.put("tcp options", format!("{options:02x?}"));
        self.rest("payload");
        Some(())
    }

    fn udp(&mut self) -> Option<()> {
        let udp = self.take(8)?;
        self.put("udp from", word(udp, 0));
        self.put("udp to", word(udp, 2));
        self.put("udp length", word(udp, 4));
        self.put("udp checksum", word(udp, 6));
        if word(udp, 2) != PORT {
            return None;
        }
        let e = self.take(28)?;
        self.put("envelope magic", format!("{:#06x}", word(e, 0)));
        self.put("envelope version", e[2]);
        self.put("envelope kind", e[3]);
        self.put("envelope seq", double(e, 4));
        self.put("envelope connection", double(e, 8));
        self.put("envelope mss", word(e, 12));
        self.put("envelope wscale", e[14]);
        self.put("envelope flags", format!("{:#05b}", e[15]));
        self.put("envelope server", double(e, 16));
        self.put("envelope seal", format!("{:08x}{:08x}", double(e, 20), double(e, 24)));
        self.prefix = "inner ".to_owned();
        self.ip()
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn double(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The sum over bytes together with their checksum is zero.
fn right(sum: u16) -> String {
    if sum == 0 { "right".to_owned() } else { format!("wrong by {sum:#06x}") }
}

/// The fields of a frame, in their order. What cannot be read is shown as bytes.
fn fields(frame: &[u8]) -> Vec<(String, String)> {
    let mut reader = Reader { left: frame, prefix: String::new(), lines: vec![] };
    if let Some(eth) = reader.take(ETHERNET) {
        reader.put("eth to", format!("{:02x?}", &eth[..6]));
        reader.put("eth from", format!("{:02x?}", &eth[6..12]));
        reader.put("eth type", format!("{:#06x}", word(eth, 12)));
        let _unread = reader.ip();
    }
    reader.rest("bytes");
    reader.lines
}

/// `None` if the frames are the same: every field is, and both checksums are right or wrong alike.
/// Otherwise both, with a mark where they differ.
pub fn difference(expected: &[u8], came: &[u8]) -> Option<String> {
    let (expected, came) = (fields(expected), fields(came));
    if expected == came {
        return None;
    }
    let mut text = String::new();
    let (mut left, mut right) = (expected.as_slice(), came.as_slice());
    while let Some((name, _)) = left.first().or(right.first()) {
        // A field that only one of them has stands in a line of its own.
        let alone = |of: &[(String, String)]| of.iter().all(|(other, _)| other != name);
        let (missing, more) = match (left, right) {
            ([(a, _), ..], [(b, _), ..]) if a != b => (alone(right), !alone(right)),
            _ => (right.is_empty(), left.is_empty()),
        };
        let next = |of: &mut &[(String, String)], skip: bool| match *of {
            [(name, value), rest @ ..] if !skip => {
                *of = rest;
                (name.clone(), value.clone())
            }
            _ => (String::new(), "-".to_owned()),
        };
        let (a, b) = (next(&mut left, more), next(&mut right, missing));
        let name = if a.0.is_empty() { &b.0 } else { &a.0 };
        let mark = if a.1 == b.1 { ' ' } else { '*' };
        writeln!(text, "  {mark} {name:28} expected {:40} came {}", a.1, b.1).unwrap();
    }
    Some(text)
}

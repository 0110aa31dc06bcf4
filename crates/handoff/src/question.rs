//! Segments that the program holds until user space has decided: they come through a TAP and go
//! back the same way. Nobody needs the addresses of their Ethernet header any more, so these carry
//! what the program has to know: from which interface the segment came, and the answer.

use crate::layout::{FlowKey, NOBODY, RELAY, octets};
use crate::{Error, Front};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A frame that a TAP can bring, and its header.
const FRAME_MAX: usize = 65_536;
const ETHERNET: usize = 14;

/// First bytes of both addresses of a frame of ours.
const NOTE: [u8; 2] = [0x02, 0xba];

/// A segment that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Who sent it.
    pub client: SocketAddr,
    /// To which of our addresses.
    pub vip: SocketAddr,
    /// The slot of the server that has the connection; `None`: this is its first request.
    pub holder: Option<u16>,
    frame: Vec<u8>,
    payload: usize,
    /// It is a later part of a large segment that was cut up on its way here.
    follows: bool,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The server in this slot answers the request.
    Server(u16),
    /// The relay of this front-end does.
    Relay,
}

impl Question {
    /// What the segment carries: the beginning of a request.
    pub fn payload(&self) -> &[u8] {
        &self.frame[self.payload..]
    }

    fn read(frame: Vec<u8>) -> Option<(Self, FlowKey)> {
        if frame.get(..2)? != NOTE || frame.get(6..8)? != NOTE {
            return None;
        }
        let asked = u32::from_ne_bytes(frame.get(2..6)?.try_into().ok()?);
        let ip = frame.get(ETHERNET..)?;
        let (client, vip, header, total) = match ip.first()? >> 4 {
            4 => {
                let header = usize::from(ip[0] & 15) * 4;
                let address = |at: usize| -> Option<IpAddr> {
                    let bytes: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
                    Some(IpAddr::from(bytes))
                };
                let total = u16::from_be_bytes(ip.get(2..4)?.try_into().ok()?);
                (address(12)?, address(16)?, header, usize::from(total))
            }
            6 => {
                let address = |at: usize| -> Option<IpAddr> {
                    let bytes: [u8; 16] = ip.get(at..at + 16)?.try_into().ok()?;
                    Some(IpAddr::from(bytes))
                };
                let payload = u16::from_be_bytes(ip.get(4..6)?.try_into().ok()?);
                (address(8)?, address(24)?, 40, 40 + usize::from(payload))
            }
            _ => return None,
        };
        let tcp = ip.get(header..)?;
        let port = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
        let (client, vip) = (SocketAddr::new(client, port(0)?), SocketAddr::new(vip, port(2)?));
        let follows = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?) != asked;
        let payload = ETHERNET + header + usize::from(tcp.get(12)? >> 4) * 4;
        let end = ETHERNET + total;
        if payload > end || end > frame.len() {
            return None;
        }
        let mut frame = frame;
        frame.truncate(end);
        let key = FlowKey::new(client, vip);
        Some((Self { client, vip, holder: None, frame, payload, follows }, key))
    }
}

impl Front {
    /// The next segment that is held; `None` when none came within `patience`.
    ///
    /// # Errors
    /// The system's: nothing more will come.
    pub fn question(&self, patience: Duration) -> io::Result<Option<Question>> {
        let mut frame = vec![0; FRAME_MAX];
        loop {
            match rustix::io::read(&self.tap, &mut frame) {
                Ok(bytes) => {
                    let read = Question::read(frame[..bytes].to_vec());
                    if let Some((mut question, key)) = read {
                        if question.follows {
                            self.reply(&question, NOBODY)?;
                            continue;
                        }
                        question.holder = self.holder(&key);
                        return Ok(Some(question));
                    }
                }
                Err(rustix::io::Errno::AGAIN) => {
                    let mut fds = [PollFd::new(&self.tap, PollFlags::IN)];
                    let limit =
                        Timespec::try_from(patience).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
                    match poll(&mut fds, Some(&limit)) {
                        Ok(0) => return Ok(None),
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(cause) => return Err(cause.into()),
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(cause) => return Err(cause.into()),
            }
        }
    }

    /// Lets a segment go on its way. If that fails the client sends it again.
    ///
    /// # Errors
    /// The system's.
    pub fn answer(&self, question: &Question, verdict: Verdict) -> io::Result<()> {
        let slot = match verdict {
            Verdict::Server(slot) => u32::from(slot),
            Verdict::Relay => RELAY,
        };
        self.reply(question, slot)
    }

    fn reply(&self, question: &Question, slot: u32) -> io::Result<()> {
        let mut frame = question.frame.clone();
        frame[..2].copy_from_slice(&NOTE);
        frame[2..6].copy_from_slice(&slot.to_ne_bytes());
        self.send(&frame)
    }

    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.tap, frame)?;
        Ok(())
    }
}

/// Numbers of an acknowledgement that its client did not send.
pub(crate) struct Nudge {
    pub(crate) client: SocketAddr,
    pub(crate) vip: SocketAddr,
    pub(crate) ifindex: u32,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// `NOBODY`, or `CLOSE`.
    pub(crate) verdict: u32,
}

/// A frame as if a client had acknowledged something: shown to the program, it makes it look at the
/// connection, whose server is down, and reset the client at once.
pub(crate) fn nudge(of: &Nudge) -> Vec<u8> {
    let mut tcp = Vec::with_capacity(20);
    tcp.extend(of.client.port().to_be_bytes());
    tcp.extend(of.vip.port().to_be_bytes());
    tcp.extend(of.seq.to_be_bytes());
    tcp.extend(of.ack.to_be_bytes());
    tcp.extend([0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    let mut frame = Vec::with_capacity(ETHERNET + 60);
    frame.extend(NOTE);
    frame.extend(of.verdict.to_ne_bytes());
    frame.extend(NOTE);
    frame.extend(of.ifindex.to_ne_bytes());
    let (from, to) = (octets(of.client.ip()), octets(of.vip.ip()));
    let pseudo = if of.client.is_ipv4() {
        frame.extend([0x08, 0x00]);
        let mut ip = [0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        ip[12..16].copy_from_slice(&from[12..]);
        ip[16..20].copy_from_slice(&to[12..]);
        let sum = !folded(summed(&ip));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(ip);
        summed(&ip[12..20])
    } else {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 64]);
        frame.extend(from);
        frame.extend(to);
        summed(&from) + summed(&to)
    };
    let sum = !folded(pseudo + 6 + 20 + summed(&tcp));
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    frame.extend(tcp);
    frame
}

/// The sum of 16-bit words (RFC 1071).
fn summed(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum()
}

fn folded(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

impl From<rustix::io::Errno> for Error {
    fn from(cause: rustix::io::Errno) -> Self {
        Self::system("the system refused", cause)
    }
}

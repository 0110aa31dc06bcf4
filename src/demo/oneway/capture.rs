//! Seeing every packet once: tcpdump at each machine's port of the bed's wire, where what the
//! machine sends comes in, with the kernel's time to the nanosecond, one clock for all.

use super::pcap::{Frame, Reader};
use super::program::{Program, go_on, wait};
use super::site::{ENVELOPE_PORT, Site};
use anyhow::{Context, Result, anyhow};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use testbed::{Host, TestBed};

/// What each machine sends last, to the port for what is to be thrown away (RFC 863): by it one
/// knows that everything before was seen.
const LAST: &[u8] = b"the demonstration ends here";
const LAST_PORT: u16 = 9;
/// Frames of one machine that are kept.
const FRAMES_MAX: usize = 100_000;

/// A frame, and who sent it.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// The machine.
    pub(super) from: Host,
    /// What it sent.
    pub(super) frame: Frame,
}

/// Captures under way.
pub(super) struct Capture(Vec<Tap>);

struct Tap {
    host: Host,
    program: Program,
    seen: Receiver<io::Result<Vec<Frame>>>,
}

/// Whether the program that captures is there: what to say if not.
pub(super) fn missing() -> Option<&'static str> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut folders = path.split(':').chain(["/usr/sbin", "/usr/bin"]);
    let there = folders.any(|folder| std::path::Path::new(folder).join("tcpdump").is_file());
    (!there).then_some("tcpdump (apt install tcpdump)")
}

impl Capture {
    /// Begins; when this returns, every packet is seen.
    ///
    /// # Errors
    /// When tcpdump does not start; [`testbed::Error::Interrupted`].
    pub(super) fn start(site: &Site, stop: &AtomicBool) -> Result<Self> {
        let hosts = site.bed.plan().hosts().into_iter();
        let hosts = hosts.filter(|host| !matches!(host, Host::Router | Host::Wire));
        let vip = site.one_way().ip();
        hosts.map(|host| Tap::start(&site.bed, host, vip, stop)).collect::<Result<_>>().map(Self)
    }

    /// Ends: all frames of all machines, in the order of their times.
    ///
    /// # Errors
    /// When a capture broke or takes too long; [`testbed::Error::Interrupted`].
    pub(super) fn finish(self, site: &Site, stop: &AtomicBool) -> Result<Vec<Sent>> {
        let mut all = Vec::new();
        for tap in self.0 {
            go_on(stop)?;
            site.bed.enter(tap.host, || say_last(&site.bed, tap.host))?.with_context(|| {
                format!("{} cannot send the last packet of the capture", tap.host)
            })?;
            let frames = wait(&format!("the capture of {}", tap.host), stop, || {
                match tap.seen.try_recv() {
                    Ok(frames) => frames.map(Some).context("tcpdump has ended"),
                    Err(TryRecvError::Empty) => Ok(None),
                    Err(TryRecvError::Disconnected) => Err(anyhow!("tcpdump has ended")),
                }
            })?;
            all.extend(frames.into_iter().map(|frame| Sent { from: tap.host, frame }));
            drop(tap.program);
        }
        all.sort_by_key(|sent| sent.frame.at_ns);
        Ok(all)
    }
}

impl Tap {
    fn start(bed: &TestBed, host: Host, vip: IpAddr, stop: &AtomicBool) -> Result<Self> {
        let mut command = bed.command(Host::Wire, "tcpdump");
        command.args(["-i", &host.to_string(), "-Q", "in", "-p", "-n", "-U", "-w", "-"]);
        command.args(["--immediate-mode", "--time-stamp-precision=nano"]);
        command.arg(format!("host {vip} or udp port {ENVELOPE_PORT} or udp port {LAST_PORT}"));
        let name = format!("tcpdump at {host}");
        let mut program =
            Program::start(&name, command.stdout(Stdio::piped()), "listening on", stop)?;
        let stream = program.output().context("tcpdump has no output")?;
        let (tell, seen) = sync_channel(1);
        // It ends with tcpdump.
        thread::spawn(move || {
            let frames = Reader::new(io::BufReader::new(stream)).and_then(until_last);
            let _unheard = tell.send(frames);
        });
        Ok(Self { host, program, seen })
    }
}

/// Everything up to the last packet of the demonstration.
fn until_last<R: io::Read>(mut reader: Reader<R>) -> io::Result<Vec<Frame>> {
    let mut frames = Vec::new();
    loop {
        let frame = reader.next()?;
        if frame.bytes.ends_with(LAST) {
            return Ok(frames);
        }
        if frames.len() == FRAMES_MAX {
            return Err(io::Error::other("more frames than are kept"));
        }
        frames.push(frame);
    }
}

fn say_last(bed: &TestBed, host: Host) -> io::Result<()> {
    let to = if host == Host::Client { bed.front() } else { bed.client() };
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.send_to(LAST, SocketAddr::new(to.v4.into(), LAST_PORT)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::oneway::pcap;

    #[test]
    fn a_capture_ends_with_the_last_packet_and_one_that_is_cut_short_is_an_error() {
        let frame = |bytes: &[u8]| Frame { at_ns: 1, bytes: bytes.to_vec() };
        let sent = [frame(b"a"), frame(LAST), frame(b"b")];
        let mut file = Vec::new();
        pcap::write(&sent, &mut file).unwrap();
        let seen = until_last(Reader::new(file.as_slice()).unwrap()).unwrap();
        assert_eq!(seen, sent[..1]);
        assert!(until_last(Reader::new(&file[..30]).unwrap()).is_err());
    }
}

//! The front-end's program with servers, listeners and memos as a fixture wants them, and clients
//! that speak to it one packet at a time.

use crate::decode::difference;
use crate::segment::{
    ACK, AGENT, ETHERNET, KEY, Letter, PORT, PSH, SYN, Segment, TRACK, UNSCALED, WITH_SACK, mss,
    sack, scale, stamps, usual_stamps,
};
use handoff::{Delivery, Front, Limits, Memo, Repeat, Row, Site, State, Trial, Tried};
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use testbed::{Host, TestBed};

/// Verdicts: tc's, which the kernel calls `TC_ACT_*`, by what they mean here.
pub const UP_THE_STACK: i32 = 0;
pub const NOT_OURS: i32 = -1;
pub const DROPPED: i32 = 2;
pub const REDIRECTED: i32 = 7;

/// What the programs write on packets that they send to themselves: to end a socket in the way, and
/// for the relay.
pub const MARK_KILL: u32 = 0xba70_0001;
pub const MARK_RELAY: u32 = 0xba70_0003;

/// Nothing counted.
pub const NOTHING: &str = "";

/// One connection in the books.
pub const LOAD_ONE: u64 = 720_720;

/// The ports of the virtual address, each delivered otherwise.
pub const MULTI: u16 = 80;
pub const SINGLE: u16 = 81;
pub const FORWARD: u16 = 82;
pub const GIVEN_UP: u16 = 83;
pub const NOBODYS: u16 = 84;

/// Names of the servers; the low half is what stands in tags.
pub const NAMES: [u64; 3] = [0x1111_0000_aaaa_0001, 0x2222_0000_aaaa_0002, 0x3333_0000_aaaa_0003];

pub struct Stage<'a> {
    pub bed: &'a TestBed,
    pub front: Front,
    pub interface: u32,
    pub tap: u32,
    /// Clients speak IPv6.
    pub v6: bool,
    pub port: Cell<u16>,
}

fn index(name: &str) -> u32 {
    use rustix::net::{AddressFamily, SocketType, netdevice, socket};
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    netdevice::name_to_index(&socket, name).unwrap()
}

impl<'a> Stage<'a> {
    /// Loads the program in the namespace of the calling thread.
    pub fn new(bed: &'a TestBed, pins: &Path, routed: bool, flows_max: u32) -> Self {
        let site = Site { key: KEY, port: PORT, routed, mtu: 1500 };
        let limits = Limits { flows_max, memos_max: 4096, told: false };
        let front = Front::open(&site, &limits, pins).unwrap();
        let ways = [
            (MULTI, Delivery::Multi),
            (SINGLE, Delivery::Handoff),
            (FORWARD, Delivery::Forward),
            (GIVEN_UP, Delivery::Relay),
        ];
        for (port, delivery) in ways {
            for vip in bed.vip().at(port) {
                front.listen(vip, Some(delivery)).unwrap();
            }
        }
        let (interface, tap) = (index(bed.interface()), index("baton-held"));
        Self { bed, front, interface, tap, v6: false, port: Cell::new(20_000) }
    }

    /// Three servers without connections, the third of IPv6; no memos.
    pub fn reset(&self) {
        self.front.forget_all();
        self.front.books().set_epoch(1);
        for slot in 0..3 {
            self.front.set_row(slot, None).unwrap();
            self.set_server(slot, State::Up);
        }
    }

    pub fn server(&self, slot: u16) -> IpAddr {
        match slot {
            0 => self.bed.server(1).v4.into(),
            1 => self.bed.server(2).v4.into(),
            _ => self.bed.server(2).v6.into(),
        }
    }

    pub fn set_server(&self, slot: u16, state: State) {
        let address = SocketAddr::new(self.server(slot), 80);
        let name = NAMES[usize::from(slot)];
        self.front.set_row(slot, Some(&Row { address, name, state, agent_port: 0 })).unwrap();
    }

    pub fn front_address(&self, of: IpAddr) -> IpAddr {
        let both = self.bed.address(Host::Front);
        if of.is_ipv4() { both.v4.into() } else { both.v6.into() }
    }

    pub fn vip(&self, port: u16) -> SocketAddr {
        self.bed.vip().at(port)[usize::from(self.v6)]
    }

    /// A client that nobody has seen yet.
    pub fn client(&self, port: u16) -> Client {
        let port_of_client = self.port.get() + 1;
        self.port.set(port_of_client);
        let address: IpAddr = match self.v6 {
            false => "10.77.0.200".parse().unwrap(),
            true => "fd77::200".parse().unwrap(),
        };
        let isn = 0xffff_ff00_u32.wrapping_add(u32::from(port_of_client));
        Client {
            at: SocketAddr::new(address, port_of_client),
            vip: self.vip(port),
            next: isn,
            heard: 0,
        }
    }

    /// A client whose SYN was answered.
    pub fn connected(&self, port: u16) -> Client {
        let mut client = self.client(port);
        let answer = self.sees(&client.syn());
        answer.went(REDIRECTED, "syn_answered");
        client.next = client.next.wrapping_add(1);
        client.heard = answer.tcp_seq().wrapping_add(1);
        client
    }

    /// A client whose first request went to the first server, and that request.
    pub fn handed(&self, port: u16) -> (Client, Segment) {
        let mut client = self.connected(port);
        self.knows("/first", 0);
        let first = client.says(get("/first"));
        self.sees(&first).is(
            REDIRECTED,
            "repeated handed_over",
            &self.hand_over(&first, 0).frame(),
        );
        client.past(&first);
        (client, first)
    }

    /// How a segment is handed over to a server, with the options that [`Client::syn`] offers.
    pub fn hand_over(&self, segment: &Segment, slot: u16) -> Letter {
        let server = self.server(slot);
        let way = match segment.to.port() {
            MULTI => TRACK,
            FORWARD => AGENT,
            _ => 0,
        };
        Letter::around(segment, self.front_address(server), server).flags(WITH_SACK | way)
    }

    /// How a later segment of a connection comes to its holder: as it is, unless there is a router
    /// between, or the server has no address of that family.
    pub fn forwarded(&self, segment: &Segment, first: &Segment, slot: u16) -> Vec<u8> {
        if segment.from.is_ipv4() == self.server(slot).is_ipv4() {
            return segment.frame();
        }
        self.hand_over(segment, slot).kind(crate::segment::PLAIN).of(first.seq).frame()
    }

    /// The program may repeat this answer for `GET path`.
    pub fn knows(&self, path: &str, slot: u16) {
        let until_ns = handoff::now_ns() + 3_600_000_000_000;
        self.learns(&get(path), 1, Repeat::Server { slot, load_max: u64::MAX, until_ns });
    }

    pub fn learns(&self, head: &[u8], epoch: u64, what: Repeat) {
        let key = self.front.key(head).expect("a head that has a key");
        self.front.remember(key, &Memo { what, epoch, target: 7, class: 0 }).unwrap();
    }

    /// Shows the program a packet of the client's interface.
    pub fn sees(&self, segment: &Segment) -> Seen {
        self.shown(&segment.frame())
    }

    pub fn shown(&self, frame: &[u8]) -> Seen {
        self.tried(frame, self.interface, 0)
    }

    /// Shows it a packet with a sum over its bytes, as hardware makes it. The kernel refuses to say
    /// what became of it if that sum is wrong afterwards.
    pub fn shown_summed(&self, frame: &[u8]) -> Seen {
        self.attempted(&Trial { summed: true, ..Trial::new(frame, self.interface) })
    }

    /// Shows it a packet that the kernel put together from segments with so many bytes.
    pub fn put_together(&self, segment: &Segment, gso_size: u32) -> Seen {
        let frame = segment.frame();
        self.attempted(&Trial { gso_size, ..Trial::new(&frame, self.interface) })
    }

    /// Shows it a held segment that user space sends back with its verdict.
    pub fn answered(&self, segment: &Segment, slot: u32) -> Seen {
        self.tried(&self.noted(segment, slot), self.tap, 0)
    }

    /// A held segment with user space's verdict where the receiver's address was.
    pub fn noted(&self, segment: &Segment, slot: u32) -> Vec<u8> {
        let mut frame = self.held(segment);
        frame[2..6].copy_from_slice(&slot.to_ne_bytes());
        frame
    }

    /// How a segment goes to user space: where the receiver's address was, its number; where the
    /// sender's was, the interface.
    pub fn held(&self, segment: &Segment) -> Vec<u8> {
        let mut frame = segment.frame();
        frame[..2].copy_from_slice(&[0x02, 0xba]);
        frame[2..6].copy_from_slice(&segment.seq.to_ne_bytes());
        frame[6..8].copy_from_slice(&[0x02, 0xba]);
        frame[8..12].copy_from_slice(&self.interface.to_ne_bytes());
        frame
    }

    pub fn tried(&self, frame: &[u8], ifindex: u32, mark: u32) -> Seen {
        self.attempted(&Trial { mark, ..Trial::new(frame, ifindex) })
    }

    fn attempted(&self, trial: &Trial<'_>) -> Seen {
        let before = self.front.counters();
        let tried = self.front.try_packet(trial).unwrap();
        let after = self.front.counters();
        Seen { sent: trial.frame.to_vec(), tried, counted: counted(&before, &after) }
    }

    /// Shows the driver's program a frame.
    pub fn driver_sees(&self, frame: &[u8]) -> Seen {
        let before = self.front.counters();
        let tried = self.front.try_early(frame).unwrap();
        let after = self.front.counters();
        Seen { sent: frame.to_vec(), tried, counted: counted(&before, &after) }
    }
}

/// The names of what was counted between, as often as it was.
pub fn counted(before: &[(&'static str, u64)], after: &[(&'static str, u64)]) -> Vec<&'static str> {
    let pairs = before.iter().zip(after);
    pairs
        .flat_map(|((name, old), (_, new))| {
            std::iter::repeat_n(*name, usize::try_from(new - old).unwrap())
        })
        .collect()
}

/// What became of a packet.
pub struct Seen {
    pub sent: Vec<u8>,
    pub tried: Tried,
    pub counted: Vec<&'static str>,
}

impl Seen {
    /// The verdict and all that was counted, in any order.
    #[track_caller]
    pub fn went(&self, verdict: i32, counts: &str) -> &Self {
        let mut expected: Vec<&str> = counts.split_whitespace().collect();
        let mut came = self.counted.clone();
        expected.sort_unstable();
        came.sort_unstable();
        assert_eq!(
            (name_of(verdict), expected),
            (name_of(self.tried.verdict), came),
            "verdict and counters, expected and came"
        );
        self
    }

    /// The same, and the packet afterwards.
    #[track_caller]
    pub fn is(&self, verdict: i32, counts: &str, packet: &[u8]) -> &Self {
        self.went(verdict, counts);
        if let Some(text) = difference(packet, &self.tried.frame) {
            panic!("the packet:\n{text}");
        }
        assert_eq!(self.tried.mark, 0, "marked");
        self
    }

    /// A verdict of the driver's program (`XDP_*`), what was counted, and the packet.
    #[track_caller]
    pub fn driver(&self, verdict: i32, counts: &str, packet: &[u8]) {
        assert_eq!(verdict, self.tried.verdict, "XDP verdict");
        assert_eq!(counts.split_whitespace().collect::<Vec<_>>(), self.counted, "counted");
        if let Some(text) = difference(packet, &self.tried.frame) {
            panic!("the packet:\n{text}");
        }
    }

    /// The same, and the packet is as it was.
    #[track_caller]
    pub fn leaves(&self, verdict: i32, counts: &str) -> &Self {
        self.is(verdict, counts, &self.sent)
    }

    /// Our sequence number in an answer to a client.
    pub fn tcp_seq(&self) -> u32 {
        self.double(4)
    }

    /// How many routers an answer may pass.
    pub fn hops(&self) -> u8 {
        let ip = &self.tried.frame[ETHERNET..];
        if ip[0] >> 4 == 4 { ip[8] } else { ip[7] }
    }

    /// Four bytes of the TCP header of an answer.
    pub fn double(&self, at: usize) -> u32 {
        tcp_double(&self.tried.frame, at)
    }
}

/// Four bytes of a frame's TCP header.
pub fn tcp_double(frame: &[u8], at: usize) -> u32 {
    let ip = if frame[ETHERNET] >> 4 == 4 { usize::from(frame[ETHERNET] & 15) * 4 } else { 40 };
    let at = ETHERNET + ip + at;
    u32::from_be_bytes(frame[at..at + 4].try_into().unwrap())
}

fn name_of(verdict: i32) -> &'static str {
    match verdict {
        UP_THE_STACK => "up the stack",
        NOT_OURS => "not ours",
        DROPPED => "dropped",
        REDIRECTED => "redirected",
        _ => "an unknown verdict",
    }
}

/// The client's end of a connection.
#[derive(Clone, Debug)]
pub struct Client {
    pub at: SocketAddr,
    pub vip: SocketAddr,
    pub next: u32,
    pub heard: u32,
}

impl Client {
    /// With the options of any Linux.
    pub fn syn(&self) -> Segment {
        self.bare().flags(SYN).numbers(self.next, 0).with([
            mss(1460),
            sack(),
            stamps(1000, 0),
            vec![1],
            scale(7),
        ])
    }

    /// Nothing but numbers.
    pub fn bare(&self) -> Segment {
        Segment::new(self.at, self.vip).numbers(self.next, self.heard)
    }

    pub fn acks(&self) -> Segment {
        self.bare().with([usual_stamps(2000, 3000)])
    }

    pub fn says(&self, bytes: impl AsRef<[u8]>) -> Segment {
        self.acks().flags(ACK | PSH).saying(bytes)
    }

    /// Goes on behind a segment.
    pub fn past(&mut self, segment: &Segment) {
        self.next = segment.seq.wrapping_add(segment.length());
    }

    /// Has got so many bytes of a reply.
    pub fn heard(&mut self, bytes: u32) {
        self.heard = self.heard.wrapping_add(bytes);
    }
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bed\r\n\r\n").into_bytes()
}

/// Of a client that offered nothing.
pub fn modest(letter: Letter) -> Letter {
    let flags = letter.flags & !WITH_SACK;
    Letter { mss: 536, wscale: UNSCALED, flags, ..letter }
}

//! The server's program on a machine with a real nginx: envelopes that shall make sockets come over
//! the network, as the front-end would send them; the packet in question is then tried.

use crate::seal::octets;
use crate::segment::{HANDOFF, KEY, Letter, OURS, PORT, TRACK, WITH_SACK};
use crate::stage::{Client, FORWARD, MULTI, NOBODYS, SINGLE, Seen, counted};
use handoff::{Back, Delivery, LAYOUT, Site, Trial};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use testbed::{Host, TestBed};

/// How long anything may take before a fixture has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// A port of the server on which nobody listens.
const DEAF: u16 = 9;

pub struct Server<'a> {
    bed: &'a TestBed,
    pub back: Back,
    /// Of the front-end.
    wire: UdpSocket,
    interface: u32,
    mac: [u8; 6],
    pub v6: bool,
    port: Cell<u16>,
}

impl<'a> Server<'a> {
    /// Loads and attaches the program in the namespace of the calling thread, that of a server.
    pub fn new(bed: &'a TestBed) -> Self {
        let site = Site { key: KEY, port: PORT, routed: false, mtu: 1500 };
        let back = Back::open(&site, &bed.pins(Host::Server(1))).unwrap();
        for vip in bed.vip().each() {
            let listen = |port, delivery, server, agent| {
                let at = SocketAddr::new(vip, port);
                back.listen(at, Some(delivery), server, agent).unwrap();
            };
            listen(MULTI, Delivery::Multi, 80, DEAF);
            listen(SINGLE, Delivery::Handoff, DEAF, DEAF);
            listen(FORWARD, Delivery::Forward, 80, DEAF);
        }
        back.attach(bed.interface()).unwrap();
        let wire = bed
            .enter(Host::Front, || UdpSocket::bind((bed.address(Host::Front).v4, 0)).unwrap())
            .unwrap();
        let interface = handoff::interface_index(bed.interface()).unwrap();
        let text = bed.plan().mac(Host::Server(1)).unwrap();
        let bytes = text.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap());
        let mac = bytes.collect::<Vec<_>>().try_into().unwrap();
        Self { bed, back, wire, interface, mac, v6: false, port: Cell::new(30_000) }
    }

    fn pick<T>(&self, both: [T; 2]) -> T {
        let [v4, v6] = both;
        if self.v6 { v6 } else { v4 }
    }

    pub fn vip(&self, port: u16) -> SocketAddr {
        self.pick(self.bed.vip().at(port))
    }

    /// A client with numbers that the front-end would have made.
    pub fn client(&self, port: u16) -> Client {
        let own = self.port.get() + 1;
        self.port.set(own);
        let at = SocketAddr::new(self.pick(self.bed.client().each()), own);
        Client { at, vip: self.vip(port), next: 0xffff_fff0, heard: u32::from(own) << 16 }
    }

    /// A client of an address that is not there.
    pub fn stranger(&self) -> Client {
        Client { vip: self.vip(NOBODYS), ..self.client(MULTI) }
    }

    /// Its segment in an envelope of the front-end.
    pub fn letter(&self, segment: &crate::segment::Segment, first: u32) -> Letter {
        let [front, server] = [self.bed.address(Host::Front), self.bed.server(1)].map(|b| b.v4);
        let (front, server): (IpAddr, IpAddr) = (front.into(), server.into());
        Letter::around(segment, front, server).kind(HANDOFF).of(first).flags(WITH_SACK | TRACK)
    }

    /// Shows the program a packet.
    pub fn shown(&self, frame: &[u8]) -> Seen {
        self.tried(&Trial::new(frame, self.interface))
    }

    pub fn shown_marked(&self, frame: &[u8], mark: u32) -> Seen {
        self.tried(&Trial { mark, ..Trial::new(frame, self.interface) })
    }

    pub fn shown_summed(&self, frame: &[u8]) -> Seen {
        self.tried(&Trial { summed: true, ..Trial::new(frame, self.interface) })
    }

    /// Shows it a packet as another machine's: what the program then sends to itself is lost.
    pub fn shown_in_vain(&self, frame: &[u8]) -> Seen {
        self.tried_as(&OURS, &Trial::new(frame, self.interface))
    }

    /// With the machine's own Ethernet address, so that what the program sends to itself arrives.
    fn tried(&self, trial: &Trial<'_>) -> Seen {
        self.tried_as(&self.mac, trial)
    }

    fn tried_as(&self, mac: &[u8; 6], trial: &Trial<'_>) -> Seen {
        let before = self.back.counters();
        let frame = [&mac[..], &trial.frame[6..]].concat();
        let mut tried = self.back.try_packet(&Trial { frame: &frame, ..*trial }).unwrap();
        for at in [0, 6] {
            if tried.frame[at..at + 6] == self.mac {
                tried.frame[at..at + 6].copy_from_slice(&OURS);
            }
        }
        let after = self.back.counters();
        Seen { sent: trial.frame.to_vec(), tried, counted: counted(&before, &after) }
    }

    /// Sends it an envelope over the network, and waits until this was counted.
    #[track_caller]
    pub fn gets(&self, letter: &Letter, count: &str) {
        let before = self.back.counters();
        self.wire.send_to(&letter.datagram(), (letter.to, PORT)).unwrap();
        let told = || counted(&before, &self.back.counters());
        if !count.is_empty() {
            until(count, || told().contains(&count), || format!("{:?}", told()));
        }
    }

    /// Waits until the server's socket of a client waits for so many bytes to be acknowledged.
    #[track_caller]
    pub fn unacknowledged(&self, client: &Client, bytes: Option<u32>) {
        let state = || self.socket(client);
        until("the server's socket", || state() == bytes, || format!("{:?}", state()));
    }

    /// Bytes that an established socket to this client has written and that are not acknowledged;
    /// `None`: there is no such socket.
    fn socket(&self, client: &Client) -> Option<u32> {
        let file = self.pick(["tcp", "tcp6"]);
        let table = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
        let remote = format!(":{:04X}", client.at.port());
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_it = fields[2].ends_with(&remote) && fields[3] == "01";
            let queue = fields[4].split(':').next().unwrap();
            is_it.then(|| u32::from_str_radix(queue, 16).unwrap())
        })
    }

    /// Its program has made this client's socket so many seconds earlier than it did.
    pub fn made_earlier(&self, client: &Client, seconds: u64) {
        let pin = self.bed.pins(Host::Server(1)).join(format!("owned_flows-{LAYOUT}"));
        let map = MapHandle::from_pinned_path(pin).unwrap();
        let (at, vip) = (octets(client.at.ip()), octets(client.vip.ip()));
        let ports = [client.at.port(), client.vip.port()].map(u16::to_be_bytes);
        let key = [&at[..], &vip[..], &ports[0], &ports[1]].concat();
        let mut owned = map.lookup(&key, MapFlags::ANY).unwrap().unwrap();
        // `struct owned` begins with that time.
        let made = u64::from_ne_bytes(owned[..8].try_into().unwrap());
        owned[..8].copy_from_slice(&(made - seconds * 1_000_000_000).to_ne_bytes());
        map.update(&key, &owned, MapFlags::EXIST).unwrap();
    }

    /// Bytes of the whole reply to this request, asked for in the usual way.
    pub fn reply_bytes(&self, request: &[u8]) -> u32 {
        let mut stream = TcpStream::connect((self.bed.server(1).v4, 80)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reply = vec![];
        stream.read_to_end(&mut reply).unwrap();
        u32::try_from(reply.len()).unwrap()
    }
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool, now: impl Fn() -> String) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited for {what}, came {}", now());
        std::thread::yield_now();
    }
}

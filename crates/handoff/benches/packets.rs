//! What the front-end's program takes for a packet of each kind, in nanoseconds: `cargo bench -p
//! handoff --bench packets`, as root.
//!
//! Method: connections live through all that a connection may meet, packet by packet, each shown to
//! the loaded program by `BPF_PROG_TEST_RUN`, which says how long it ran; the middle of a few
//! thousand counts. So each packet finds the tables as they are at that point of a life, and what
//! disturbs the machine disturbs single packets, not the middle. What a trial leaves out: the
//! packet is whole in one piece and all caches are warm, so packets of a network take longer (see
//! `make bench-oneway`), and nothing is sent.

// What fixtures need is all here, and benchmarks are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "../tests/packets/decode.rs"]
mod decode;
#[path = "../tests/packets/seal.rs"]
mod seal;
#[path = "../tests/packets/segment.rs"]
mod segment;
#[path = "../tests/packets/stage.rs"]
mod stage;

use handoff::{Trial, Tried};
use segment::{ACK, FIN, Letter, RELEASED, Segment};
use stage::{Client, DROPPED, FORWARD, MULTI, NOBODYS, NOT_OURS, REDIRECTED, SINGLE, Stage, get};
use testbed::{Host, Plan, TestBed};

/// Lives of each family.
const LIVES: usize = 4000;
/// The first ones meet cold caches.
const COLD: usize = 200;

/// Bytes of a reply.
const REPLY: u32 = 1500;

/// What was taken for each kind of packet, in the order in which they came.
#[derive(Default)]
struct Times(Vec<(&'static str, Vec<u32>)>);

impl Times {
    fn note(&mut self, kind: &'static str, run_ns: u32) {
        match self.0.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, times)) => times.push(run_ns),
            None => self.0.push((kind, vec![run_ns])),
        }
    }

    /// The middle.
    fn of(&self, kind: &str) -> u32 {
        let found = self.0.iter().find(|(name, _)| *name == kind);
        let mut times = found.expect("the kind was measured").1[COLD..].to_vec();
        times.sort_unstable();
        times[times.len() / 2]
    }
}

/// One connection and its packets.
struct Life<'a, 'b> {
    stage: &'a Stage<'b>,
    times: &'a mut Times,
    client: Client,
}

impl<'a, 'b> Life<'a, 'b> {
    /// From the SYN to the reply to the first request.
    fn begin(stage: &'a Stage<'b>, times: &'a mut Times, port: u16) -> (Self, Segment) {
        let client = stage.client(port);
        let mut life = Self { stage, times, client };
        let syn = life.client.syn();
        let answer = life.shows("SYN", &syn.frame(), REDIRECTED);
        let seq = stage::tcp_double(&answer.frame, 4);
        life.client.next = life.client.next.wrapping_add(1);
        life.client.heard = seq.wrapping_add(1);
        life.shows("end of the handshake", &life.client.acks().frame(), DROPPED);
        let first = life.client.says(get("/first"));
        life.shows("first request", &first.frame(), REDIRECTED);
        life.replied(&first);
        (life, first)
    }

    fn shows(&mut self, kind: &'static str, frame: &[u8], verdict: i32) -> Tried {
        let tried = self
            .stage
            .front
            .try_packet(&Trial::new(frame, self.stage.interface))
            .expect("the kernel tries it");
        assert_eq!(tried.verdict, verdict, "{kind}");
        self.times.note(kind, tried.run_ns);
        tried
    }

    /// The client has the reply to a request and says so.
    fn replied(&mut self, request: &Segment) {
        self.client.past(request);
        self.client.heard(REPLY);
        self.shows("acknowledgement", &self.client.acks().frame(), REDIRECTED);
    }

    /// A later request and the acknowledgement of its reply.
    fn asks(&mut self, kind: &'static str, path: &str) -> Segment {
        let next = self.client.says(get(path));
        self.shows(kind, &next.frame(), REDIRECTED);
        next
    }

    fn ends(mut self) {
        let fin = self.client.acks().flags(ACK | FIN);
        self.shows("FIN", &fin.frame(), REDIRECTED);
    }
}

/// A connection that stays, one that moves, one whose requests are tagged; and a stranger's packet.
fn lives(stage: &Stage<'_>, times: &mut Times) {
    let nobodys = stage.client(NOBODYS).acks().frame();
    let seen = stage
        .front
        .try_packet(&Trial::new(&nobodys, stage.interface))
        .expect("the kernel tries it");
    assert_eq!(seen.verdict, NOT_OURS);
    times.note("nobody's", seen.run_ns);

    let (mut life, _) = Life::begin(stage, times, SINGLE);
    let next = life.asks("request, pinned", "/other");
    life.replied(&next);
    life.ends();

    let (mut life, first) = Life::begin(stage, times, MULTI);
    let next = life.asks("request for the holder", "/first");
    life.replied(&next);
    let next = life.asks("request for another", "/other");
    let letter = stage.hand_over(&next, 0).kind(RELEASED).of(first.seq);
    let letter = Letter { from: letter.to, to: letter.from, ..letter };
    life.shows("RELEASED", &letter.frame(), REDIRECTED);
    life.replied(&next);
    life.ends();

    let (mut life, _) = Life::begin(stage, times, FORWARD);
    let next = life.asks("request, tagged", "/other");
    life.replied(&next);
    life.ends();
}

/// All lives of one family.
fn measure(stage: &Stage<'_>) -> Times {
    stage.reset();
    for (path, slot) in [("/first", 0), ("/other", 1)] {
        stage.knows(path, slot);
    }
    let mut times = Times::default();
    for _ in 0..LIVES {
        lives(stage, &mut times);
    }
    times
}

fn print([v4, v6]: &[Times; 2]) {
    println!("{:24} {:>8} {:>8}", "ns a packet", "IPv4", "IPv6");
    for (kind, _) in &v4.0 {
        println!("{kind:24} {:8} {:8}", v4.of(kind), v6.of(kind));
    }
    let sums: [(&str, &[&str]); 3] = [
        ("pinned", &["request, pinned", "acknowledgement"]),
        ("moved", &["request for another", "RELEASED", "acknowledgement"]),
        ("closed", &["SYN", "end of the handshake", "first request", "acknowledgement", "FIN"]),
    ];
    println!("\nns a request");
    for (name, kinds) in sums {
        let [v4, v6] = [v4, v6].map(|times| kinds.iter().map(|kind| times.of(kind)).sum::<u32>());
        println!("{name:24} {v4:8} {v6:8}");
    }
}

fn main() {
    // `cargo test --benches` only wants to see that it starts.
    if !std::env::args().any(|argument| argument == "--bench") || !testbed::possible() {
        println!("packets: nothing measured; cargo bench -p handoff --bench packets does, as root");
        return;
    }
    let bed = TestBed::up(&Plan::new(2)).expect("a test bed can be made");
    let work = || {
        let mut stage = Stage::new(&bed, &bed.pins(Host::Front), false, 65_536);
        let times = [false, true].map(|v6| {
            stage.v6 = v6;
            // Each family has addresses of its own: the same ports again.
            stage.port.set(10_000);
            measure(&stage)
        });
        print(&times);
    };
    bed.enter(Host::Front, work).expect("its namespace is there");
}

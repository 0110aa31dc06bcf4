//! Method: the kernel's own programs take the place of the model in the proof that who repeats
//! never answers differently from the policy asked directly. Each request is a segment that goes
//! through the front-end's program (BPF_PROG_TEST_RUN: the same instructions and maps as on an
//! interface); what it holds is answered by the real desk and goes through it again; what it asks a
//! server to release comes back released. As root in a namespace of its own; elsewhere skipped
//! aloud.

use super::super::bridge::Bridge;
use super::super::fabric::{Fabric, Repeat, RowState};
use super::super::front::{self, Programs};
use super::super::roster::Wanted;
use super::wire_frames::{Frame, What, released};
use crate::config::ready::{Key, Network, Oneway};
use distributor::ask::kernel::{Kernel, Repeat as Promised};
use distributor::ask::proof::{Delivered, Plane, Script, Tally, play};
use distributor::{Ask, Clock, Delivery};
use handoff::Trial;
use policy::{Cluster, Desk, Entry, Instant, POLICIES, Params, Request, ServerId, State};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use testbed::{Host, Plan, TestBed};

const KEY: [u8; 16] = *b"sixteen secrets!";

/// Where the program believes the segments to come from.
struct Ports {
    client: u32,
    held: u32,
}

/// A connection as its client sees it.
#[derive(Clone, Copy)]
struct Open {
    frame: Frame,
    holder: ServerId,
}

struct Real<'a> {
    ask: &'a Ask,
    bridge: Arc<Bridge>,
    programs: Arc<Programs>,
    ports: Ports,
    vip: SocketAddr,
    clock: Clock,
    open: BTreeMap<u64, Open>,
}

impl Real<'_> {
    fn run(&self, frame: &[u8], ifindex: u32) -> What {
        let trial = Trial::new(frame, ifindex);
        let tried = self.programs.front.try_packet(&trial).unwrap();
        What::read(tried.verdict, tried.frame)
    }

    fn server_at(&self, address: Ipv4Addr) -> ServerId {
        let [.., last] = address.octets();
        ServerId(u16::from(last) - 100)
    }

    /// The first segment's numbers: those of a handshake with the program.
    fn connect(&self, connection: u64) -> Frame {
        let port = u16::try_from(1024 + connection % 60_000).unwrap();
        let frame = Frame::syn((Ipv4Addr::new(10, 77, 0, 2), port).into(), self.vip);
        match self.run(&frame.bytes(b""), self.ports.client) {
            What::Answered(seq) => frame.after(seq),
            what => panic!("a SYN is answered, not {what:?}"),
        }
    }

    /// Who has the connection after the program has settled a segment of it.
    fn settled(&self, what: What, holder: Option<ServerId>) -> ServerId {
        match what {
            What::HandedOver(server) => self.server_at(server),
            What::Plain => holder.expect("only a known connection's segment goes as it is"),
            What::Queried(letter) => {
                let letter = released(&KEY, letter);
                match self.run(&letter, self.ports.client) {
                    What::HandedOver(server) => self.server_at(server),
                    what => panic!("what was released is handed over, not {what:?}"),
                }
            }
            what => panic!("settled as {what:?}"),
        }
    }

    /// Lets the program repeat an answer, as `asking` does.
    fn learn(&self, head: &[u8], request: &Request, epoch: u64, repeat: Promised) {
        let key = self.bridge.fabric().key(head).unwrap();
        let Request { class, target, .. } = *request;
        match repeat {
            Promised::Target(_) => self.bridge.bind(key, epoch, class, target),
            Promised::Wheel => {
                let seat = self.bridge.tables().seat(class);
                if let Some(number) = seat {
                    self.bridge.repeat(key, Repeat::Wheel(number), epoch, class, target);
                }
            }
            Promised::Nothing => {}
        }
    }
}

impl Plane for Real<'_> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The kernel's clock cannot be moved: time passes as it does.
    fn wait(&mut self, _: Duration) {}

    fn deliver(&mut self, connection: u64, request: &Request) -> Option<Delivered> {
        let known = self.open.get(&connection).copied();
        let frame = known.map_or_else(|| self.connect(connection), |open| open.frame);
        let holder = known.map(|open| open.holder);
        let head = format!("GET /{} HTTP/1.1\r\nHost: proof\r\n\r\n", request.target.0);
        let mut decided = None;
        let mut what = self.run(&frame.bytes(head.as_bytes()), self.ports.client);
        if let What::Asked(held) = what {
            let epoch = self.bridge.epoch();
            let answer = self.ask.decide(request, &[])?;
            let slot = self.bridge.tables().roster.slot(answer.assignment.server).unwrap();
            self.learn(head.as_bytes(), request, epoch, answer.repeat);
            what = match self.run(&held.answered(slot.0), self.ports.held) {
                // It has the notes still, but what has been answered is not held again.
                What::Asked(_) => What::Plain,
                what => what,
            };
            decided = Some(answer);
        }
        let server = self.settled(what, holder);
        let frame = frame.behind(head.len());
        self.open.insert(connection, Open { frame, holder: server });
        Some(Delivered { server, decided })
    }

    fn close(&mut self, connection: u64) {
        let open = self.open.remove(&connection).unwrap();
        let what = self.run(&open.frame.fin(), self.ports.client);
        assert!(matches!(what, What::Plain), "a FIN goes on to the server, not {what:?}");
    }

    fn changed(&mut self) {
        let books = self.ask.books();
        let servers: Vec<_> = books
            .desk()
            .cluster()
            .servers()
            .filter(|server| server.state != State::Left)
            .map(|server| (server.id, server.spec.name.to_string(), server.state))
            .collect();
        drop(books);
        for (id, name, _) in &servers {
            let last = u8::try_from(100 + id.0).unwrap();
            let address = SocketAddr::from((Ipv4Addr::new(10, 77, 0, last), 80));
            let wanted = Wanted { id: *id, name, address, agent_port: 0 };
            assert!(self.bridge.place(&wanted));
        }
        // Not down: that would reset its connections, which here go on, to other servers.
        self.bridge.align(|id| {
            let (.., state) = servers.iter().find(|(known, ..)| *known == id)?;
            Some(if *state == State::Up { RowState::Up } else { RowState::Draining })
        });
    }
}

fn proof(bed: &TestBed, entry: &'static Entry, seed: u64) -> Result<Tally, String> {
    let policy = move || (entry.build)(&Params::new(entry.params));
    let clock = Clock::start();
    let settings = Oneway {
        interfaces: vec![bed.interface().to_owned()],
        key: Key::parse(&KEY.map(|byte| format!("{byte:02x}")).concat()).unwrap(),
        port: handoff::PORT_DEFAULT,
        network: Network::Neighbours,
        early: false,
        idle: Duration::from_secs(60),
        flows_max: 10_000,
        memos_max: 10_000,
        pin: bed.pins(Host::Front).join(format!("{}-{seed}", entry.name)),
    };
    let programs = front::open(&settings, false, clock).unwrap();
    let index = |name: &str| handoff::interface_index(name).unwrap();
    let ports = Ports { client: index(bed.interface()), held: index(handoff::TAP) };
    let vip = SocketAddr::from((bed.vip().v4, 80));
    programs.listen(vip, Some(Delivery::MultiHandoff)).unwrap();
    let bridge = Arc::new(Bridge::new(Arc::clone(&programs) as _, 10_000));
    let ask = Ask::new(Desk::new(policy(), Cluster::new(0.0), seed));
    ask.set_kernel(Some(Arc::clone(&bridge) as Arc<dyn Kernel>));
    let mut real = Real { ask: &ask, bridge, programs, ports, vip, clock, open: BTreeMap::new() };
    let change_every = [60, 0, 240][seed as usize % 3];
    let script = Script {
        policy: &policy,
        seed,
        steps: 2_000,
        targets: 100,
        notes_repeats: true,
        change_every,
    };
    play(&script, &ask, &mut real)
}

#[test]
fn the_kernels_programs_never_answer_differently_from_the_policy_asked_directly() {
    if !testbed::possible() {
        return;
    }
    let bed = TestBed::up(&Plan::new(1)).unwrap();
    let all = || {
        let play = |row: &'static Entry| {
            let mut sum = Tally::default();
            for seed in 0..3 {
                let played = proof(&bed, row, seed);
                let tally = played.unwrap_or_else(|why| panic!("{}, {seed}: {why}", row.name));
                sum.delivered += tally.delivered;
                sum.repeated += tally.repeated;
                sum.moved += tally.moved;
            }
            (row.name, sum)
        };
        std::panic::catch_unwind(|| POLICIES.iter().map(play).collect::<Vec<_>>())
    };
    let played = bed.enter(Host::Front, all).unwrap().unwrap_or_else(|_| panic!("see above"));
    for (name, least) in [("round-robin", 60), ("cap", 60), ("lard", 10), ("maglev", 30)] {
        let (_, sum) = played.iter().find(|(known, _)| *known == name).unwrap();
        assert!(sum.repeated * 100 >= sum.delivered * least, "{name}: {sum:?}");
        assert!(sum.moved > 0, "{name}: {sum:?}");
    }
}

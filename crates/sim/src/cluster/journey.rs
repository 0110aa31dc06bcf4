//! The way of a connection through the cluster.
//!
//! [`Engine::accept`] at the front-end, [`Engine::hand`] to a node, [`Engine::part`] as replies are
//! sent, [`Engine::later`] for each further request, [`Engine::leave`]. Requests of a batch are
//! served one after another, as servers do with a connection; each is decided when its turn comes.

use super::connection::Stage;
use super::cost::MoveCost;
use super::engine::{Engine, Event};
use super::setup::{Mechanism, Reports};
use core::time::Duration;
use model::{Ask, Handling, Part, Source};
use policy::{Class, Held, Instant, Outcome, Report, Request, ServerId};

impl Engine<'_> {
    /// A connection comes to the front-end.
    pub(super) fn accept(&mut self, place: u32) {
        if let Some(cost) = &self.setup.distributed {
            return self.accept_distributed(place, cost);
        }
        if self.setup.front.is_free() {
            return self.hand(place);
        }
        let over = self.front.enter(self.now, self.setup.front.connection);
        self.wait(place, Stage::Accepting, over);
    }

    /// The connection's request that is due is the first to be asked about, and says which node
    /// gets the connection.
    pub(super) fn hand(&mut self, place: u32) {
        let connection = self.connections.get(place);
        let (aim, _) = self.script.aim(connection.at);
        let target = self.setup.known_as(aim.id);
        let request = Request { at: self.now, target, class: Class::STATIC, holder: None };
        let Some((answer, ticket)) = self.clerk.assign(&request, &[]) else {
            connection.turn_to(Stage::Stalled);
            self.stalled.push(place);
            return;
        };
        connection.held = Some(Held::open(ticket, self.setup.charge));
        self.meter.handed += 1;
        self.opened(answer.server);
        if self.setup.distributed.is_some() {
            return self.hand_over(place, answer.server, answer.cache);
        }
        let connect = match self.setup.mechanism {
            Mechanism::Relaying => Duration::ZERO,
            _ => self.setup.node.cpu.connect,
        };
        self.serve(place, answer.server, connect, answer.cache);
    }

    /// The connection has a further request.
    fn later(&mut self, place: u32) {
        let connection = self.connections.get(place);
        let (_, begins) = self.script.aim(connection.at);
        if begins {
            connection.asked = self.now;
            let held = connection.held.as_mut().expect("its last request was served");
            self.clerk.batch_begin(held, self.now);
        }
        if self.setup.distributed.is_some() {
            return self.read_later(place);
        }
        if self.setup.front.request.is_zero() {
            return self.ask(place);
        }
        let over = self.front.enter(self.now, self.setup.front.request);
        self.wait(place, Stage::Asking, over);
    }

    /// Decides who serves a request that is not a connection's first.
    pub(super) fn ask(&mut self, place: u32) {
        let connection = self.connections.get(place);
        let (aim, _) = self.script.aim(connection.at);
        let holder = connection.holder();
        let target = self.setup.known_as(aim.id);
        let mut request =
            Request { at: self.now, target, class: Class::STATIC, holder: Some(holder) };
        let mechanism = self.setup.mechanism;
        if matches!(mechanism, Mechanism::SingleHandoff | Mechanism::Splicing) {
            let held = connection.held.as_mut().expect("it has a holder");
            self.clerk.serve(held, &request, holder);
            return self.serve(place, holder, Duration::ZERO, true);
        }
        if mechanism == Mechanism::Relaying {
            request.holder = None;
        } else if self.setup.reports == Reports::Exact {
            self.tell(holder);
        }
        let answer = self.clerk.ask(&request, &[]).expect("the holder is up");
        let (server, away) = (answer.server, answer.server != holder);
        let held = self.connections.get(place).held.as_mut().expect("it has a holder");
        if mechanism == Mechanism::Forwarding {
            self.clerk.serve(held, &request, server);
            if away {
                return self.forward(place, server, Duration::ZERO);
            }
            return self.serve(place, holder, Duration::ZERO, answer.cache);
        }
        self.clerk.hand_on(held, &request, server);
        let mut join = Duration::ZERO;
        if away {
            join = self.moved(holder, server);
        }
        self.serve(place, server, join, answer.cache || away);
    }

    /// A connection went from one node to another; what the other's CPU has to do first.
    fn moved(&mut self, from: ServerId, to: ServerId) -> Duration {
        self.meter.moved += 1;
        self.closed(from);
        self.opened(to);
        let MoveCost { leave, join } = match self.setup.mechanism {
            Mechanism::MultipleHandoff => self.setup.moving,
            _ => MoveCost::FREE,
        };
        if !leave.is_zero() {
            self.members[from.index()].node.cpu().enter(self.now, leave);
        }
        join
    }

    /// `server` serves the request to the client, after `connect` for the connection.
    pub(super) fn serve(&mut self, place: u32, server: ServerId, connect: Duration, keep: bool) {
        if self.setup.global_memory
            && let Some(other) = self.other_with(place, server)
        {
            return self.forward(place, other, connect);
        }
        let cpu = &self.setup.node.cpu;
        let handling = Handling {
            before: connect + cpu.request,
            send_512: cpu.send_512,
            after: self.after(place),
            keep,
        };
        self.admit(place, server, Stage::Serving, handling);
    }

    /// Another node that has the target in memory, unless `server` has it.
    fn other_with(&mut self, place: u32, server: ServerId) -> Option<ServerId> {
        let target = self.script.aim(self.connections.get(place).at).0.id;
        let has = |id: ServerId| self.members[id.index()].node.cache().contains(target);
        if has(server) {
            return None;
        }
        self.clerk.cluster().usable().iter().copied().find(|id| has(*id))
    }

    /// The holder reads the request, after `connect` for the connection, and will fetch the target
    /// from `server`.
    fn forward(&mut self, place: u32, server: ServerId, connect: Duration) {
        self.meter.forwarded += 1;
        let connection = self.connections.get(place);
        connection.worker = server;
        connection.fetched_bytes = 0;
        let holder = &mut self.members[connection.holder().index()].node;
        let over = holder.cpu().enter(self.now, connect + self.setup.node.cpu.request);
        self.wait(place, Stage::Forwarding, over);
    }

    fn fetch(&mut self, place: u32) {
        let cost = self.setup.forward;
        let handling = Handling {
            before: cost.request,
            send_512: cost.send_512,
            after: Duration::ZERO,
            keep: true,
        };
        let worker = self.connections.get(place).worker;
        self.admit(place, worker, Stage::Fetching, handling);
    }

    /// Gives the request to a node.
    fn admit(&mut self, place: u32, server: ServerId, stage: Stage, handling: Handling) {
        let connection = self.connections.get(place);
        connection.worker = server;
        let (aim, _) = self.script.aim(connection.at);
        let tag = u64::from(connection.turn_to(stage)) << 32 | u64::from(place);
        let (target, bytes, class) = (aim.id, aim.bytes, Class::STATIC);
        let ask = Ask { tag, target, bytes, class, head_only: false };
        let member = &mut self.members[server.index()];
        let source =
            member.node.admit_as(self.now, ask, handling, &mut self.dice, &mut self.agenda);
        self.meter.source(source);
        member.meter.requests += 1;
        member.meter.reads += u64::from(source != Source::Hit);
        self.schedule(server);
    }

    /// A node has sent more of a reply.
    pub(super) fn part(&mut self, part: Part) {
        let place = part.tag as u32;
        let connection = self.connections.get(place);
        if u64::from(connection.turn) != part.tag >> 32 {
            return;
        }
        if connection.stage == Stage::Fetching {
            return self.fetched(place, part);
        }
        if let Some(line) = part.end {
            self.replied(place, line.last_byte);
        }
    }

    /// The holder has more of what it fetches, and sends it on.
    fn fetched(&mut self, place: u32, part: Part) {
        let after = if part.end.is_some() { self.after(place) } else { Duration::ZERO };
        let connection = self.connections.get(place);
        let bytes = part.sent_bytes - connection.fetched_bytes;
        connection.fetched_bytes = part.sent_bytes;
        let holder = &mut self.members[connection.holder().index()].node;
        let send = self.setup.node.cpu.send(bytes);
        let over = holder.cpu().enter(self.now, send + after);
        if part.end.is_some() {
            connection.sent = Instant(over.0 - after.as_nanos() as u64);
            self.wait(place, Stage::Sending, over);
        }
    }

    /// The node has done its part of a request whose last byte it sent at `sent`.
    pub(super) fn replied(&mut self, place: u32, sent: Instant) {
        let connection = self.connections.get(place);
        let worker = connection.worker;
        let bytes = self.script.aim(connection.at).0.bytes;
        if self.setup.reports == Reports::PiggyBacked {
            self.tell(worker);
        }
        let cost = self.setup.front.reply(bytes);
        if cost.is_zero() {
            return self.answered(place, sent);
        }
        let over = self.front.enter(self.now, cost);
        self.wait(place, Stage::Passing, over);
    }

    /// The client has the whole reply.
    pub(super) fn answered(&mut self, place: u32, sent: Instant) {
        let connection = self.connections.get(place);
        self.meter.delays.count(sent.since(connection.asked).as_nanos() as u64);
        self.meter.answered += 1;
        self.totals.answered += 1;
        connection.at += 1;
        if connection.at < connection.end {
            self.later(place);
        } else {
            self.leave(place, true);
        }
    }

    /// A connection ends.
    pub(super) fn leave(&mut self, place: u32, ok: bool) {
        let connection = self.connections.get(place);
        self.meter.left += 1;
        self.meter.open_ns += self.now.since(connection.entered).as_nanos();
        self.totals.left += 1;
        self.release(place, ok);
        self.connections.close(place);
        self.last = self.now;
        self.fill();
    }

    /// Takes a connection out of the books.
    pub(super) fn release(&mut self, place: u32, ok: bool) {
        if let Some(held) = self.connections.get(place).held.take() {
            let holder = held.holder();
            let outcome = Outcome { at: self.now, ok, first_byte: None };
            self.clerk.close(held, outcome);
            self.closed(holder);
        }
    }

    /// The stage that a connection was in is over, if it still is the one with this number.
    pub(super) fn stage_over(&mut self, place: u32, turn: u32) {
        let connection = self.connections.get(place);
        if connection.turn != turn {
            return;
        }
        match connection.stage {
            Stage::Switching => self.reach_distributor(place),
            Stage::Accepting if self.setup.distributed.is_some() => self.question(place),
            Stage::Accepting => self.hand(place),
            Stage::Asking if self.setup.asks_dispatcher() => self.question(place),
            Stage::Asking => self.ask(place),
            Stage::Handing => self.taken_over(place),
            Stage::Forwarding => self.fetch(place),
            Stage::Sending => {
                let sent = connection.sent;
                self.replied(place, sent);
            }
            Stage::Passing => self.answered(place, self.now),
            Stage::Free
            | Stage::Stalled
            | Stage::Questioning
            | Stage::Serving
            | Stage::Fetching => {
                unreachable!("{:?} does not end by itself", connection.stage)
            }
        }
    }

    /// The connection enters a stage that ends at `over`.
    pub(super) fn wait(&mut self, place: u32, stage: Stage, over: Instant) {
        let turn = self.connections.get(place).turn_to(stage);
        self.calendar.enter(over, Event::Stage { place, turn });
    }

    /// What the last reply's node does after it: tears the connection down.
    fn after(&mut self, place: u32) -> Duration {
        let connection = self.connections.get(place);
        let last = connection.at + 1 == connection.end;
        if last && self.setup.mechanism != Mechanism::Relaying {
            self.setup.node.cpu.close
        } else {
            Duration::ZERO
        }
    }

    /// Tells the desk of a node's disk.
    fn tell(&mut self, id: ServerId) {
        let queue = self.members[id.index()].node.disk_queue(self.now);
        let disk_queue = u32::try_from(queue).unwrap_or(u32::MAX);
        self.clerk.report(id, Report { at: self.now, disk_queue, ..Report::default() });
    }

    fn opened(&mut self, id: ServerId) {
        self.members[id.index()].meter.open(self.now, self.setup.idle_below);
    }

    fn closed(&mut self, id: ServerId) {
        self.members[id.index()].meter.close(self.now, self.setup.idle_below);
    }
}

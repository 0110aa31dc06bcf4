//! The servers of the live set-up on paper: nodes as emulated servers run them, and the switch's
//! idle connections to them.

use super::setup::Live;
use model::{Agenda, Ask, Node, Slab, Source, Wake};
use policy::{Dice, Instant, ServerId, Ticket};
use std::time::Duration;
use workload::visits::Object;

/// A request at a server.
#[derive(Debug)]
pub(super) struct Open {
    /// The place of the browser that waits for it.
    pub place: u32,
    pub ticket: Ticket,
    pub source: Source,
    pub bytes: u64,
}

/// A server, and what the switch keeps for it.
struct Member {
    node: Node,
    dice: Dice,
    /// Connections of the switch on which nothing is asked.
    idle: usize,
}

/// All servers.
pub(super) struct Farm {
    members: Vec<Member>,
    open: Slab<Open>,
    agenda: Agenda,
}

impl Farm {
    /// So many servers, all cold.
    pub fn new(live: &Live, servers: usize) -> Self {
        let member = |number| Member {
            node: Node::new(live.node.clone()),
            dice: Dice::new(number),
            idle: 0,
        };
        let members = (0..servers as u64).map(member).collect();
        Self { members, open: Slab::default(), agenda: Agenda::default() }
    }

    /// A server gets a request, over a connection that is idle or a new one.
    pub fn admit(&mut self, now: Instant, place: u32, ticket: Ticket, object: &Object) {
        let member = &mut self.members[ticket.server.index()];
        match member.idle.checked_sub(1) {
            Some(left) => member.idle = left,
            None => member.node.connect(now),
        }
        let Object { target, bytes, class, .. } = *object;
        let id = self.open.insert(Open { place, ticket, source: Source::Bypass, bytes });
        let ask = Ask { tag: id.into(), target, bytes, class, head_only: false };
        let source = member.node.admit(now, ask, &mut member.dice, &mut self.agenda);
        self.open.get_mut(id).expect("it was just put there").source = source;
    }

    /// What was to happen at a server has happened.
    pub fn step(&mut self, now: Instant, id: ServerId, wake: Wake) {
        self.members[id.index()].node.step(now, wake, &mut self.agenda);
    }

    /// What came of the last call: what will happen at the server, and when.
    pub fn wakes(&mut self) -> impl Iterator<Item = (Instant, Wake)> {
        self.agenda.wakes.drain(..)
    }

    /// A request that the last call brought to its end.
    pub fn ended(&mut self) -> Option<Open> {
        while let Some(part) = self.agenda.parts.pop() {
            if part.end.is_some() {
                let id = u32::try_from(part.tag).expect("the tag is the request's number");
                let open = self.open.remove(id).expect("a request ends once");
                self.members[open.ticket.server.index()].idle += 1;
                return Some(open);
            }
        }
        None
    }

    /// How long CPU and disk of a server have been busy.
    pub fn busy(&self, server: usize, now: Instant) -> (Duration, Duration) {
        let node = &self.members[server].node;
        (node.cpu_busy(now), node.disk_busy(now))
    }

    /// Whether no request is at any server.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty() && self.members.iter().all(|member| member.node.active() == 0)
    }
}

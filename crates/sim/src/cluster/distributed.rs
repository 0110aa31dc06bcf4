//! The distributed front-end: every node takes connections in, one dispatcher decides for all.
//!
//! Aron, Sanders, Druschel, Zwaenepoel, USENIX ATC 2000. A layer-4 stage spreads connections over
//! the nodes without looking at them. A node accepts one, reads the request and asks the
//! dispatcher; a distributor has one message on the way at a time and collects further questions
//! meanwhile, so that the dispatcher's load sets the size of the batches, without timer or bound.
//! Then it hands the connection to the node that the dispatcher chose, which may be itself.
//! Targets travel as hashes of 32 bits, and the policy knows them by these.

use super::connection::Stage;
use super::cost::DistributedCost;
use super::engine::{Engine, Event};
use core::time::Duration;
use model::Station;
use policy::{Instant, ServerId};
use std::collections::VecDeque;

/// A question: the place of a connection, and the turn in which it asks.
type Question = (u32, u32);

/// What a node's distributor has to ask.
#[derive(Debug, Default)]
pub(super) struct Distributor {
    pending: Vec<Question>,
    /// Whether a message of it is on the way or at the dispatcher.
    outstanding: bool,
}

/// A message at the dispatcher.
#[derive(Debug)]
struct Message {
    node: u16,
    life: u16,
    questions: Vec<Question>,
}

/// What nodes have in common: the layer-4 stage and the dispatcher.
#[derive(Debug, Default)]
pub(super) struct Middle {
    pub(super) layer4: Station,
    pub(super) dispatcher: Station,
    /// In the order in which the dispatcher works on them.
    messages: VecDeque<Message>,
    /// Who gets the next connection of the layer-4 stage.
    next: usize,
    /// Questions and messages since the measurement began.
    pub(super) questions: u64,
    pub(super) batches: u64,
}

impl Engine<'_> {
    /// A connection comes to the layer-4 stage, which gives it to the next node that is up.
    pub(super) fn accept_distributed(&mut self, place: u32, cost: &DistributedCost) {
        let usable = self.clerk.cluster().usable();
        let Some(node) = usable.get(self.middle.next % usable.len().max(1)) else {
            self.connections.get(place).turn_to(Stage::Stalled);
            self.stalled.push(place);
            return;
        };
        self.middle.next = self.middle.next.wrapping_add(1);
        self.connections.get(place).distributor = node.0;
        let over = self.middle.layer4.enter(self.now, cost.layer4);
        self.wait(place, Stage::Switching, over);
    }

    /// The connection has reached its distributor, which reads its request.
    pub(super) fn reach_distributor(&mut self, place: u32) {
        self.distribute(place, Stage::Accepting, |cost| cost.accept);
    }

    /// The distributor works on a connection, which enters `stage` until it has.
    fn distribute(&mut self, place: u32, stage: Stage, of: fn(&DistributedCost) -> Duration) {
        let cost = self.setup.distributed.as_ref().expect("only a distributed front-end does");
        let node = usize::from(self.connections.get(place).distributor);
        let over = self.members[node].node.cpu().enter(self.now, of(cost));
        self.wait(place, stage, over);
    }

    /// A further request comes. The layer-4 stage knows of the hand-off, so it reaches the node
    /// that has the connection, which now is its distributor.
    pub(super) fn read_later(&mut self, place: u32) {
        let connection = self.connections.get(place);
        connection.distributor = connection.holder().0;
        self.distribute(place, Stage::Asking, |cost| cost.request);
    }

    /// The distributor asks the dispatcher, now or with its next message.
    pub(super) fn question(&mut self, place: u32) {
        let connection = self.connections.get(place);
        let node = connection.distributor;
        let turn = connection.turn_to(Stage::Questioning);
        let distributor = &mut self.members[usize::from(node)].distributor;
        distributor.pending.push((place, turn));
        if !distributor.outstanding {
            self.send_questions(node);
        }
    }

    fn send_questions(&mut self, node: u16) {
        let cost = self.setup.distributed.as_ref().expect("only a distributed front-end asks");
        let member = &mut self.members[usize::from(node)];
        member.distributor.outstanding = true;
        // What the answer will cost the node is paid with the question: both are one message pair.
        let over = member.node.cpu().enter(self.now, cost.node_message);
        self.calendar.enter(over, Event::Asked { node, life: member.life });
    }

    /// A distributor's message reaches the dispatcher, with all that was asked meanwhile.
    pub(super) fn asked(&mut self, node: u16, life: u16) {
        let cost = self.setup.distributed.as_ref().expect("only a distributed front-end asks");
        let member = &mut self.members[usize::from(node)];
        if member.life != life {
            return;
        }
        let questions = core::mem::take(&mut member.distributor.pending);
        let count = u32::try_from(questions.len()).unwrap_or(u32::MAX);
        self.middle.questions += u64::from(count);
        self.middle.batches += 1;
        let demand = cost.message + cost.question.saturating_mul(count);
        let over = self.middle.dispatcher.enter(self.now, demand);
        self.middle.messages.push_back(Message { node, life, questions });
        self.calendar.enter(over, Event::Dispatched);
    }

    /// The dispatcher has decided the questions of its oldest message.
    pub(super) fn dispatched(&mut self) {
        let message = self.middle.messages.pop_front().expect("each message is decided once");
        for (place, turn) in message.questions {
            let connection = self.connections.get(place);
            if connection.turn != turn {
                continue;
            }
            if connection.held.is_some() {
                self.ask(place);
            } else {
                self.hand(place);
            }
        }
        let member = &mut self.members[usize::from(message.node)];
        if member.life != message.life {
            return;
        }
        member.distributor.outstanding = false;
        if !member.distributor.pending.is_empty() {
            self.send_questions(message.node);
        }
    }

    /// The distributor gives the connection to the node that has been chosen: a message to another
    /// node, or a call in its own kernel.
    pub(super) fn hand_over(&mut self, place: u32, server: ServerId, keep: bool) {
        let connection = self.connections.get(place);
        connection.worker = server;
        connection.keep = keep;
        if connection.distributor == server.0 {
            return self.taken_over(place);
        }
        self.distribute(place, Stage::Handing, |cost| cost.handoff);
    }

    /// The chosen node has the connection.
    pub(super) fn taken_over(&mut self, place: u32) {
        let connection = self.connections.get(place);
        let (server, keep) = (connection.worker, connection.keep);
        self.serve(place, server, self.setup.node.cpu.connect, keep);
    }

    /// A node is gone, and what its distributor had to ask.
    pub(super) fn forget_questions(&mut self, node: u16) {
        self.members[usize::from(node)].distributor = Distributor::default();
    }

    /// Busy shares of layer-4 stage and dispatcher from the beginning to `until`, as spans.
    pub(super) fn middle_busy(&self, until: Instant) -> (Duration, Duration) {
        (self.middle.layer4.busy(until), self.middle.dispatcher.busy(until))
    }
}

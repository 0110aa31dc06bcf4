//! Nodes that go down and come back.

use super::connection::Stage;
use super::engine::{Engine, signed};
use super::setup::Loss;
use model::Node;
use policy::{ServerId, State};

impl Engine<'_> {
    /// A node stops: what it had is gone, the desk is told, and so are its connections.
    pub(super) fn node_down(&mut self, node: u16) {
        let id = ServerId(node);
        if !self.clerk.cluster().is_usable(id) {
            return;
        }
        self.clerk.set_state(id, State::Down);
        self.set_limit();
        let now = self.now;
        let member = &mut self.members[id.index()];
        member.life = member.life.wrapping_add(1);
        member.meter.cpu_before -= signed(member.node.cpu_busy(now));
        member.meter.disk_before -= signed(member.node.disk_busy(now));
        member.node = Node::new(self.setup.node.clone());
        self.forget_questions(node);
        let served = |(place, connection): (u32, &super::connection::Connection)| {
            let distributes = self.setup.distributed.is_some()
                && connection.distributor == node
                && connection.stage.is_at_distributor();
            let Some(held) = connection.held.as_ref() else {
                return distributes.then_some(place);
            };
            let works = matches!(connection.stage, Stage::Forwarding | Stage::Fetching)
                && connection.worker == id;
            (held.holder() == id || works || distributes).then_some(place)
        };
        let places: Vec<_> = self.connections.iter().filter_map(served).collect();
        for place in places {
            self.deserted(place);
        }
        self.fill();
    }

    /// A node is back, with nothing in its cache.
    pub(super) fn node_up(&mut self, node: u16) {
        let id = ServerId(node);
        if self.clerk.cluster().is_usable(id) {
            return;
        }
        self.clerk.set_state(id, State::Up);
        self.set_limit();
        for place in core::mem::take(&mut self.stalled) {
            self.again(place);
        }
        self.fill();
    }

    /// Nothing is due any more: those whom no node is up for are lost, and so is who never entered.
    pub(super) fn abandon(&mut self) {
        for place in core::mem::take(&mut self.stalled) {
            self.lose(place);
        }
        while self.next < self.script.connections() {
            let (at, end) = self.script.connection(self.next);
            self.totals.failed += u64::from(end - at);
            self.totals.entered += 1;
            self.totals.left += 1;
            self.next += 1;
        }
    }

    /// The node of a connection is gone.
    fn deserted(&mut self, place: u32) {
        match self.setup.loss {
            Loss::Retry => {
                self.totals.retried += 1;
                self.release(place, false);
                self.again(place);
            }
            Loss::Fail => self.lose(place),
        }
    }

    /// A connection that has no node looks for one: with a distributed front-end its client
    /// connects anew.
    fn again(&mut self, place: u32) {
        match &self.setup.distributed {
            Some(cost) => self.accept_distributed(place, cost),
            None => self.hand(place),
        }
    }

    fn lose(&mut self, place: u32) {
        let connection = self.connections.get(place);
        self.totals.failed += u64::from(connection.end - connection.at);
        self.leave(place, false);
    }
}

//! The table of connections as it is shown to people.

use crate::front::delivery;
use crate::layout::{FLOW_CLOSING, FLOW_HALF, FLOW_WAITING, NOBODY};
use crate::{Delivery, Front, now_ns};
use std::net::SocketAddr;
use std::time::Duration;

/// One connection in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowView {
    /// The client's end.
    pub client: SocketAddr,
    /// Our address.
    pub vip: SocketAddr,
    /// The number of the interface that its client was heard on last.
    pub interface: u32,
    /// How it is delivered.
    pub delivery: Delivery,
    /// The slot of the server that has it.
    pub holder: u16,
    /// Whether a book counts it.
    pub open: bool,
    /// How far it has come.
    pub state: FlowState,
    /// Requests that were looked at.
    pub requests: u32,
    /// Times it went to another server.
    pub moves: u32,
    /// Since its first request.
    pub age: Duration,
    /// Since its client's last packet.
    pub silence: Duration,
}

/// How far a connection has come. Later ones are nearer to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowState {
    /// Its client may ask for more.
    Open,
    /// Its client has said all it will ever say, and waits for the reply.
    HalfClosed,
    /// The same, and so long that no book counts it.
    Waiting,
    /// It has ended, and is remembered for what is still under way.
    Ended,
}

impl Front {
    /// The connections in the table, `count` at most, in no order. Those of the relay are not
    /// there.
    pub fn list(&self, count: usize) -> Vec<FlowView> {
        let now = now_ns();
        let since = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        let mut list = Vec::new();
        self.each(|key, flow| {
            list.push(FlowView {
                client: key.client(),
                vip: key.vip(),
                interface: flow.ifindex,
                delivery: delivery(flow.delivery),
                holder: u16::try_from(flow.holder).unwrap_or(u16::MAX),
                open: flow.counted != NOBODY,
                state: match flow.state {
                    FLOW_CLOSING => FlowState::Ended,
                    FLOW_HALF => FlowState::HalfClosed,
                    FLOW_WAITING => FlowState::Waiting,
                    _ => FlowState::Open,
                },
                requests: flow.requests,
                moves: flow.moves,
                age: since(flow.opened_ns),
                silence: since(flow.seen_ns),
            });
            list.len() < count
        });
        list.truncate(count);
        list
    }
}

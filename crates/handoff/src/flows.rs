//! Looking after the table of connections: what is silent for too long, what has ended, what a
//! server that is gone leaves behind, and whether the books agree with the table.

mod list;

pub use list::{FlowState, FlowView};

use crate::layout::{CLOSE, FLOW_CLOSING, FLOW_HALF, Flow, FlowKey, NOBODY, SERVERS_MAX};
use crate::question::{Nudge, nudge};
use crate::{Front, now_ns, sys};
use libbpf_rs::{MapCore, MapFlags};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::PoisonError;
use std::time::Duration;

/// How long a connection that has ended is kept, for what is still under way: a client may repeat
/// its last words for that long (TIME-WAIT; 60 seconds on Linux).
const ENDED: Duration = Duration::from_secs(60);

/// The same while the table is more than half full: many short connections would otherwise leave no
/// room for new ones. What a client says later is then answered by a reset: it has ended, or had
/// closed its half in the middle of a reply that paused for so long.
const ENDED_CROWDED: Duration = Duration::from_secs(5);

/// How long a client that has said all it will ever say may be silent before it counts as gone. It
/// acknowledges what it still gets; what it does when the reply has ended nobody here sees.
const HALF_CLOSED: Duration = Duration::from_secs(2);

/// Rounds running in which a busy book has to be wrong by the same number: connections that move
/// while the table is walked make it look wrong by one now and then.
const DRIFT_ROUNDS: u32 = 8;

/// Connections read from the table in one system call.
const BATCH: u32 = 1024;

/// What a look through the table did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Connections looked at.
    pub seen: usize,
    /// Of these, closed for their silence.
    pub idle: usize,
    /// Of these, taken out of the books: half closed by the client, and silent.
    pub half: usize,
    /// Of these, forgotten after their end.
    pub forgotten: usize,
    /// Books that did not agree with the table and were corrected.
    pub corrected: usize,
    /// Whether this look came to the end of the table.
    pub round: bool,
    /// Then: the slots that any connection of the round has as its holder, or was decided for,
    /// also those that have ended and are only remembered.
    pub in_use: SlotSet,
}

/// Some of the slots of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotSet([u64; SERVERS_MAX / 64]);

impl SlotSet {
    /// Adds a slot; what is none is left out.
    pub fn add(&mut self, slot: u32) {
        if let Some(word) = self.0.get_mut(slot as usize / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    /// Whether it is there.
    pub fn has(&self, slot: u16) -> bool {
        self.0.get(usize::from(slot) / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }
}

/// How far a round has come.
#[derive(Default)]
pub(crate) struct Walk {
    token: Option<u32>,
    /// Connections seen in this round, and whether those of the round before filled half the table.
    seen: usize,
    is_crowded: bool,
    /// By slot: connections counted in this round, and what the books said at its beginning.
    counted: Vec<u64>,
    opened: Vec<u64>,
    /// And how many connections they had ever begun: a book is still if neither changes.
    begun: Vec<u64>,
    /// By slot: by how much the table had more than the book in the round before, and in how many
    /// rounds running.
    drift: Vec<(i64, u32)>,
    in_use: SlotSet,
}

/// How a book is put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// It stood still: it is set from the one value to the other.
    Set(u64, u64),
    /// It is busy, and wrong by the same for [`DRIFT_ROUNDS`].
    Add(i64),
}

impl Walk {
    /// At the end of a round, from what the books say `now`: what is to be put right. A process
    /// died between two writes, or a connection ended just as it was swept.
    fn repairs(&mut self, now: &[u64], begun: &[u64]) -> Vec<(u16, Repair)> {
        self.drift.resize(now.len(), (0, 0));
        let mut repairs = Vec::new();
        for (slot, now) in (0u16..).zip(now.iter().copied()) {
            let at = usize::from(slot);
            let (Some(counted), Some(before)) = (self.counted.get(at), self.opened.get(at)) else {
                continue;
            };
            // Signed, for a book may be below zero.
            let [now_is, counted_is, before_is] = [now, *counted, *before].map(u64::cast_signed);
            // What the book said at some time of the round may well have been true.
            let right = now_is.min(before_is) <= counted_is && counted_is <= now_is.max(before_is);
            let drift = if right { 0 } else { counted_is.wrapping_sub(now_is) };
            let (known, rounds) = self.drift[at];
            let rounds = if drift == known { rounds + 1 } else { 1 };
            self.drift[at] = (drift, rounds);
            // One that came and one that went leave the number alone: that is not still.
            let is_still = now == *before && self.begun.get(at) == begun.get(at);
            let repair = match drift {
                0 => continue,
                _ if is_still => Repair::Set(now, *counted),
                _ if rounds >= DRIFT_ROUNDS => Repair::Add(drift),
                _ => continue,
            };
            self.drift[at] = (0, 0);
            repairs.push((slot, repair));
        }
        repairs
    }
}

/// What becomes of a connection when it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    /// It has ended long enough ago.
    Forgotten,
    /// It has been silent for too long.
    Idle,
    /// Its client has said all it will ever say: it may be gone, or wait for its reply.
    LeavesBooks,
}

fn fate(flow: &Flow, silence: Duration, idle: Duration, is_crowded: bool) -> Fate {
    let ended = if is_crowded { ENDED_CROWDED } else { ENDED };
    match flow.state {
        FLOW_CLOSING if silence > ended.min(idle) => Fate::Forgotten,
        FLOW_CLOSING => Fate::Stays,
        _ if silence > idle => Fate::Idle,
        FLOW_HALF if flow.counted != NOBODY && silence > HALF_CLOSED => Fate::LeavesBooks,
        _ => Fate::Stays,
    }
}

impl Front {
    /// Looks at the next `budget` connections: closes what has been silent for longer than `idle`,
    /// forgets what ended a minute ago (or `idle`, if that is less), and at the end of a round
    /// compares the books with the table.
    pub fn sweep(&self, idle: Duration, budget: usize) -> Swept {
        let mut walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut swept = Swept::default();
        let now = now_ns();
        while swept.seen < budget && !swept.round {
            if walk.token.is_none() {
                walk.counted = vec![0; SERVERS_MAX];
                (walk.opened, walk.begun) = self.opened();
                walk.in_use = SlotSet::default();
                walk.seen = 0;
            }
            let batch = sys::lookup_batch::<FlowKey, Flow>(self.flows().as_fd(), walk.token, BATCH);
            let Ok((rows, token)) = batch else {
                // The table changed under the walk: it begins anew.
                walk.token = None;
                break;
            };
            swept.seen += rows.len();
            walk.seen += rows.len();
            for (key, flow) in rows {
                self.look(&mut walk, &mut swept, &key, &flow, now, idle);
            }
            walk.token = token;
            swept.round = token.is_none();
        }
        if swept.round {
            swept.corrected = self.correct(&mut walk);
            walk.is_crowded = walk.seen > self.flows().max_entries() as usize / 2;
            swept.in_use = walk.in_use;
        }
        swept
    }

    fn look(
        &self,
        walk: &mut Walk,
        swept: &mut Swept,
        key: &FlowKey,
        flow: &Flow,
        now: u64,
        idle: Duration,
    ) {
        let silence = Duration::from_nanos(now.saturating_sub(flow.seen_ns));
        match fate(flow, silence, idle, walk.is_crowded) {
            Fate::Forgotten => swept.forgotten += usize::from(self.take(key, flow)),
            Fate::Idle => swept.idle += usize::from(self.take(key, flow)),
            Fate::LeavesBooks => {
                self.nudge(key, flow, CLOSE);
                swept.half += 1;
            }
            Fate::Stays => {
                walk.in_use.add(flow.holder);
                walk.in_use.add(flow.decided);
                if let Some(count) = walk.counted.get_mut(flow.counted as usize) {
                    *count += 1;
                }
            }
        }
    }

    /// Shows the program a segment as if the client had sent it.
    fn nudge(&self, key: &FlowKey, flow: &Flow, verdict: u32) -> bool {
        let of = Nudge {
            client: key.client(),
            vip: key.vip(),
            ifindex: flow.ifindex,
            seq: flow.next_seq,
            ack: flow.client_ack,
            verdict,
        };
        self.send(&nudge(&of)).is_ok()
    }

    /// Removes a connection from the table and from the book that counts it, if it is still as it
    /// was when it was looked at: its client may have spoken since, or have begun another.
    fn take(&self, key: &FlowKey, looked: &Flow) -> bool {
        let key = bytemuck::bytes_of(key);
        let looked = bytemuck::bytes_of(looked);
        if self.flows().lookup(key, MapFlags::ANY).ok().flatten().as_deref() != Some(looked) {
            return false;
        }
        let Ok(Some(value)) = self.flows().lookup_and_delete(key) else { return false };
        // It spoke between the two calls.
        if value != looked && self.flows().update(key, &value, MapFlags::NO_EXIST).is_ok() {
            return false;
        }
        let Ok(flow) = bytemuck::try_pod_read_unaligned::<Flow>(&value) else { return false };
        if flow.counted != NOBODY {
            self.books.close(flow.counted);
        }
        true
    }

    /// What the books say: open now, and ever begun.
    fn opened(&self) -> (Vec<u64>, Vec<u64>) {
        let slots = 0..u16::try_from(SERVERS_MAX).expect("there are few slots");
        slots.map(|at| (self.books.open_as_written(at), self.books.book(at).begun)).unzip()
    }

    /// Compares the books with the table, at the end of a round: how many were wrong.
    fn correct(&self, walk: &mut Walk) -> usize {
        let (now, begun) = self.opened();
        let repairs = walk.repairs(&now, &begun).into_iter();
        repairs
            .filter(|(slot, repair)| match *repair {
                Repair::Set(seen, counted) => self.books.correct(*slot, seen, counted),
                Repair::Add(drift) => self.books.shift(*slot, drift),
            })
            .count()
    }

    /// Resets the clients of a server that is down, `budget` at most: how many. Its row must say
    /// that it is down already.
    pub fn reset(&self, slot: u16, budget: usize) -> usize {
        let mut count = 0;
        self.each(|key, flow| {
            if flow.holder == u32::from(slot) && flow.state != FLOW_CLOSING && count < budget {
                count += usize::from(self.nudge(key, flow, NOBODY));
            }
            count < budget
        });
        count
    }

    /// Forgets connections of a server whose clients have been silent since `before_ns`
    /// (CLOCK_MONOTONIC) and of which `owns` knows nothing: how many. So what was opened, or moved
    /// to this server, later than that stays: whoever made the list may not have known it. Their
    /// clients are told when they speak again.
    pub fn disown(
        &self,
        slot: u16,
        before_ns: u64,
        owns: &mut dyn FnMut(&SocketAddr, &SocketAddr) -> bool,
    ) -> usize {
        let mut count = 0;
        self.each(|key, flow| {
            // A connection moves when its client speaks.
            if flow.holder == u32::from(slot)
                && flow.state != FLOW_CLOSING
                && flow.opened_ns.max(flow.seen_ns) < before_ns
                && !owns(&key.client(), &key.vip())
            {
                count += usize::from(self.take(key, flow));
            }
            true
        });
        count
    }

    /// Shows each connection to `look` until it says false.
    fn each(&self, mut look: impl FnMut(&FlowKey, &Flow) -> bool) {
        let mut token = None;
        while let Ok((rows, next)) =
            sys::lookup_batch::<FlowKey, Flow>(self.flows().as_fd(), token, BATCH)
        {
            if !rows.iter().all(|(key, flow)| look(key, flow)) || next.is_none() {
                return;
            }
            token = next;
        }
    }

    /// Whether the table has this connection.
    pub fn has(&self, client: SocketAddr, vip: SocketAddr) -> bool {
        let key = FlowKey::new(client, vip);
        matches!(self.flows().lookup(bytemuck::bytes_of(&key), MapFlags::ANY), Ok(Some(_)))
    }
}

#[cfg(test)]
mod tests;

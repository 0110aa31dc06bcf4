//! What is asked of a cluster: connections, one after the other, each with its batches.

use policy::{Dice, TargetId};
use workload::{Sessions, Trace};

/// Marks the first request of a batch.
const BATCH: u32 = 1 << 31;

/// Salt of the targets' numbers: policies expect hashes, as the switch makes them of URLs.
const TARGET_SALT: u64 = 0x7a;

/// What a target is to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aim {
    pub(super) id: TargetId,
    pub(super) bytes: u64,
}

/// Connections in the order in which they enter: 4 bytes a request and 4 a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    targets: Vec<Aim>,
    /// Targets in the order of connections; [`BATCH`] is set on the first of each batch.
    requests: Vec<u32>,
    /// Where each connection ends in `requests`.
    ends: Vec<u32>,
}

impl Script {
    /// Nothing asked yet of targets of these sizes in bytes; fewer than 2^31.
    pub fn new(sizes: impl IntoIterator<Item = u64>) -> Self {
        let aim =
            |(number, bytes)| Aim { id: TargetId(TargetId(number).mixed(TARGET_SALT)), bytes };
        let targets: Vec<_> = (0..).zip(sizes).map(aim).collect();
        assert!(targets.len() < BATCH as usize, "a target's number has 31 bits");
        Self { targets, ..Self::default() }
    }

    /// HTTP/1.0: a connection for each request, in order of time.
    pub fn singles(trace: &Trace) -> Self {
        let mut script = Self::new(trace.targets.iter().map(|target| target.size));
        script.requests = trace.requests.iter().map(|entry| entry.target | BATCH).collect();
        script.ends = (1..=script.requests.len() as u32).collect();
        script
    }

    /// HTTP/1.1: the sessions of a trace, in order of their start.
    pub fn persistent(trace: &Trace, sessions: &Sessions) -> Self {
        let mut script = Self::new(trace.targets.iter().map(|target| target.size));
        script.requests.reserve(trace.requests.len());
        for session in sessions.iter() {
            for batch in session.batches() {
                let targets = batch.iter().map(|&number| trace.requests[number as usize].target);
                script.batch(targets);
            }
            script.close();
        }
        script
    }

    /// Adds a batch of targets, by number, to the connection that is being written.
    ///
    /// # Panics
    /// When there is no such target.
    pub fn batch(&mut self, targets: impl IntoIterator<Item = u32>) {
        let mut mark = BATCH;
        for target in targets {
            assert!((target as usize) < self.targets.len(), "only what exists is asked for");
            self.requests.push(target | mark);
            mark = 0;
        }
    }

    /// Ends the connection that is being written, if anything was asked on it.
    pub fn close(&mut self) {
        let end =
            u32::try_from(self.requests.len()).expect("a script has fewer than 2^32 requests");
        if end > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(end);
        }
    }

    /// The same with a `share` (0 to 1) of the requests after each connection's first exchanged at
    /// random, as far as they are for the most popular targets, up to `bytes` of them: what a
    /// connection asks for then belongs to its page only as far as the rest goes. Every target is
    /// asked for as often as before, and connections are as long.
    #[must_use]
    pub fn strayed(mut self, share: f64, bytes: u64, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let roams = self.popular(bytes);
        let mut places: Vec<u32> = Vec::new();
        for number in 0..self.connections() {
            let (start, end) = self.connection(number);
            let roaming = |place: &u32| roams[(self.requests[*place as usize] & !BATCH) as usize];
            places.extend((start + 1..end).filter(roaming).filter(|_| dice.unit() < share));
        }
        // Fisher and Yates over the chosen places; marks of batches stay where they are.
        for last in (1..places.len()).rev() {
            let (one, other) = (places[last] as usize, places[dice.below(last + 1)] as usize);
            let exchanged = (self.requests[one] ^ self.requests[other]) & !BATCH;
            if one != other {
                self.requests[one] ^= exchanged;
                self.requests[other] ^= exchanged;
            }
        }
        self
    }

    /// By target, whether it is one of the most popular ones that are `bytes` together.
    fn popular(&self, bytes: u64) -> Vec<bool> {
        let mut counts = vec![0_u32; self.targets.len()];
        for word in &self.requests {
            counts[(word & !BATCH) as usize] += 1;
        }
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|target| (core::cmp::Reverse(counts[*target]), *target));
        let (mut popular, mut sum) = (vec![false; counts.len()], 0_u64);
        for target in order {
            sum = sum.saturating_add(self.targets[target].bytes);
            popular[target] = sum <= bytes;
        }
        popular
    }

    /// The same with targets known by these numbers, in the order in which they were given: those
    /// that a switch has for them, so that hashes of targets fall as they fall there.
    #[must_use]
    pub fn known_by(mut self, ids: impl IntoIterator<Item = TargetId>) -> Self {
        for (aim, id) in self.targets.iter_mut().zip(ids) {
            aim.id = id;
        }
        self
    }

    /// The first `connections` of it.
    #[must_use]
    pub fn first(mut self, connections: usize) -> Self {
        self.ends.truncate(connections);
        self.requests.truncate(self.ends.last().map_or(0, |end| *end as usize));
        self
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.ends.len()
    }

    /// How many requests there are.
    pub fn requests(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    /// The targets with their sizes in bytes.
    pub(super) fn targets(&self) -> impl Iterator<Item = (TargetId, u64)> {
        self.targets.iter().map(|aim| (aim.id, aim.bytes))
    }

    /// The requests of a connection, as positions for [`Script::aim`].
    pub(super) fn connection(&self, number: usize) -> (u32, u32) {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        (start, self.ends[number])
    }

    /// What the request at `position` asks for, and whether it begins a batch.
    #[inline]
    pub(super) fn aim(&self, position: u32) -> (Aim, bool) {
        let word = self.requests[position as usize];
        (self.targets[(word & !BATCH) as usize], word & BATCH != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_keep_their_batches() {
        let mut script = Script::new([10, 20, 30]);
        script.batch([2]);
        script.batch([0, 1]);
        script.close();
        script.close();
        script.batch([1]);
        script.close();
        assert_eq!((script.connections(), script.requests()), (2, 4));
        let (start, end) = script.connection(0);
        let read: Vec<_> = (start..end).map(|at| script.aim(at)).collect();
        let sizes: Vec<_> = read.iter().map(|(aim, begins)| (aim.bytes, *begins)).collect();
        assert_eq!(sizes, [(30, true), (10, true), (20, false)]);
        assert_eq!(script.connection(1), (3, 4));
        assert_eq!(script.first(1).requests(), 3);
    }
}

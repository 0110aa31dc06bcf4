//! What LARD and its kin remember: the server, or the servers, that each target was sent to.
//!
//! A server that leaves costs one note, not a walk through a million targets: a mapping says when
//! it was written, and whoever reads it passes over servers that have left since.

use crate::departures::{Departures, Moment};
use crate::servers::ServerSet;
use crate::{ServerId, TargetId, Targets};
use std::borrow::Cow;

/// One server of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    server: ServerId,
    written: Moment,
}

/// Targets that are mapped to one server each.
pub(crate) struct Mapping {
    pub(crate) targets: Targets<Mapped>,
    departures: Departures,
}

impl Mapping {
    /// Of `max` targets at most.
    pub(crate) fn new(max: usize) -> Self {
        Self { targets: Targets::new(max), departures: Departures::default() }
    }

    /// The server of a target, unless it has left.
    #[inline]
    pub(crate) fn get(&self, target: TargetId) -> Option<ServerId> {
        let mapped = self.targets.get(target)?;
        self.departures.stayed(mapped.server, mapped.written).then_some(mapped.server)
    }

    /// Maps a target to one server, instead of any before.
    pub(crate) fn map(&mut self, target: TargetId, server: ServerId) {
        let fresh = Mapped { server, written: self.departures.now() };
        match self.targets.touch(target) {
            // Compared first: what is not written need not travel between cores' caches.
            Some(mapped) if *mapped == fresh => {}
            Some(mapped) => *mapped = fresh,
            None => drop(self.targets.insert(target, fresh)),
        }
    }

    /// From here on nothing is mapped to this server.
    pub(crate) fn leave(&mut self, id: ServerId) {
        self.departures.note(id);
    }
}

/// Targets that are mapped to several servers each.
pub(crate) struct Replicas {
    pub(crate) targets: Targets<ServerSet>,
    departures: Departures,
    /// Targets with more than one server, as each was written last.
    replicated: usize,
}

impl Replicas {
    /// Of `max` targets at most.
    pub(crate) fn new(max: usize) -> Self {
        Self { targets: Targets::new(max), departures: Departures::default(), replicated: 0 }
    }

    /// The servers of a target, without those that have left.
    pub(crate) fn get(&self, target: TargetId) -> Option<Cow<'_, ServerSet>> {
        let set = self.targets.get(target)?;
        if set.ids().iter().all(|id| self.departures.stayed(*id, set.written())) {
            return Some(Cow::Borrowed(set));
        }
        let mut set = set.clone();
        settle(&mut set, &self.departures);
        Some(Cow::Owned(set))
    }

    /// The server of a target that was sent to one only, and that has not left.
    #[inline]
    pub(crate) fn only(&self, target: TargetId) -> Option<ServerId> {
        let set = self.targets.get(target)?;
        match set.ids() {
            [id] => self.departures.stayed(*id, set.written()).then_some(*id),
            _ => None,
        }
    }

    /// The target is now among the recent ones, if it is known.
    #[inline]
    pub(crate) fn touch(&mut self, target: TargetId) {
        // Nearly always nobody has left since, and then nothing more is written.
        let now = self.departures.now();
        if self.targets.touch(target).is_some_and(|set| set.written() != now) {
            self.change(target, |_| {});
        }
    }

    /// Changes the servers of a target, or makes it known with these.
    pub(crate) fn update(
        &mut self,
        target: TargetId,
        mut first: ServerSet,
        change: impl FnOnce(&mut ServerSet),
    ) {
        if self.change(target, change) {
            return;
        }
        first.set_written(self.departures.now());
        self.replicated += usize::from(first.is_replicated());
        if let Some((_, forgotten)) = self.targets.insert(target, first) {
            self.replicated -= usize::from(forgotten.is_replicated());
        }
    }

    /// From here on nothing is mapped to this server.
    pub(crate) fn leave(&mut self, id: ServerId) {
        self.departures.note(id);
    }

    /// Targets with more than one server. Those that had one more until it left count until they
    /// are asked for again.
    pub(crate) fn replicated(&self) -> usize {
        self.replicated
    }

    /// Whether the target is known.
    fn change(&mut self, target: TargetId, change: impl FnOnce(&mut ServerSet)) -> bool {
        let Some(set) = self.targets.touch(target) else { return false };
        self.replicated -= usize::from(set.is_replicated());
        settle(set, &self.departures);
        change(set);
        set.set_written(self.departures.now());
        self.replicated += usize::from(set.is_replicated());
        true
    }
}

/// Leaves the set without those that have left since it was written.
fn settle(set: &mut ServerSet, departures: &Departures) {
    let written = set.written();
    if written != departures.now() {
        set.retain(|id| departures.stayed(id, written));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ServerId = ServerId(0);
    const B: ServerId = ServerId(1);
    const TARGET: TargetId = TargetId(7);

    fn ids(replicas: &Replicas) -> Vec<ServerId> {
        replicas.get(TARGET).map_or(Vec::new(), |set| set.ids().to_vec())
    }

    #[test]
    fn a_target_takes_at_most_64_bytes_also_while_the_table_grows() {
        let max = 100_000;
        let (mut mapping, mut replicas) = (Mapping::new(max), Replicas::new(max));
        let mut most = [0, 0];
        for name in 0..max as u64 {
            mapping.map(TargetId(name), A);
            replicas.update(TargetId(name), ServerSet::of(A, 0), |_| {});
            let bytes = [mapping.targets.memory_bytes(), replicas.targets.memory_bytes()];
            most = [0, 1].map(|kind: usize| most[kind].max(bytes[kind]));
        }
        assert_eq!(most.map(|bytes| bytes / max), [24, 49], "one server; several");
    }

    #[test]
    fn who_leaves_takes_his_targets_with_him_and_leaves_none_to_his_successor() {
        let mut mapping = Mapping::new(8);
        mapping.map(TARGET, A);
        mapping.leave(B);
        assert_eq!(mapping.get(TARGET), Some(A), "another one left");
        mapping.leave(A);
        assert_eq!(mapping.get(TARGET), None);
        mapping.map(TARGET, A);
        assert_eq!(mapping.get(TARGET), Some(A), "it was sent to the new server in the slot");
    }

    #[test]
    fn a_set_loses_who_leaves_and_only_him_however_often_it_was_read_and_touched() {
        let mut replicas = Replicas::new(8);
        replicas.update(TARGET, ServerSet::of(A, 0), |_| {});
        replicas.update(TARGET, ServerSet::of(B, 0), |set| set.insert(B));
        assert_eq!((ids(&replicas), replicas.replicated()), (vec![A, B], 1));
        replicas.leave(A);
        assert_eq!(ids(&replicas), [B]);
        replicas.touch(TARGET);
        assert_eq!((ids(&replicas), replicas.replicated()), (vec![B], 0));
        replicas.update(TARGET, ServerSet::of(A, 0), |set| set.insert(A));
        assert_eq!((ids(&replicas), replicas.replicated()), (vec![B, A], 1), "A is another one");
        replicas.leave(A);
        replicas.leave(B);
        assert_eq!(ids(&replicas), []);
        replicas.touch(TARGET);
        assert_eq!((replicas.targets.len(), replicas.replicated()), (1, 0));
    }
}

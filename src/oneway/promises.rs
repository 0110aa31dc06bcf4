//! What the policy promised to answer again, by target, and the requests that the kernel knows by
//! which it may be asked for.
//!
//! The policy speaks of targets; the kernel sees request lines, many of which may name one target.
//! So promises are kept here by target, the desk's lock held, and every request line known for a
//! target has the same memo in the kernel, or none. A request line is bound to its target after the
//! decision; the memo it gets is the promise as it stands then.

use super::fabric::{Fabric, Memo, MemoKey, Repeat, Slot};
use policy::{Class, Instant, Load, TargetId};
use std::collections::{HashMap, VecDeque};

/// Request lines that are known for one target: beyond, the one known for longest is asked for
/// anew, so that nobody can keep others from it by many spellings.
const KEYS_MAX: usize = 64;

/// Promises by target.
#[derive(Debug)]
pub(super) struct Promises {
    targets: HashMap<TargetId, Target>,
    /// Targets in the order they came.
    order: VecDeque<TargetId>,
    /// Bound of targets, and of the request lines of all of them.
    most: usize,
    /// Request lines of all targets.
    keys: usize,
}

/// One target.
#[derive(Debug)]
struct Target {
    promise: Option<Promise>,
    /// In the order they came.
    keys: VecDeque<Key>,
}

/// A request line that named the target by the rules of an epoch.
#[derive(Clone, Copy, Debug)]
struct Key {
    memo: MemoKey,
    class: Class,
    epoch: u64,
}

/// That a server answers, and as long as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) slot: Slot,
    pub(super) load_max: Load,
    pub(super) until: Instant,
    pub(super) epoch: u64,
}

impl Promises {
    /// None yet; `most` targets and `most` request lines at most.
    pub(super) fn new(most: usize) -> Self {
        Self { targets: HashMap::new(), order: VecDeque::new(), most, keys: 0 }
    }

    /// Takes a promise down, in the place of an earlier one.
    pub(super) fn keep(&mut self, target: TargetId, promise: Promise, fabric: &dyn Fabric) {
        if !self.targets.contains_key(&target) {
            while self.targets.len() >= self.most && self.forget_oldest(fabric) {}
            self.order.push_back(target);
        }
        let blank = || Target { promise: None, keys: VecDeque::new() };
        let known = self.targets.entry(target).or_insert_with(blank);
        known.promise = Some(promise);
        let before = known.keys.len();
        known.keys.retain(|key| {
            // By other rules it may name another target.
            let holds = key.epoch == promise.epoch;
            if holds {
                write(fabric, key, target, &promise);
            } else {
                fabric.forget(key.memo);
            }
            holds
        });
        self.keys -= before - known.keys.len();
    }

    /// Takes a promise back. What names the target stays known.
    pub(super) fn drop(&mut self, target: TargetId, fabric: &dyn Fabric) {
        let Some(known) = self.targets.get_mut(&target) else { return };
        if known.promise.take().is_some() {
            known.keys.iter().for_each(|key| fabric.forget(key.memo));
        }
    }

    /// Lets the kernel know a request line as one that names `target` by the rules of `epoch`.
    pub(super) fn bind(
        &mut self,
        memo: MemoKey,
        class: Class,
        target: TargetId,
        epoch: u64,
        fabric: &dyn Fabric,
    ) {
        let Some(known) = self.targets.get_mut(&target) else { return };
        let Some(promise) = known.promise.filter(|promise| promise.epoch == epoch) else { return };
        let key = Key { memo, class, epoch };
        write(fabric, &key, target, &promise);
        match known.keys.iter_mut().find(|have| have.memo == memo) {
            Some(have) => *have = key,
            None => {
                known.keys.push_back(key);
                self.keys += 1;
                self.make_room(target, fabric);
            }
        }
    }

    /// How many targets there are.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Forgets request lines that are too many: of this target, and then of the oldest targets.
    fn make_room(&mut self, target: TargetId, fabric: &dyn Fabric) {
        while self.keys > self.most && self.order.front() != Some(&target) {
            self.forget_oldest(fabric);
        }
        let Some(known) = self.targets.get_mut(&target) else { return };
        while known.keys.len() > KEYS_MAX || self.keys > self.most {
            let Some(oldest) = known.keys.pop_front() else { return };
            self.keys -= 1;
            fabric.forget(oldest.memo);
        }
    }

    /// Forgets the oldest target with all that names it. False: there is none.
    fn forget_oldest(&mut self, fabric: &dyn Fabric) -> bool {
        let Some(oldest) = self.order.pop_front() else { return false };
        if let Some(gone) = self.targets.remove(&oldest) {
            self.keys -= gone.keys.len();
            gone.keys.iter().for_each(|key| fabric.forget(key.memo));
        }
        true
    }
}

fn write(fabric: &dyn Fabric, key: &Key, target: TargetId, promise: &Promise) {
    let Promise { slot, load_max, until, epoch } = *promise;
    let what = Repeat::Server { slot, load_max, until };
    let memo = Memo { what, epoch, target, class: key.class };
    // Without room in the kernel's table the request is asked for again: slower, no less right.
    let _unremembered = fabric.remember(key.memo, &memo);
}

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

/// Request lines that are known for one target; a target that has more is asked for by some.
const KEYS_MAX: usize = 64;

/// Promises by target.
#[derive(Debug)]
pub(super) struct Promises {
    targets: HashMap<TargetId, Target>,
    /// Targets in the order they came.
    order: VecDeque<TargetId>,
    targets_max: usize,
}

/// One target.
#[derive(Debug)]
struct Target {
    promise: Option<Promise>,
    keys: Vec<(MemoKey, Class)>,
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
    /// None yet; `targets_max` at most.
    pub(super) fn new(targets_max: usize) -> Self {
        Self { targets: HashMap::new(), order: VecDeque::new(), targets_max }
    }

    /// Takes a promise down, in the place of an earlier one.
    pub(super) fn keep(&mut self, target: TargetId, promise: Promise, fabric: &dyn Fabric) {
        if let Some(known) = self.targets.get_mut(&target) {
            known.promise = Some(promise);
            for (key, class) in &known.keys {
                write(fabric, *key, *class, target, &promise);
            }
            return;
        }
        self.make_room(fabric);
        let known = Target { promise: Some(promise), keys: Vec::new() };
        self.targets.insert(target, known);
        self.order.push_back(target);
    }

    /// Takes a promise back. What names the target stays known.
    pub(super) fn drop(&mut self, target: TargetId, fabric: &dyn Fabric) {
        let Some(known) = self.targets.get_mut(&target) else { return };
        if known.promise.take().is_some() {
            known.keys.iter().for_each(|(key, _)| fabric.forget(*key));
        }
    }

    /// Lets the kernel know a request line as one that names `target`.
    pub(super) fn bind(
        &mut self,
        key: MemoKey,
        class: Class,
        target: TargetId,
        fabric: &dyn Fabric,
    ) {
        let Some(known) = self.targets.get_mut(&target) else { return };
        let have = known.keys.iter().any(|(have, _)| *have == key);
        if !have && known.keys.len() < KEYS_MAX {
            known.keys.push((key, class));
        } else if !have {
            return;
        }
        if let Some(promise) = &known.promise {
            write(fabric, key, class, target, promise);
        }
    }

    /// How many targets there are.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    fn make_room(&mut self, fabric: &dyn Fabric) {
        while self.targets.len() >= self.targets_max {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(gone) = self.targets.remove(&oldest) {
                gone.keys.iter().for_each(|(key, _)| fabric.forget(*key));
            }
        }
    }
}

fn write(fabric: &dyn Fabric, key: MemoKey, class: Class, target: TargetId, promise: &Promise) {
    let Promise { slot, load_max, until, epoch } = *promise;
    let what = Repeat::Server { slot, load_max, until };
    // Without room in the kernel's table the request is asked for again: slower, no less right.
    let _unremembered = fabric.remember(key, &Memo { what, epoch, target, class });
}

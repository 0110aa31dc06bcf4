//! Caches against naive models that keep everything in a list and search it from end to end:
//! the same random calls must keep and evict the same targets. Promises of all caches besides.

use model::{Cache, CachePolicy, Index};
use policy::TargetId;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
enum Call {
    Ask(u64, u64),
    /// A use of a target that has this size now.
    Sized(u64, u64),
    Remove(u64),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        6 => (0..40u64, 0..60u64).prop_map(|(target, bytes)| Call::Ask(target, bytes)),
        3 => (0..40u64, 0..210u64).prop_map(|(target, bytes)| Call::Sized(target, bytes)),
        1 => (0..40u64).prop_map(Call::Remove),
    ];
    prop::collection::vec(call, 1..400)
}

/// What a cache does, written as plainly as it can be: targets in a list, worths recomputed.
struct Naive {
    policy: CachePolicy,
    capacity: u64,
    floor: f64,
    serial: u64,
    /// Target, bytes, worth, last use.
    kept: Vec<(TargetId, u64, f64, u64)>,
}

impl Naive {
    fn worth(&self, bytes: u64) -> f64 {
        match self.policy.name() {
            "lru" => 0.0,
            "gds" => self.floor + 1.0 / bytes.max(1) as f64,
            _ => self.floor + 1.0,
        }
    }

    fn touch(&mut self, target: TargetId) -> bool {
        let Some(at) = self.kept.iter().position(|kept| kept.0 == target) else { return false };
        self.serial += 1;
        let (worth, serial) = (self.worth(self.kept[at].1), self.serial);
        (self.kept[at].2, self.kept[at].3) = (worth, serial);
        true
    }

    fn touch_sized(&mut self, target: TargetId, bytes: u64, evicted: &mut Vec<TargetId>) -> bool {
        let Some(at) = self.kept.iter().position(|kept| kept.0 == target) else { return false };
        if self.kept[at].1 == bytes {
            return self.touch(target);
        }
        let kept = self.insert(target, bytes, evicted);
        if !kept {
            evicted.push(target);
        }
        kept
    }

    fn insert(&mut self, target: TargetId, bytes: u64, evicted: &mut Vec<TargetId>) -> bool {
        self.kept.retain(|kept| kept.0 != target);
        if bytes > self.capacity {
            return false;
        }
        while self.kept.iter().map(|kept| kept.1).sum::<u64>() + bytes > self.capacity {
            let rank = |at: &usize| (self.kept[*at].2, self.kept[*at].3);
            let least = (0..self.kept.len())
                .min_by(|a, b| rank(a).partial_cmp(&rank(b)).expect("worths are numbers"))
                .expect("a cache that holds bytes holds a target");
            let least = self.kept.remove(least);
            self.floor = least.2;
            evicted.push(least.0);
        }
        self.serial += 1;
        self.kept.push((target, bytes, self.worth(bytes), self.serial));
        true
    }
}

fn agree(policy: CachePolicy, calls: &[Call]) {
    let capacity = 200;
    let mut cache = Cache::new(policy, capacity);
    let mut naive = Naive { policy, capacity, floor: 0.0, serial: 0, kept: Vec::new() };
    for call in calls {
        match *call {
            Call::Ask(target, bytes) => {
                let target = TargetId(target);
                let hit = cache.touch(target);
                assert_eq!(hit, naive.touch(target));
                if !hit {
                    let (mut gone, mut gone_naive) = (Vec::new(), Vec::new());
                    let kept = cache.insert(target, bytes, &mut gone);
                    assert_eq!(kept, naive.insert(target, bytes, &mut gone_naive));
                    assert_eq!(gone, gone_naive);
                }
            }
            Call::Sized(target, bytes) => {
                let target = TargetId(target);
                let (mut gone, mut gone_naive) = (Vec::new(), Vec::new());
                let hit = cache.touch_sized(target, bytes, &mut gone);
                assert_eq!(hit, naive.touch_sized(target, bytes, &mut gone_naive));
                assert_eq!(gone, gone_naive);
            }
            Call::Remove(target) => {
                let target = TargetId(target);
                let had = naive.kept.iter().any(|kept| kept.0 == target);
                naive.kept.retain(|kept| kept.0 != target);
                assert_eq!(cache.remove(target), had);
            }
        }
        assert_eq!(cache.bytes(), naive.kept.iter().map(|kept| kept.1).sum::<u64>());
        assert!(cache.bytes() <= capacity);
        assert_eq!(cache.targets(), naive.kept.len());
        assert!(naive.kept.iter().all(|kept| cache.contains(kept.0)));
    }
}

proptest! {
    #[test]
    fn every_cache_keeps_and_evicts_what_its_naive_model_does(calls in calls()) {
        for (_, policy) in CachePolicy::ALL {
            agree(policy, &calls);
        }
    }

    #[test]
    fn the_index_is_a_map(calls in prop::collection::vec((0..3u8, 0..64u64, 0..1000u32), 1..500)) {
        let (mut index, mut map) = (Index::default(), BTreeMap::new());
        for (what, target, slot) in calls {
            let target = TargetId(target);
            match what {
                0 => prop_assert_eq!(index.insert(target, slot), map.insert(target, slot)),
                1 => prop_assert_eq!(index.remove(target), map.remove(&target)),
                _ => prop_assert_eq!(index.find(target), map.get(&target).copied()),
            }
            prop_assert_eq!(index.len(), map.len());
        }
        for target in (0..64).map(TargetId) {
            prop_assert_eq!(index.find(target), map.get(&target).copied());
        }
    }
}

#[test]
fn a_target_larger_than_the_cache_is_not_kept_and_evicts_nothing() {
    for (name, policy) in CachePolicy::ALL {
        let (mut cache, mut evicted) = (Cache::new(policy, 100), Vec::new());
        assert!(cache.insert(TargetId(1), 100, &mut evicted), "{name}");
        assert!(!cache.insert(TargetId(2), 101, &mut evicted), "{name}");
        assert!(evicted.is_empty() && cache.contains(TargetId(1)), "{name}");
    }
}

#[test]
fn greedy_dual_size_gives_up_the_large_before_the_small_until_the_small_has_aged() {
    let (mut cache, mut evicted) = (Cache::new(CachePolicy::named("gds").unwrap(), 100), vec![]);
    cache.insert(TargetId(1), 10, &mut evicted);
    cache.insert(TargetId(2), 60, &mut evicted);
    cache.insert(TargetId(3), 60, &mut evicted);
    assert_eq!(evicted, [TargetId(2)], "least recent is 1, but 2 is large");
    for target in 4..20 {
        cache.insert(TargetId(target), 60, &mut evicted);
    }
    assert!(!cache.contains(TargetId(1)), "the floor has risen past an unused small target");
}

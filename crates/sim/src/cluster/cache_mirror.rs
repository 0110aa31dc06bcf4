//! LB/GC of ASPLOS 1998: a front-end that knows every node's cache, for comparison.
//!
//! It keeps a mirror of each cache. A target that some node has goes there; any other goes where
//! there is room or, when there is none, to the node that would evict the oldest target: the one of
//! least worth under Greedy-Dual-Size, the one not used for longest under LRU. No load is
//! looked at. Here and not among the switch's policies, because it has to be told sizes and the
//! caches' rule: it is what LARD is to be measured by, not what anybody would run.

use model::{Cache, CachePolicy, Index};
use policy::{
    Assignment, Change, Cluster, Dice, Expect, Policy, Request, ServerId, State, TargetId, Why,
};

/// A target that some node has.
#[derive(Clone, Copy, Debug)]
struct Kept {
    server: ServerId,
    /// When it was used last, in requests.
    used: u64,
}

/// One node's cache as the front-end imagines it.
struct Mirror {
    cache: Cache,
    /// What it would evict next: its worth, and when it was used last. Zero while it is empty.
    victim: (f64, u64),
}

/// The policy.
pub struct CacheMirror {
    policy: CachePolicy,
    capacity_bytes: u64,
    /// Sizes by the number that `numbers` has for a target.
    numbers: Index,
    sizes: Vec<u64>,
    kept: Vec<Option<Kept>>,
    mirrors: Vec<Mirror>,
    evicted: Vec<TargetId>,
    requests: u64,
}

impl CacheMirror {
    /// For nodes with caches of `capacity_bytes` under `policy`, and these targets with their sizes
    /// in bytes.
    pub fn new(
        policy: CachePolicy,
        capacity_bytes: u64,
        targets: impl IntoIterator<Item = (TargetId, u64)>,
    ) -> Self {
        let (mut numbers, mut sizes) = (Index::default(), Vec::new());
        for (target, bytes) in targets {
            numbers.insert(target, sizes.len() as u32);
            sizes.push(bytes);
        }
        let kept = vec![None; sizes.len()];
        let (mirrors, evicted) = (Vec::new(), Vec::new());
        Self { policy, capacity_bytes, numbers, sizes, kept, mirrors, evicted, requests: 0 }
    }

    fn empty(&self) -> Mirror {
        Mirror { cache: Cache::new(self.policy, self.capacity_bytes), victim: (0.0, 0) }
    }

    /// Who should have a target of `bytes` that nobody has.
    fn roomiest(&self, bytes: u64, cluster: &Cluster) -> Option<ServerId> {
        let rank = |id: &ServerId| {
            let mirror = &self.mirrors[id.index()];
            let free = self.capacity_bytes - mirror.cache.bytes();
            let (worth, used) = mirror.victim;
            // Worths are no negative numbers: their bits compare as they do.
            match free >= bytes {
                true => (false, u64::MAX - free, 0),
                false => (true, worth.to_bits(), used),
            }
        };
        cluster.usable().iter().copied().min_by_key(rank)
    }

    /// A node's cache is empty again.
    fn forget(&mut self, id: ServerId) {
        if self.mirrors.len() <= id.index() {
            let missing = id.index() + 1 - self.mirrors.len();
            for _ in 0..missing {
                let mirror = self.empty();
                self.mirrors.push(mirror);
            }
        }
        self.mirrors[id.index()] = self.empty();
        for kept in &mut self.kept {
            *kept = kept.filter(|kept| kept.server != id);
        }
    }

    fn number(&self, target: TargetId) -> usize {
        self.numbers.find(target).expect("the mirror was told of every target") as usize
    }
}

impl Policy for CacheMirror {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let number = self.number(request.target);
        if let Some(kept) = self.kept[number].filter(|kept| cluster.is_usable(kept.server)) {
            let answer = Assignment::new(kept.server, Why::Affinity);
            return Some(Assignment { expect: Expect::Hit, ..answer });
        }
        let server = self.roomiest(self.sizes[number], cluster)?;
        Some(Assignment { expect: Expect::Miss, ..Assignment::new(server, Why::FirstSeen) })
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, _: &Cluster) {
        self.requests += 1;
        let number = self.number(request.target);
        let mirror = &mut self.mirrors[answer.server.index()];
        if !mirror.cache.touch(request.target) {
            self.evicted.clear();
            mirror.cache.insert(request.target, self.sizes[number], &mut self.evicted);
            for target in &self.evicted {
                let gone = self.numbers.find(*target).expect("what is evicted was told of");
                self.kept[gone as usize] = None;
            }
        }
        let kept = mirror.cache.contains(request.target);
        self.kept[number] = kept.then_some(Kept { server: answer.server, used: self.requests });
        let worth = mirror.cache.least_worth().unwrap_or(0.0);
        let victim = mirror.cache.victim().and_then(|target| self.numbers.find(target));
        let victim = victim.and_then(|number| self.kept[number as usize]);
        mirror.victim = (worth, victim.map_or(0, |kept| kept.used));
    }

    fn changed(&mut self, change: Change, _: &Cluster) {
        match change {
            Change::Joined(id) | Change::Left(id) | Change::State(id, State::Down) => {
                self.forget(id);
            }
            Change::State(..) | Change::Share(_) => {}
        }
    }
}

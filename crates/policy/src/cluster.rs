//! The servers and the books of their load: what every policy reads and only the driver writes.
//!
//! Because the driver counts (relay, kernel tables and simulator alike), a policy cannot miscount.

use crate::elsewhere::Seen;
use crate::server::{Server, Spec, State, WARM};
use crate::{Elsewhere, Instant, Load, Report, ServerId};

/// The servers of one cluster and their books.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    slots: Vec<Option<Server>>,
    usable: Vec<ServerId>,
    /// Pressure of each of `usable` and when it was last chosen: what almost every comparison of
    /// servers looks at, in one or two cache lines.
    ranks: Vec<(Load, u64)>,
    /// What others count; part of every server's load.
    elsewhere: Seen,
    /// Largest share among usable servers: what "full weight" means.
    share_max: u64,
    total: Load,
    epoch: u64,
    serial: u64,
    panic_share: f64,
    panic: bool,
}

impl Cluster {
    /// No servers. Below `panic_share` (0 to 1) of the servers up, those that were ejected for bad
    /// answers are used all the same: the whole load on the few others would take them down too.
    pub fn new(panic_share: f64) -> Self {
        Self { panic_share, ..Self::default() }
    }

    /// Adds a server and returns its slot; `None` when all 65,536 slots are taken. To the ties it
    /// counts as just chosen.
    pub fn join(&mut self, spec: Spec, state: State, now: Instant) -> Option<ServerId> {
        let (mut ids, end) = ((0..=u16::MAX).map(ServerId), self.slots.len());
        // Connections counted elsewhere for the last one in a slot are not the next one's.
        let is_free = |id: &ServerId| {
            id.index() >= end || (self.server(*id).is_none() && self.elsewhere.of(*id).open == 0)
        };
        let id = ids.find(is_free)?;
        self.serial += 1;
        let server = Server::new(id, spec, state, self.serial, now);
        if id.index() == end {
            self.slots.push(None);
        }
        self.slots[id.index()] = Some(server);
        self.recount();
        Some(id)
    }

    /// Removes a server: no policy may choose it again. Its slot is free when its work has ended.
    pub fn leave(&mut self, id: ServerId) {
        let Some(server) = self.server_mut(id) else { return };
        server.state = State::Left;
        self.free_if_over(id);
        self.recount();
    }

    /// Changes whether a server takes new requests. A server that left stays gone;
    /// [`State::Left`] is [`Cluster::leave`].
    pub fn set_state(&mut self, id: ServerId, state: State) {
        if state == State::Left {
            return self.leave(id);
        }
        if let Some(server) = self.server_mut(id)
            && server.state != state
            && server.state != State::Left
        {
            server.state = state;
            self.recount();
        }
    }

    /// Changes a server's share: `weight` at least 1, `warmth` 1..=[`WARM`].
    pub fn set_share(&mut self, id: ServerId, weight: u32, warmth: u16) {
        let (weight, warmth) = (weight.max(1), warmth.clamp(1, WARM));
        if let Some(server) = self.server_mut(id)
            && (server.spec.weight, server.warmth) != (weight, warmth)
        {
            server.spec.weight = weight;
            server.warmth = warmth;
            self.recount();
        }
    }

    /// Changes how many requests a server works on at once without visible delay. A new epoch:
    /// thresholds that follow the capacity change with it.
    pub fn set_capacity(&mut self, id: ServerId, capacity: Option<u32>) {
        if let Some(server) = self.server_mut(id) {
            server.spec.capacity = capacity;
            self.recount();
        }
    }

    /// Changes what [`Cluster::new`] was given.
    pub fn set_panic_share(&mut self, panic_share: f64) {
        self.panic_share = panic_share;
        self.recount();
    }

    /// Stores what a server said of itself.
    pub fn set_report(&mut self, id: ServerId, report: Report) {
        if let Some(server) = self.server_mut(id) {
            server.report = Some(report);
        }
    }

    /// Adds `amount` to a server's load: a request was given to it.
    ///
    /// # Panics
    /// When there is no such server: a caller that did not choose it just now asks
    /// [`Cluster::server`] first.
    #[inline]
    pub fn begin(&mut self, id: ServerId, amount: Load, now: Instant) {
        self.serial += 1;
        let serial = self.serial;
        let server = self.server_mut(id).expect("work begins only on a server of the cluster");
        server.count(now);
        server.load = server.load.plus(amount);
        server.chosen = serial;
        server.begun += 1;
        server.open += 1;
        self.total = self.total.plus(amount);
        self.rank(id);
    }

    /// Changes the weight of work that [`Cluster::begin`] added, from one amount to another.
    ///
    /// # Panics
    /// When there is no such work.
    pub fn reweigh(&mut self, id: ServerId, from: Load, to: Load, now: Instant) {
        let server = self.server_mut(id).expect("a slot is kept until its last request ends");
        assert!(server.load >= from, "only what was begun is reweighed");
        server.count(now);
        server.load = Load(server.load.0 - from.0).plus(to);
        self.total = Load(self.total.0 - from.0).plus(to);
        self.rank(id);
    }

    /// Takes back `amount` that [`Cluster::begin`] added.
    ///
    /// # Panics
    /// When there is no such work.
    #[inline]
    pub fn end(&mut self, id: ServerId, amount: Load, now: Instant) {
        let server = self.server_mut(id).expect("a slot is kept until its last request ends");
        assert!(server.load >= amount && server.open > 0, "every end has its begin");
        server.count(now);
        server.load = Load(server.load.0 - amount.0);
        server.open -= 1;
        let left = server.state == State::Left;
        self.total = Load(self.total.0 - amount.0);
        if left {
            self.free_if_over(id);
        } else {
            self.rank(id);
        }
    }

    /// Replaces what is counted elsewhere for one server; see [`Cluster::elsewhere_all`].
    pub fn elsewhere(&mut self, id: ServerId, count: Elsewhere, now: Instant) {
        self.elsewhere_all(&[(id, count)], now);
    }

    /// Replaces what is counted elsewhere, for each server that is named: it is part of the
    /// server's load from now on. Those chosen since the last call are taken to have been chosen in
    /// the order of their numbers, and after everybody else.
    #[inline]
    pub fn elsewhere_all(&mut self, counts: &[(ServerId, Elsewhere)], now: Instant) {
        for (id, count) in counts {
            if let Some((old, new)) = self.elsewhere.note(*id, *count) {
                self.count_elsewhere(*id, old, new, now);
            }
        }
        if self.elsewhere.any_chosen() {
            self.order_elsewhere();
        }
    }

    /// What was last said to be counted elsewhere for a server.
    pub fn counted_elsewhere(&self, id: ServerId) -> Elsewhere {
        self.elsewhere.of(id)
    }

    /// The part of a server's load that was begun here.
    pub fn load_here(&self, id: ServerId) -> Load {
        self.load(id).minus(self.elsewhere.of(id).load())
    }

    fn count_elsewhere(&mut self, id: ServerId, old: Elsewhere, new: Elsewhere, now: Instant) {
        let Some(server) = self.server_mut(id) else { return };
        server.count(now);
        server.load = server.load.minus(old.load()).plus(new.load());
        server.begun += new.begun.saturating_sub(old.begun);
        let left = server.state == State::Left;
        self.total = self.total.minus(old.load()).plus(new.load());
        if left {
            self.free_if_over(id);
        } else {
            self.rank(id);
        }
    }

    fn order_elsewhere(&mut self) {
        let chosen = self.elsewhere.in_order();
        for (_, id) in &chosen {
            self.serial += 1;
            let serial = self.serial;
            if let Some(server) = self.server_mut(*id) {
                server.chosen = serial;
                self.rank(*id);
            }
        }
        self.elsewhere.ordered(chosen);
    }

    /// The servers that may be chosen, by slot. Empty when none is up.
    pub fn usable(&self) -> &[ServerId] {
        &self.usable
    }

    /// Whether `id` may be chosen.
    #[inline]
    pub fn is_usable(&self, id: ServerId) -> bool {
        self.server(id).is_some_and(|server| server.place.is_some())
    }

    /// The server in a slot.
    #[inline]
    pub fn server(&self, id: ServerId) -> Option<&Server> {
        self.slots.get(id.index())?.as_ref()
    }

    /// All servers, by slot: those that are down or draining too, and those that left as long as
    /// they have work.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.slots.iter().flatten()
    }

    /// One more than the highest slot ever used: the length of per-server arrays.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The load of a server; zero if there is none.
    #[inline]
    pub fn load(&self, id: ServerId) -> Load {
        self.server(id).map_or(Load::ZERO, |server| server.load)
    }

    /// The load of a server as it would be if it had the largest share: a server of half the
    /// weight, or half warmed up, feels twice as loaded. What thresholds are compared with.
    #[inline]
    pub fn pressure(&self, id: ServerId) -> Load {
        self.server(id).map_or(Load::MAX, |server| server.pressure(self.share_max))
    }

    /// What [`Cluster::pressure`] would be with another load.
    pub(crate) fn pressure_at(&self, id: ServerId, load: Load) -> Load {
        let of = |server: &Server| load.scaled(self.share_max, server.share().max(1));
        self.server(id).map_or(Load::MAX, of)
    }

    /// The largest load of `id` whose [`Cluster::pressure`] is at most `pressure`.
    #[inline]
    pub fn load_at(&self, id: ServerId, pressure: Load) -> Load {
        let Some(server) = self.server(id) else { return Load::ZERO };
        if server.share() == self.share_max || pressure == Load::MAX {
            return pressure;
        }
        pressure.unscaled(self.share_max.max(1), server.share())
    }

    /// The usable server with the least pressure; ties go to the one not chosen for longest.
    #[inline]
    pub fn least_loaded(&self) -> Option<ServerId> {
        let (place, _) = self.ranks.iter().enumerate().min_by_key(|(_, rank)| **rank)?;
        Some(self.usable[place])
    }

    /// Whether some usable server's pressure is less than `pressure`.
    #[inline]
    pub fn any_below(&self, pressure: Load) -> bool {
        // No early exit: sixteen comparisons without a branch take less time than one surprise.
        self.ranks.iter().fold(false, |below, rank| below | (rank.0 < pressure))
    }

    /// The same among `ids`, of which those that may not be chosen are passed over.
    pub fn least_loaded_of(&self, ids: impl IntoIterator<Item = ServerId>) -> Option<ServerId> {
        let rank = |id: &ServerId| {
            (self.pressure(*id), self.server(*id).map_or(u64::MAX, |server| server.chosen))
        };
        ids.into_iter().filter(|id| self.is_usable(*id)).min_by_key(rank)
    }

    /// Work given to all servers and not finished.
    pub fn total(&self) -> Load {
        self.total
    }

    /// The sum of the usable servers' shares.
    pub fn share_total(&self) -> u64 {
        self.usable.iter().filter_map(|id| self.server(*id)).map(Server::share).sum()
    }

    /// A number that changes whenever a server joins, leaves, changes state or changes share, and
    /// when another policy takes over. It never returns to an earlier one.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Begins another epoch: promises of the policy before this one do not bind the next.
    pub(crate) fn begin_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Whether ejections are being ignored because too few servers are up.
    pub fn panic(&self) -> bool {
        self.panic
    }

    fn free_if_over(&mut self, id: ServerId) {
        let elsewhere = self.elsewhere.of(id).open;
        let slot = &mut self.slots[id.index()];
        if slot.as_ref().is_some_and(|server| server.open == 0 && elsewhere == 0) {
            *slot = None;
        }
    }

    fn server_mut(&mut self, id: ServerId) -> Option<&mut Server> {
        self.slots.get_mut(id.index())?.as_mut()
    }

    fn recount(&mut self) {
        self.epoch += 1;
        let count = |state| self.slots.iter().flatten().filter(|s| s.state == state).count();
        let (up, down, ejected) = (count(State::Up), count(State::Down), count(State::Ejected));
        let all = (up + down + ejected) as f64;
        self.panic = ejected > 0 && (up as f64) < self.panic_share * all;
        self.usable.clear();
        self.share_max = 0;
        for server in self.slots.iter_mut().flatten() {
            let usable =
                server.state == State::Up || (self.panic && server.state == State::Ejected);
            server.place = None;
            if usable {
                server.place = u16::try_from(self.usable.len()).ok();
                self.usable.push(server.id);
                self.share_max = self.share_max.max(server.share());
            }
        }
        self.ranks.resize(self.usable.len(), (Load::ZERO, 0));
        for place in 0..self.usable.len() {
            self.rank(self.usable[place]);
        }
    }

    /// Brings the rank of a server up to date with its load.
    #[inline]
    fn rank(&mut self, id: ServerId) {
        let Some(Some(server)) = self.slots.get(id.index()) else { return };
        if let Some(place) = server.place {
            let pressure = server.pressure(self.share_max);
            self.ranks[usize::from(place)] = (pressure, server.chosen);
        }
    }
}

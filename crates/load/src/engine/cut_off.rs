//! What is under way when the time is over, and what was due by then and had not even begun: it
//! counts with what it has waited until then.
//!
//! Without it a server that hangs would have no figure at all, sessions that last as long as the
//! run would be missing among those that are short, and a client that cannot keep up would tell of
//! those alone whom it kept up with.

use super::source::Pause;
use super::table::Key;
use super::tally::Waits;
use super::user::User;
use super::worker::{Beginnings, Worker, nanoseconds};
use policy::Class;

/// Sessions that had not begun of which each is looked at: their first pages have to be made,
/// which takes a microsecond or two. Of more, where they are drawn anyway, the shares of the
/// classes are theirs.
const LOOKED_AT: usize = 50_000;

/// Arrivals beyond that are drawn one by one; then twice as many together after each such number.
const DRAWN: u64 = 1_000_000;

/// So many together are drawn no more: gaps that even then are none never reach the end.
const BUNDLE_MAX: u64 = 1 << 40;

impl Worker<'_> {
    /// Counts all that has begun and is not settled, and pages that are due; how many requests
    /// that are.
    pub(super) fn cut_off(&mut self) -> u64 {
        let mut users = std::mem::replace(&mut self.users, super::table::Table::new());
        let before = self.tally.outcome.cut_off;
        let keys: Vec<Key> = users.iter().map(|(key, _)| key).collect();
        for key in keys {
            if let Some(user) = users.get_mut(key) {
                self.session_cut_off(user);
            }
        }
        self.users = users;
        self.tally.outcome.cut_off - before
    }

    fn session_cut_off(&mut self, user: &mut User) {
        let end_ns = self.now_ns;
        if user.due_ns < end_ns {
            self.tally.outcome.sessions.cut_off(user.due_ns, end_ns);
        }
        let mut page = user.page;
        if user.is_thinking() {
            if user.page_due_ns >= end_ns {
                return;
            }
            self.page_cut_off(user, page, user.page_due_ns);
        } else {
            let on_way = user.conns().iter().filter_map(|conn| self.conns.get(*conn));
            let on_way = on_way.filter_map(|conn| conn.exchange.as_ref());
            let mut numbers: Vec<u32> =
                on_way.flat_map(|exchange| exchange.asks.iter().copied()).collect();
            numbers.extend(user.unsent());
            for number in numbers {
                self.request_cut_off(user, number, user.group_due_ns);
            }
            let class = self.source.class(user.ask(0));
            self.tally.page_cut_off(class, user.page_due_ns, end_ns);
        }
        // Pages that a log has for this time wait behind the one that hangs.
        page += 1;
        while let Some(Pause::Since(gap)) = self.source.pause(user.number, page)
            && let due_ns = user.due_ns.saturating_add(nanoseconds(gap))
            && due_ns < end_ns
        {
            self.page_cut_off(user, page, due_ns);
            page += 1;
        }
    }

    /// A page was due and has not begun, and with it the requests that it begins with.
    fn page_cut_off(&mut self, user: &mut User, page: u64, due_ns: u64) {
        user.asks.clear();
        let alone = self.source.page(user.number, page, &mut user.asks);
        let first = if alone { 1 } else { user.asks.len() as u32 };
        for number in 0..first {
            self.request_cut_off(user, number, due_ns);
        }
        let class = self.source.class(user.ask(0));
        self.tally.page_cut_off(class, due_ns, self.now_ns);
    }

    fn request_cut_off(&mut self, user: &User, number: u32, due_ns: u64) {
        let ask = user.ask(number);
        let class = self.source.class(ask);
        let source = &mut self.source;
        self.tally.request_cut_off(class, (due_ns, self.now_ns), || {
            let (site, url) = source.name(ask);
            format!("{site}{url}")
        });
    }

    /// Counts the sessions that were due and have not begun, because the client did not keep up;
    /// how many of them arrived within the measured time, and how many requests of all of them
    /// were due.
    pub(super) fn not_begun(&mut self) -> (u64, u64) {
        let before = self.tally.outcome.cut_off;
        let (mut waits, mut arrived) = (Waits::new(), 0);
        // Where no more have room, these would have had none.
        let full = self.users.len() >= self.users_max;
        let endless = self.source.sessions().is_none();
        let mut classes = Vec::new();
        let mut asks = Vec::new();
        while let Some((due_ns, number)) = self.waiting()
            && !(endless && classes.len() == LOOKED_AT)
        {
            waits.add(due_ns, self.now_ns, 1);
            arrived += u64::from(due_ns >= self.from_ns);
            let mut user = User::new(number, due_ns);
            user.asks = asks;
            if !full {
                self.session_cut_off(&mut user);
            }
            if endless {
                classes.push(user.asks.first().map_or(Class::STATIC, |&it| self.source.class(it)));
            }
            asks = user.asks;
            asks.clear();
            self.next_arrival();
        }
        arrived += self.crowd(&mut waits, &classes, full);
        if full {
            self.tally.outcome.arrived += arrived;
            self.tally.outcome.pace.turned_away += arrived;
        } else {
            self.tally.not_begun(arrived, &waits);
        }
        (arrived, self.tally.outcome.cut_off - before)
    }

    /// The next session that was due and has not begun: when, and its number.
    fn waiting(&self) -> Option<(u64, u64)> {
        let Beginnings::Open { next, .. } = self.beginnings else { return None };
        next.filter(|(due_ns, _)| *due_ns < self.now_ns)
    }

    /// Counts the others, where there are more than can be looked at, with these classes in turn;
    /// how many of them arrived within the measured time.
    fn crowd(&mut self, waits: &mut Waits, classes: &[Class], full: bool) -> u64 {
        let mut kinds: Vec<(Class, Waits)> = Vec::new();
        let mut turns = classes.iter().cycle();
        let (mut arrived, mut bundle) = (0, 1);
        let mut coarser_at = None;
        while bundle < BUNDLE_MAX
            && let Some((due_ns, number)) = self.waiting()
            && let Some(class) = turns.next()
        {
            waits.add(due_ns, self.now_ns, bundle);
            arrived += if due_ns >= self.from_ns { bundle } else { 0 };
            let kind = kinds.iter_mut().find(|(known, _)| known == class);
            match kind {
                Some((_, waits)) => waits.add(due_ns, self.now_ns, bundle),
                None => {
                    let mut waits = Waits::new();
                    waits.add(due_ns, self.now_ns, bundle);
                    kinds.push((*class, waits));
                }
            }
            let at = *coarser_at.get_or_insert(number + DRAWN);
            if number >= at
                && let Beginnings::Open { times, .. } = &mut self.beginnings
            {
                bundle = times.bundle();
                coarser_at = Some(number + DRAWN);
            }
            self.next_arrival();
        }
        for (class, waits) in kinds.iter().filter(|_| !full) {
            self.tally.crowd_cut_off(*class, waits);
        }
        arrived
    }
}

//! What is under way when the time is over: it counts with what it has waited until then.
//!
//! Without it a server that hangs would have no figure at all, and sessions that last as long as
//! the run would be missing among those that are short.

use super::source::Pause;
use super::table::Key;
use super::user::User;
use super::worker::{Worker, nanoseconds};

impl Worker<'_> {
    /// Counts all that is due and not settled; how many requests that are.
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
        if user.is_thinking() {
            return;
        }
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
        // Pages that a log has for this time wait behind the one that hangs.
        let mut page = user.page + 1;
        while let Some(Pause::Since(gap)) = self.source.pause(user.number, page)
            && let due_ns = user.due_ns.saturating_add(nanoseconds(gap))
            && due_ns < end_ns
        {
            user.asks.clear();
            self.source.page(user.number, page, &mut user.asks);
            for number in 0..user.asks.len() as u32 {
                self.request_cut_off(user, number, due_ns);
            }
            let class = self.source.class(user.ask(0));
            self.tally.page_cut_off(class, due_ns, end_ns);
            page += 1;
        }
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
}

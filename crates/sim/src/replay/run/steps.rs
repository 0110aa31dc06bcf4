//! Runs in which entering a disk is an event of its own, and servers report as things happen.

use super::{Run, active};
use crate::replay::lanes::after;
use policy::{Instant, ServerId};

impl Run {
    /// Has a request enter the disk whose CPU work is done; false when it has no such wish.
    pub(super) fn enter_disk(&mut self, id: u32) -> bool {
        let now = self.now;
        let open = self.open.get_mut(id).expect("a request ends once");
        let disk_ns = std::mem::take(&mut open.disk_ns);
        if disk_ns == 0 {
            return false;
        }
        let (server, request, reads) = (open.ticket.server, open.ticket.request, open.reads);
        let (miss_wait_ns, wait_ns) = (open.miss_wait_ns, open.wait_ns);
        let station = &mut self.servers[server.index()];
        let read = after(station.enter_disk(now, disk_ns), miss_wait_ns);
        let joined = if reads { station.read_known(request.target, read) } else { Vec::new() };
        self.settle(id, server, (request.at, after(read, wait_ns)));
        for (id, computed) in joined {
            let open = self.open.get(id).expect("who waits for a read has not ended");
            let done = after(computed.max(read), open.wait_ns);
            self.settle(id, server, (open.ticket.request.at, done));
        }
        if self.timely {
            self.report_queues(server);
        }
        true
    }

    /// It is known when a request that came at the one time is answered: at the other.
    fn settle(&mut self, id: u32, server: ServerId, (came, done): (Instant, Instant)) {
        self.ends.enter(done, id);
        self.timed(server, done.0 - came.0);
    }

    /// Has a server say how long its queues are.
    pub(super) fn report_queues(&mut self, id: ServerId) {
        let active = active(self.clerk.cluster().load(id));
        let report = self.servers[id.index()].queues(self.now, active);
        self.clerk.report(id, report);
    }
}

#[cfg(test)]
mod tests {
    use super::super::READ_QUEUES;
    use super::*;
    use crate::replay::{Demand, Outcome, Pace, Setup};
    use core::time::Duration;
    use model::CachePolicy;
    use policy::{Class, Dice, Entry, POLICIES, Params};

    /// Requests at odd times for targets of which the cache holds some, one core, one disk.
    fn play(entry: &'static Entry, ways: (bool, bool)) -> Outcome {
        play_at(entry, Pace::Open { speed: 1.0 }, ways)
    }

    fn play_at(entry: &'static Entry, pace: Pace, (stepped, timely): (bool, bool)) -> Outcome {
        let setup = Setup {
            policy: entry,
            params: Params::new(entry.params),
            servers: 4,
            cache_bytes: 200_000,
            cache_policy: CachePolicy::Lru,
            cores: 1,
            disks: 1,
            pace,
            grain: Duration::ZERO,
            seed: 1,
        };
        let mut dice = Dice::new(9);
        let mut at = 0;
        let mut demand = || {
            at += dice.below(4_000_000) as u64;
            let target = dice.below(1 + dice.clone().below(300)) as u32;
            let size_bytes = 1_000 + u64::from(target) * 37 % 9_000;
            Demand {
                at: Instant(at),
                target,
                client: dice.below(40) as u32,
                size_bytes,
                reply_bytes: size_bytes,
                cpu_ns: 500_000 + dice.below(2_000_000) as u64,
                disk_ns: 9_000_000 + dice.below(1_000_000) as u64,
                wait_ns: 0,
                miss_wait_ns: 0,
                cacheable: 1.0,
                judged: false,
                class: Class::STATIC,
            }
        };
        let demands: Vec<Demand> = (0..8_000).map(|_| demand()).collect();
        let mut run = Run::with(&setup, stepped, timely);
        run.feed(&demands);
        let mut outcome = run.finish(&[]);
        // A slice is given work when it begins on one way, when it comes on the other.
        outcome.slices.clear();
        outcome
    }

    #[test]
    fn with_one_core_it_does_not_matter_whether_entering_the_disk_is_an_event() {
        for entry in POLICIES.iter().filter(|entry| entry.name != "lard-ext") {
            let (ahead, stepped) = (play(entry, (false, false)), play(entry, (true, false)));
            assert!(ahead == stepped, "{}", entry.name);
            assert!(ahead.hits > 500 && ahead.coalesced > 10, "{}", entry.name);
        }
    }

    #[test]
    fn who_reads_queues_in_reports_and_nobody_else_sees_the_truth_at_once() {
        for entry in POLICIES {
            let (late, timely) = (play(entry, (true, false)), play(entry, (true, true)));
            let reads = READ_QUEUES.contains(&entry.name);
            assert_eq!(late != timely, reads, "{}", entry.name);
        }
    }

    #[test]
    fn policies_that_read_queues_do_better_with_true_ones() {
        for name in READ_QUEUES {
            let entry = policy::entry(name).expect("it is one of POLICIES");
            let rate = |timely| {
                let pace = Pace::Closed { limit: Some(64) };
                play_at(entry, pace, (true, timely)).throughput_rps()
            };
            let (late, timely) = (rate(false), rate(true));
            let least = if name == "lard-ext" { 1.5 } else { 1.0 };
            assert!(timely > least * late, "{name}: {timely} and {late}");
        }
    }
}

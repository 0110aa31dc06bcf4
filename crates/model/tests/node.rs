//! A node driven by a calendar in virtual time, as the simulator drives it: its answers must come
//! when the papers' arithmetic says, and every request that enters must leave once.

use core::time::Duration;
use model::{Agenda, Ask, Calendar, Config, CpuCost, DiskCost, Node, Part, Reading, Source, Wake};
use policy::{Class, Dice, Instant, TargetId};
use proptest::prelude::*;

/// A node with its calendar: the smallest driver there is.
struct Driver {
    node: Node,
    calendar: Calendar<Wake>,
    agenda: Agenda,
    dice: Dice,
    parts: Vec<(Instant, Part)>,
}

impl Driver {
    fn new(config: Config) -> Self {
        let (node, dice) = (Node::new(config), Dice::new(1));
        let (calendar, agenda) = (Calendar::default(), Agenda::default());
        Self { node, calendar, agenda, dice, parts: Vec::new() }
    }

    fn admit(&mut self, at: Instant, ask: Ask) -> Source {
        self.run(at);
        let source = self.node.admit(at, ask, &mut self.dice, &mut self.agenda);
        self.take(at);
        source
    }

    fn run(&mut self, until: Instant) {
        while let Some((at, wake)) = self.calendar.pop(until) {
            self.node.step(at, wake, &mut self.agenda);
            self.take(at);
        }
    }

    fn take(&mut self, now: Instant) {
        for (at, wake) in self.agenda.wakes.drain(..) {
            assert!(at >= now, "nothing is due before it is known");
            self.calendar.enter(at, wake);
        }
        self.parts.extend(self.agenda.parts.drain(..).map(|part| (now, part)));
    }

    /// When the last byte of `tag` left.
    fn end(&self, tag: u64) -> Instant {
        let mut ends = self.parts.iter().filter(|(_, p)| p.tag == tag && p.end.is_some());
        let end = ends.next().expect("every request leaves").0;
        assert!(ends.next().is_none(), "and leaves once");
        end
    }
}

fn us(time_us: u64) -> Instant {
    Instant::ZERO.plus(Duration::from_micros(time_us))
}

fn file(tag: u64, target: u64, bytes: u64) -> Ask {
    Ask { tag, target: TargetId(target), bytes, class: Class::STATIC, head_only: false }
}

fn apache(reading: Reading) -> Config {
    Config { cpu: CpuCost::APACHE, disk: DiskCost::ASPLOS, reading, ..Config::default() }
}

#[test]
fn a_miss_is_computed_then_read_then_sent_and_a_hit_only_computed_and_sent() {
    let mut driver = Driver::new(apache(Reading::Blocks));
    assert_eq!(driver.admit(us(0), file(1, 7, 8192)), Source::Miss);
    driver.run(Instant::NEVER);
    assert_eq!(driver.end(1), us(527 + 28_820 + 384));
    let line = driver.parts[0].1.end.unwrap();
    assert_eq!((line.computed, line.first_byte), (us(527), us(527 + 28_820 + 24)));

    assert_eq!(driver.admit(us(100_000), file(2, 7, 8192)), Source::Hit);
    driver.run(Instant::NEVER);
    assert_eq!(driver.end(2), us(100_000 + 527 + 384));
    let line = driver.parts[1].1.end.unwrap();
    assert_eq!((line.computed, line.first_byte), (us(100_527), us(100_551)));
}

#[test]
fn a_block_is_sent_while_the_next_is_read() {
    let bytes = 3 * 44 * 1024;
    let (block_us, send_us) = (28_000 + 11 * 410, 88 * 24);
    let mut driver = Driver::new(apache(Reading::Blocks));
    driver.admit(us(0), file(1, 7, bytes));
    driver.run(Instant::NEVER);
    let read_us = 28_000 + 33 * 410 + 2 * 14_000;
    assert_eq!(driver.end(1), us(527 + read_us + send_us), "only the last block's sending shows");
    assert_eq!(driver.parts.len(), 3);
    assert_eq!(driver.parts[0].0, us(527 + block_us + send_us));

    let mut whole = Driver::new(apache(Reading::Whole));
    whole.admit(us(0), file(1, 7, bytes));
    whole.run(Instant::NEVER);
    assert_eq!(whole.end(1), us(527 + read_us + 3 * send_us));
}

#[test]
fn a_small_read_gets_the_disk_between_the_blocks_of_a_large_one() {
    let end_of_small = |reading| {
        let mut driver = Driver::new(apache(reading));
        driver.admit(us(0), file(1, 1, 10 * 44 * 1024));
        driver.admit(us(1_000), file(2, 2, 1024));
        driver.run(Instant::NEVER);
        driver.end(2)
    };
    assert!(end_of_small(Reading::Blocks) < us(100_000));
    assert!(end_of_small(Reading::Whole) > us(200_000));
}

#[test]
fn concurrent_misses_on_a_target_cost_one_read() {
    let mut driver = Driver::new(apache(Reading::Blocks));
    assert_eq!(driver.admit(us(0), file(0, 7, 8192)), Source::Miss);
    for tag in 1..50 {
        assert_eq!(driver.admit(us(tag), file(tag, 7, 8192)), Source::Coalesced);
    }
    driver.run(Instant::NEVER);
    assert_eq!(driver.node.disk().entered(), 1);
    let counts = driver.node.counts();
    assert_eq!((counts.misses, counts.coalesced, counts.finished), (1, 49, 50));
    // Fifty heads pass the CPU while the disk reads; then fifty bodies do.
    assert_eq!(driver.end(49), us(527 + 28_820 + 50 * 384));
}

#[test]
fn whoever_joins_a_long_read_late_is_sent_what_is_there_and_then_the_rest() {
    let (bytes, read_us) = (3 * 44 * 1024, 28_000 + 33 * 410 + 2 * 14_000);
    let mut driver = Driver::new(apache(Reading::Blocks));
    driver.admit(us(0), file(1, 7, bytes));
    assert_eq!(driver.admit(us(60_000), file(2, 7, bytes)), Source::Coalesced);
    driver.run(Instant::NEVER);
    let first = driver.parts.iter().find(|(_, part)| part.tag == 2).unwrap().0;
    assert!(first < us(64_000), "two blocks were in memory already: {first:?}");
    assert_eq!(driver.end(2), us(527 + read_us + 2 * 88 * 24));
}

#[test]
fn a_database_query_uses_the_disk_every_time_and_the_cache_never() {
    let mut driver = Driver::new(apache(Reading::Blocks));
    for tag in 0..10 {
        let ask = Ask { class: Class::DISK, ..file(tag, 7, 2048) };
        assert_eq!(driver.admit(us(tag * 100_000), ask), Source::Bypass);
    }
    driver.run(Instant::NEVER);
    // 0.527 + 1 ms CPU, three accesses of 13.63 ms, and 4 * 24 us to send.
    assert_eq!(driver.end(0), us(527 + 1_000 + 40_890 + 96));
    assert_eq!((driver.node.disk().entered(), driver.node.cache().targets()), (10, 0));
}

#[test]
fn a_head_request_uses_neither_disk_nor_cache() {
    let mut driver = Driver::new(apache(Reading::Blocks));
    driver.admit(us(0), Ask { head_only: true, ..file(1, 7, 1 << 20) });
    driver.run(Instant::NEVER);
    assert_eq!(driver.end(1), us(527));
    assert_eq!((driver.node.disk().entered(), driver.node.cache().targets()), (0, 0));
}

#[test]
fn a_saturated_node_serves_as_many_as_the_paper_says() {
    // Vector T7: 8 KB from the cache, a connection for each request.
    for (set, rate) in
        [(CpuCost::ASPLOS, 1075.0), (CpuCost::APACHE, 682.0), (CpuCost::FLASH, 1248.0)]
    {
        let mut driver = Driver::new(Config { cpu: set, ..Config::default() });
        driver.admit(us(0), file(0, 7, 8192));
        driver.run(Instant::NEVER);
        let start = us(1_000_000);
        for tag in 1..=1000 {
            driver.node.connect(start);
            driver.admit(start, file(tag, 7, 8192));
            driver.node.close(start);
        }
        driver.run(Instant::NEVER);
        let span = driver.node.cpu().free_at().since(start).as_secs_f64();
        assert!((1000.0 / span - rate).abs() < 1.0, "{}", 1000.0 / span);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_request_leaves_once_with_all_its_bytes(
        asks in prop::collection::vec((0..20_000u64, 0..12u64, 0..5u8, any::<bool>()), 1..150),
        blocks in any::<bool>(),
    ) {
        let reading = if blocks { Reading::Blocks } else { Reading::Whole };
        let mut driver = Driver::new(Config { cache_bytes: 300_000, ..apache(reading) });
        let (mut now_us, mut bytes_all) = (0, 0);
        for (tag, (gap_us, target, class, head_only)) in asks.iter().enumerate() {
            now_us += gap_us;
            let bytes = target * target * 1_000;
            let plain = file(tag as u64, *target, bytes);
            let ask = Ask { class: Class(*class), head_only: *head_only, ..plain };
            driver.admit(us(now_us), ask);
            bytes_all += if *head_only { 0 } else { bytes };
        }
        driver.run(Instant::NEVER);
        for tag in 0..asks.len() as u64 {
            driver.end(tag);
        }
        let counts = driver.node.counts();
        prop_assert_eq!(counts.finished, asks.len() as u64);
        prop_assert_eq!(counts.sent_bytes, bytes_all);
        let sources = counts.hits + counts.misses + counts.coalesced + counts.bypassed;
        prop_assert_eq!(sources, counts.requests);
        prop_assert_eq!(driver.node.active(), 0);
        prop_assert!(driver.node.cache().bytes() <= 300_000);
        for (at, part) in &driver.parts {
            if let Some(line) = part.end {
                prop_assert!(line.arrived <= line.computed && line.computed <= line.first_byte);
                prop_assert!(line.first_byte <= line.last_byte && line.last_byte == *at);
            }
        }
    }
}

#[test]
fn answers_of_one_target_may_differ_in_length_while_it_is_being_read() {
    for reading in [Reading::Blocks, Reading::Whole] {
        let mut driver = Driver::new(apache(reading));
        assert_eq!(driver.admit(us(0), file(1, 7, 400_000)), Source::Miss);
        let joined = [(2, 1_000), (3, 60_000), (4, 900_000)];
        for (tag, bytes) in joined {
            assert_eq!(driver.admit(us(100_000), file(tag, 7, bytes)), Source::Coalesced);
        }
        driver.run(Instant::NEVER);
        let read = driver.end(1);
        for (tag, bytes) in joined {
            assert!(driver.end(tag) > us(100_000), "{tag}");
            let last = driver.parts.iter().rev().find(|(_, part)| part.tag == tag);
            assert_eq!(last.map(|(_, part)| part.sent_bytes), Some(bytes));
        }
        assert!(read > us(100_000), "they came while it was read");
        assert_eq!(driver.node.active(), 0);
    }
}

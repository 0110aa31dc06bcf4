//! Real time that a node takes for a request on paper, with 16,384 targets of 8 KB: all in the
//! cache, or none. A simulator of 2,000,000 requests/s has 500 ns for each, policy included.

use criterion::{Criterion, criterion_group, criterion_main};
use model::{Agenda, Ask, Calendar, Config, Node};
use policy::{Class, Dice, Instant, TargetId};
use std::hint::black_box;

const TARGETS: u64 = 16_384;
const BYTES: u64 = 8 * 1024;

fn request(c: &mut Criterion) {
    for (name, cache_bytes) in [("hit", TARGETS * BYTES), ("miss", 64 * BYTES)] {
        let mut node = Node::new(Config { cache_bytes, ..Config::default() });
        let (mut calendar, mut agenda, mut dice) =
            (Calendar::default(), Agenda::default(), Dice::new(1));
        let (mut now, mut tag) = (Instant::ZERO, 0);
        let mut exchange = || {
            tag += 1;
            let target = TargetId(tag % TARGETS);
            let ask = Ask { tag, target, bytes: BYTES, class: Class::STATIC, head_only: false };
            node.admit(now, ask, &mut dice, &mut agenda);
            loop {
                for (at, wake) in agenda.wakes.drain(..) {
                    calendar.enter(at, wake);
                }
                let Some((at, wake)) = calendar.pop(Instant::NEVER) else { break };
                now = at;
                node.step(now, wake, &mut agenda);
            }
            black_box(agenda.parts.pop());
            agenda.parts.clear();
        };
        for _ in 0..2 * TARGETS {
            exchange();
        }
        c.bench_function(&format!("node/{name}"), |b| b.iter(&mut exchange));
    }
}

criterion_group!(benches, request);
criterion_main!(benches);

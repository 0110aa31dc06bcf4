//! The thread that writes down what the kernel answered by itself, as far as it is known.

use super::asking::{delivered, name};
use super::bridge::Bridge;
use super::fabric::Repeated;
use distributor::journal::Choice;
use distributor::{Passed, Scribe, Shared, say};
use policy::{Expect, Request, Why};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the thread waits before it looks whether it is to end, and hands its lines on.
const PATIENCE: Duration = Duration::from_millis(200);

/// Writes repeated decisions down until `stop`.
pub(super) fn run(shared: &Arc<Shared>, bridge: &Bridge, stop: &AtomicBool) {
    let mut scribe = Scribe::new(&shared.journal);
    while !stop.load(Ordering::Relaxed) {
        let mut note = |told| write_down(shared, bridge, &told, &mut scribe);
        if let Err(error) = bridge.fabric().told(PATIENCE, &mut note) {
            say(format_args!("one way: what the kernel repeats is not logged any more: {error}"));
            break;
        }
        scribe.flush();
    }
}

/// One decision: the texts of the request stayed in the kernel.
pub(super) fn write_down(
    shared: &Shared,
    bridge: &Bridge,
    told: &Repeated,
    scribe: &mut Scribe<'_>,
) {
    let Some(slot) = told.slot else { return };
    let live = shared.live.load();
    let passed = Passed {
        question: Request { at: told.at, target: told.target, class: told.class, holder: None },
        client: told.client.ip().to_canonical(),
        method: "",
        host: "",
        path: "",
        version: "",
        referer: "",
        agent: "",
        server: &name(bridge, &live, slot),
        policy: &live.policy,
        class: live.rules.classes().name(told.class),
        why: Some(if told.wheel { Why::Rotation } else { Why::Affinity }),
        choice: Choice::default(),
        expect: Expect::Unknown,
        delivered: delivered(told.delivery, told.holder, slot),
    };
    scribe.note(&passed, live.settings.access);
}

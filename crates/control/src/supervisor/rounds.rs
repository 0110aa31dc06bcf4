//! The supervisor's rounds: one loop that starts probes when they are due, takes their results,
//! and steps ejections and slow starts. Dropping the future ends every probe under way.

use super::{Books, Check, Supervisor};
use crate::probe::Fault;
use policy::Dice;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tokio::task::JoinSet;

/// Probes under way at once at most; the others wait for their turn.
const PROBES_MAX: usize = 256;
/// How often ejections that end and slow starts are stepped: a ramp of seconds looks smooth.
const STEP: Duration = Duration::from_millis(250);

/// A probe that ended.
struct Probed {
    server: String,
    serial: u64,
    interval: Duration,
    found: Result<String, Fault>,
    took: Duration,
}

pub(super) async fn run(supervisor: &Supervisor) {
    let mut dice = Dice::new(RandomState::new().hash_one("probes"));
    let mut probes = JoinSet::new();
    let mut ended = None;
    loop {
        let wait = round(supervisor, &mut probes, ended.take(), &mut dice);
        tokio::select! {
            Some(probe) = probes.join_next() => {
                ended = Some(probe.expect("a probe neither panics nor is ended alone"));
            }
            () = supervisor.wake.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// One round; returns how long nothing is due.
fn round(
    supervisor: &Supervisor,
    probes: &mut JoinSet<Probed>,
    ended: Option<Probed>,
    dice: &mut Dice,
) -> Duration {
    let mut books = supervisor.books();
    let Books { roster, events } = &mut *books;
    let now = supervisor.now();
    if let Some(Probed { server, serial, interval, found, took }) = ended {
        let first = roster.get(&server).is_some_and(|watch| !watch.probed);
        let again_at = now.plus(jittered(interval, first, dice));
        roster.probed(&server, serial, &found, took, now, again_at);
    }
    roster.eject(now);
    supervisor.tell(roster, events);
    let mut wait = STEP;
    for watch in roster.watches_mut() {
        let (Some(at), Some(check)) = (watch.probe_at, watch.spec.check.clone()) else { continue };
        if at > now {
            wait = wait.min(at.since(now));
        } else if probes.len() < PROBES_MAX {
            watch.probe_at = None;
            let (server, address) = (watch.spec.name.clone(), watch.spec.address.clone());
            probes.spawn(probe(server, address, watch.serial, check));
        }
    }
    supervisor.close(books);
    wait
}

async fn probe(server: String, address: String, serial: u64, check: Check) -> Probed {
    let began = tokio::time::Instant::now();
    let found = check.probe.ask(&address, check.time_max).await;
    Probed { server, serial, interval: check.interval, found, took: began.elapsed() }
}

/// The time to the next probe: a tenth more or less, so that servers are not probed in lockstep.
/// After the first probe, which all servers get at the start, anything from nothing to the whole.
fn jittered(interval: Duration, first: bool, dice: &mut Dice) -> Duration {
    let factor = if first { dice.unit() } else { 0.9 + 0.2 * dice.unit() };
    interval.mul_f64(factor)
}

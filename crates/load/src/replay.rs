//! Plays a plan against a server.

use crate::client::{Shared, run};
use crate::connection::Wires;
use crate::watch::TICK;
use crate::{Options, Report};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::MissedTickBehavior;
use workload::Plan;

/// Asks the server everything that `plan` holds and reports what came of it.
///
/// `progress` is called about 20 times a second with what is known so far. When `stop` is done, no
/// more is sent, connections are closed, and the report says what was settled until then; give
/// [`std::future::pending`] for a replay that runs to its end.
///
/// Runs on the caller's thread, within a tokio runtime that has I/O and time enabled.
pub async fn replay(
    plan: Arc<Plan>,
    options: Options,
    mut progress: impl FnMut(&Report),
    stop: impl Future<Output = ()>,
) -> Report {
    let sessions = options.sessions.clamp(1, plan.sessions.len().max(1));
    let planned = plan.trace.requests.len() as u64;
    let began = Instant::now();
    let shared = Rc::new(Shared {
        plan,
        wires: Wires::new(sessions, options.timeout),
        options,
        report: RefCell::new(Report::new(planned)),
        next: Cell::new(0),
    });
    let local = LocalSet::new();
    let mut clients = JoinSet::new();
    for slot in 0..sessions {
        clients.spawn_local_on(run(Rc::clone(&shared), slot), &local);
    }
    local.run_until(watch(&shared, &mut clients, &mut progress, stop, began)).await;
    // The clients are gone, and with them every other reference.
    let mut report = shared.report.replace(Report::new(0));
    report.took = began.elapsed();
    report.stopped = report.settled() < report.planned;
    report
}

/// Keeps the clock going until every client has ended.
async fn watch(
    shared: &Shared,
    clients: &mut JoinSet<()>,
    progress: &mut impl FnMut(&Report),
    stop: impl Future<Output = ()>,
    began: Instant,
) {
    let watch = &shared.wires.watch;
    let mut stop = pin!(stop);
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = &mut stop, if !watch.stopping() => watch.stop(),
            _ = clock.tick() => {
                watch.advance();
                let mut report = shared.report.borrow_mut();
                report.took = began.elapsed();
                progress(&report);
            }
            ended = clients.join_next() => match ended {
                Some(Ok(())) => {}
                // A client that panicked is a bug of ours or of the content check: no report then.
                Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
                None => return,
            },
        }
    }
}

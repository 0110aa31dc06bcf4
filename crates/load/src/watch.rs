//! Time-outs and the end of a replay, for all sessions together.
//!
//! A timer for each request would cost more than the request's own work. So one clock ticks for all
//! of them, a waiting session notes by which tick it wants to have heard something, and the few
//! that are late are woken.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How often the clock ticks: time-outs are late by up to two of these.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Why a session stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Nothing came in time.
    TimedOut,
    /// The replay is being stopped.
    Stopped,
}

/// The clock and who waits on it.
#[derive(Debug)]
pub(crate) struct Watch {
    tick: Cell<u64>,
    stopping: Cell<bool>,
    slots: RefCell<Vec<Slot>>,
}

#[derive(Clone, Debug)]
struct Slot {
    late_at: u64,
    waker: Option<Waker>,
}

impl Watch {
    /// A clock for `count` sessions at a time.
    pub(crate) fn new(count: usize) -> Self {
        let slots = vec![Slot { late_at: u64::MAX, waker: None }; count];
        Self { tick: Cell::new(0), stopping: Cell::new(false), slots: RefCell::new(slots) }
    }

    /// Whether the replay is being stopped.
    pub(crate) fn stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Moves the clock on by one tick and wakes who is late.
    pub(crate) fn advance(&self) {
        self.tick.set(self.tick.get() + 1);
        for slot in self.slots.borrow_mut().iter_mut() {
            if slot.late_at <= self.tick.get() {
                slot.waker.take().into_iter().for_each(Waker::wake);
            }
        }
    }

    /// Ends every wait, now and later.
    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        for slot in self.slots.borrow_mut().iter_mut() {
            slot.waker.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Waits for `poll` on behalf of session `slot`, for about `limit`, or without a limit.
    pub(crate) async fn wait<T>(
        &self,
        slot: usize,
        limit: Option<Duration>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Result<T, Interrupt> {
        let ticks = |limit: Duration| {
            u64::try_from(limit.as_nanos().div_ceil(TICK.as_nanos())).unwrap_or(u64::MAX)
        };
        let late_at = limit.map_or(u64::MAX, |limit| {
            // One more, for the tick that is under way.
            self.tick.get().saturating_add(ticks(limit)).saturating_add(1)
        });
        poll_fn(|context| {
            // What is there is taken even if it came at the last moment.
            if let Poll::Ready(value) = poll(context) {
                return Poll::Ready(Ok(value));
            }
            if self.stopping.get() {
                return Poll::Ready(Err(Interrupt::Stopped));
            }
            if self.tick.get() >= late_at {
                return Poll::Ready(Err(Interrupt::TimedOut));
            }
            let slot = &mut self.slots.borrow_mut()[slot];
            slot.late_at = late_at;
            match &slot.waker {
                Some(waker) if waker.will_wake(context.waker()) => {}
                _ => slot.waker = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }
}

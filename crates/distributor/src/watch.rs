//! Time-outs without a timer per request: each task writes its deadline into a cell, and one tick
//! of the worker looks at all cells.
//!
//! Arming costs one store; no clock is read and nothing is queued. The price is precision: a
//! deadline fires up to two ticks late, which does not matter to time-outs of seconds. Scanning
//! 10,000 cells takes some tens of microseconds per tick.

use crate::sys;
use core::cell::{Cell, RefCell};
use core::task::{Context, Waker};
use core::time::Duration;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use tokio::io::unix::AsyncFd;

/// How often deadlines are looked at.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// What makes the ticks: a timer of the kernel's. A reactor with timers of its own would read the
/// clock twice whenever it waits.
pub(crate) struct Ticks(AsyncFd<OwnedFd>);

impl Ticks {
    /// Starts them, on a thread that has a reactor.
    pub(crate) fn start() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        let every = Itimerspec { it_interval: tick, it_value: tick };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &every)?;
        Ok(Self(sys::readiness(timer)?))
    }

    /// Waits for the next one. Those that were missed are not made up for.
    pub(crate) async fn next(&self) {
        let mut ready = self.0.readable().await.expect("the reactor outlives its tasks");
        // It gives how many there were, or that there was none after all: no matter.
        let _count = rustix::io::read(&self.0, &mut [0; 8]);
        ready.clear_ready();
    }
}

/// One task's deadline.
#[derive(Default)]
pub(crate) struct Watch {
    /// In worker ticks; zero when not armed.
    deadline: Cell<u64>,
    fired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The deadlines of a worker and its coarse clock.
#[derive(Default)]
pub(crate) struct Watches {
    now: Cell<u64>,
    slots: RefCell<Vec<Option<Rc<Watch>>>>,
    free: RefCell<Vec<usize>>,
}

/// A watch that is looked at for as long as this lives.
pub(crate) struct Watched {
    watch: Rc<Watch>,
    slot: usize,
    watches: Rc<Watches>,
}

impl Watches {
    /// A new watch, not armed.
    pub(crate) fn watch(self: &Rc<Self>) -> Watched {
        let watch = Rc::new(Watch::default());
        let mut slots = self.slots.borrow_mut();
        let slot = self.free.borrow_mut().pop().unwrap_or_else(|| {
            slots.push(None);
            slots.len() - 1
        });
        slots[slot] = Some(Rc::clone(&watch));
        Watched { watch, slot, watches: Rc::clone(self) }
    }

    /// Moves the coarse clock on by one tick and wakes every task whose deadline has passed.
    pub(crate) fn tick(&self) {
        let now = self.now.get() + 1;
        self.now.set(now);
        for watch in self.slots.borrow().iter().flatten() {
            if watch.deadline.get() != 0 && watch.deadline.get() <= now {
                watch.fire();
            }
        }
    }

    /// Wakes every task, deadline or not, so that it looks at the worker's state.
    pub(crate) fn wake_all(&self) {
        for watch in self.slots.borrow().iter().flatten() {
            watch.wake();
        }
    }

    /// The coarse clock, in ticks.
    pub(crate) fn now(&self) -> u64 {
        self.now.get()
    }
}

impl Watch {
    fn fire(&self) {
        self.deadline.set(0);
        self.fired.set(true);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Watched {
    /// Sets the deadline `patience` from now, instead of any before.
    pub(crate) fn arm(&self, patience: Duration) {
        self.watch.deadline.set(self.watches.now() + ticks(patience));
        self.watch.fired.set(false);
    }

    /// No deadline.
    pub(crate) fn disarm(&self) {
        self.watch.deadline.set(0);
        self.watch.fired.set(false);
    }

    /// Whether the deadline has passed. If not, the task is woken when it does: to be called
    /// before every return of `Pending`.
    pub(crate) fn expired(&self, cx: &mut Context<'_>) -> bool {
        if self.watch.fired.get() {
            return true;
        }
        let mut waker = self.watch.waker.borrow_mut();
        match &mut *waker {
            Some(known) if known.will_wake(cx.waker()) => {}
            other => *other = Some(cx.waker().clone()),
        }
        false
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watches.slots.borrow_mut()[self.slot] = None;
        self.watches.free.borrow_mut().push(self.slot);
    }
}

/// `patience` in ticks, rounded up, and one more because the present tick has begun already.
pub(crate) fn ticks(patience: Duration) -> u64 {
    let whole = patience.as_nanos().div_ceil(TICK.as_nanos());
    u64::try_from(whole).unwrap_or(u64::MAX / 2).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_deadline_fires_once_and_never_early() {
        let watches = Rc::new(Watches::default());
        let watched = watches.watch();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut cx = Context::from_waker(&waker);
        watched.arm(TICK * 2);
        assert!(!watched.expired(&mut cx));
        watches.tick();
        watches.tick();
        assert!(!watched.expired(&mut cx), "two ticks may span less than two whole periods");
        watches.tick();
        assert!(watched.expired(&mut cx));
        watches.tick();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        watched.arm(TICK);
        assert!(!watched.expired(&mut cx), "arming again forgets the old deadline");
    }

    #[test]
    fn slots_are_used_again() {
        let watches = Rc::new(Watches::default());
        for _ in 0..1000 {
            drop(watches.watch());
        }
        assert_eq!(watches.slots.borrow().len(), 1);
    }
}

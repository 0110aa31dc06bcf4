//! The time of a run, and one timer of the kernel for whatever is due next.
//!
//! The kernel's high-resolution timer: waits of epoll itself may be late by a thousandth of their
//! length, which for a user who thinks is as much as a page takes.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::time::Instant;

/// A clock and a timer.
#[derive(Debug)]
pub(crate) struct Clock {
    zero: Instant,
    timer: OwnedFd,
    /// When it will go off, at the latest.
    armed_ns: u64,
}

impl Clock {
    /// Counts from `zero` on.
    pub(crate) fn new(zero: Instant) -> rustix::io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { zero, timer, armed_ns: u64::MAX })
    }

    /// Nanoseconds since the run began.
    pub(crate) fn now_ns(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64
    }

    /// Makes the timer go off at `at_ns` or before. False: that time has come.
    pub(crate) fn arm(&mut self, at_ns: u64, now_ns: u64) -> bool {
        if at_ns <= now_ns {
            return false;
        }
        if at_ns < self.armed_ns {
            let left_ns = at_ns - now_ns;
            let value = Timespec {
                tv_sec: (left_ns / 1_000_000_000) as i64,
                tv_nsec: (left_ns % 1_000_000_000) as _,
            };
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let once = Itimerspec { it_interval: never, it_value: value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)
                .expect("a timer takes any time that is not negative");
            self.armed_ns = at_ns;
        }
        true
    }

    /// The timer went off. It is watched edge-triggered, so it need not be read to be silent.
    pub(crate) fn rang(&mut self) {
        self.armed_ns = u64::MAX;
    }
}

impl AsFd for Clock {
    /// The timer, readable when it went off.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

/// Nanoseconds that this thread has had a processor.
pub(crate) fn thread_cpu_ns() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

//! The time of a run, and one timer of the kernel for whatever is due next.
//!
//! The kernel's high-resolution timer: waits of epoll itself may be late by a thousandth of their
//! length, which for a user who thinks is as much as a page takes.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::fs::File;
use std::os::unix::fs::FileExt;
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

/// What a thread had of the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Processor {
    /// Nanoseconds that it ran.
    pub(crate) ran_ns: u64,
    /// Nanoseconds that it could have run, and another did.
    pub(crate) waited_ns: u64,
}

impl Processor {
    /// Adds what came between two readings.
    pub(crate) fn add_since(&mut self, before: Self, now: Self) {
        self.ran_ns += now.ran_ns.saturating_sub(before.ran_ns);
        self.waited_ns += now.waited_ns.saturating_sub(before.waited_ns);
    }
}

/// The scheduler's account of the thread that opened it (Documentation/scheduler/sched-stats.rst).
/// A kernel that keeps none says nothing of waiting.
#[derive(Debug)]
pub(crate) struct Account(Option<File>);

impl Account {
    /// Of the calling thread, with what is in it now.
    pub(crate) fn begin() -> (Self, Processor) {
        let account = Self(File::open("/proc/thread-self/schedstat").ok());
        let now = account.read();
        (account, now)
    }

    pub(crate) fn read(&self) -> Processor {
        let ran = clock_gettime(ClockId::ThreadCPUTime);
        let ran_ns = ran.tv_sec as u64 * 1_000_000_000 + ran.tv_nsec as u64;
        Processor { ran_ns, waited_ns: self.waited_ns().unwrap_or(0) }
    }

    fn waited_ns(&self) -> Option<u64> {
        let mut line = [0; 96];
        let length = self.0.as_ref()?.read_at(&mut line, 0).ok()?;
        let line = std::str::from_utf8(&line[..length]).ok()?;
        // Time on a processor, time waiting for one, and how many turns that was.
        line.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

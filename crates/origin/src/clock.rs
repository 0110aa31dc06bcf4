//! Real time, model time, and one timer for whatever is due next.
//!
//! The runtime's timers have a granularity of 1 ms, a disk access at a twentieth of its time takes
//! 1.4 ms: so the kernel's high-resolution timer is used, one for all that an origin waits for.

use core::time::Duration;
use policy::Instant;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// What is due within this real time is done now: a timer would cost more than it would correct.
pub(crate) const PRECISION: Duration = Duration::from_micros(50);

/// When an origin was made: what its real instants count from. Its threads read the same clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start(Timespec);

impl Start {
    /// Counts from now on.
    pub(crate) fn now_is_zero() -> Self {
        Self(clock_gettime(ClockId::Monotonic))
    }

    /// Real time.
    pub(crate) fn now(self) -> Instant {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = now.tv_sec - self.0.tv_sec;
        Instant((seconds * 1_000_000_000 + now.tv_nsec - self.0.tv_nsec).max(0) as u64)
    }
}

/// Two clocks and a timer. Real instants count from when the clock was made; model instants are
/// real ones divided by the scale.
pub(crate) struct Clock {
    start: Start,
    scale: f64,
    /// Model time when the scale is zero: that of the last thing done.
    free: Instant,
    timer: OwnedFd,
    armed: Option<Instant>,
}

impl Clock {
    pub(crate) fn new(scale: f64) -> rustix::io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let start = Start::now_is_zero();
        Ok(Self { start, scale, free: Instant::ZERO, timer, armed: None })
    }

    /// Real time.
    pub(crate) fn real(&self) -> Instant {
        self.start.now()
    }

    /// When it began.
    pub(crate) fn start(&self) -> Start {
        self.start
    }

    /// The model's time at a real one.
    pub(crate) fn model(&self, real: Instant) -> Instant {
        if self.scale == 0.0 { self.free } else { Instant((real.0 as f64 / self.scale) as u64) }
    }

    /// Up to which model time things are to be done at a real time.
    pub(crate) fn model_due(&self, real: Instant) -> Instant {
        if self.scale == 0.0 { Instant::NEVER } else { self.model(real.plus(PRECISION)) }
    }

    /// When the model's time will have come.
    pub(crate) fn real_of(&self, model: Instant) -> Instant {
        Instant((model.0 as f64 * self.scale) as u64)
    }

    /// Something of model time `at` has been done.
    pub(crate) fn done(&mut self, at: Instant) {
        self.free = self.free.max(at);
    }

    /// Makes the timer go off at `at` or before.
    pub(crate) fn arm(&mut self, at: Instant) {
        if self.armed.is_some_and(|armed| armed <= at) {
            return;
        }
        let at_ns = self.start.0.tv_nsec as u64 + at.0;
        // Zero would switch the timer off; the clock has been past that since the machine began.
        let value = Timespec {
            tv_sec: self.start.0.tv_sec + (at_ns / 1_000_000_000) as i64,
            tv_nsec: (at_ns % 1_000_000_000) as _,
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)
            .expect("a timer takes any time that is not negative");
        self.armed = Some(at);
    }

    /// The timer went off. It is watched edge-triggered, so it need not be read to be silent.
    pub(crate) fn rang(&mut self) {
        self.armed = None;
    }
}

impl AsFd for Clock {
    /// The timer, readable when it went off.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

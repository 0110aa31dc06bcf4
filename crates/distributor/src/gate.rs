//! A gate: how many may be inside at once, and the bounded queue of those who wait, first come
//! first served. Each server has one; the cluster as a whole may have one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

/// How many requests a server works on, and who waits.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) running: u32,
    /// Requests at once; zero is no limit.
    pub(crate) limit: u32,
    /// Requests that may wait.
    pub(crate) queue_max: u32,
    pub(crate) waiting: VecDeque<Arc<Turn>>,
}

/// A place in a server's queue.
pub(crate) struct Turn {
    state: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

const WAITING: u8 = 0;
pub(crate) const GRANTED: u8 = 1;
pub(crate) const TURNED_AWAY: u8 = 2;
const GIVEN_UP: u8 = 3;

impl Gate {
    pub(crate) fn open(&self) -> bool {
        self.limit == 0 || self.running < self.limit
    }

    /// A place, or a turn to wait for; `None` when too many wait already.
    pub(crate) fn enter(&mut self) -> Option<Arc<Turn>> {
        if self.open() {
            self.running += 1;
            return Some(Turn::new(GRANTED));
        }
        if self.waiting.len() >= self.queue_max as usize {
            return None;
        }
        let turn = Turn::new(WAITING);
        self.waiting.push_back(Arc::clone(&turn));
        Some(turn)
    }

    /// Takes a turn back, wherever it stands. Those who give up have mostly waited longest, so the
    /// search from the front is short.
    pub(crate) fn give_up(&mut self, turn: &Turn) {
        match turn.state.swap(GIVEN_UP, Ordering::AcqRel) {
            GRANTED => self.release(),
            WAITING => {
                let at = self.waiting.iter().position(|other| core::ptr::eq(&**other, turn));
                at.and_then(|at| self.waiting.remove(at));
            }
            _ => {}
        }
    }

    pub(crate) fn release(&mut self) {
        self.running = self.running.checked_sub(1).expect("every place given up was taken");
        self.fill();
    }

    pub(crate) fn fill(&mut self) {
        while self.open() {
            let Some(turn) = self.waiting.pop_front() else { return };
            if turn.resolve(GRANTED) {
                self.running += 1;
            }
        }
    }
}

/// How waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// There is a place at the server, and it is ours.
    Granted,
    /// The server takes nothing new any more: ask again.
    TurnedAway,
}

impl Turn {
    pub(crate) fn new(state: u8) -> Arc<Self> {
        Arc::new(Self { state: AtomicU8::new(state), waker: Mutex::default() })
    }

    pub(crate) fn resolve(&self, state: u8) -> bool {
        let won = self
            .state
            .compare_exchange(WAITING, state, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if won {
            let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        won
    }

    /// How the waiting ended, or `None`: then the task is woken when it does.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Option<Waited> {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        match self.state.load(Ordering::Acquire) {
            WAITING => None,
            GRANTED => Some(Waited::Granted),
            _ => Some(Waited::TurnedAway),
        }
    }
}

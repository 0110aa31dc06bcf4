//! What is due when: events in order of time, and of their entry where times are equal.

use core::cmp::Reverse;
use policy::Instant;
use std::collections::BinaryHeap;

/// Events waiting for their time.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    serial: u64,
}

/// Compared by time and serial number only: events need no order of their own.
#[derive(Clone, Debug)]
struct Entry<E> {
    at: Instant,
    serial: u64,
    event: E,
}

impl<E> Default for Calendar<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), serial: 0 }
    }
}

impl<E> Calendar<E> {
    /// Enters an event.
    pub fn enter(&mut self, at: Instant, event: E) {
        self.serial += 1;
        self.heap.push(Reverse(Entry { at, serial: self.serial, event }));
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.0.at)
    }

    /// Takes out the next event if it is due by `limit`.
    pub fn pop(&mut self, limit: Instant) -> Option<(Instant, E)> {
        if self.next_at()? > limit {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<E> Entry<E> {
    fn rank(&self) -> (Instant, u64) {
        (self.at, self.serial)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

//! What is due when: events in order of time, and of their entry where times are equal.
//!
//! A heap with four children to a place: half as deep as the usual one, and the four that have to
//! be compared lie side by side (Johnson, *Priority queues with update and finding minimum spanning
//! trees*, 1975, has the general form). Simulations spend much of their time here.

use policy::Instant;

/// Children of a place.
const ARITY: usize = 4;

/// Events waiting for their time.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    /// Each place's rank is less than its children's.
    heap: Vec<Entry<E>>,
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
        Self { heap: Vec::new(), serial: 0 }
    }
}

impl<E> Calendar<E> {
    /// Enters an event.
    pub fn enter(&mut self, at: Instant, event: E) {
        self.serial += 1;
        let mut place = self.heap.len();
        self.heap.push(Entry { at, serial: self.serial, event });
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].rank() < self.heap[place].rank() {
                break;
            }
            self.heap.swap(parent, place);
            place = parent;
        }
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Takes out the next event if it is due by `limit`.
    pub fn pop(&mut self, limit: Instant) -> Option<(Instant, E)> {
        if self.next_at()? > limit {
            return None;
        }
        let Entry { at, event, .. } = self.heap.swap_remove(0);
        self.sink();
        Some((at, event))
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Moves what stands at the root down to where it belongs.
    fn sink(&mut self) {
        let mut place = 0;
        loop {
            let first = place * ARITY + 1;
            let children = &self.heap[first.min(self.heap.len())..];
            let children = children.iter().take(ARITY).map(Entry::rank).zip(first..);
            let Some((rank, least)) = children.min() else { return };
            if self.heap[place].rank() < rank {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }
}

impl<E> Entry<E> {
    #[inline]
    fn rank(&self) -> (Instant, u64) {
        (self.at, self.serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_of_entry(
            steps in prop::collection::vec(prop::option::of(0_u64..20), 0..300),
        ) {
            let mut calendar = Calendar::default();
            let mut waiting: Vec<(Instant, usize)> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                if let Some(at) = step {
                    calendar.enter(Instant(at), number);
                    waiting.push((Instant(at), number));
                } else {
                    let limit = Instant(10);
                    waiting.sort();
                    let due = waiting.first().copied().filter(|(at, _)| *at <= limit);
                    if due.is_some() {
                        waiting.remove(0);
                    }
                    prop_assert_eq!(calendar.pop(limit), due);
                }
                prop_assert_eq!(calendar.len(), waiting.len());
            }
        }
    }
}

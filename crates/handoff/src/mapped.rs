//! What both sides change: books, wheels and the page, in memory that the kernel's programs share.

use crate::layout::{SERVERS_MAX, TURNS_MAX, WHEEL_RELAY, WHEELS_MAX};
use crate::sys::Words;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of `struct book`, and which is what.
const BOOK_WORDS: usize = 8;
const OPEN: usize = 0;
const BEGUN: usize = 1;
const CHOSEN: usize = 2;
const LOAD: usize = 3;

/// Words of `struct wheel`: epoch, cursor, until, length, then four turns in each.
const WHEEL_WORDS: usize = 4 + TURNS_MAX / 4;
const CURSOR: usize = 1;
const UNTIL: usize = 2;
const LENGTH: usize = 3;
const TURNS: usize = 4;

/// In a wheel's cursor: turns may be taken (`WHEEL_OUT`).
const OUT: u64 = 1 << 63;

/// Words of `struct page`.
const PAGE_WORDS: usize = 8;
const EPOCH: usize = 0;
const SERIAL: usize = 1;

/// The books of all servers, the wheels, and the epoch. No call here is a system call.
pub struct Books {
    books: Words,
    wheels: Words,
    page: Words,
}

/// The book of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Connections handed over and not closed.
    pub open: u64,
    /// Connections ever handed over.
    pub begun: u64,
    /// Number of the last one, from one counter for all servers; 0: none yet.
    pub chosen: u64,
}

impl Books {
    pub(crate) fn map(
        books: BorrowedFd<'_>,
        wheels: BorrowedFd<'_>,
        page: BorrowedFd<'_>,
    ) -> io::Result<Self> {
        Ok(Self {
            books: Words::map(books, SERVERS_MAX * BOOK_WORDS * 8)?,
            wheels: Words::map(wheels, WHEELS_MAX * WHEEL_WORDS * 8)?,
            page: Words::map(page, PAGE_WORDS * 8)?,
        })
    }

    fn word(&self, slot: u16, which: usize) -> Option<&AtomicU64> {
        self.books.get(usize::from(slot) * BOOK_WORDS + which)
    }

    fn wheel(&self, number: u8) -> Option<&[AtomicU64]> {
        let at = usize::from(number) * WHEEL_WORDS;
        self.wheels.get(at..at + WHEEL_WORDS)
    }

    /// The book of a slot; empty for one that does not exist.
    pub fn book(&self, slot: u16) -> Book {
        let read = |which| self.word(slot, which).map_or(0, |word| word.load(Ordering::Relaxed));
        Book { open: at_least_none(read(OPEN)), begun: read(BEGUN), chosen: read(CHOSEN) }
    }

    /// The connections of a slot as its book has them, which may be below zero.
    pub(crate) fn open_as_written(&self, slot: u16) -> u64 {
        self.word(slot, OPEN).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Sets the part of a server's load that the desk counts itself, in units of `policy::Load`.
    pub fn set_load(&self, slot: u16, load: u64) {
        if let Some(word) = self.word(slot, LOAD) {
            word.store(load, Ordering::Relaxed);
        }
    }

    /// Empties a book: of a slot that is given to another server.
    pub(crate) fn clear(&self, slot: u16) {
        for which in [OPEN, BEGUN, CHOSEN, LOAD] {
            if let Some(word) = self.word(slot, which) {
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    /// One connection fewer: whoever took it out of the flow's `counted` calls this.
    pub(crate) fn close(&self, slot: u32) {
        let Ok(slot) = u16::try_from(slot) else { return };
        if let Some(word) = self.word(slot, OPEN) {
            word.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Sets a book's connections to what was counted, if that still differs from `seen`.
    pub(crate) fn correct(&self, slot: u16, seen: u64, counted: u64) -> bool {
        self.word(slot, OPEN).is_some_and(|word| {
            word.compare_exchange(seen, counted, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Adds to a book's connections, or takes away, as much as it was wrong by.
    pub(crate) fn shift(&self, slot: u16, by: i64) -> bool {
        let word = self.word(slot, OPEN);
        word.map(|word| word.fetch_add(by.cast_unsigned(), Ordering::AcqRel)).is_some()
    }

    /// From here on memos and wheels of this epoch are good, and no others; 0: none.
    pub fn set_epoch(&self, epoch: u64) {
        self.page[EPOCH].store(epoch, Ordering::Release);
    }

    /// Choices so far, of all servers.
    pub fn serial(&self) -> u64 {
        self.page[SERIAL].load(Ordering::Relaxed)
    }

    /// Puts a wheel out with its cursor at the beginning. `None` in `turns` is the relay. Turns
    /// beyond [`crate::TURNS_MAX`], and wheels beyond [`crate::WHEELS_MAX`], are not put out.
    pub fn set_wheel(&self, number: u8, epoch: u64, until_ns: u64, turns: &[Option<u16>]) {
        let Some(wheel) = self.wheel(number) else { return };
        wheel[CURSOR].store(0, Ordering::Release);
        if turns.is_empty() || turns.len() > TURNS_MAX {
            return;
        }
        for (word, four) in wheel[TURNS..].iter().zip(turns.chunks(4)) {
            let mut bytes = [0; 8];
            for (place, slot) in bytes.chunks_exact_mut(2).zip(four) {
                place.copy_from_slice(&slot.unwrap_or(WHEEL_RELAY).to_ne_bytes());
            }
            word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
        // The length is the lower half of its word.
        let mut length = [0; 8];
        let count = u32::try_from(turns.len()).expect("there are few turns");
        length[..4].copy_from_slice(&count.to_ne_bytes());
        wheel[LENGTH].store(u64::from_ne_bytes(length), Ordering::Relaxed);
        wheel[UNTIL].store(until_ns.saturating_sub(crate::front::CLOCK_LAG_NS), Ordering::Relaxed);
        wheel[EPOCH].store(epoch, Ordering::Relaxed);
        wheel[CURSOR].store(OUT, Ordering::Release);
    }

    /// Takes the next turn of a wheel: how many anybody had taken before.
    pub fn take_turn(&self, number: u8) -> u64 {
        self.wheel(number).map_or(0, |wheel| wheel[CURSOR].fetch_add(1, Ordering::AcqRel) & !OUT)
    }

    /// Turns that anybody took of a wheel since it was put out.
    pub fn turns(&self, number: u8) -> u64 {
        self.wheel(number).map_or(0, |wheel| wheel[CURSOR].load(Ordering::Acquire) & !OUT)
    }

    /// Takes a wheel back and returns the turns that anybody took: from here on nobody takes
    /// another.
    pub fn revoke_wheel(&self, number: u8) -> u64 {
        let Some(wheel) = self.wheel(number) else { return 0 };
        wheel[CURSOR].swap(0, Ordering::AcqRel) & !OUT
    }
}

/// A count that two took from at the same time may be below zero until it is put right: nobody
/// shall take that for more connections than there can be.
fn at_least_none(open: u64) -> u64 {
    u64::try_from(open.cast_signed()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_below_zero_is_read_as_none() {
        let below = 0u64.wrapping_sub(1);
        assert_eq!([0, 1, 1 << 62, 1 << 63, below].map(at_least_none), [0, 1, 1 << 62, 0, 0]);
    }
}

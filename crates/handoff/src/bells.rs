//! Bells: who waits for what the kernel does with joined sockets is woken by one thread, which
//! waits for all of them.

use crate::now_ns;
use crate::object::Loaded;
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::mem;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// How soon somebody is woken who asks for that: no sooner than a tick of the kernel, by which its
/// own worker looks again at a receiver that was full.
const SOON_NS: u64 = 5_000_000;

/// Events taken at once.
const EVENTS_MAX: usize = 64;

/// In the place of a bell's number: the program calls; the thread is to look about.
const CALLS: u64 = u64::MAX;
const NUDGE: u64 = u64::MAX - 1;

/// All bells, and the thread that rings them for as long as this is there.
pub(crate) struct Bells {
    epoll: OwnedFd,
    nudge: OwnedFd,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    wakers: Vec<Option<Waker>>,
    free: Vec<u32>,
    by_cookie: HashMap<u64, u32>,
    /// Who wants to be woken soon, and when the first of them came.
    soon: Vec<u32>,
    soon_ns: u64,
    stopped: bool,
}

impl Bells {
    /// Starts the thread.
    pub(crate) fn hang(kernel: &Loaded) -> io::Result<Arc<Self>> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let nudge = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let calls = kernel.map("calls");
        epoll::add(&epoll, &nudge, EventData::new_u64(NUDGE), EventFlags::IN)?;
        epoll::add(&epoll, calls, EventData::new_u64(CALLS), EventFlags::IN | EventFlags::ET)?;
        let bells = Arc::new(Self { epoll, nudge, table: Mutex::default() });
        let called = Arc::clone(&bells);
        let mut ring = RingBufferBuilder::new();
        ring.add(calls, move |cookie| called.answer(cookie)).map_err(io::Error::other)?;
        let calls = ring.build().map_err(io::Error::other)?;
        let ringing = Arc::clone(&bells);
        std::thread::Builder::new()
            .name("baton-splice".to_owned())
            .spawn(move || ringing.run(&calls))?;
        Ok(bells)
    }

    /// A bell for a pair.
    pub(crate) fn add(&self, cookies: [u64; 2]) -> u32 {
        let mut table = self.table();
        let bell = table.free.pop().unwrap_or_else(|| {
            table.wakers.push(None);
            u32::try_from(table.wakers.len() - 1).expect("pairs are fewer than descriptors")
        });
        table.by_cookie.extend(cookies.map(|cookie| (cookie, bell)));
        bell
    }

    /// Rings it when the socket is at its end or fails. A socket that is closed is forgotten.
    pub(crate) fn listen(&self, bell: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let (data, ends) = (EventData::new_u64(bell.into()), EventFlags::RDHUP | EventFlags::ET);
        match epoll::add(&self.epoll, socket, data, ends) {
            // It was joined before.
            Err(Errno::EXIST) => Ok(epoll::modify(&self.epoll, socket, data, ends)?),
            other => Ok(other?),
        }
    }

    /// Who is to be woken; some milliseconds from now, too, if `soon`.
    pub(crate) fn expect(&self, bell: u32, waker: &Waker, soon: bool) {
        let mut table = self.table();
        let place = &mut table.wakers[bell as usize];
        if !place.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *place = Some(waker.clone());
        }
        if soon {
            table.soon.push(bell);
            if table.soon.len() == 1 {
                table.soon_ns = now_ns() + SOON_NS;
                drop(table);
                self.nudge();
            }
        }
    }

    /// Takes a bell down. It may ring once more for whoever gets it next, who looks in vain.
    pub(crate) fn remove(&self, bell: u32, cookies: [u64; 2]) {
        let mut table = self.table();
        for cookie in cookies {
            table.by_cookie.remove(&cookie);
        }
        table.wakers[bell as usize] = None;
        table.free.push(bell);
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.table().stopped = true;
        self.nudge();
    }

    fn nudge(&self) {
        // A counter that is full is a nudge, too.
        let _full = rustix::io::write(&self.nudge, &1u64.to_ne_bytes());
    }

    /// Rings for a cookie off the program's ring.
    fn answer(&self, cookie: &[u8]) -> i32 {
        let cookie = cookie.try_into().map_or(0, u64::from_ne_bytes);
        let bell = self.table().by_cookie.get(&cookie).copied();
        if let Some(bell) = bell {
            self.ring(bell);
        }
        0
    }

    fn run(&self, calls: &RingBuffer<'_>) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        while let Some(patience) = self.patience() {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, patience.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                match event.data.u64() {
                    CALLS => drop(calls.consume()),
                    NUDGE => drop(rustix::io::read(&self.nudge, &mut [0; 8])),
                    bell => self.ring(u32::try_from(bell).unwrap_or(u32::MAX)),
                }
            }
        }
    }

    /// Wakes those whose time has come. How long to wait for events then: `None` at the end.
    fn patience(&self) -> Option<Option<Timespec>> {
        let mut table = self.table();
        if table.stopped {
            return None;
        }
        if table.soon.is_empty() {
            return Some(None);
        }
        let now = now_ns();
        if now < table.soon_ns {
            let left = i64::try_from(table.soon_ns - now).unwrap_or(0);
            return Some(Some(Timespec { tv_sec: 0, tv_nsec: left }));
        }
        let due = mem::take(&mut table.soon);
        drop(table);
        due.into_iter().for_each(|bell| self.ring(bell));
        Some(Some(Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    fn ring(&self, bell: u32) {
        let waker = self.table().wakers.get_mut(bell as usize).and_then(Option::take);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

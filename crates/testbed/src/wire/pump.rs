//! The thread that carries a link's frames between two TAPs.

use super::adversity::{Adversity, Counts, Line};
use crate::Error;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Room for the longest frame: 64 KiB, its Ethernet header and a tag.
const FRAME_BYTES_MAX: usize = (64 << 10) + 18;

/// Frames that one direction carries before the other has its turn.
const TURN_FRAMES: usize = 64;

/// The directions: first towards the machine, then from it.
pub(super) type Lines = [Line; 2];

/// A thread that carries frames until it is dropped.
pub(super) struct Pump {
    lines: Arc<Mutex<Lines>>,
    /// Written to for the thread to end.
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Pump {
    /// Carries what `outer` reads to `inner`, towards the machine, and back.
    pub fn start(inner: OwnedFd, outer: OwnedFd) -> Result<Self, Error> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(Error::system("make an eventfd"))?;
        let (bell, lines) = (Arc::new(bell), Arc::new(Mutex::new([Line::new(), Line::new()])));
        let (heard, shared) = (Arc::clone(&bell), Arc::clone(&lines));
        let carry = move || carry(&[outer, inner], &heard, &shared);
        let thread = std::thread::Builder::new().name("wire".to_owned()).spawn(carry);
        let thread = Some(thread.map_err(Error::system("start a thread"))?);
        Ok(Self { lines, bell, thread })
    }

    /// From now on this befalls frames, by direction.
    pub fn set(&self, adversities: [Adversity; 2]) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for (line, adversity) in lines.iter_mut().zip(adversities) {
            line.set(adversity);
        }
    }

    /// What has befallen them, by direction.
    pub fn counts(&self) -> [Counts; 2] {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        [lines[0].counts, lines[1].counts]
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        // An eventfd refuses only what would overflow it.
        let _full = write(&*self.bell, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// Carries frames until the bell rings. Line 0 reads file 0 and writes file 1, line 1 the other
/// way.
fn carry(files: &[OwnedFd; 2], bell: &OwnedFd, lines: &Mutex<Lines>) {
    let began = Instant::now();
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    loop {
        let next = {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            for (way, line) in lines.iter_mut().enumerate() {
                turn(&files[way], &files[1 - way], line, began, &mut buffer);
            }
            lines.iter().filter_map(Line::next).min()
        };
        let mut waiting = [bell, &files[0], &files[1]].map(|file| PollFd::new(file, PollFlags::IN));
        let patience = next.map(|due| timespec(due.saturating_sub(began.elapsed())));
        let polled = poll(&mut waiting, patience.as_ref());
        let is_over = |file: &PollFd| file.revents().contains(PollFlags::ERR);
        match polled {
            Ok(_) if !waiting[0].revents().is_empty() => return,
            // The bed has gone, and the interfaces with it.
            Ok(_) if waiting.iter().any(is_over) => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Takes some frames in one direction and sends what is due.
fn turn(from: &OwnedFd, to: &OwnedFd, line: &mut Line, began: Instant, buffer: &mut [u8]) {
    let mut refused = 0;
    let mut out = |frame: &[u8]| refused += u64::from(write(to, frame).is_err());
    for _ in 0..TURN_FRAMES {
        match read(from, &mut *buffer) {
            Ok(bytes) => line.take(began.elapsed(), &buffer[..bytes], &mut out),
            // Nothing there, or the interface is on its way up or down.
            Err(_) => break,
        }
    }
    line.release(began.elapsed(), &mut out);
    line.counts.refused += refused;
}

fn timespec(span: Duration) -> Timespec {
    Timespec::try_from(span).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 })
}

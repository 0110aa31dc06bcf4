//! What the threads do, and how they tell that they have.

use super::burn::Burner;
use super::pool::{Orders, Pool};
use super::tree::{Cached, Tree};
use crate::clock::Start;
use core::time::Duration;
use policy::{Dice, TargetId};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of documents that are in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Arc<AtomicU64>);

impl Held {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn body(&self, bytes: Vec<u8>) -> Arc<Document> {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Arc::new(Document { bytes, held: self.clone() })
    }
}

/// A document in memory.
#[derive(Debug)]
pub(crate) struct Document {
    bytes: Vec<u8>,
    held: Held,
}

impl Document {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        self.held.0.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// A document that the kernel may have in its cache: its disk, target and length.
pub(super) type Probe = (usize, TargetId, u64);

/// CPU time to burn, for a request or for a connection alone.
pub(super) struct CpuTask {
    pub(super) job: Option<u32>,
    pub(super) demand: Duration,
    pub(super) probe: Option<Probe>,
}

/// Pages of the database to read, then a document.
pub(super) struct DiskTask {
    pub(super) job: u32,
    pub(super) accesses: u32,
    pub(super) document: Option<(TargetId, u64)>,
}

/// What a thread has done, for which request.
pub(super) enum Finished {
    /// Burnt; and what the kernel had, where it was asked.
    Cpu(u32, Option<Option<Arc<Document>>>),
    /// Read.
    Disk(u32, io::Result<Option<Arc<Document>>>),
}

/// What threads have done and the event loop has not seen yet.
pub(super) struct Bell {
    finished: Mutex<Vec<Finished>>,
    /// Watched edge-triggered: each ring is news, and it need not be read to be silent.
    rope: OwnedFd,
}

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        let rope = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { finished: Mutex::new(Vec::new()), rope })
    }

    /// Everything, in the order in which it was done.
    pub(super) fn take(&self) -> Vec<Finished> {
        core::mem::take(&mut *self.finished())
    }

    fn ring(&self, finished: Finished) {
        let mut all = self.finished();
        all.push(finished);
        let first = all.len() == 1;
        drop(all);
        if first {
            // It fails only when it was rung 2^64 times, and was heard then.
            let _heard = rustix::io::write(&self.rope, &1_u64.to_ne_bytes());
        }
    }

    fn finished(&self) -> MutexGuard<'_, Vec<Finished>> {
        // Whoever panicked with it left whole entries.
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.rope.as_fd()
    }
}

/// The CPU: threads that burn, and look into the kernel's cache of these roots.
pub(super) fn cpu(
    roots: &[PathBuf],
    threads: usize,
    start: Start,
    bell: &Arc<Bell>,
    held: &Held,
) -> io::Result<Pool<CpuTask>> {
    let roots: Vec<Cached> = roots.iter().map(|root| Cached::new(root)).collect();
    let (bell, held) = (Arc::clone(bell), held.clone());
    Pool::start("origin-cpu", threads, start, move || {
        let (bell, held, roots) = (Arc::clone(&bell), held.clone(), roots.clone());
        let mut burner = Burner::calibrated();
        move |task: CpuTask, orders: &Orders| {
            burner.burn(task.demand, |used| orders.spent(used));
            let probed = task.probe.map(|(disk, target, bytes)| {
                roots.get(disk)?.read(target, bytes).map(|bytes| held.body(bytes))
            });
            if let Some(job) = task.job {
                bell.ring(Finished::Cpu(job, probed));
            }
        }
    })
}

/// A disk: a thread that makes and reads the documents of a tree.
pub(super) fn disk(
    tree: Tree,
    seed: u64,
    start: Start,
    bell: &Arc<Bell>,
    held: &Held,
) -> io::Result<Pool<DiskTask>> {
    let (bell, held) = (Arc::clone(bell), held.clone());
    // There is one thread, which takes it.
    let tree = Arc::new(Mutex::new(tree));
    Pool::start("origin-disk", 1, start, move || {
        let (bell, held, tree) = (Arc::clone(&bell), held.clone(), Arc::clone(&tree));
        let mut dice = Dice::new(seed);
        move |task: DiskTask, _: &Orders| {
            let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
            let read = (|| {
                tree.query(task.accesses, &mut dice)?;
                let Some((target, bytes)) = task.document else { return Ok(None) };
                tree.make(target, bytes)?;
                Ok(Some(held.body(tree.read(target, bytes)?)))
            })();
            bell.ring(Finished::Disk(task.job, read));
        }
    })
}

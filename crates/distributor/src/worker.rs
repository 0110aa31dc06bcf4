//! A worker: one thread, one reactor, its own listening sockets, connections and counters. It
//! shares with the others what [`crate::shared::Shared`] holds and nothing else.

use crate::client;
use crate::counters::Counters;
use crate::io::Socket;
use crate::journal::{FLUSH_BYTES, Short};
use crate::pipes::Pipes;
use crate::pool::Pool;
use crate::say::say;
use crate::shared::{Entrance, Live, Shared};
use crate::sys;
use crate::watch::{Ticks, Watches};
use core::cell::{Cell, RefCell};
use policy::Dice;
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;
use tokio::io::unix::AsyncFd;
use tokio::runtime::LocalOptions;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use wire::http::date::{DATE_BYTES, format};

/// Bytes read at once, and the largest head that can be: heads and small bodies are read into one
/// buffer of the worker, so a connection that waits owns no buffer.
pub(crate) const SCRATCH_BYTES: usize = 64 * 1024;

/// Connections accepted before others get their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// Spare buffers kept for heads and leftovers.
const BUFFERS_IDLE_MAX: usize = 256;

/// A spare buffer that grew beyond this is given back to the allocator.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// What the controlling thread tells a worker.
pub(crate) enum Command {
    /// Accept on this socket too.
    Listen(SocketAddr, Arc<Entrance>, TcpListener),
    /// Stop accepting on this address; connections already made are served.
    Unlisten(SocketAddr),
    /// Stop accepting, close what is idle, finish the rest, and end.
    Stop,
    /// End now.
    Abort,
    /// Time has passed; look whether all is done.
    Nothing,
}

/// A worker's own handle on the settings, rules and servers: its requests count references on the
/// handle, which no other core touches.
pub(crate) struct Mine(Arc<Live>);

impl core::ops::Deref for Mine {
    type Target = Live;

    fn deref(&self) -> &Live {
        &self.0
    }
}

/// The state of a worker, used by all tasks of its thread.
pub(crate) struct Worker {
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) watches: Rc<Watches>,
    pub(crate) pool: RefCell<Pool>,
    pub(crate) pipes: RefCell<Pipes>,
    pub(crate) scratch: RefCell<Box<[u8]>>,
    pub(crate) stopping: Cell<bool>,
    live: RefCell<Rc<Mine>>,
    buffers: RefCell<Vec<Vec<u8>>>,
    log: RefCell<Vec<u8>>,
    ids: RefCell<Dice>,
    /// For messages that come without a Date, and for our own.
    today: Cell<[u8; DATE_BYTES]>,
    clients: Cell<usize>,
    /// Woken at each tick and at each end of a connection.
    turn: Notify,
}

impl Worker {
    fn new(index: usize, shared: Arc<Shared>) -> Self {
        let live = RefCell::new(Rc::new(Mine(shared.live.load_full())));
        Self {
            index,
            shared,
            watches: Rc::default(),
            pool: RefCell::default(),
            pipes: RefCell::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            stopping: Cell::new(false),
            live,
            buffers: RefCell::default(),
            log: RefCell::default(),
            ids: RefCell::new(Dice::new(seed(index))),
            today: Cell::new(today()),
            clients: Cell::new(0),
            turn: Notify::new(),
        }
    }

    /// The present settings, rules and servers. Costs no write to shared memory: the reference
    /// count that requests share is this worker's own.
    pub(crate) fn live(&self) -> Rc<Mine> {
        let mut mine = self.live.borrow_mut();
        let newest = self.shared.live.load();
        if !Arc::ptr_eq(&newest, &mine.0) {
            *mine = Rc::new(Mine(Arc::clone(&newest)));
        }
        Rc::clone(&mine)
    }

    /// This worker's counters.
    pub(crate) fn counters(&self) -> &Counters {
        self.shared.counters.of(self.index)
    }

    /// An identifier for a request that came without one: unique in this process, and not to be
    /// guessed from others in another.
    pub(crate) fn new_id<const N: usize>(&self) -> Short<N> {
        let bits = self.ids.borrow_mut().bits();
        let mut digits = [0; 16];
        for (at, digit) in digits.iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(bits >> (60 - 4 * at)) as usize & 15];
        }
        Short::cut(&digits)
    }

    /// The date, as it was within the last second or two.
    pub(crate) fn today(&self) -> [u8; DATE_BYTES] {
        self.today.get()
    }

    /// An empty buffer.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.buffers.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub(crate) fn recycle(&self, mut buffer: Vec<u8>) {
        let mut buffers = self.buffers.borrow_mut();
        if (1..=BUFFER_BYTES_MAX).contains(&buffer.capacity()) && buffers.len() < BUFFERS_IDLE_MAX {
            buffer.clear();
            buffers.push(buffer);
        }
    }

    /// Closes what is only kept for later, because descriptors have run out.
    pub(crate) fn make_room(&self) {
        self.pool.borrow_mut().clear();
        self.pipes.borrow_mut().clear();
    }

    /// Adds a line to the access log.
    pub(crate) fn log(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut log = self.log.borrow_mut();

        write(&mut log);
        if log.len() >= FLUSH_BYTES {
            self.flush(&mut log);
        }
    }

    fn flush(&self, log: &mut Vec<u8>) {
        let lines = core::mem::take(log);
        let count = lines.iter().filter(|byte| **byte == b'\n').count();
        if !lines.is_empty() && !self.shared.journal.hand_on(lines) {
            self.counters().log_dropped.add(count as u64);
        }
    }

    fn tick(&self) {
        self.watches.tick();
        let patience = self.shared.live.load().settings.timeouts.server_idle;
        // Once a second is often enough for idle connections and the date, and cheap.
        if self.watches.now().is_multiple_of(10) {
            self.today.set(today());
            self.pool.borrow_mut().sweep(self.watches.now(), patience);
        }
        let mut log = self.log.borrow_mut();
        self.flush(&mut log);
        self.turn.notify_waiters();
    }

    fn admit(self: &Rc<Self>, entrance: &Arc<Entrance>, fd: OwnedFd, peer: SocketAddr) {
        let counters = entrance.counters.of(self.index);
        counters.accepted.add(1);
        counters.open.add(1);
        self.shared.open.fetch_add(1, Ordering::Relaxed);
        self.clients.set(self.clients.get() + 1);
        let presence = Presence { worker: Rc::clone(self), entrance: Arc::clone(entrance) };
        // Boxed, because on its way into a task a future is moved several times, and this one is
        // kilobytes large.
        tokio::task::spawn_local(Box::pin(async move {
            let Presence { worker, entrance } = &presence;
            client::serve(Socket::Raw(fd), peer, entrance, worker).await;
        }));
    }

    fn full(&self) -> bool {
        let most = self.shared.live.load().settings.connections_max;
        self.shared.open.load(Ordering::Relaxed) >= most
    }
}

/// The date by the system's clock, which may have been set since the process began.
fn today() -> [u8; DATE_BYTES] {
    format(SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs())
}

/// Different in each process and each worker. The standard library's hasher is keyed by the
/// system's random source.
fn seed(index: usize) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_usize(index);
    hasher.finish()
}

/// Counts a connection for as long as its task lives, however the task ends.
struct Presence {
    worker: Rc<Worker>,
    entrance: Arc<Entrance>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        let worker = &self.worker;
        self.entrance.counters.of(worker.index).open.sub(1);
        worker.shared.open.fetch_sub(1, Ordering::Relaxed);
        worker.clients.set(worker.clients.get() - 1);
        worker.turn.notify_waiters();
    }
}

struct Door {
    entrance: Arc<Entrance>,
    listener: Rc<AsyncFd<OwnedFd>>,
    task: JoinHandle<()>,
}

impl Door {
    fn open(
        entrance: Arc<Entrance>,
        listener: TcpListener,
        worker: &Rc<Worker>,
    ) -> io::Result<Self> {
        let listener = Rc::new(sys::readiness(listener.into())?);
        let (way, door, who) = (Arc::clone(&entrance), Rc::clone(&listener), Rc::clone(worker));
        let task = tokio::task::spawn_local(accept(way, door, who));
        Ok(Self { entrance, listener, task })
    }

    /// Takes in those who are connected already and waiting to be accepted, then closes: closing
    /// the socket first would reset them.
    fn close(self, worker: &Rc<Worker>) {
        self.task.abort();
        while let Ok(Some((fd, peer))) = accept_one(&self.listener) {
            worker.admit(&self.entrance, fd, peer);
        }
    }
}

async fn accept(entrance: Arc<Entrance>, listener: Rc<AsyncFd<OwnedFd>>, worker: Rc<Worker>) {
    loop {
        while worker.full() {
            worker.turn.notified().await;
        }
        let Ok(mut ready) = listener.readable().await else { return };
        for _ in 0..ACCEPTS_PER_TURN {
            match accept_one(&listener) {
                Ok(Some((fd, peer))) => worker.admit(&entrance, fd, peer),
                Ok(None) => {
                    ready.clear_ready();
                    break;
                }
                Err(_exhausted) => {
                    // No descriptors or memory left: wait until a connection ends, or a moment.
                    worker.counters().accept_failures.add(1);
                    worker.turn.notified().await;
                    break;
                }
            }
            if worker.full() {
                break;
            }
        }
        tokio::task::yield_now().await;
    }
}

/// A new connection; `None` when nobody waits. An error means that the system is out of something.
fn accept_one(listener: &AsyncFd<OwnedFd>) -> io::Result<Option<(OwnedFd, SocketAddr)>> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    loop {
        match rustix::net::acceptfrom_with(listener.get_ref(), flags) {
            Ok((fd, Some(peer))) => {
                if let Ok(peer) = SocketAddr::try_from(peer) {
                    return Ok(Some((fd, peer)));
                }
            }
            Ok((_, None)) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                return Err(errno.into());
            }
            // The client was gone before we looked, or the network had an error for it: the next.
            Err(_) => {}
        }
    }
}

/// Runs a worker until it is told to stop and its last connection has ended.
pub(crate) fn run(index: usize, shared: Arc<Shared>, commands: mpsc::UnboundedReceiver<Command>) {
    // A local runtime rather than a LocalSet: waking a task takes one queue instead of two.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build_local(LocalOptions::default())
        .expect("a thread that could be started can have a reactor");
    runtime.block_on(attend(Rc::new(Worker::new(index, shared)), commands));
}

async fn attend(worker: Rc<Worker>, mut commands: mpsc::UnboundedReceiver<Command>) {
    let mut doors: BTreeMap<SocketAddr, Door> = BTreeMap::new();
    let ticks = Ticks::start().expect("a thread that could be started can have a timer");
    loop {
        let command = tokio::select! {
            command = commands.recv() => command.unwrap_or(Command::Abort),
            () = ticks.next() => { worker.tick(); Command::Nothing }
            () = worker.turn.notified(), if worker.stopping.get() => Command::Nothing,
        };
        if worker.stopping.get() && worker.clients.get() == 0 {
            break;
        }
        match command {
            Command::Listen(address, way, listener) => match Door::open(way, listener, &worker) {
                Ok(door) => drop(doors.insert(address, door)),
                Err(error) => say(format_args!("cannot accept on {address}: {error}")),
            },
            Command::Unlisten(address) => {
                if let Some(door) = doors.remove(&address) {
                    door.close(&worker);
                }
            }
            Command::Stop => {
                worker.stopping.set(true);
                core::mem::take(&mut doors).into_values().for_each(|door| door.close(&worker));
                worker.pool.borrow_mut().clear();
                worker.watches.wake_all();
            }
            Command::Abort => break,
            Command::Nothing => {}
        }
    }
    worker.tick();
}

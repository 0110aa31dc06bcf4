//! The workers of a process, and what can be told them.

use crate::say::say;
use crate::shared::{Entrance, Shared};
use crate::worker::{self, Command};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How often the end of the last connections is looked for while stopping.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The running workers.
pub struct Team {
    shared: Arc<Shared>,
    workers: Vec<(UnboundedSender<Command>, JoinHandle<()>)>,
}

impl Team {
    /// Starts one worker for each copy of the counters in `shared`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let count = shared.counters.iter().count();
        let mut workers = Vec::with_capacity(count);
        for index in 0..count {
            let (sender, receiver) = unbounded_channel();
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name(format!("baton-{index}"))
                .spawn(move || worker::run(index, shared, receiver))?;
            workers.push((sender, thread));
        }
        Ok(Self { shared, workers })
    }

    /// How many workers there are: sockets needed for each address.
    pub fn size(&self) -> usize {
        self.workers.len()
    }

    /// Accepts on sockets that were opened before by [`crate::Listen::open`], one for each worker.
    /// Returns their address, with the port that the kernel chose if it was to.
    ///
    /// # Errors
    /// The system's, when a socket has no address.
    pub fn accept_on(
        &self,
        entrance: &Arc<Entrance>,
        sockets: Vec<TcpListener>,
    ) -> io::Result<SocketAddr> {
        let address = match sockets.first() {
            Some(socket) => socket.local_addr()?,
            None => return Err(io::ErrorKind::InvalidInput.into()),
        };
        for ((sender, _), socket) in self.workers.iter().zip(sockets) {
            // A worker ends only after Stop or a panic; the panic is reported at join.
            let _ended = sender.send(Command::Listen(address, Arc::clone(entrance), socket));
        }
        Ok(address)
    }

    /// Stops accepting on an address; connections already made are served.
    pub fn unlisten(&self, address: SocketAddr) {
        self.tell(|| Command::Unlisten(address));
    }

    /// Stops accepting, closes idle connections, and waits until the others have ended, at most
    /// `patience` and no longer than until `hurry` is set. Returns how many were cut off.
    pub fn stop(self, patience: Duration, hurry: &AtomicBool) -> usize {
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.tell(|| Command::Stop);
        let deadline = Instant::now() + patience;
        let waits = || Instant::now() < deadline && !hurry.load(Ordering::Relaxed);
        while waits() && !self.workers.iter().all(|(_, w)| w.is_finished()) {
            std::thread::sleep(LOOK_EVERY);
        }
        let left = self.shared.open.load(Ordering::Relaxed);
        self.tell(|| Command::Abort);
        for (_, thread) in self.workers {
            if thread.join().is_err() {
                say("a worker had panicked");
            }
        }
        left
    }

    fn tell(&self, command: impl Fn() -> Command) {
        for (sender, _) in &self.workers {
            let _ended = sender.send(command());
        }
    }
}

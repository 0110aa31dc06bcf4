//! Threads that take their work from one queue, first come, first served, and keep books of how
//! busy they were.

use crate::clock::Start;
use core::time::Duration;
use policy::Instant;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How busy a pool was up to a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    /// Time that its threads had work, all together.
    pub(crate) busy: Duration,
    /// Time that work spent waiting or being done, all together.
    pub(crate) inside: Duration,
    /// CPU time that was told.
    pub(crate) cpu: Duration,
    /// Pieces of work begun.
    pub(crate) begun: u64,
    /// Pieces of work inside now.
    pub(crate) queue: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    running: u32,
    busy: Duration,
    inside: Duration,
    begun: u64,
    /// Up to when `busy` and `inside` count.
    at: Instant,
}

impl<T> State<T> {
    fn advance(&mut self, now: Instant) {
        let span = now.since(self.at);
        let queue = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        self.busy = self.busy.saturating_add(span.saturating_mul(self.running));
        let inside = queue.saturating_add(self.running);
        self.inside = self.inside.saturating_add(span.saturating_mul(inside));
        self.at = now.max(self.at);
    }
}

/// What the threads of a pool are told besides their work.
pub(crate) struct Orders {
    cpu_ns: AtomicU64,
    stop: AtomicBool,
}

impl Orders {
    /// Notes CPU time that was used; says whether to go on.
    pub(crate) fn spent(&self, used: Duration) -> bool {
        self.cpu_ns.fetch_add(used.as_nanos() as u64, Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }
}

struct Shared<T> {
    state: Mutex<State<T>>,
    more: Condvar,
    orders: Orders,
    start: Start,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Whoever panicked with it left numbers and whole pieces of work.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next piece of work; none when all is over.
    fn next(&self) -> Option<T> {
        let mut state = self.state();
        loop {
            if self.orders.stop.load(Ordering::Relaxed) {
                return None;
            }
            state.advance(self.start.now());
            if let Some(work) = state.queue.pop_front() {
                state.running += 1;
                state.begun += 1;
                return Some(work);
            }
            state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut state = self.state();
        state.advance(self.start.now());
        state.running -= 1;
    }
}

/// Threads with a queue. They end when it is dropped: what they are at is cut short, what waits is
/// not begun.
pub(crate) struct Pool<T> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Send + 'static> Pool<T> {
    /// Starts threads, each of which does its work with what `hand` makes for it there.
    pub(crate) fn start<H: FnMut(T, &Orders)>(
        name: &str,
        threads: usize,
        start: Start,
        hand: impl Fn() -> H + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        let orders = Orders { cpu_ns: AtomicU64::new(0), stop: AtomicBool::new(false) };
        let (queue, none) = (VecDeque::new(), Duration::ZERO);
        let at = start.now();
        let state = State { queue, running: 0, busy: none, inside: none, begun: 0, at };
        let shared = Shared { state: Mutex::new(state), more: Condvar::new(), orders, start };
        let mut pool = Self { shared: Arc::new(shared), threads: Vec::new() };
        for _ in 0..threads.max(1) {
            let (shared, hand) = (Arc::clone(&pool.shared), hand.clone());
            let work = move || {
                let mut hand = hand();
                while let Some(work) = shared.next() {
                    hand(work, &shared.orders);
                    shared.done();
                }
            };
            pool.threads.push(std::thread::Builder::new().name(name.to_owned()).spawn(work)?);
        }
        Ok(pool)
    }

    /// Gives it a piece of work.
    pub(crate) fn push(&self, work: T) {
        let mut state = self.shared.state();
        state.advance(self.shared.start.now());
        state.queue.push_back(work);
        drop(state);
        self.shared.more.notify_one();
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> u32 {
        u32::try_from(self.threads.len()).unwrap_or(u32::MAX)
    }

    /// How busy it was until now.
    pub(crate) fn gauge(&self) -> Gauge {
        let mut state = self.shared.state();
        state.advance(self.shared.start.now());
        Gauge {
            busy: state.busy,
            inside: state.inside,
            cpu: Duration::from_nanos(self.shared.orders.cpu_ns.load(Ordering::Relaxed)),
            begun: state.begun,
            queue: state.queue.len() + state.running as usize,
        }
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        // Under the lock: a thread that is about to wait must not miss it.
        let state = self.shared.state();
        self.shared.orders.stop.store(true, Ordering::Relaxed);
        drop(state);
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // A panic there was reported by the panic hook.
            let _reported = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn work_is_done_in_the_order_it_came_and_the_books_say_how_long_it_was_there() {
        let (tell, told) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let start = Start::now_is_zero();
        let pool = Pool::start("test", 1, start, move || {
            let (tell, gate) = (tell.clone(), Arc::clone(&gate));
            move |work: u32, orders: &Orders| {
                gate.lock().unwrap().recv().unwrap();
                orders.spent(Duration::from_millis(3));
                tell.send(work).unwrap();
            }
        })
        .unwrap();
        (0..4).for_each(|work| pool.push(work));
        assert_eq!(pool.gauge().queue, 4);
        (0..4).for_each(|_| go.send(()).unwrap());
        assert_eq!((0..4).map(|_| told.recv().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
        while pool.gauge().queue > 0 {
            std::thread::yield_now();
        }
        let gauge = pool.gauge();
        assert_eq!((gauge.cpu, gauge.begun), (Duration::from_millis(12), 4));
        assert!(gauge.busy > Duration::ZERO && gauge.inside >= gauge.busy, "{gauge:?}");
        assert!(gauge.busy <= start.now().since(Instant::ZERO));
    }

    #[test]
    fn what_waits_is_not_begun_when_the_pool_is_dropped() {
        let (tell, told) = mpsc::channel();
        let pool = Pool::start("test", 2, Start::now_is_zero(), move || {
            let tell = tell.clone();
            move |_: u32, orders: &Orders| {
                tell.send(()).unwrap();
                while orders.spent(Duration::ZERO) {
                    std::thread::yield_now();
                }
            }
        })
        .unwrap();
        (0..9).for_each(|work| pool.push(work));
        (0..2).for_each(|_| told.recv().unwrap());
        drop(pool);
        assert_eq!(told.iter().count(), 0);
    }
}

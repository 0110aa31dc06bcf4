//! What is counted. Each worker writes its own copy, so that no two cores fight for a cache line;
//! whoever reads adds them up.

use policy::{Class, Why};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A number that one worker writes and anybody reads.
///
/// A plain load and store instead of a locked addition: there is one writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it. Only ever called by the worker that owns it.
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Takes from it.
    pub(crate) fn sub(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(amount), Ordering::Relaxed);
    }

    /// What it is now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of the latency buckets, in microseconds: the fourteen that OpenTelemetry advises
/// for `http.server.request.duration`, and four below for caches that answer from memory.
pub const BOUNDS_US: [u64; 18] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000,
    750_000, 1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000,
];

/// Latencies by bucket. The last bucket is for all above the last bound.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Observations by bucket, not cumulative.
    pub buckets: [Counter; BOUNDS_US.len() + 1],
    /// Sum of all observations.
    pub sum_us: Counter,
}

impl Histogram {
    pub(crate) fn record(&self, latency_us: u64) {
        let bucket = BOUNDS_US.partition_point(|bound| *bound < latency_us);
        self.buckets[bucket].add(1);
        self.sum_us.add(latency_us);
    }
}

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal,)*) => {
        /// How an exchange ended: one cause each, in the log as two letters. The first letter says
        /// who ended it (C client, S server, P the switch itself, - nobody: it was complete), the
        /// second when (R request, L request in a loop, Q queue, C connect, H head of the reply,
        /// D data, T tunnel).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Cause { $($(#[$doc])* $variant,)* }

        impl Cause {
            /// Every cause, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The two letters.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }
        }
    };
}

causes! {
    /// The reply went out whole.
    Complete = "--",
    /// The request was malformed or over a limit.
    BadRequest = "PR",
    /// The request passed this switch before: somewhere behind it is the switch itself.
    Loop = "PL",
    /// The client went away, or fell silent, before its request was whole.
    ClientRequest = "CR",
    /// The client went away, or stopped reading, during the reply.
    ClientData = "CD",
    /// The client went away while its request waited for a place.
    ClientQueue = "CQ",
    /// No server was up.
    NoServer = "PS",
    /// The server's queue was full.
    QueueFull = "PQ",
    /// The turn did not come before the deadline.
    QueueTimeout = "SQ",
    /// No connection to the server.
    Connect = "SC",
    /// The switch had no descriptor, port or memory left for a connection to the server.
    Exhausted = "PC",
    /// The server closed or reset before the head of its reply.
    ServerHead = "SH",
    /// The head of the reply did not come in time.
    FirstByteTimeout = "sH",
    /// The reply was not HTTP.
    BadReply = "PH",
    /// The server closed, reset or fell silent during the reply.
    ServerData = "SD",
    /// A tunnel ended.
    Tunnel = "-T",
    /// Its server replies to the client directly: the end is not seen here.
    OneWay = "-O",
}

/// What a worker counts.
#[derive(Debug)]
pub struct Counters {
    /// Times that accepting failed, for example for want of file descriptors.
    pub accept_failures: Counter,
    /// Requests whose head was read whole.
    pub requests: Counter,
    /// Requests between head and end now.
    pub in_flight: Counter,
    /// Replies by hundreds of the status: 1xx..5xx.
    pub statuses: [Counter; 5],
    /// Decisions by reason.
    pub decisions: [Counter; Why::ALL.len()],
    /// Ends by cause.
    pub causes: [Counter; Cause::ALL.len()],
    /// Attempts after the first.
    pub retries: Counter,
    /// Retries that the budget refused.
    pub retries_refused: Counter,
    /// Exchanges that the switch itself ended badly and during which a reload took place: stays
    /// zero as long as a reload closes nothing.
    pub cut_by_reload: Counter,
    /// Connections opened to servers.
    pub server_connects: Counter,
    /// Requests sent over a connection that was already open.
    pub server_reuses: Counter,
    /// Bytes from clients and from servers.
    pub bytes_in: Counter,
    /// Bytes sent to clients.
    pub bytes_out: Counter,
    /// Bytes that went by splice, without being copied to the switch.
    pub bytes_spliced: Counter,
    /// Connections that the kernel moved both ways.
    pub spliced: Counter,
    /// Connections that it could not, and that were relayed instead.
    pub unspliced: Counter,
    /// Log lines that were dropped because the writer could not keep up.
    pub log_dropped: Counter,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            accept_failures: Counter::default(),
            requests: Counter::default(),
            in_flight: Counter::default(),
            statuses: Default::default(),
            decisions: core::array::from_fn(|_| Counter::default()),
            causes: core::array::from_fn(|_| Counter::default()),
            retries: Counter::default(),
            retries_refused: Counter::default(),
            cut_by_reload: Counter::default(),
            server_connects: Counter::default(),
            server_reuses: Counter::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
            bytes_spliced: Counter::default(),
            spliced: Counter::default(),
            unspliced: Counter::default(),
            log_dropped: Counter::default(),
        }
    }
}

/// Replies by method and status: a small table that its worker fills as combinations turn up.
#[derive(Debug)]
pub struct Replies([(AtomicU32, Counter); REPLIES_MAX]);

/// Combinations of method and status that are told apart, per worker and route; all others are
/// counted together as the last.
const REPLIES_MAX: usize = 64;

impl Default for Replies {
    fn default() -> Self {
        Self(core::array::from_fn(|_| (AtomicU32::new(0), Counter::default())))
    }
}

impl Replies {
    /// Counts a reply. Linear: the few combinations that matter come first.
    pub(crate) fn count(&self, method: u8, status: u16) {
        let key = 1 << 31 | u32::from(method) << 16 | u32::from(status);
        for (known, counter) in &self.0[..REPLIES_MAX - 1] {
            match known.load(Ordering::Relaxed) {
                0 => known.store(key, Ordering::Release),
                other if other != key => continue,
                _ => {}
            }
            return counter.add(1);
        }
        self.0[REPLIES_MAX - 1].1.add(1);
    }

    /// Method, status and count of each combination; the rest as method 255, status 0.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u16, u64)> {
        self.0.iter().enumerate().filter_map(|(at, (known, counter))| {
            let key = known.load(Ordering::Acquire);
            let (method, status) =
                if at == REPLIES_MAX - 1 { (255, 0) } else { ((key >> 16) as u8, key as u16) };
            (counter.get() > 0).then(|| (method, status, counter.get()))
        })
    }
}

/// What durations are told apart by, beside the route: the hundreds of the status...
pub const CODE_CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// ... and the client's protocol, by the order of [`wire::http::Version`].
pub const PROTOCOLS: [&str; 2] = ["http/1.0", "http/1.1"];

/// What a worker counts of requests that came in by one listener and met one rule.
#[derive(Debug, Default)]
pub struct RouteCounters {
    /// Replies by method and status.
    pub replies: Replies,
    /// Whole time of requests, by [`PROTOCOLS`] and [`CODE_CLASSES`].
    pub durations: [[Histogram; CODE_CLASSES.len()]; PROTOCOLS.len()],
}

/// The place of a status among [`CODE_CLASSES`].
pub(crate) fn code_class(status: u16) -> usize {
    match status {
        0 => 0,
        status => usize::from(status / 100).clamp(1, CODE_CLASSES.len() - 1),
    }
}

/// What a worker counts of one listener.
#[derive(Debug, Default)]
pub struct EntranceCounters {
    /// Connections accepted.
    pub accepted: Counter,
    /// Connections open now.
    pub open: Counter,
}

/// What a worker counts of one server.
#[derive(Debug)]
pub struct ServerCounters {
    /// Requests that it answered.
    pub answered: Counter,
    /// Attempts that failed: no connection, reset, silence, no HTTP.
    pub failed: Counter,
    /// Replies with status 500 and above.
    pub errors: Counter,
    /// Bytes of requests' bodies sent to it.
    pub bytes_to: Counter,
    /// Bytes of its replies.
    pub bytes_from: Counter,
    /// Requests whose target it was believed to have cached, and not.
    pub expected_hits: Counter,
    /// Requests whose target it was believed not to have.
    pub expected_misses: Counter,
    /// Requests by class.
    pub classes: [Counter; Class::COUNT_MAX],
    /// From sending the request to the first byte of the reply.
    pub first_byte: Histogram,
    /// Whole time of its requests.
    pub duration: Histogram,
}

impl Default for ServerCounters {
    fn default() -> Self {
        Self {
            answered: Counter::default(),
            failed: Counter::default(),
            errors: Counter::default(),
            bytes_to: Counter::default(),
            bytes_from: Counter::default(),
            expected_hits: Counter::default(),
            expected_misses: Counter::default(),
            classes: core::array::from_fn(|_| Counter::default()),
            first_byte: Histogram::default(),
            duration: Histogram::default(),
        }
    }
}

/// One copy per worker, each on cache lines of its own.
#[derive(Debug)]
pub struct PerWorker<T>(Box<[Line<T>]>);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

impl<T: Default> PerWorker<T> {
    /// `count` copies.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| Line::default()).collect())
    }
}

impl<T> PerWorker<T> {
    /// The copy of one worker.
    pub fn of(&self, worker: usize) -> &T {
        &self.0[worker].0
    }

    /// All copies.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|line| &line.0)
    }

    /// The sum of one counter over the workers.
    pub fn sum(&self, counter: impl Fn(&T) -> &Counter) -> u64 {
        self.iter().map(|copy| counter(copy).get()).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_told_apart_until_the_table_is_full_and_none_is_lost() {
        let replies = Replies::default();
        (0..100).for_each(|status| replies.count(0, 200 + status));
        replies.count(0, 200);
        let all: Vec<_> = replies.iter().collect();
        assert_eq!(all[0], (0, 200, 2));
        assert_eq!(all.last(), Some(&(255, 0, 100 - (REPLIES_MAX as u64 - 1))));
    }

    #[test]
    fn a_latency_on_a_bound_belongs_below_it() {
        let histogram = Histogram::default();
        for latency_us in [0, 250, 251, 10_000_000, 10_000_001] {
            histogram.record(latency_us);
        }
        let counts: Vec<u64> = histogram.buckets.iter().map(Counter::get).collect();
        assert_eq!((counts[0], counts[1]), (2, 1));
        assert_eq!((counts[BOUNDS_US.len() - 1], counts[BOUNDS_US.len()]), (1, 1));
        assert_eq!(counts.iter().sum::<u64>(), 5);
    }
}

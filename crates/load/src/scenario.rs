//! What is to be asked of whom, when, and over which connections: ready values.

use crate::Content;
use policy::Class;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use workload::draw::Draw;
use workload::visits::Visits;

/// One run of the client.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Who is asked.
    pub address: SocketAddr,
    /// What users ask for.
    pub site: Site,
    /// The `Host` that visits name; the address where it is empty.
    pub host: String,
    /// When users come.
    pub users: Users,
    /// How the requests of a page go out.
    pub manner: Manner,
    /// What comes first is asked but not measured.
    pub warm_up: Duration,
    /// Then measured for so long. Sessions under way at its end are cut off; a trace may end
    /// before.
    pub duration: Duration,
    /// Seed of all that is drawn: arrivals, visits, and the site itself.
    pub seed: u64,
    /// How long to wait while nothing comes, before a request fails.
    pub timeout: Duration,
    /// Threads, each with a share of the sessions. 0 is 1.
    pub threads: usize,
    /// Sessions at a time, at most: beyond, users turn away and are counted as such.
    pub sessions_max: usize,
    /// The classes of a trace's targets, by their numbers; static beyond.
    pub classes: Arc<[Class]>,
    /// What bodies must hold, if that is to be checked; then the status is checked, and the length
    /// where the URL says it.
    pub content: Option<Content>,
}

/// What users ask for.
#[derive(Clone, Debug)]
pub enum Site {
    /// The documents of a synthetic site, in visits with pages and thinking.
    Visits(Arc<Visits>),
    /// The sessions of a trace: a batch is a page, the gaps between batches are logged ones,
    /// divided by the speed; `None` skips them.
    Trace(Arc<workload::Plan>, Option<f64>),
    /// The same object again and again, at once.
    One(One),
}

/// A single object.
#[derive(Clone, Debug)]
pub struct One {
    /// The `Host` that is named.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// Requests of a session; 0: as many as there is time for.
    pub requests: u64,
    /// Its class.
    pub class: Class,
}

/// When users come.
#[derive(Clone, Debug)]
pub enum Users {
    /// Open loop: they come when they come, however long others are kept waiting.
    Open(Arrivals),
    /// Closed loop, WebStone's way: so many at a time; when one leaves, the next one comes.
    Closed(usize),
}

/// How sessions arrive. Rates are in sessions a second.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Independent gaps, such as exponential ones (Poisson) or Weibull's, in seconds.
    Gaps(Draw),
    /// A rate that changes steadily from one to another within the measured time; the first one
    /// holds in the warm-up.
    Ramp {
        /// At the beginning.
        from_s: f64,
        /// At the end.
        to_s: f64,
    },
    /// One rate after another, each for its time, arrivals independent; the first one holds in
    /// the warm-up too, the last one stays.
    Steps(Vec<(f64, Duration)>),
    /// The times at which the trace's sessions began, divided by its speed.
    Logged,
}

/// How the requests of a page go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Over so many persistent connections side by side, 1 to 6 as browsers do: the page first,
    /// then what is in it.
    Parallel(usize),
    /// The page first, then all that is in it at once on the one persistent connection.
    Pipelined,
    /// A connection for each request (HTTP/1.0), so many side by side.
    Closing(usize),
}

impl Scenario {
    /// Users of `site` who come independently, one a second: 6 connections, 2 s of warm-up, 10 s,
    /// 30 s of patience, one thread, contents unchecked.
    pub fn new(address: SocketAddr, site: Site, users: Users) -> Self {
        Self {
            address,
            site,
            host: String::new(),
            users,
            manner: Manner::Parallel(6),
            warm_up: Duration::from_secs(2),
            duration: Duration::from_secs(10),
            seed: 1,
            timeout: Duration::from_secs(30),
            threads: 1,
            sessions_max: 100_000,
            classes: Arc::default(),
            content: None,
        }
    }
}

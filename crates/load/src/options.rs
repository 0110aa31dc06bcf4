//! How a trace is to be played.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// What bodies must hold.
#[derive(Clone)]
pub struct Content(Arc<Holds>);

/// Whether `bytes` are what the target's body holds at `offset`: `(site, url, offset, bytes)`.
type Holds = dyn Fn(&str, &str, u64, &[u8]) -> bool + Send + Sync;

impl Content {
    /// Checked by `holds`, which says whether `bytes` are what the target's body holds at `offset`:
    /// `(site, url, offset, bytes)`.
    pub fn new(holds: impl Fn(&str, &str, u64, &[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    /// Whether `bytes` are right.
    pub fn holds(&self, site: &str, url: &str, offset: u64, bytes: &[u8]) -> bool {
        (self.0)(site, url, offset, bytes)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Content")
    }
}

/// How a trace is to be played.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who is asked.
    pub address: SocketAddr,
    /// Sessions at a time: when one ends, the next of the trace begins (closed loop). 0 is 1.
    pub sessions: usize,
    /// How many times faster than logged the gaps between the batches of a session pass; `None`
    /// skips them, so that each batch follows at once.
    pub speed: Option<f64>,
    /// Whether the requests of a batch are sent at once, and not one after another.
    pub pipelining: bool,
    /// How long to wait while nothing comes, before a request fails.
    pub timeout: Duration,
    /// Whether a whole reply must be as long as the trace's target.
    pub verify_size: bool,
    /// What bodies must hold, if that is to be checked.
    pub content: Option<Content>,
}

impl Options {
    /// 64 sessions at a time, no gaps, no pipelining, 30 s, sizes and contents unchecked.
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            sessions: 64,
            speed: None,
            pipelining: false,
            timeout: Duration::from_secs(30),
            verify_size: false,
            content: None,
        }
    }
}

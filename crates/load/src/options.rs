//! How a trace is to be played.

use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

/// Says whether `bytes` are what the target's body holds at `offset`: `(site, url, offset, bytes)`.
pub type Content = Rc<dyn Fn(&str, &str, u64, &[u8]) -> bool>;

/// How a trace is to be played.
#[derive(Clone)]
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

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("address", &self.address)
            .field("sessions", &self.sessions)
            .field("speed", &self.speed)
            .field("pipelining", &self.pipelining)
            .field("timeout", &self.timeout)
            .field("verify_size", &self.verify_size)
            .field("content", &self.content.is_some())
            .finish()
    }
}

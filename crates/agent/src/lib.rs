//! BESIDE A SERVER: whether a host can do one-way delivery, and what its server has to do.
//!
//! [`doctor`] looks at the settings of a host, a front-end's or a server's, before connections are
//! handed over there: what stands in the way fails silently otherwise, segment by segment. An
//! [`Agent`] samples a server's load ([`sample`]) and tells it over HTTP; the switch asks with
//! [`client`]. The kernel is read through [`host::Host`] alone, so that tests show both a host
//! that was made up. What the kernel's own program counts comes in through [`Kernel`]; this crate
//! knows nothing of eBPF.

pub mod client;
pub mod doctor;
pub mod host;
mod metrics;
mod netlink;
mod report;
pub mod sample;
mod sampler;
mod serve;

pub use report::{Fault, Flow, FlowsPage, Forwarding, LoadReport, Peer, TakesOver};
pub use serve::Agent;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// What an agent is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server's name.
    pub server: String,
    /// Where the served program listens on this host.
    pub served: SocketAddr,
    /// Where clients connect.
    pub vips: Vec<SocketAddr>,
    /// Time between readings.
    pub period: Duration,
    /// What the doctor looks at again while the agent runs; `None`: nothing.
    pub watched: Option<doctor::Site>,
}

impl Settings {
    /// The ports whose connections are counted: a socket that was made of a client's segment has
    /// the port that the client named, whatever its listener's.
    fn ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.vips.iter().map(SocketAddr::port).collect();
        ports.push(self.served.port());
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

/// The program in the kernel that takes over connections, as far as an agent reports of it.
pub trait Kernel: Send + Sync {
    /// What it has counted since it was loaded, by name.
    ///
    /// # Errors
    /// The system's.
    fn counters(&self) -> io::Result<Vec<(String, u64)>>;

    /// What it takes over, and whether it is in its place now: asked with every reading, so quick.
    /// `None`: there is no program.
    fn takes_over(&self) -> Option<TakesOver> {
        None
    }
}

/// The relay that serves connections for which the front-end chooses a server at each request, as
/// far as an agent reports of it.
pub trait Relay: Send + Sync {
    /// What it has done since it began.
    fn forwarding(&self) -> Forwarding;
}

/// No program in the kernel: an agent that reports and does nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKernel;

impl Kernel for NoKernel {
    fn counters(&self) -> io::Result<Vec<(String, u64)>> {
        Ok(Vec::new())
    }
}

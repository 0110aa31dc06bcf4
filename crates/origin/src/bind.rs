//! How an origin begins: its socket, its epoll set, its timer.

use crate::clock::Clock;
use crate::faults::Faults;
use crate::origin::{BELL, Origin, TIMER};
use crate::real::{DOCUMENT_BYTES_MAX, Real};
use crate::reply::{self, Today};
use crate::status::{self, Window};
use crate::table::Table;
use crate::timed::Timed;
use crate::usage::Usage;
use crate::{Config, conn, content};
use core::net::SocketAddr;
use core::time::Duration;
use policy::{Instant, TargetId};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use wire::http::Limits;

/// Connections waiting in the kernel.
const BACKLOG: u16 = 4096;

/// Samples are not taken more often.
const PERIOD_MIN: Duration = Duration::from_millis(10);

/// Why an origin did not start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {cause}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// What the kernel said.
        cause: std::io::Error,
    },
    /// The kernel refused an epoll set or a timer.
    #[error("cannot set up the event loop: {0}")]
    Events(std::io::Error),
    /// The time scale is negative or no number.
    #[error("a time scale of {0} makes no sense; give 0 or more, such as 0.05")]
    Scale(f64),
    /// The real mode cannot begin: no thread, or a root that cannot be written to.
    #[error("cannot begin to burn and read: {0}")]
    Real(std::io::Error),
    /// Samples or reports would be made without a pause.
    #[error("a period of {0:?} is too short for samples and reports; give {PERIOD_MIN:?} or more")]
    Period(Duration),
}

impl Origin {
    /// Listens; [`Origin::serve`] answers.
    ///
    /// # Errors
    ///
    /// [`BindError`], of which [`BindError::Listen`] is what users meet.
    pub fn bind(mut config: Config) -> Result<Self, BindError> {
        if !(config.time_scale >= 0.0 && config.time_scale.is_finite()) {
            return Err(BindError::Scale(config.time_scale));
        }
        let shortest = config.sample.min(config.report_period);
        if shortest < PERIOD_MIN {
            return Err(BindError::Period(shortest));
        }
        let cannot_listen = |cause| BindError::Listen { addr: config.listen, cause };
        let (listener, addr) = listen(config.listen).map_err(cannot_listen)?;
        let no_events = |cause: Errno| BindError::Events(cause.into());
        let timed = Timed::new(&config).map_err(no_events)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(no_events)?;
        watch_timer(&poll, &timed.clock).map_err(no_events)?;
        let real = real(&mut config, &timed.clock, &poll)?;
        let mut origin = Self {
            timed,
            real,
            outcomes: Vec::new(),
            faults: Faults::default(),
            window: Window::default(),
            reported: Window::default(),
            sampled: Window::default(),
            usage: Usage::new(&config.name),
            out_bytes: 0,
            today: Today::new(),
            cache_name: reply::cache_name(&config.name),
            limits: Limits::default(),
            buffer: Vec::with_capacity(conn::BUFFER_BYTES),
            conns: Table::default(),
            accepted: 0,
            refused: 0,
            now: Instant::ZERO,
            unfinished: Vec::new(),
            drain_until: None,
            addr,
            listener: Some(listener),
            backlog: status::backlog_allowed(u32::from(BACKLOG)),
            accepting: false,
            more_clients: false,
            tick_at: Instant::ZERO,
            sweep_at: Instant::ZERO,
            sample_at: Instant::ZERO.plus(config.sample),
            report_at: Instant::ZERO.plus(config.report_period),
            parts: Vec::new(),
            poll,
            config,
        };
        // Makes the pattern now rather than while the first client waits.
        content::slice(TargetId(0), 0, 0);
        origin.accept_more();
        Ok(origin)
    }
}

fn listen(addr: SocketAddr) -> std::io::Result<(OwnedFd, SocketAddr)> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    // Accepted sockets inherit it.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&addr.into())?;
    socket.listen(i32::from(BACKLOG))?;
    let addr = socket.local_addr()?.as_socket().ok_or(std::io::ErrorKind::AddrNotAvailable)?;
    Ok((socket.into(), addr))
}

fn watch_timer(poll: &OwnedFd, clock: &Clock) -> rustix::io::Result<()> {
    epoll::add(poll, clock, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)
}

/// Starts what burns and reads, if it is to be done.
fn real(
    config: &mut Config,
    clock: &Clock,
    poll: &OwnedFd,
) -> Result<Option<Box<Real>>, BindError> {
    let Some(settings) = config.real.clone() else { return Ok(None) };
    if settings.roots.is_empty() {
        let why = "there is no folder for the documents";
        return Err(BindError::Real(std::io::Error::other(why)));
    }
    config.sizes.bytes_max = config.sizes.bytes_max.min(DOCUMENT_BYTES_MAX);
    let real = Real::start(config, settings, clock.start()).map_err(BindError::Real)?;
    epoll::add(poll, &real, EventData::new_u64(BELL), EventFlags::IN | EventFlags::ET)
        .map_err(|cause| BindError::Events(cause.into()))?;
    Ok(Some(Box::new(real)))
}

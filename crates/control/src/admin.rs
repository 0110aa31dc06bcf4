//! The admin interface: metrics, health, the JSON API and the status page.
//!
//! A Unix socket by default; TCP only with a token, for who reaches this can drain every server.
//! GET never changes anything. Every error is JSON with what is wrong and what to do.

mod api;
mod listen;
mod token;

pub use listen::{Bind, BindError};
pub use token::{TOKEN_CHARS_MIN, Token};

use crate::Supervisor;
use crate::history::History;
use listen::{Listener, Socket};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long a request may take from its connection, or its first byte on one that was used before,
/// to its last byte: those who have no token must not keep others out by being slow.
const REQUEST_MAX: Duration = Duration::from_secs(5);
/// How long exchanges under way have to end when the switch stops.
const STOP_MAX: Duration = Duration::from_secs(2);

/// An admin interface that listens; [`Admin::serve`] answers.
#[derive(Debug)]
pub struct Admin {
    socket: Socket,
    token: Option<Token>,
    /// How long a connection may take to send a request whole.
    request_max: Duration,
}

impl Admin {
    /// Listens. Works outside of a runtime, so that a program can fail before it starts threads.
    ///
    /// # Errors
    /// [`BindError`]: the place is taken, or the system refuses it.
    pub fn bind(bind: &Bind) -> Result<Self, BindError> {
        let socket = listen::bind(bind)?;
        let token = match bind {
            Bind::Unix(_) => None,
            Bind::Tcp(_, token) => Some(token.clone()),
        };
        Ok(Self { socket, token, request_max: REQUEST_MAX })
    }

    /// Gives requests another time to come whole than 5 seconds.
    #[must_use]
    pub fn with_request_max(self, request_max: Duration) -> Self {
        Self { request_max, ..self }
    }

    /// The address with the port that the kernel gave; `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Unix(..) => None,
            Socket::Tcp(socket) => socket.local_addr().ok(),
        }
    }

    /// Answers until `stop` is ready, then for a short while more whoever has asked already. A
    /// Unix socket's file is gone at the end.
    ///
    /// # Errors
    /// When the runtime cannot take the socket.
    pub async fn serve(
        self,
        supervisor: Arc<Supervisor>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let listener = Listener::new(self.socket, self.request_max)?;
        let history = Arc::new(History::default());
        let routes = api::routes(supervisor.clone(), history.clone(), self.token);
        let (stopped, mut stopping) = tokio::sync::watch::channel(false);
        let stop = async move {
            stop.await;
            // Nobody listens when serving has ended already.
            let _ = stopped.send(true);
        };
        let serving = axum::serve(listener, routes).with_graceful_shutdown(stop);
        let late = async {
            let _ = stopping.wait_for(|stopped| *stopped).await;
            tokio::time::sleep(STOP_MAX).await;
        };
        tokio::select! {
            ended = serving => ended,
            () = late => Ok(()),
            never = history.keep(&supervisor) => match never {},
        }
    }
}

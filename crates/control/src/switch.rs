//! What the slow side needs of a running switch: the only seam between control and the data plane.
//!
//! The program implements [`Switch`] with the distributor's shared state. Every question answers
//! with plain data, so that nothing here can hold up a worker for longer than it takes to copy
//! counters, and nothing here knows how they are kept. Who decides what: the data plane counts and
//! chooses; the [`crate::Supervisor`] decides which server is up, down, ejected or draining, and
//! how warm it is, and *tells* the switch.

use crate::view::{
    ConnectionsView, DecisionView, ExplainRequest, ExplainView, ServerView, Status, Totals,
};
use policy::State;

/// A running switch, as control sees it. Methods may take short locks but never wait for a client
/// or a server; they are called from control's own thread.
pub trait Switch: Send + Sync + 'static {
    /// The process as a whole: version, policy, configuration, listeners.
    fn status(&self) -> Status;

    /// Every server in the books, those that were removed and still finish work too, by slot.
    fn servers(&self) -> Vec<ServerView>;

    /// The counters that belong to no single server, since the process began.
    fn totals(&self) -> Totals;

    /// The most recent decisions, newest first, `count` at most.
    fn decisions(&self, count: usize) -> Vec<DecisionView>;

    /// Connections that are handed over, `count` at most: none where everything is relayed.
    fn connections(&self, count: usize) -> ConnectionsView;

    /// Which rule, class, target and server a request would meet now. Changes nothing.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] when the URL or method cannot be read.
    fn explain(&self, request: &ExplainRequest) -> Result<ExplainView, Refusal>;

    /// Lets a server take new requests, or not, or only in an emergency. Called by the supervisor
    /// alone, at each change and once when it adopts a server. A name the switch does not know is
    /// passed over: a reload may have removed it.
    fn set_state(&self, server: &str, state: State);

    /// Sets how far a server's slow start has come, 1..=[`policy::WARM`]. As for unknown names,
    /// see [`Switch::set_state`].
    fn set_warmth(&self, server: &str, warmth: u16);

    /// Changes a server's weight until the next reload and returns the old one.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when no server has the name, [`Refusal::Invalid`] when the weight is
    /// not acceptable (0, or above what the configuration allows).
    fn set_weight(&self, server: &str, weight: u32) -> Result<u32, Refusal>;
}

/// Why a question or a change was refused: the operator's trouble, never ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// It cannot be read or is out of bounds.
    #[error("{0}")]
    Invalid(String),
}

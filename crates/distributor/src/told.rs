//! Requests whose server was chosen elsewhere: the front-end decided, and the holder of the
//! connection fetches (back-end forwarding; Aron, Druschel, Zwaenepoel: *Efficient Support for
//! P-HTTP in Cluster-Based Web Servers*, USENIX ATC 1999).
//!
//! What was chosen is known by the place of the request in the client's stream, so that place is
//! kept for connections of which somebody was told. The answer becomes the request's target: a
//! policy that reads targets as servers then decides, and gates, retries and books work as always.

use crate::io::Socket;
use policy::{Assignment, Cluster, Dice, Policy, Request, ServerId, TargetId, Why};
use std::net::SocketAddr;

/// Who was told which server each request of a connection is for. Asked on the data path.
pub trait Told: Send + Sync {
    /// The sequence number of the first byte of `client`'s stream to `to`. `None`: nobody was told
    /// of this connection.
    fn first(&self, client: SocketAddr, to: SocketAddr) -> Option<u32>;

    /// What the policy is to take as the target of a request.
    fn target(&self, request: &Found) -> TargetId;
}

/// A request in a client's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Who sent it.
    pub client: SocketAddr,
    /// To which address.
    pub to: SocketAddr,
    /// Sequence number of its first byte; `None`: nobody was told of the connection.
    pub seq: Option<u32>,
    /// Whether it was there already when the request before it was answered: pipelined.
    pub pipelined: bool,
}

/// The policy for it: a target is the number of its server. One that may not be chosen, for it
/// failed just now, leaves the request to the first server, the holder itself; and where that is
/// the one that failed, to the least loaded of the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsTold;

/// The slot of the server that holds the connections.
const HERE: ServerId = ServerId(0);

impl Policy for AsTold {
    fn decide(&self, request: &Request, cluster: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let told = u16::try_from(request.target.0).map_or(HERE, ServerId);
        let wanted = [told, HERE].into_iter().find(|id| cluster.is_usable(*id));
        let rest = || cluster.usable().iter().copied().min_by_key(|id| cluster.load(*id));
        let server = wanted.or_else(rest)?;
        let why = if server == HERE { Why::Sticky } else { Why::Forward };
        Some(Assignment::new(server, why))
    }
}

/// Where a client's stream is.
pub(crate) struct Stream {
    client: SocketAddr,
    to: SocketAddr,
    /// Sequence number of the next request's first byte.
    next: Option<u32>,
    /// Whether bytes of it came along with the request before.
    pub(crate) pipelined: bool,
}

impl Stream {
    /// A connection that was just accepted; `None` for one whose socket does not know its address.
    pub(crate) fn begin(told: &dyn Told, socket: &Socket, client: SocketAddr) -> Option<Self> {
        let to = socket.local_address()?;
        let canonical = |at: SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
        let (client, to) = (canonical(client), canonical(to));
        Some(Self { client, to, next: told.first(client, to), pipelined: false })
    }

    /// The request that begins here.
    pub(crate) fn found(&self) -> Found {
        let Self { client, to, next: seq, pipelined } = *self;
        Found { client, to, seq, pipelined }
    }

    /// So many bytes of it were used. Sequence numbers go round, as TCP's do.
    pub(crate) fn advance(&mut self, bytes: u64) {
        self.next = self.next.map(|next| next.wrapping_add(bytes as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_round_where_sequence_numbers_do() {
        let at = SocketAddr::from(([127, 0, 0, 1], 80));
        let mut stream = Stream { client: at, to: at, next: Some(u32::MAX - 9), pipelined: false };
        stream.advance(3);
        assert_eq!(stream.found().seq, Some(u32::MAX - 6));
        stream.advance((5 << 32) + 10);
        assert_eq!(stream.found().seq, Some(3));
        stream.next = None;
        stream.advance(1);
        assert_eq!(stream.found().seq, None);
    }
}

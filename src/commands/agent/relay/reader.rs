//! From the tags that came with requests to the servers they name.

use super::HERE;
use distributor::{Found, Told};
use policy::TargetId;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// What the kernel keeps of the front-end's choices.
pub(in crate::commands::agent) trait Tags: Send + Sync {
    /// The sequence number of the first byte of a connection that was handed over here.
    fn first(&self, client: SocketAddr, vip: SocketAddr) -> Option<u32>;

    /// The tag of the request whose first byte has this number; taken out.
    fn tag(&self, client: SocketAddr, vip: SocketAddr, seq: u32) -> Option<u32>;

    /// The tag that stands for a server.
    fn of(&self, server: &str) -> u32;
}

/// The slot of each server by its tag.
pub(super) type Slots = Arc<RwLock<HashMap<u32, u16>>>;

/// Requests by how their server was found.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) here: AtomicU64,
    pub(super) elsewhere: AtomicU64,
    pub(super) pipelined: AtomicU64,
    pub(super) unknown_server: AtomicU64,
    pub(super) not_handed_over: AtomicU64,
}

/// Reads tags as servers.
pub(super) struct Reader {
    pub(super) counts: Arc<Counts>,
    pub(super) slots: Slots,
    pub(super) tags: Arc<dyn Tags>,
}

impl Told for Reader {
    fn first(&self, client: SocketAddr, to: SocketAddr) -> Option<u32> {
        self.tags.first(client, to)
    }

    fn target(&self, request: &Found) -> TargetId {
        let (Found { client, to, seq, pipelined }, counts) = (*request, &self.counts);
        let tag = seq.map(|seq| self.tags.tag(client, to, seq));
        let slot =
            |tag| self.slots.read().unwrap_or_else(PoisonError::into_inner).get(&tag).copied();
        let (count, slot) = match (tag, tag.flatten().map(slot)) {
            (None, _) => (&counts.not_handed_over, HERE.0),
            (Some(_), None) if pipelined => (&counts.pipelined, HERE.0),
            (Some(_), None) => (&counts.here, HERE.0),
            (Some(_), Some(None)) => (&counts.unknown_server, HERE.0),
            (Some(_), Some(Some(slot))) if slot == HERE.0 => (&counts.here, slot),
            (Some(_), Some(Some(slot))) => (&counts.elsewhere, slot),
        };
        count.fetch_add(1, Ordering::Relaxed);
        TargetId(u64::from(slot))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The tag of a request is the number of its first byte.
    pub(in super::super) struct Made;

    impl Tags for Made {
        fn first(&self, _: SocketAddr, _: SocketAddr) -> Option<u32> {
            None
        }

        fn tag(&self, _: SocketAddr, _: SocketAddr, seq: u32) -> Option<u32> {
            (seq > 0).then_some(seq)
        }

        fn of(&self, server: &str) -> u32 {
            server.len() as u32
        }
    }

    #[test]
    fn what_nobody_chose_or_nobody_knows_is_served_here_and_counted() {
        let slots = Arc::new(RwLock::new([(10, 0), (11, 1)].into()));
        let counts = Arc::<Counts>::default();
        let reader = Reader { counts: Arc::clone(&counts), slots, tags: Arc::new(Made) };
        let at = SocketAddr::from(([192, 0, 2, 1], 80));
        let target =
            |seq, pipelined| reader.target(&Found { client: at, to: at, seq, pipelined }).0;
        assert_eq!(target(Some(11), true), 1);
        let here = [target(Some(10), false), target(Some(0), false), target(Some(0), true)];
        assert_eq!((here, target(Some(99), false), target(None, true)), ([0; 3], 0, 0));
        let Counts { here, elsewhere, pipelined, unknown_server, not_handed_over } = &*counts;
        let seen = [here, elsewhere, pipelined, unknown_server, not_handed_over];
        assert_eq!(seen.map(|count| count.load(Ordering::Relaxed)), [2, 1, 1, 1, 1]);
    }
}

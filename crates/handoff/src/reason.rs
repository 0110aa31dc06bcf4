//! Why the front-end's program sent a connection to the relay by itself.

use crate::Front;
use crate::layout::{COUNTS, FlowKey};
use libbpf_rs::MapCore;
use std::net::SocketAddr;

/// Why a connection goes to the relay. What user space said it knows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It begins with no known method of HTTP/1.
    NotHttp,
    /// The head does not end in the segment.
    SplitHead,
    /// More than one request is in the segment.
    Pipelined,
    /// A memo or a wheel says so, or an answer to a later request of a connection handed over.
    Verdict,
    /// There is no room for another connection.
    Full,
}

impl Front {
    /// Why the connection of `client` to `vip` was sent to the relay, told once. `None`: the
    /// program was told to, has not done it, or has noted too many others since.
    pub fn relayed(&self, client: SocketAddr, vip: SocketAddr) -> Option<Reason> {
        let key = FlowKey::new(client, vip);
        let reasons = self.loaded.map("reasons");
        let bytes = reasons.lookup_and_delete(bytemuck::bytes_of(&key)).ok()??;
        let count: u32 = bytemuck::try_pod_read_unaligned(&bytes).ok()?;
        named(COUNTS.get(usize::try_from(count).ok()?)?)
    }
}

/// By the name of what was counted.
fn named(count: &str) -> Option<Reason> {
    match count {
        "local_not_http" => Some(Reason::NotHttp),
        "local_split_head" => Some(Reason::SplitHead),
        "local_pipelined" => Some(Reason::Pipelined),
        "local_verdict" => Some(Reason::Verdict),
        "local_full" => Some(Reason::Full),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_counted_of_connections_for_the_relay_has_a_reason() {
        // What was refused is accepted by nobody.
        let local = |name: &&&str| name.starts_with("local_") && **name != "local_refused";
        let known: Vec<_> = COUNTS.iter().filter(|name| named(name).is_some()).collect();
        assert_eq!(known, COUNTS.iter().filter(local).collect::<Vec<_>>());
    }
}

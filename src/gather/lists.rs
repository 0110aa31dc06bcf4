//! Reads which connections a server has, page by page.

use super::DEADLINE_MAX;
use crate::oneway::fabric::Owned;
use agent::Flow;
use agent::client::fetch_flows;
use distributor::Clock;
use std::time::Duration;

/// All of them are read within this, or not at all.
const TIME_MAX: Duration = Duration::from_secs(5);
/// Pages of connections that are read: beyond, nothing is reconciled.
const PAGES_MAX: usize = 256;
/// All connections that a server has; `None` when not all of them could be read in time.
pub(super) async fn owned(address: &str, clock: Clock) -> Option<Owned> {
    tokio::time::timeout(TIME_MAX, pages(address, clock)).await.ok().flatten()
}

async fn pages(address: &str, clock: Clock) -> Option<Owned> {
    let asked = clock.now();
    let mut flows: Vec<Flow> = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = fetch_flows(address, flows.last().copied(), DEADLINE_MAX).await.ok()?;
        let (more, advances) = (page.more, page.flows.last() > flows.last());
        flows.extend(page.flows);
        if !more {
            flows.sort_unstable();
            let ends = flows.into_iter().map(|flow| (flow.client, flow.vip)).collect();
            return Some(Owned { asked, ends, vips: Vec::new() });
        }
        if !advances {
            return None;
        }
    }
    None
}

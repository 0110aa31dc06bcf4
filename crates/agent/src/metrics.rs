//! The Prometheus page (OpenMetrics text) of an agent: its last report.
//!
//! A number that could not be read has no line, which a collector sees as a gap, not as zero.

use crate::report::{Forwarding, LoadReport, Peer};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;

/// The media type of what [`page`] returns.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The page.
pub(crate) fn page(report: LoadReport) -> String {
    let mut registry = Registry::with_prefix("baton_agent");
    registry.register_collector(Box::new(Page(report)));
    let mut page = String::new();
    text::encode(&mut page, &registry).expect("writing to a string does not fail");
    page
}

#[derive(Debug)]
struct Page(LoadReport);

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let report = &self.0;
        let load_1m = report.load_average.map(|means| means[0]);
        let attached = report.takes_over.as_ref();
        let attached = attached.map(|one| f64::from(u8::from(one.attached)));
        let gauges = [
            ("cpu_busy_ratio", "Share of the processors' time that was busy", report.cpu_busy),
            ("disk_busy_ratio", "Share of time that the busiest disk was busy", report.disk_busy),
            ("disk_queue", "Requests at or before the disks, on average", report.disk_queue),
            ("load_1m", "Runnable and waiting tasks, mean of a minute", load_1m),
            ("accept_queue", "Connections to be accepted", report.accept_queue.map(f64::from)),
            ("accept_backlog", "Connections that may wait", report.accept_backlog.map(f64::from)),
            ("connections", "Established connections", report.established.map(f64::from)),
            ("healthy", "1 when the server accepts", Some(f64::from(u8::from(report.healthy)))),
            ("unread", "Readings that failed the last time", Some(report.unread.len() as f64)),
            ("attached", "1 when the program in the kernel is in its place", attached),
            ("faults", "What the doctor finds wrong", Some(report.faults.len() as f64)),
        ];
        for (name, help, value) in gauges {
            let Some(value) = value else { continue };
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)?;
        }
        let help = "What the program in the kernel has counted";
        let counts = report.kernel.iter().map(|(name, count)| (name.as_str(), *count));
        counters(&mut encoder, "kernel", help, "what", counts)?;
        match &report.forwarding {
            Some(forwarding) => relay(&mut encoder, forwarding),
            None => Ok(()),
        }
    }
}

/// What the relay did.
fn relay(encoder: &mut DescriptorEncoder<'_>, forwarding: &Forwarding) -> fmt::Result {
    let help = "Clients' connections open at the relay";
    let metric = encoder.encode_descriptor("relay_connections", help, None, MetricType::Gauge)?;
    ConstGauge::new(forwarding.connections as f64).encode(metric)?;
    let help = "Requests by how their server was found, and what became of some";
    let requests = forwarding.requests.iter().map(|(name, count)| (name.as_str(), *count));
    counters(encoder, "relay_requests", help, "how", requests)?;
    type Value = fn(&Peer) -> u64;
    let families: [(&str, &str, Value); 4] = [
        ("peer_requests", "Requests that a server answered", |peer| peer.requests),
        ("peer_failures", "Attempts that failed", |peer| peer.failures),
        ("peer_sent_bytes", "Bytes of requests' bodies sent to a server", |peer| peer.bytes_to),
        ("peer_received_bytes", "Bytes of a server's replies", |peer| peer.bytes_from),
    ];
    for (name, help, value) in families {
        let peers = forwarding.peers.iter().map(|peer| (peer.server.as_str(), value(peer)));
        counters(encoder, name, help, "server", peers)?;
    }
    Ok(())
}

/// A family of counters with one label; nothing where there are none.
fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &str,
    counts: impl Iterator<Item = (&'a str, u64)>,
) -> fmt::Result {
    let mut counts = counts.peekable();
    if counts.peek().is_none() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (value, count) in counts {
        ConstCounter::new(count).encode(family.encode_family(&[(label, value)])?)?;
    }
    Ok(())
}

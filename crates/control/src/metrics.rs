//! The Prometheus page (OpenMetrics text): every counter of the switch, read at the scrape.
//!
//! The hot counters live with the workers; nothing here is ever written to by one. Rules: base
//! units in the name, one unit a metric, sums over labels make sense, and no label whose values
//! come from the network (no path, no client, no arbitrary method).

mod oneway;

use crate::Supervisor;
use crate::view::{Histogram, ServerReport, ServerState, Status, Totals};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::encoding::{NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// The media type of what [`page`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics as they are now.
pub fn page(supervisor: &Supervisor) -> String {
    let switch = supervisor.switch();
    let (status, totals) = (switch.status(), switch.totals());
    let snapshot = Snapshot { status, totals, servers: supervisor.reports() };
    let mut registry = Registry::with_prefix("baton");
    registry.register_collector(Box::new(snapshot));
    let mut page = String::new();
    text::encode(&mut page, &registry).expect("writing to a string does not fail");
    page
}

/// The greatest load of a server that is up, over the mean of those: 1 is perfect balance, and
/// what an idle switch reports.
pub fn load_imbalance(servers: &[ServerReport]) -> f64 {
    let up = servers.iter().filter(|report| report.standing.state == ServerState::Up);
    let loads: Vec<f64> = up.map(|report| report.server.load).collect();
    let total: f64 = loads.iter().sum();
    let greatest = loads.iter().copied().fold(0.0, f64::max);
    if total > 0.0 { greatest * loads.len() as f64 / total } else { 1.0 }
}

/// Everything a scrape shows, taken at its beginning.
#[derive(Debug)]
struct Snapshot {
    status: Status,
    totals: Totals,
    servers: Vec<ServerReport>,
}

impl prometheus_client::collector::Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut families = Families(encoder);
        self.process(&mut families)?;
        self.traffic(&mut families)?;
        self.outcomes(&mut families)?;
        self.decisions(&mut families)?;
        self.server_states(&mut families)?;
        self.server_traffic(&mut families)?;
        if let Some(view) = &self.status.oneway {
            oneway::encode(view, &mut families)?;
            oneway::troubles(&self.status.agents, &mut families)?;
        }
        if self.status.agents.is_empty() {
            return Ok(());
        }
        oneway::agents(&self.status.agents, &mut families)
    }
}

impl Snapshot {
    fn process(&self, families: &mut Families) -> fmt::Result {
        let Status { version, commit, config, .. } = &self.status;
        let build = [("version", version.as_str()), ("commit", commit.as_deref().unwrap_or(""))];
        families.info("build", "The program that runs", &build)?;
        let hash = [("hash", config.hash.as_str()), ("source", config.source.as_str())];
        families.info("config_hash", "The configuration in force", &hash)?;
        families.gauge(
            "start_time",
            "When the process began, since 1970",
            Some(Unit::Seconds),
            [([], self.status.started_unix_ms as f64 / 1000.0)],
        )?;
        let reloads = [("success", config.reloads_ok), ("failure", config.reloads_failed)];
        families.counter(
            "config_reloads",
            "Attempts to reload the configuration",
            None,
            reloads.map(|(result, count)| ([("result", result)], count)),
        )?;
        // A process that runs has loaded its configuration at least at the start.
        let succeeded = config.reload_last.as_ref().is_none_or(|last| last.ok);
        families.gauge(
            "config_last_reload_success",
            "1 when the last attempt to load the configuration took effect",
            None,
            [([], f64::from(u8::from(succeeded)))],
        )?;
        families.counter(
            "streams_closed_by_reload",
            "Exchanges that a reload cut short; must stay 0",
            None,
            [([], self.totals.streams_closed_by_reload)],
        )
    }

    fn traffic(&self, families: &mut Families) -> fmt::Result {
        let Totals { requests, durations, .. } = &self.totals;
        let listeners = &self.status.listeners;
        families.gauge(
            "connections",
            "Client connections that are open",
            None,
            listeners.iter().map(|l| ([("listener", l.name.as_str())], l.connections_open as f64)),
        )?;
        families.counter(
            "connections_accepted",
            "Client connections ever accepted",
            None,
            listeners.iter().map(|l| ([("listener", l.name.as_str())], l.connections_total)),
        )?;
        families.gauge(
            "requests_inflight",
            "Requests being served or waiting",
            None,
            [([], self.status.in_flight as f64)],
        )?;
        let codes: Vec<String> = requests.iter().map(|count| code_label(count.code)).collect();
        families.counter(
            "requests",
            "Requests by where they came in and how they were answered",
            None,
            requests.iter().zip(&codes).map(|(count, code)| {
                let route = count.route.as_deref().unwrap_or("");
                let (listener, method) = (count.listener.as_str(), count.method.as_str());
                let code = ("code", code.as_str());
                ([("listener", listener), ("route", route), ("method", method), code], count.count)
            }),
        )?;
        families.histogram(
            "request_duration",
            "From the head of a request to the last byte of its reply",
            durations.iter().map(|timed| {
                let route = ("route", timed.route.as_deref().unwrap_or(""));
                let code_class = ("code_class", timed.code_class.as_str());
                let protocol = ("protocol", timed.protocol.as_str());
                let listener = ("listener", timed.listener.as_str());
                ([listener, route, code_class, protocol], &timed.duration)
            }),
        )?;
        families.counter(
            "accept_failures",
            "Times that a client's connection could not be accepted",
            None,
            [([], self.totals.accept_failures)],
        )
    }

    fn outcomes(&self, families: &mut Families) -> fmt::Result {
        let Totals { rejects, ends, .. } = &self.totals;
        families.counter(
            "requests_ended",
            "Requests by how they ended, with the two letters of the access log",
            None,
            ends.iter().map(|(cause, count)| ([("cause", cause.as_str())], *count)),
        )?;
        families.counter(
            "rejects",
            "Requests refused before a server was asked",
            None,
            rejects.iter().map(|(cause, count)| ([("cause", cause.as_str())], *count)),
        )?;
        families.counter(
            "retries",
            "Requests tried again on another server",
            None,
            [([], self.totals.retries)],
        )?;
        families.counter(
            "retries_refused",
            "Retries that the budget refused",
            None,
            [([], self.totals.retries_refused)],
        )?;
        let (opened, reused) =
            (self.totals.server_connections_opened, self.totals.server_connections_reused);
        families.counter(
            "server_connections",
            "Connections that requests went to servers by: opened for them, or open before",
            None,
            [("opened", opened), ("reused", reused)].map(|(kind, n)| ([("kind", kind)], n)),
        )?;
        families.counter(
            "log_lines_dropped",
            "Lines of the access log dropped because its writer could not keep up",
            None,
            [([], self.totals.log_lines_dropped)],
        )?;
        families.counter(
            "spliced",
            "Bytes relayed by the kernel, without being copied to the switch",
            Some(Unit::Bytes),
            [([], self.totals.bytes_spliced)],
        )?;
        let directions = [("in", self.totals.bytes_in), ("out", self.totals.bytes_out)];
        families.counter(
            "relay",
            "Bytes relayed, in: to servers, out: to clients",
            Some(Unit::Bytes),
            directions.map(|(direction, bytes)| ([("direction", direction)], bytes)),
        )
    }

    fn decisions(&self, families: &mut Families) -> fmt::Result {
        let Totals { decisions, locality_given_up, targets, replicated_targets, .. } = &self.totals;
        families.counter(
            "decisions",
            "Servers chosen, by the reason the policy gave",
            None,
            decisions.iter().map(|count| {
                let policy = ("policy", count.policy.as_str());
                ([policy, ("reason", count.reason.as_str())], count.count)
            }),
        )?;
        families.counter(
            "locality_given_up",
            "Decisions that passed over a server known to have the target",
            None,
            locality_given_up.iter().map(|(reason, count)| ([("reason", reason.as_str())], *count)),
        )?;
        let about = "Targets in the policy's table";
        families.gauge("targets", about, None, [([], *targets as f64)])?;
        let about = "Targets mapped to more than one server";
        families.gauge("replicated_targets", about, None, [([], *replicated_targets as f64)])?;
        families.gauge(
            "load_imbalance",
            "Greatest load of a server that is up over their mean; 1 is perfect",
            Some(ratio()),
            [([], load_imbalance(&self.servers))],
        )
    }

    fn server_states(&self, families: &mut Families) -> fmt::Result {
        type Read = fn(&ServerReport) -> f64;
        let gauges: [(&str, &str, Option<Unit>, Read); 5] = [
            ("server_inflight", "Requests given and not finished", None, |r| r.server.load),
            ("server_queue", "Requests that wait for room", None, |r| r.server.queued as f64),
            ("server_weight", "Share relative to the others", None, |r| r.server.weight.into()),
            ("server_up", "1 when it takes new requests", None, |r| {
                f64::from(u8::from(r.standing.state == ServerState::Up))
            }),
            ("server_slow_start", "Share it has warmed up to", Some(ratio()), |r| {
                f64::from(r.server.warmth) / f64::from(policy::WARM)
            }),
        ];
        for (name, about, unit, read) in gauges {
            let samples = self.servers.iter().map(|r| (server_label(r), read(r)));
            families.gauge(name, about, unit, samples)?;
        }
        Ok(())
    }

    fn server_traffic(&self, families: &mut Families) -> fmt::Result {
        type Count = fn(&ServerReport) -> u64;
        let counters: [(&str, &str, Count); 4] = [
            ("server_requests", "Requests begun", |r| r.server.begun),
            ("server_failures", "Refused, reset, timed out or 5xx", |r| r.server.failed),
            ("expected_cache_hits", "Times the policy believed it to have the target", |r| {
                r.server.expected_hits
            }),
            ("expected_cache_misses", "Times the policy believed it not to", |r| {
                r.server.expected_misses
            }),
        ];
        for (name, about, read) in counters {
            let samples = self.servers.iter().map(|r| (server_label(r), read(r)));
            families.counter(name, about, None, samples)?;
        }
        let classes = self.servers.iter().flat_map(|report| {
            let name = report.server.name.as_str();
            let labels = move |class| [("class", class), ("server", name)];
            report.server.classes.iter().map(move |(class, n)| (labels(class.as_str()), *n))
        });
        families.counter("class_requests", "Requests begun by class", None, classes)?;
        families.histogram(
            "server_request_duration",
            "From the decision to the end of the reply",
            self.servers.iter().map(|r| (server_label(r), &r.server.duration)),
        )?;
        families.histogram(
            "server_ttfb",
            "From the decision to the first byte of the reply",
            self.servers.iter().map(|r| (server_label(r), &r.server.first_byte)),
        )
    }
}

fn server_label(report: &ServerReport) -> [(&'static str, &str); 1] {
    [("server", report.server.name.as_str())]
}

fn code_label(code: u16) -> String {
    if code == 0 { "none".to_owned() } else { code.to_string() }
}

fn ratio() -> Unit {
    Unit::Other("ratio".to_owned())
}

/// Writes whole families: name, meaning, unit, then each sample with its labels.
struct Families<'a>(DescriptorEncoder<'a>);

type Labels<'l, const N: usize> = [(&'l str, &'l str); N];

impl Families<'_> {
    fn info<const N: usize>(
        &mut self,
        name: &str,
        about: &str,
        labels: &Labels<'_, N>,
    ) -> fmt::Result {
        self.0.encode_descriptor(name, about, None, MetricType::Info)?.encode_info(labels)
    }

    fn counter<'l, const N: usize>(
        &mut self,
        name: &str,
        about: &str,
        unit: Option<Unit>,
        samples: impl IntoIterator<Item = (Labels<'l, N>, u64)>,
    ) -> fmt::Result {
        let unit = unit.as_ref();
        let mut family = self.0.encode_descriptor(name, about, unit, MetricType::Counter)?;
        for (labels, value) in samples {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn gauge<'l, const N: usize>(
        &mut self,
        name: &str,
        about: &str,
        unit: Option<Unit>,
        samples: impl IntoIterator<Item = (Labels<'l, N>, f64)>,
    ) -> fmt::Result {
        let unit = unit.as_ref();
        let mut family = self.0.encode_descriptor(name, about, unit, MetricType::Gauge)?;
        for (labels, value) in samples {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn histogram<'l, const N: usize>(
        &mut self,
        name: &str,
        about: &str,
        samples: impl IntoIterator<Item = (Labels<'l, N>, &'l Histogram)>,
    ) -> fmt::Result {
        let kind = MetricType::Histogram;
        let mut family = self.0.encode_descriptor(name, about, Some(&Unit::Seconds), kind)?;
        for (labels, histogram) in samples {
            encode_histogram(&mut family.encode_family(&labels)?, histogram)?;
        }
        Ok(())
    }
}

fn encode_histogram(encoder: &mut MetricEncoder, histogram: &Histogram) -> fmt::Result {
    // The library cumulates by itself.
    let buckets: Vec<(f64, u64)> = histogram.buckets().collect();
    encoder.encode_histogram::<NoLabelSet>(histogram.sum_s(), histogram.count(), &buckets, None)
}

//! From the configuration to what the parts take. No decision is made here.

use crate::config::ready::{self, Config, Via};
use control::{Check, EjectionRule, HealthRule, Probe, ServerSpec};
use distributor::ask::CrowdLimit;
use distributor::{AccessFormat, Forwarding, Listen, Retry, Settings, Timeouts};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;

/// A name for Via that no other switch has: two in a row must not take each other for themselves.
pub(crate) fn pseudonym() -> String {
    format!("baton-{:08x}", RandomState::new().build_hasher().finish() as u32)
}

/// Settings of the data plane. `pseudonym` is the name for Via where none is configured.
pub(crate) fn settings(config: &Config, pseudonym: &str) -> Settings {
    let (limits, timeouts) = (&config.limits, &config.timeouts);
    Settings {
        wire: wire::http::Limits {
            head_bytes_max: limits.head_bytes,
            fields_max: limits.fields,
            target_bytes_max: limits.url_bytes,
            body_bytes_max: limits.body_bytes.unwrap_or(u64::MAX),
            ..wire::http::Limits::default()
        },
        connections_max: crate::limits::connections_allowed(limits.connections),
        idle_per_server_max: limits.server_idle_connections,
        timeouts: Timeouts {
            head: timeouts.head,
            body: timeouts.body,
            connect: timeouts.connect,
            first_byte: timeouts.first_byte,
            idle: timeouts.idle,
            server_idle: timeouts.server_idle,
            tunnel: timeouts.tunnel,
            tunnel_half_closed: timeouts.tunnel_half_closed,
        },
        queue_deadline: config.queue.deadline,
        retry: Retry {
            attempts: config.retry.attempts,
            budget_percent: config.retry.budget_percent,
        },
        forwarding: Forwarding {
            via: match &config.forwarded.via {
                Via::Off => "".into(),
                Via::Auto => pseudonym.into(),
                Via::Named(name) => name.as_str().into(),
            },
            x_forwarded: config.forwarded.x_forwarded,
            forwarded: config.forwarded.forwarded,
            request_id: config.forwarded.request_id,
            trust: config.forwarded.trust,
        },
        access: config.log.access.map(|format| match format {
            ready::AccessFormat::Json => AccessFormat::Json,
            ready::AccessFormat::Combined => AccessFormat::Combined,
        }),
    }
}

/// How many requests are let into the cluster at once. Automatic, it follows the thresholds of the
/// policy, or the papers' where the policy has none.
pub(super) fn crowd(config: &Config) -> Option<CrowdLimit> {
    let threshold = |name: &str, papers: u64| {
        let set = config.policy.params.iter().find(|(param, _)| param.name == name);
        match set.map(|(_, value)| value) {
            Some(policy::Value::Count(count)) => Some(*count),
            Some(_) => None,
            None => Some(papers),
        }
    };
    match config.policy.admission {
        ready::Admission::Off => None,
        ready::Admission::Fixed(most) => Some(CrowdLimit::Fixed(most)),
        ready::Admission::Auto => Some(CrowdLimit::Auto(policy::Admission::new(
            threshold("t_low", 25),
            threshold("t_high", 65),
            policy::AdmissionForm::MinusOne,
        ))),
    }
}

/// Every address to listen on, with the name of its listener.
pub(super) fn listens(config: &Config) -> Vec<Listen> {
    let one = |listener: &ready::Listener, address: &SocketAddr| Listen {
        name: listener.name.as_str().into(),
        address: *address,
        backlog: listener.backlog,
        defer_accept: listener.defer_accept,
        congestion: listener.congestion.as_deref().map(Into::into),
    };
    let all = config.listeners.iter();
    all.flat_map(|listener| listener.addresses.iter().map(move |a| one(listener, a))).collect()
}

/// How a server is looked after.
pub(super) fn care(config: &Config, server: &ready::Server) -> ServerSpec {
    let check = config.health.as_ref().map(|health| Check {
        probe: match &health.check {
            ready::Check::Tcp => Probe::Tcp,
            ready::Check::Http { path, host, expect } => {
                Probe::Http { path: path.clone(), host: host.clone(), expect: expect.clone() }
            }
        },
        interval: health.interval,
        time_max: health.timeout,
        rule: HealthRule { rise: health.rise, fall: health.fall },
    });
    let ejection = match &config.ejection {
        None => EjectionRule { failures: 0, ..EjectionRule::default() },
        Some(ejection) => EjectionRule {
            failures: ejection.failures,
            span: ejection.time,
            span_max: ejection.time_max,
            share_max: ejection.share,
        },
    };
    let (name, address) = (server.name.clone(), server.address.clone());
    ServerSpec { name, address, check, ejection, slow_start: config.slow_start }
}

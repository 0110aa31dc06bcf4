//! The live side of an experiment: emulated servers and a switch, in this process, on ports of the
//! kernel's choice. Everything ends when it is dropped.

use crate::config::Config;
use crate::demo::Origins;
use crate::serve::Service;
use anyhow::{Context, Result};
use policy::{Entry, Params, Value};
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Servers that answer, and the switch before them.
pub struct Bed {
    service: Option<Service>,
    _origins: Origins,
    /// Where clients connect.
    pub address: SocketAddr,
}

impl Bed {
    /// Starts servers of these configurations, called `<prefix>0` and so on as they are on paper,
    /// and a switch under `policy`, whose times pass as fast as the servers'.
    ///
    /// # Errors
    /// When a part cannot be started.
    pub fn start(
        policy: &'static Entry,
        prefix: &str,
        rules: &str,
        servers: Vec<origin::Config>,
    ) -> Result<Self> {
        let scale = servers.first().context("a cluster has a server")?.time_scale;
        let origins = Origins::with(servers)?;
        let text = configuration(policy, scale, rules, prefix, &origins.addresses);
        let loaded = Config::parse("fidelity", &text, &|_| None)?;
        let service = Service::start(loaded.config, "fidelity")?;
        let (_, address) = service.listening().pop().context("the switch does not listen")?;
        Ok(Self { service: Some(service), _origins: origins, address })
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            // What is still open is of no interest any more.
            service.stop(&AtomicBool::new(true));
        }
    }
}

/// The configuration of a switch: one worker, no health checks, no second attempts, for a server
/// that is slow is what is measured.
fn configuration(
    policy: &Entry,
    scale: f64,
    rules: &str,
    prefix: &str,
    servers: &[SocketAddr],
) -> String {
    let mut text = format!(
        "workers = 1\n\n[listen.web]\naddress = \"127.0.0.1:0\"\n\n[policy]\nname = \"{}\"\n{}\n\
         [admin]\nsocket = \"off\"\n\n[health]\nkind = \"off\"\n\n[ejection]\nfailures = \"off\"\n\
         \n[retry]\nattempts = 0\n\n[timeouts]\nfirst_byte = \"10m\"\nserver_idle = \"10m\"\n\
         drain = \"1s\"\n\n[limits]\nconnections = 8000\nserver_idle_connections = 4096\n\n\
         [log]\nlevel = \"warn\"\n\n{rules}",
        policy.name,
        scaled(policy, scale),
    );
    for (number, address) in servers.iter().enumerate() {
        // Writing to a string does not fail.
        let _written = write!(text, "\n[server.{prefix}{number}]\naddress = \"{address}\"\n");
    }
    text
}

/// The policy's times, `scale` times as long: a line for each parameter that is one. Servers that
/// are so many times faster than on paper need a policy that is, too.
fn scaled(policy: &Entry, scale: f64) -> String {
    let defaults = Params::new(policy.params);
    let mut text = String::new();
    for (param, value) in defaults.iter() {
        if let (Value::Span(span), true) = (value, scale > 0.0) {
            let shorter = span.mul_f64(scale).max(Duration::from_millis(1));
            let _written = writeln!(text, "{} = \"{}ms\"", param.name, shorter.as_millis());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_of_every_policy_is_valid_and_its_times_are_scaled() {
        let servers = [SocketAddr::from(([127, 0, 0, 1], 81))];
        for policy in policy::POLICIES {
            let text = configuration(policy, 0.1, super::super::pages::RULES, "web", &servers);
            let parsed = Config::parse("fidelity", &text, &|_| None);
            assert!(parsed.is_ok(), "{}: {text}", policy.name);
        }
        let lard_r = policy::entry("lard-r").expect("it is one of POLICIES");
        assert_eq!(scaled(lard_r, 0.1), "k = \"2000ms\"\n");
        let cap = policy::entry("cap").expect("it is one of POLICIES");
        assert_eq!(scaled(cap, 0.1), "");
    }
}

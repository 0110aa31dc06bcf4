//! A cluster in small: emulated servers, and what stands before them, with its gauges. All of it
//! ends when it is dropped.

use super::gauge::{Reading, Usage};
use super::peers::{Peer, Program};
use super::{Lab, Row};
use crate::config::Config;
use crate::demo::Origins;
use crate::serve::Service;
use anyhow::{Context, Result, ensure};
use policy::Class;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What stands before the servers.
#[derive(Clone, Debug, PartialEq)]
pub enum Front {
    /// This project's switch, with these lines of configuration beside the usual ones.
    Baton {
        /// The lines of `[policy]`, such as `name = "lard"`.
        policy: String,
        /// How requests reach their server: `relay` or `splice`.
        delivery: &'static str,
        /// How often servers are asked for their load, in real time; `None`: never.
        reports: Option<Duration>,
    },
    /// Another program, with its ways of choosing.
    Peer(Program),
}

impl Front {
    /// A relay under a policy that needs no reports.
    pub fn relay(policy: impl Into<String>) -> Self {
        Self::Baton { policy: policy.into(), delivery: "relay", reports: None }
    }
}

enum Standing {
    Switch(Box<Service>),
    Peer(Peer),
}

/// A cluster that answers.
pub struct Bed {
    standing: Option<Standing>,
    origins: Origins,
    time_scale: f64,
    /// Where clients connect.
    pub address: SocketAddr,
}

/// A moment of a bed: clocks and what the servers say of themselves.
pub struct Moment {
    reading: Reading,
    servers: Vec<ServerAt>,
}

/// What one server says.
#[derive(Clone, Copy, Debug)]
struct ServerAt {
    model_s: f64,
    cpu_s: f64,
    disk_s: f64,
    late_us_sum: f64,
    late_count: f64,
}

impl Bed {
    /// Starts servers of these configurations, all of one time scale, and `front` before them.
    ///
    /// # Errors
    /// When a part cannot be started.
    pub fn start(lab: &Lab, front: &Front, servers: Vec<origin::Config>) -> Result<Self> {
        let time_scale = servers.first().context("a cluster has a server")?.time_scale;
        let origins = Origins::with(servers)?;
        let (standing, address) = match front {
            Front::Baton { policy, delivery, reports } => {
                let text = configuration(policy, delivery, *reports, &origins.addresses);
                let loaded = Config::parse("experiment", &text, &|_| None)?;
                let service = Service::start(loaded.config, "experiment")?;
                let (_, address) = service.listening().pop().context("it does not listen")?;
                (Standing::Switch(Box::new(service)), address)
            }
            Front::Peer(program) => {
                let peer = Peer::start(lab, *program, &origins.addresses)?;
                let address = peer.address;
                (Standing::Peer(peer), address)
            }
        };
        Ok(Self { standing: Some(standing), origins, time_scale, address })
    }

    /// Looks at clocks and servers.
    ///
    /// # Errors
    /// When a server does not answer.
    pub fn look(&self) -> Result<Moment> {
        let servers = self.origins.addresses.iter().map(server).collect::<Result<_>>()?;
        let peers = match &self.standing {
            Some(Standing::Peer(peer)) => vec![peer.id()],
            _ => Vec::new(),
        };
        Ok(Moment { reading: Reading::now(&peers)?, servers })
    }

    /// Notes in `row` what happened between two moments in which `requests` were answered, and
    /// what may have been the bottleneck other than the servers on paper.
    /// A client whose thread has ended by now says itself what it used, in cores.
    pub fn note(
        &self,
        row: &mut Row,
        (before, after): (&Moment, &Moment),
        requests: u64,
        client: Option<f64>,
    ) {
        let mut usage = after.reading.since(&before.reading);
        if let Some(client) = client {
            usage.others = (usage.others + usage.client - client).max(0.0);
            usage.client = client;
        }
        let pairs = || before.servers.iter().zip(&after.servers);
        let busy = |(old, new): (&ServerAt, &ServerAt)| {
            let span_s = (new.model_s - old.model_s).max(1e-9);
            ((new.cpu_s - old.cpu_s).max(new.disk_s - old.disk_s) / span_s).clamp(0.0, 1.0)
        };
        let shares: Vec<f64> = pairs().map(busy).collect();
        row.set("utilisation_min", shares.iter().copied().fold(1.0, f64::min));
        row.set("utilisation_max", shares.iter().copied().fold(0.0, f64::max));
        row.set("utilisation_mean", shares.iter().sum::<f64>() / shares.len() as f64);
        let (mut late_us, mut count) = (0.0, 0.0);
        for (old, new) in pairs() {
            late_us += new.late_us_sum - old.late_us_sum;
            count += new.late_count - old.late_count;
        }
        let late_us = if count > 0.0 { late_us / count } else { 0.0 };
        row.set("late_us", late_us);
        row.set("front_cpu", usage.front);
        row.set("client_cpu", usage.client);
        row.set("origins_cpu", usage.origins);
        row.set("others_cpu", usage.others);
        row.set("front_us", usage.front * usage.span_s * 1e6 / requests.max(1) as f64);
        row.set("real_requests_s", requests as f64 / usage.span_s);
        row.set("real_seconds", usage.span_s);
        row.set("time_scale", self.time_scale);
        row.limit = limits(&usage, late_us);
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // What is still open is of no interest any more.
        if let Some(Standing::Switch(service)) = self.standing.take() {
            service.stop(&AtomicBool::new(true));
        }
    }
}

/// A thread is taken for the bottleneck from here on, in cores: some waits are always there.
const BUSY_MAX: f64 = 0.9;
/// Others on the machine disturb from here on, in cores.
const OTHERS_MAX: f64 = 0.3;
/// Emulated answers are late from here on, on average, in real microseconds: a disk access takes
/// some thousands at the time scales that are used.
const LATE_US_MAX: f64 = 1_000.0;

fn limits(usage: &Usage, late_us: f64) -> String {
    let all = usage.front + usage.client + usage.origins + usage.others;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let found = [
        ("front", usage.front > BUSY_MAX),
        ("client", usage.client > BUSY_MAX),
        ("origins", usage.origins > BUSY_MAX),
        ("machine", all > 0.95 * cores),
        ("others", usage.others > OTHERS_MAX),
        ("late", late_us > LATE_US_MAX),
    ];
    let named: Vec<&str> = found.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
    named.join("+")
}

/// The configuration of a switch. The paths of visits say class and target: a program is one target
/// whatever its query. One worker; no checks, no ejection and no second attempts: a
/// server that is slow is what is measured.
pub fn configuration(
    policy: &str,
    delivery: &str,
    reports: Option<Duration>,
    servers: &[SocketAddr],
) -> String {
    let mut text = format!(
        "workers = 1\n\n[listen.web]\naddress = \"127.0.0.1:0\"\ndelivery = \"{delivery}\"\n\n\
         [policy]\n{policy}\n\n[admin]\nsocket = \"off\"\n\n[health]\nkind = \"off\"\n\n\
         [ejection]\nfailures = \"off\"\n\n[retry]\nattempts = 0\n\n\
         [timeouts]\nfirst_byte = \"10m\"\ndrain = \"1s\"\n\n[limits]\nconnections = 8000\n\
         server_idle_connections = 4096\n\n[log]\nlevel = \"warn\"\n"
    );
    for class in Class::NAMES {
        let _ = write!(
            text,
            "\n[[rule]]\npath_prefix = \"/{class}/\"\nclass = \"{class}\"\n\
             target = \"host+path\"\n"
        );
    }
    if let Some(period) = reports {
        let _ = write!(text, "\n[agents]\nperiod = \"{}ms\"\n", period.as_millis());
    }
    for (at, address) in servers.iter().enumerate() {
        let _ = write!(text, "\n[server.s{}]\naddress = \"{address}\"\n", at + 1);
        if reports.is_some() {
            let _ = writeln!(text, "agent = \"{address}/.origin\"");
        }
    }
    text
}

/// How long a server's word on itself is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks a server how it is.
fn server(address: &SocketAddr) -> Result<ServerAt> {
    let value = status(address).with_context(|| format!("the server at {address} is silent"))?;
    let number = |path: &str| {
        value
            .pointer(path)
            .and_then(serde_json::Value::as_f64)
            .with_context(|| format!("the server at {address} says nothing of {path}"))
    };
    let late_count = number("/late_us/count")?;
    Ok(ServerAt {
        model_s: number("/model_seconds")?,
        cpu_s: number("/cpu/busy_seconds")?,
        disk_s: number("/disk/busy_seconds")?,
        late_us_sum: number("/late_us/mean")? * late_count,
        late_count,
    })
}

fn status(address: &SocketAddr) -> Result<serde_json::Value> {
    let mut stream = TcpStream::connect_timeout(address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = "GET /.origin/status HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let (head, body) = reply.split_once("\r\n\r\n").context("an answer without a head")?;
    ensure!(head.contains(" 200 "), "it answered {head}");
    Ok(serde_json::from_str(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_of_every_policy_is_valid() {
        let servers = [SocketAddr::from(([127, 0, 0, 1], 81))];
        for policy in policy::POLICIES {
            let line = format!("name = \"{}\"", policy.name);
            let text = configuration(&line, "relay", None, &servers);
            assert!(Config::parse("experiment", &text, &|_| None).is_ok(), "{text}");
        }
    }

    #[test]
    fn whoever_is_busy_is_named() {
        let quiet = Usage { span_s: 1.0, front: 0.3, origins: 0.3, client: 0.3, others: 0.0 };
        assert_eq!(limits(&quiet, 100.0), "");
        assert_eq!(limits(&Usage { client: 0.95, ..quiet }, 100.0), "client");
        assert_eq!(limits(&Usage { others: 0.5, ..quiet }, 2000.0), "others+late");
    }
}

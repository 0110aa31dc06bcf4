//! How an origin is to behave: a plain value with defaults.

use crate::{RealSettings, Sizes};
use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use model::{ROWS, Service};
use policy::Class;

/// What an origin is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Its name in `Cache-Status` and on the status path.
    pub name: String,
    /// The model its service times follow.
    pub model: model::Config,
    /// Real seconds for each second of the model: 0.05 is twenty times faster than the machines of
    /// the papers. 0 answers at once: the cache works, time does not pass.
    pub time_scale: f64,
    /// Whether service times are reckoned, or CPU time is burnt and files are read. The time scale
    /// holds for what is burnt; disks take as long as they take.
    pub real: Option<RealSettings>,
    /// How long answers are.
    pub sizes: Sizes,
    /// The names of the services, by class; what they ask of the server is in
    /// [`model::Config::services`]. See [`Config::offer`].
    pub services: Vec<String>,
    /// A request whose path begins so is of that class; the first that fits counts, and without
    /// one the request is static.
    pub prefixes: Vec<(String, Class)>,
    /// A request field that names the service, and comes before the path. None by default: looking
    /// for it costs every request a little.
    pub class_field: Option<String>,
    /// Seed of the draws for answers that are sometimes cacheable.
    pub seed: u64,
    /// Connections it holds at once. Further ones wait in the kernel's queue.
    pub connections_max: usize,
    /// How long a connection may stay open without a request.
    pub idle_timeout: Duration,
    /// How long a client may take to send the next bytes of a request or to take those of an
    /// answer.
    pub progress_timeout: Duration,
    /// How long requests in progress may take after the shutdown began.
    pub drain_timeout: Duration,
    /// Real time between samples of the utilisation, at least 10 ms. See [`crate::Usage`].
    pub sample: Duration,
    /// Real time over which `GET /.origin/load` tells shares, at least 10 ms.
    pub report_period: Duration,
    /// Whether `GET /load` is answered as `GET /.origin/load`, as by an agent beside the server.
    pub agent: bool,
    /// Whether `POST /.origin/health` and `POST /.origin/fault` may make it misbehave.
    pub faults: bool,
}

impl Default for Config {
    fn default() -> Self {
        let mut usual = Self::bare();
        for row in ROWS {
            usual.offer(row.name, row.service);
        }
        usual
    }
}

impl Config {
    /// An origin without services or prefixes: all is static.
    fn bare() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            name: "origin".into(),
            model: model::Config::default(),
            time_scale: 1.0,
            real: None,
            sizes: Sizes::default(),
            services: Vec::new(),
            prefixes: Vec::new(),
            class_field: None,
            seed: 1,
            connections_max: 10_000,
            idle_timeout: Duration::from_secs(60),
            progress_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(5),
            sample: Duration::from_secs(1),
            report_period: Duration::from_secs(1),
            agent: false,
            faults: false,
        }
    }
}

impl Config {
    /// Offers a service: changes the one of that name, or adds one with the prefix `/name/`. `None`
    /// when there are [`Class::COUNT_MAX`] already.
    pub fn offer(&mut self, name: &str, service: Service) -> Option<Class> {
        let class = self.service(name).or_else(|| {
            let number = u8::try_from(self.services.len()).ok();
            let class = number.map(Class).filter(|class| class.index() < Class::COUNT_MAX)?;
            self.services.push(name.to_owned());
            self.prefixes.push((format!("/{name}/"), class));
            Some(class)
        })?;
        self.model.services.set(class, service);
        Some(class)
    }

    /// The class of the service called `name`.
    pub fn service(&self, name: &str) -> Option<Class> {
        let place = self.services.iter().position(|known| known == name)?;
        u8::try_from(place).ok().map(Class)
    }

    /// The class of a request: what its class field says, if that is a known name, else its path.
    pub fn class(&self, named: Option<&str>, path: &str) -> Class {
        let mut by_path = self.prefixes.iter().filter(|(prefix, _)| path.starts_with(prefix));
        let named = named.and_then(|name| self.service(name));
        named.or_else(|| by_path.next().map(|(_, class)| *class)).unwrap_or(Class::STATIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_comes_before_the_path_and_the_path_before_the_default() {
        let config = Config::default();
        assert_eq!(config.class(Some("cpu"), "/disk/x"), Class::CPU);
        assert_eq!(config.class(Some("cpu+disk"), "/"), Class::CPU_DISK);
        assert_eq!(config.class(Some("unknown"), "/disk/x"), Class::DISK);
        assert_eq!(config.class(None, "/light/x"), Class::LIGHT);
        assert_eq!(config.class(None, "/lightning"), Class::STATIC);
        assert_eq!(config.class(Some(""), "/"), Class::STATIC);
    }

    #[test]
    fn a_service_is_changed_by_its_name_and_a_new_one_gets_a_prefix_until_there_are_too_many() {
        let mut config = Config::default();
        assert_eq!(config.offer("cpu", Service::LIGHT), Some(Class::CPU));
        assert_eq!(config.model.services.of(Class::CPU), Service::LIGHT);
        let report = config.offer("report", Service::PROGRAM).unwrap();
        assert_eq!(config.class(None, "/report/x"), report);
        assert_eq!(config.model.services.of(report), Service::PROGRAM);
        let rest = Class::COUNT_MAX - config.services.len();
        let offered = (0..).map_while(|i| config.offer(&format!("s{i}"), Service::STATIC)).count();
        assert_eq!(offered, rest);
    }
}

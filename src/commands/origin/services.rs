//! Services on the command line: `cpu=cpu:6ms,disk:2,cacheable:0.3`, and the list of them all.

use crate::config::{quoted, span};
use origin::Config;
use origin::model::cost::QUERY_ACCESS;
use origin::model::{ROWS, Service};
use policy::Class;
use std::collections::BTreeSet;
use std::time::Duration;

const HELP: &str = "write NAME=cpu:6ms,disk:2,cacheable:0.3";

/// What the command line says of services: each demand it gives, by service and key.
pub(super) type Given = BTreeSet<(String, &'static str)>;

/// Changes the services and prefixes of an origin as the flags say.
///
/// # Errors
/// A sentence for the user.
pub(super) fn apply(
    config: &mut Config,
    services: &[String],
    prefixes: &[String],
) -> Result<Given, String> {
    let mut given = Given::new();
    for text in services {
        let (name, demands) = text.split_once('=').ok_or_else(|| format!("{text:?}: {HELP}"))?;
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(known) {
            return Err(format!("{name:?} is no name: use letters, digits and + - _ ."));
        }
        let class = config.service(name);
        let usual = class.map_or(Service::STATIC, |class| config.model.services.of(class));
        let (service, keys) = service(usual, demands)?;
        given.extend(keys.into_iter().map(|key| (name.to_owned(), key)));
        if config.offer(name, service).is_none() {
            return Err(format!("{name:?} is one too many: there can be {}", Class::COUNT_MAX));
        }
    }
    let mut first = Vec::new();
    for text in prefixes {
        let help = "write /path/=SERVICE";
        let (path, name) = text.rsplit_once('=').ok_or_else(|| format!("{text:?}: {help}"))?;
        if !path.starts_with('/') {
            return Err(format!("{path:?} is no beginning of a path: {help}"));
        }
        let class = config.service(name).ok_or_else(|| {
            let known: Vec<&str> = config.services.iter().map(String::as_str).collect();
            format!("there is no service {name:?}; there are {}", quoted(&known))
        })?;
        first.push((path.to_owned(), class));
    }
    config.prefixes.splice(0..0, first);
    Ok(given)
}

/// A service as `usual` but for what the text says; and which demands that are.
fn service(usual: Service, demands: &str) -> Result<(Service, Vec<&'static str>), String> {
    let (mut service, mut keys, mut reads) = (usual, Vec::new(), None);
    for part in demands.split(',') {
        let (key, value) = part.split_once(':').ok_or_else(|| format!("{part:?}: {HELP}"))?;
        let (key, value) = (key.trim(), value.trim());
        let time = || span(value).ok_or_else(|| format!("{key}: {value:?} is no span, as 6ms is"));
        keys.push(match key {
            "cpu" => {
                service.cpu = time()?;
                "cpu"
            }
            "cpu_per_kib" => {
                service.cpu_kib = time()?;
                "cpu_per_kib"
            }
            "handshake" => {
                service.handshake = time()?;
                "handshake"
            }
            "disk" => {
                // So many accesses, or so long.
                let accesses = value.parse().ok().map(|count: u16| QUERY_ACCESS * u32::from(count));
                service.disk = accesses.map_or_else(time, Ok)?;
                service.reads = false;
                "disk"
            }
            "cacheable" => {
                let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                let help = || format!("cacheable: {value:?} is no probability; give 0 to 1");
                service.cacheable = share.ok_or_else(help)?;
                "cacheable"
            }
            "reads" => {
                reads = match value {
                    "yes" => Some(true),
                    "no" => Some(false),
                    _ => return Err(format!("reads: {value:?} is neither yes nor no")),
                };
                "reads"
            }
            _ => {
                return Err(format!(
                    "there is no demand {key:?}; there are cpu, cpu_per_kib, handshake, disk, \
                     cacheable and reads"
                ));
            }
        });
    }
    service.reads = reads.unwrap_or(service.reads);
    Ok((service, keys))
}

/// The services with their prefixes, demands and sources.
pub(super) fn list(config: &Config, given: &Given) -> String {
    let mut out = String::from(
        "What an answer costs beyond reading the request and sending the bytes (--costs).\n",
    );
    for (at, name) in config.services.iter().enumerate() {
        let row = ROWS.iter().find(|row| row.name == name);
        let class = config.service(name).unwrap_or(Class(0));
        let of_it = config.prefixes.iter().filter(|(_, of)| *of == class);
        let mut prefixes: Vec<&str> = of_it.map(|(prefix, _)| prefix.as_str()).collect();
        if at == 0 {
            prefixes.push("any other path");
        }
        let about = row.map_or("given on the command line", |row| row.about);
        out.push_str(&format!("\n{name}: {about}\n  {:12} {}\n", "paths", prefixes.join(", ")));
        for (key, value) in demands(config.model.services.of(class)) {
            let own = given.contains(&(name.clone(), key)).then(|| "command line".to_owned());
            let source = own.or_else(|| {
                let constant = row?.constants.iter().find(|constant| constant.key == key)?;
                Some(format!("{}: {}", constant.mark.name(), constant.source))
            });
            let source = source.map_or(String::new(), |source| format!("({source})"));
            out.push_str(format!("  {key:12} {value:16} {source}").trim_end());
            out.push('\n');
        }
    }
    out
}

/// The demands that say something, as they are written.
fn demands(service: Service) -> Vec<(&'static str, String)> {
    let times = [
        ("cpu", service.cpu),
        ("cpu_per_kib", service.cpu_kib),
        ("handshake", service.handshake),
        ("disk", service.disk),
    ];
    let told = times.into_iter().filter(|(_, time)| *time > Duration::ZERO);
    let mut rows: Vec<_> =
        told.map(|(key, time)| (key, format!("{}ms", time.as_nanos() as f64 / 1e6))).collect();
    rows.push(("cacheable", service.cacheable.to_string()));
    rows.push(("reads", if service.reads { "yes" } else { "no" }.to_owned()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(services: &[&str], prefixes: &[&str]) -> Result<Config, String> {
        let owned =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let mut config = Config::default();
        apply(&mut config, &owned(services), &owned(prefixes)).map(|_| config)
    }

    #[test]
    fn what_is_not_said_of_a_known_service_stays_and_a_new_one_is_a_file_otherwise() {
        let texts =
            ["light=cpu:6ms", "report=cpu:1ms,disk:2,cacheable:0.5", "big=disk:5ms,reads:yes"];
        let config = applied(&texts, &[]).unwrap();
        let of = |name: &str| config.model.services.of(config.service(name).unwrap());
        let ms = Duration::from_millis;
        assert_eq!(of("light"), Service { cpu: ms(6), ..Service::LIGHT });
        let (report, big) = (of("report"), of("big"));
        assert_eq!((report.cpu, report.cacheable, report.reads), (ms(1), 0.5, false));
        assert_eq!(report.disk, QUERY_ACCESS * 2);
        assert_eq!((big.disk, big.reads), (ms(5), true));
    }

    #[test]
    fn a_prefix_comes_before_those_that_there_are() {
        let config = applied(&["x=cpu:1ms"], &["/cpu/fast=x", "/a=b/=query"]).unwrap();
        let class = |path: &str| config.class(None, path);
        assert_eq!(Some(class("/cpu/fast/1")), config.service("x"));
        assert_eq!(class("/cpu/slow"), Class::CPU);
        assert_eq!(Some(class("/a=b/1")), config.service("query"));
    }

    #[test]
    fn mistakes_are_told_with_what_would_be_right() {
        for (service, says) in [
            ("cpu", "write NAME="),
            ("=cpu:1ms", "is no name"),
            ("a/b=cpu:1ms", "is no name"),
            ("cpu=cpu:6", "\"6\" is no span"),
            ("cpu=cacheable:2", "give 0 to 1"),
            ("cpu=cacheable:NaN", "give 0 to 1"),
            ("cpu=reads:maybe", "neither yes nor no"),
            ("cpu=memory:1ms", "there are cpu, cpu_per_kib"),
            ("cpu=disk:-1", "is no span"),
        ] {
            let error = applied(&[service], &[]).unwrap_err();
            assert!(error.contains(says), "{service}: {error}");
        }
        assert!(applied(&[], &["/x"]).unwrap_err().contains("write /path/=SERVICE"));
        assert!(applied(&[], &["x/=cpu"]).unwrap_err().contains("no beginning"));
        assert!(applied(&[], &["/x/=cgi"]).unwrap_err().contains("\"cpu+disk\""));
    }

    #[test]
    fn the_list_has_every_service_with_its_sources() {
        let mut config = Config::default();
        let given = apply(&mut config, &["light=cpu:7ms".into()], &[]).unwrap();
        let text = list(&config, &given);
        for row in ROWS {
            assert!(text.contains(&format!("\n{}: {}\n", row.name, row.about)), "{text}");
            for constant in row.constants {
                let replaced = (row.name, constant.key) == ("light", "cpu");
                assert!(replaced || text.contains(constant.source), "{text}");
            }
        }
        assert!(text.contains("7ms") && text.contains("(command line)"), "{text}");
    }
}

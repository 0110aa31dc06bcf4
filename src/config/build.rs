//! From tables of values to a ready configuration.

use super::document::Document;
use super::problem::Problem;
use super::raw::Env;
use super::ready::{
    AccessFormat, Check, Config, Ejection, Forwarded, Health, Level, Limits, Log, Queue, Retry,
    Timeouts, Via,
};
use super::source::Place;
use rules::ClassNames;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Builds the parts of a configuration and notes what is wrong with them.
pub(crate) struct Builder<'a> {
    pub(crate) document: &'a mut Document,
    pub(crate) problems: Vec<Problem>,
    pub(crate) classes: ClassNames,
    /// What paths are relative to; `None`: files are not read.
    pub(crate) directory: Option<&'a Path>,
}

/// The configuration, unless something is missing without which there is none. Whether it may be
/// used, the problems say.
pub(crate) fn build(
    document: &mut Document,
    env: Env<'_>,
    directory: Option<&Path>,
) -> Option<Config> {
    let classes = ClassNames::default();
    let problems = std::mem::take(&mut document.problems);
    let mut builder = Builder { document, problems, classes, directory };
    let config = builder.config(env);
    document.problems = builder.problems;
    config
}

impl Builder<'_> {
    fn config(&mut self, env: Env<'_>) -> Option<Config> {
        self.classes = self.class_names();
        let listeners = self.listeners();
        let servers = self.servers();
        let policy = self.policy(&servers);
        let oneway = self.oneway();
        self.one_way_contradictions(&listeners, &servers, policy.as_ref());
        if let Some(policy) = &policy {
            self.silent(policy, &servers);
        }
        let rule_names = self.rule_names();
        let rules = self.rules();
        let ejection = self.document.one("ejection");
        let config = Config {
            workers: self.document.one("").number("workers"),
            listeners,
            servers,
            policy: policy?,
            rules: Arc::new(rules?),
            rule_names,
            limits: self.limits(),
            timeouts: self.timeouts(),
            queue: self.queue(),
            retry: self.retry(),
            health: self.health(),
            ejection: ejection.limit("failures").map(|failures| Ejection {
                failures: u32::try_from(failures).expect("the declared bound fits"),
                time: ejection.span("time"),
                time_max: ejection.span("time_max").max(ejection.span("time")),
                share: percent(ejection.number("share")),
            }),
            panic_share: percent(ejection.number("panic")),
            slow_start: self.document.one("slow_start").span("time"),
            log: self.log(),
            admin: self.admin(env),
            forwarded: self.forwarded(),
            agent_period: self.agent_period(),
            oneway,
        };
        Some(config)
    }

    fn limits(&self) -> Limits {
        let table = self.document.one("limits");
        Limits {
            head_bytes: table.number("head"),
            url_bytes: table.number("url"),
            fields: table.number("fields"),
            body_bytes: table.limit("body"),
            connections: table.number("connections"),
            server_idle_connections: table.number("server_idle_connections"),
        }
    }

    fn timeouts(&self) -> Timeouts {
        let table = self.document.one("timeouts");
        Timeouts {
            head: table.span("head"),
            body: table.span("body"),
            connect: table.span("connect"),
            first_byte: table.span("first_byte"),
            idle: table.span("idle"),
            server_idle: table.span("server_idle"),
            tunnel: table.span("tunnel"),
            tunnel_half_closed: table.span("tunnel_half_closed"),
            drain: table.span("drain"),
        }
    }

    fn queue(&self) -> Queue {
        let table = self.document.one("queue");
        Queue { length: table.number("length"), deadline: table.span("deadline") }
    }

    fn retry(&self) -> Retry {
        let table = self.document.one("retry");
        Retry { attempts: table.number("attempts"), budget_percent: table.number("budget") }
    }

    fn health(&mut self) -> Option<Health> {
        let table = self.document.one("health");
        let kind = table.word("kind").expect("the kind of checks has a default");
        let mut of_http = ["path", "host", "expect"].into_iter();
        if kind != "http"
            && let Some(unused) = of_http.find(|key| table.is_set(key))
        {
            let message = format!("health.{unused} has no effect on checks of kind {kind:?}");
            self.warning(table.place(unused), message, "remove it, or use kind = \"http\"");
        }
        let check = match kind {
            "off" => return None,
            "tcp" => Check::Tcp,
            _ => {
                let path = table.text("path").expect("the path of checks has a default");
                if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace()) {
                    let message = format!("{path:?} cannot be asked for");
                    self.error(table.place("path"), message, "write a path such as \"/health\"");
                }
                let text = table.text("expect").expect("expected statuses have a default");
                let expect = statuses(&text).unwrap_or_else(|| {
                    let message = format!("{text:?} is no range of statuses");
                    let remedy = "write \"200\" or \"200-399\", from 100 to 599";
                    self.error(table.place("expect"), message, remedy);
                    200..=499
                });
                Check::Http { path, host: table.text("host"), expect }
            }
        };
        let (interval, timeout) = (table.span("interval"), table.span("timeout"));
        let (rise, fall) = (table.number("rise"), table.number("fall"));
        Some(Health { check, interval, timeout, rise, fall })
    }

    fn log(&self) -> Log {
        let table = self.document.one("log");
        let access = match table.word("access") {
            Some("json") => Some(AccessFormat::Json),
            Some("combined") => Some(AccessFormat::Combined),
            _ => None,
        };
        let path = table.text("path").filter(|path| path != "-").map(PathBuf::from);
        let level = match table.word("level") {
            Some("error") => Level::Error,
            Some("warn") => Level::Warn,
            Some("debug") => Level::Debug,
            _ => Level::Info,
        };
        Log { access, path, level }
    }

    fn forwarded(&mut self) -> Forwarded {
        let table = self.document.one("forwarded");
        let token = |via: &str| {
            via.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte))
        };
        let via = match table.text("via").as_deref() {
            Some("off") => Via::Off,
            Some("auto") | None => Via::Auto,
            Some(name) => {
                if !token(name) {
                    let message = format!("{name:?} cannot stand in Via");
                    self.error(table.place("via"), message, "use letters, digits and - . _");
                }
                Via::Named(name.to_owned())
            }
        };
        Forwarded {
            x_forwarded: table.flag("x_forwarded"),
            forwarded: table.flag("forwarded"),
            via,
            request_id: table.flag("request_id"),
            trust: table.flag("trust"),
        }
    }

    pub(crate) fn error(
        &mut self,
        place: Option<Place>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(Problem::error(place, message, remedy));
    }

    pub(crate) fn warning(
        &mut self,
        place: Option<Place>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(Problem::warning(place, message, remedy));
    }

    /// The content of a file that holds a secret, where files may be read.
    pub(crate) fn secret_file(&self, path: &Path) -> Result<String, String> {
        let directory = self.directory.ok_or("files are not read here")?;
        std::fs::read_to_string(directory.join(path)).map_err(|error| error.to_string())
    }
}

/// A share of 1 from a percentage.
fn percent(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}

/// `200` or `200-399`.
fn statuses(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (100 <= first && first <= last && last <= 599).then_some(first..=last)
}

//! The table of servers: from the configuration into the books, at the start and at a reload.
//!
//! The order matters to requests under way. The books and the table change together under the
//! books' lock and carry one version; a worker whose answer has another version than its table
//! looks at the new one.

use super::convert;
use super::glass::Glass;
use crate::config::{Config, rule_label};
use anyhow::{Result, anyhow};
use control::Supervisor;
use distributor::{Backend, Entrance, Live, PerWorker, Route, say};
use policy::{Edit, Instant, ServerId, Spec, State};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// The address of every server, by name.
pub(super) fn resolve(config: &Config) -> Result<BTreeMap<String, SocketAddr>> {
    let one = |server: &crate::config::ready::Server| {
        server.resolve().map(|address| (server.name.clone(), address)).map_err(|why| anyhow!(why))
    };
    config.servers.iter().map(one).collect()
}

/// The table before any server has joined.
pub(super) fn first(
    config: &Config,
    pseudonym: &str,
    entrances: &[Arc<Entrance>],
    workers: usize,
) -> Live {
    Live {
        version: 0,
        settings: convert::settings(config, pseudonym),
        rules: Arc::clone(&config.rules),
        policy: config.policy.entry.name.into(),
        routes: routes(config, entrances, None, workers),
        backends: Vec::new(),
    }
}

/// Brings books and table in line with the configuration in force. Servers are known by name: one
/// that stays keeps its slot, books, counters and state, even when its address changes. Returns
/// the weights that became others, in words: an operator may have set them.
pub(super) fn apply(
    glass: &Glass,
    addresses: &BTreeMap<String, SocketAddr>,
    entrances: &[Arc<Entrance>],
) -> Vec<String> {
    let (shared, config) = (glass.shared(), glass.config());
    let workers = shared.counters.iter().count();
    let now = shared.clock.now();
    let old = shared.live.load_full();
    let known: Known = old.backends.iter().flatten().map(|known| (&*known.name, known)).collect();
    let policy = glass.policy_due();
    let other_policy = policy.is_some();
    // Whatever does not depend on the slots is ready before anybody has to wait.
    let mut live = Live {
        version: 0,
        settings: convert::settings(&config, &glass.pseudonym),
        rules: Arc::clone(&config.rules),
        policy: config.policy.entry.name.into(),
        routes: routes(&config, entrances, Some(&old), workers),
        backends: Vec::new(),
    };
    let places = shared.ask.change_with(
        policy,
        |edit| place(edit, &config, &known, now),
        |books, places| {
            for (server, place) in config.servers.iter().zip(&places) {
                let Some(id) = place.id else { continue };
                let limit = server.max_inflight.unwrap_or(0);
                let queue_max = u32::try_from(config.queue.length).unwrap_or(u32::MAX);
                books.set_gate(id, limit, queue_max);
                let address = addresses[&server.name];
                if let Some(oneway) = glass.oneway() {
                    oneway.place(id, server, address);
                }
                let backend = match known.get(&*server.name) {
                    Some(backend) if backend.address == address => Arc::clone(backend),
                    _ => Arc::new(Backend::new(id, &server.name, address, workers)),
                };
                if live.backends.len() <= id.index() {
                    live.backends.resize_with(id.index() + 1, || None);
                }
                live.backends[id.index()] = Some(backend);
            }
            if other_policy {
                glass.policy_changed();
            }
            live.version = books.next_version();
            shared.live.store(Arc::new(live));
            places
        },
    );
    shared.ask.set_crowd(convert::crowd(&config));
    for (server, _) in config.servers.iter().zip(&places).filter(|(_, place)| place.id.is_none()) {
        say(format_args!("no slot is left for server {}; it is not used", server.name));
    }
    places.into_iter().filter_map(|place| place.reweighed).collect()
}

/// The servers in the table, by name.
type Known<'a> = BTreeMap<&'a str, &'a Arc<Backend>>;

/// Where a server of the configuration is.
struct Place {
    /// Its slot; `None`: none is left.
    id: Option<ServerId>,
    /// A weight that became another, in words.
    reweighed: Option<String>,
}

/// Brings the servers of the cluster in line with the configuration.
fn place(edit: &mut Edit<'_>, config: &Config, known: &Known<'_>, now: Instant) -> Vec<Place> {
    let stay: BTreeSet<_> = config.servers.iter().map(|server| &*server.name).collect();
    let left = known.iter().filter(|(name, _)| !stay.contains(*name));
    left.for_each(|(_, backend)| edit.leave(backend.id));
    let place = |server: &crate::config::ready::Server| match known.get(&*server.name) {
        Some(backend) => rejoin(edit, backend.id, &server.spec()),
        None => Place { id: edit.join(server.spec(), State::Up, now), reweighed: None },
    };
    let places = config.servers.iter().map(place).collect();
    edit.set_panic_share(config.panic_share);
    places
}

/// Takes over weight and capacity of a server that stays; notes a weight that becomes another.
fn rejoin(edit: &mut Edit<'_>, id: ServerId, spec: &Spec) -> Place {
    let Some(server) = edit.cluster().server(id) else {
        return Place { id: None, reweighed: None };
    };
    let (was, warmth) = (server.spec.weight, server.warmth);
    let other_capacity = server.spec.capacity != spec.capacity;
    let reweighed = (was != spec.weight).then(|| {
        let (name, is) = (&spec.name, spec.weight);
        format!("server {name}: weight {was} -> {is} (the configuration's)")
    });
    edit.set_share(id, spec.weight, warmth);
    if other_capacity {
        edit.set_capacity(id, spec.capacity);
    }
    Place { id: Some(id), reweighed }
}

/// Counters by entrance and rule. Those that were there before go on counting, unless they would
/// go on for another rule: one without a name, under the same number, that is not the same.
fn routes(
    config: &Config,
    entrances: &[Arc<Entrance>],
    old: Option<&Live>,
    workers: usize,
) -> Vec<Arc<Route>> {
    let mut rules: Vec<(Option<String>, bool)> = Vec::new();
    for (at, spec) in config.rules.specs().iter().enumerate() {
        let name = config.rule_names.get(at).and_then(Option::as_deref);
        let same = old.is_some_and(|old| old.rules.specs().get(at) == Some(spec));
        rules.push((Some(rule_label(at, name)), name.is_some() || same));
    }
    rules.push((None, true));
    let mut all = Vec::with_capacity(entrances.len() * rules.len());
    for entrance in entrances {
        for (rule, stays) in &rules {
            let same = |route: &&Arc<Route>| {
                *stays
                    && route.listener == entrance.name
                    && route.rule.as_deref() == rule.as_deref()
            };
            let known = old.and_then(|old| old.routes.iter().find(same));
            all.push(known.cloned().unwrap_or_else(|| {
                Arc::new(Route {
                    listener: entrance.name.clone(),
                    rule: rule.as_deref().map(Into::into),
                    counters: PerWorker::new(workers),
                })
            }));
        }
    }
    all
}

/// Has the supervisor look after the servers in force, and real requests tell it how they fare.
pub(super) fn look_after(glass: &Glass, supervisor: &Arc<Supervisor>) {
    let config = glass.config();
    supervisor.apply(config.servers.iter().map(|server| convert::care(&config, server)).collect());
    for backend in super::live_of(glass).backends.iter().flatten() {
        if let Some(feed) = supervisor.feed(&backend.name) {
            // A backend that was there before keeps the feed it has: feeds outlive reloads.
            let _kept = backend.observer.set(Box::new(move |ok| {
                if ok {
                    feed.success();
                } else {
                    feed.failure();
                }
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Method: a configuration, its counters, and what a second configuration keeps of them.

    use super::*;

    /// The names of the rules whose counters `after` takes over from `before`.
    fn kept(before: &str, after: &str) -> Vec<String> {
        let config = |rules: &str| {
            let text = format!(
                "[listen.a]\naddress = \":1\"\n[server.a]\naddress = \"127.0.0.1:1\"\n{rules}"
            );
            Config::parse("file", &text, &|_| None).unwrap().config
        };
        let entrances = [Arc::new(Entrance::new(0, "a", 1))];
        let old = first(&config(before), "", &entrances, 1);
        let new = routes(&config(after), &entrances, Some(&old), 1);
        let known = |route: &&Arc<Route>| old.routes.iter().any(|old| Arc::ptr_eq(old, route));
        let rules = new.iter().filter(known).filter_map(|route| route.rule.as_deref());
        rules.map(str::to_owned).collect()
    }

    const A: &str = "[[rule]]\npath = \"/a\"\nclass = \"cpu\"\n";
    const B: &str = "[[rule]]\npath = \"/b\"\nclass = \"cpu\"\n";

    #[test]
    fn a_rule_that_is_the_same_under_its_number_goes_on_counting() {
        assert_eq!(kept(&format!("{A}{B}"), &format!("{A}{B}")), ["rule-1", "rule-2"]);
    }

    #[test]
    fn the_counts_of_a_rule_never_become_those_of_another() {
        assert_eq!(kept(A, &format!("{B}{A}")), [""; 0]);
        assert_eq!(kept(&format!("{A}{B}"), &format!("{A}{A}")), ["rule-1"]);
    }

    #[test]
    fn a_named_rule_goes_on_counting_wherever_it_stands() {
        let named = format!("{A}name = \"images\"\n");
        assert_eq!(kept(&named, &format!("{B}{named}")), ["images"]);
    }
}

//! Promise: whoever the policy chooses answers, whichever way the site is wired, and the books say
//! so.

use crate::on;
use crate::site::{Setup, Site, files};
use std::collections::{BTreeMap, BTreeSet};
use testbed::Variant;

/// Half of the connections by IPv4, half by IPv6.
fn both(site: &Site, count: usize) -> Vec<crate::client::Client> {
    let each = site.bed.vip().each();
    each.into_iter().flat_map(|vip| site.clients_of(vip, count / 2)).collect()
}

/// Many connections with many requests; every byte and every answer is accounted for.
fn everything_is_answered(delivery: &'static str, variant: Variant) {
    let setup = Setup { variant, ..Setup::new(delivery, "name = \"lard\"") };
    on(setup, |site| {
        let files = files();
        let mut clients = both(site, 40);
        let mut by_target: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let mut first: BTreeMap<String, u64> = BTreeMap::new();
        let mut changes = 0;
        for (at, client) in clients.iter_mut().enumerate() {
            let mut before = None;
            for file in files.iter().cycle().skip(at * 5).take(12) {
                let server = client.fetch(file);
                match &before {
                    None => *first.entry(server.clone()).or_default() += 1,
                    Some(before) => changes += u64::from(*before != server),
                }
                by_target.entry(&file.path).or_default().insert(server.clone());
                before = Some(server);
            }
        }
        assert_eq!(first.len(), 2, "both servers have work: {first:?}");
        let view = site.oneway(|view| view.counted("handed_over") >= 40);
        assert_eq!(view.open(), 40, "{view:?}");
        if delivery == "handoff" {
            assert_eq!((changes, view.counted("moved")), (0, 0), "{view:?}");
            let handed: BTreeMap<_, _> =
                view.servers.iter().map(|one| (one.server.clone(), one.handed_over)).collect();
            assert_eq!(handed, first, "who answers is who the connection was handed to");
        } else {
            assert_eq!(changes, view.counted("moved"), "{view:?}");
            assert!(changes > 20, "connections move: {changes}");
            let kept = by_target.values().filter(|servers| servers.len() == 1).count();
            assert_eq!(kept, by_target.len(), "targets stay: {by_target:?}");
            for decision in site.decisions().iter().filter(|one| !one.path.is_empty()) {
                let known = by_target.get(&*decision.path).unwrap().first().map(String::as_str);
                assert_eq!(decision.server.as_deref(), known, "{decision:?}");
            }
        }
        let asked = view.counted("asked") + view.counted("repeated");
        let decided = if delivery == "handoff" { 40 } else { 40 * 12 };
        assert_eq!(asked, decided, "each request that could choose was decided once: {view:?}");
        drop(clients);
        site.is_at_rest();
    });
}

#[test]
fn connections_that_are_handed_over_once_are_answered_whole_by_neighbours() {
    everything_is_answered("handoff", Variant::Bridge);
}

#[test]
fn connections_that_are_handed_over_once_are_answered_whole_behind_routers() {
    everything_is_answered("handoff", Variant::Routed);
}

#[test]
fn connections_that_move_are_answered_whole_by_neighbours() {
    everything_is_answered("multi-handoff", Variant::Bridge);
}

#[test]
fn connections_that_move_are_answered_whole_behind_routers() {
    everything_is_answered("multi-handoff", Variant::Routed);
}

#[test]
fn a_rotation_turns_from_request_to_request() {
    let setup = Setup { servers: 3, ..Setup::new("multi-handoff", "name = \"round-robin\"") };
    on(setup, |site| {
        let files = files();
        let mut client = site.client();
        let answered: Vec<_> = files.iter().map(|file| client.fetch(file)).collect();
        for three in answered.windows(3) {
            let different: BTreeSet<_> = three.iter().collect();
            assert_eq!(different.len(), 3, "{answered:?}");
        }
        let mut clients = both(site, 30);
        clients.iter_mut().for_each(|client| drop(client.fetch(&files[2])));
        let view = site.oneway(|view| view.open() == 31);
        assert_eq!((view.counted("asked"), view.counted("repeated")), (24, 30), "{view:?}");
        let open: Vec<_> = view.servers.iter().map(|one| one.open).collect();
        assert!(open.iter().all(|open| [10, 11].contains(open)), "{open:?}");
        drop((client, clients));
        site.is_at_rest();
    });
}

#[test]
fn each_class_has_a_rotation_of_its_own() {
    let rules = "[[rule]]\npath_prefix = \"/f1\"\nclass = \"cpu\"\n";
    let setup = Setup { more: rules.to_owned(), ..Setup::new("handoff", "name = \"cap\"") };
    on(setup, |site| {
        let files = files();
        let (heavy, light): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| file.path.starts_with("/f1"));
        let mut given: BTreeMap<(bool, String), usize> = BTreeMap::new();
        let mut clients = Vec::new();
        for turn in 0..40 {
            for (is_heavy, files) in [(true, &heavy), (false, &light), (false, &light)] {
                let mut client = site.client();
                let server = client.fetch(files[turn % files.len()]);
                *given.entry((is_heavy, server)).or_default() += 1;
                clients.push(client);
            }
        }
        let counts: Vec<_> = given.values().copied().collect();
        assert_eq!(counts, [40, 40, 20, 20], "{given:?}");
        drop(clients);
        site.is_at_rest();
    });
}

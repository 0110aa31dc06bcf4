//! Promise: an operator sees what is handed over, where and why, in all places where one looks.

use crate::client::Client;
use crate::on;
use crate::site::{Setup, Site, files};
use serde_json::Value;
use std::collections::BTreeSet;
use testbed::{Host, Variant};

/// What a command of the operator says.
fn says(site: &Site, words: &[&str]) -> String {
    let output = site.ask(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn status_explain_page_and_metrics_agree_on_what_was_handed_over() {
    let more = "[[rule]]\npath = \"/f2\"\ndelivery = \"relay\"\n\
                [[rule]]\npath = \"/f4\"\nheader = \"X-Class: *\"\nclass = \"cpu\"\n";
    let setup = Setup { more: more.to_owned(), ..Setup::new("multi-handoff", "name = \"lard\"") };
    on(setup, |site| {
        let files = files();
        let mut clients = site.clients(10);
        let mut who = String::new();
        for client in &mut clients {
            who = client.fetch(&files[1]);
            client.fetch(&files[3]);
        }
        let mut relayed = site.client();
        relayed.fetch(&files[2]);
        site.status_when(|status| status.agents.iter().all(|agent| agent.answers > 0));
        // The client may have its reply before that is counted.
        site.status_when(|status| status.in_flight == 0 && status.replies.success == 1);

        let status = says(site, &["status"]);
        let addresses = site.bed.vip().at(80).map(|address| address.to_string()).join(", ");
        let listening = format!("web on {addresses}: 1 connections open, 1 so far\n");
        assert!(status.contains(&listening), "{status}");
        assert!(status.contains("\none way: 10 connections open, 10 handed over, "), "{status}");
        assert!(status.contains("\nrelayed all the same: rule-says-relay 1\n"), "{status}");
        assert!(status.contains("\nasked about, and answered: handoff "), "{status}");
        assert!(status.contains("\nrelay: 1 requests, 0 in flight; replies 2xx 1 "), "{status}");
        let reported = status.lines().filter(|line| line.contains("  agent of server"));
        assert_eq!(reported.filter(|line| line.contains(" reported ")).count(), 2, "{status}");

        let known = says(site, &["explain", "http://bed/f1"]);
        assert!(known.contains(&format!("server     {who}, because of affinity")), "{known}");
        assert!(known.contains("delivery   multi-handoff on web"), "{known}");
        assert!(known.contains("repeated   the same, as long as the guard holds"), "{known}");
        let ruled = says(site, &["explain", "http://bed/f2"]);
        assert!(ruled.contains("relay on web: the relay takes it: rule-says-relay"), "{ruled}");
        let asked = says(site, &["explain", "http://bed/f4"]);
        assert!(asked.contains("repeated   nothing: header fields"), "{asked}");

        let page = site.page("/");
        let figure = |about: &str, count: u32| format!("<span>{about}</span><b>{count}</b>");
        for part in [figure("connections open", 10), figure("handed over", 10)] {
            assert!(page.contains(&part), "{part}: {page}");
        }
        assert!(page.contains("Relayed all the same: rule-says-relay 1<"), "{page}");
        assert!(page.contains("<small>1 client connections<br>"), "{page}");

        let metrics = site.page("/metrics");
        let samples = metrics.lines().filter(|line| line.starts_with("baton_"));
        let names: Vec<_> = samples.filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
        let once: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), once.len(), "no sample is there twice");
        let open = |name: &str| format!("baton_oneway_flows{{server=\"{name}\"}}");
        assert_eq!(site.metric(&open("server1")) + site.metric(&open("server2")), 10.0);
    });
}

/// The rows of the list of connections that are about `client`.
fn rows_of<'l>(list: &'l Value, client: &Client) -> Vec<&'l Value> {
    let client = client.address().to_string();
    let rows = list["connections"].as_array().unwrap().iter();
    rows.filter(|row| row["client"] == client.as_str()).collect()
}

#[test]
fn an_operator_sees_where_each_connection_is_and_how_it_is_delivered() {
    on(Setup::new("multi-handoff", "name = \"round-robin\""), |site| {
        let list = |site: &Site, words: &[&str]| -> Value {
            let words = [&["status", "--json", "--connections"], words].concat();
            serde_json::from_str(&says(site, &words)).unwrap()
        };
        assert_eq!(list(site, &[])["connections"], Value::Array(Vec::new()));
        let mut clients = site.clients(3);
        let who: Vec<_> = clients.iter_mut().map(|one| one.fetch(&files()[1])).collect();
        let listener = site.bed.vip().at(80)[0].to_string();
        let shown = list(site, &[]);
        assert_eq!(shown["open"], 3);
        for (client, server) in clients.iter().zip(&who) {
            let [row] = rows_of(&shown, client)[..] else { panic!("{shown}") };
            for (field, value) in [
                ("server", server.as_str()),
                ("listener", &listener),
                ("delivery", "multi-handoff"),
                ("state", "open"),
            ] {
                assert_eq!(row[field], value, "{field}: {shown}");
            }
            assert_eq!((&row["requests"], &row["moves"]), (&1.into(), &0.into()), "{shown}");
            let seconds = |field: &str| row[field].as_f64().unwrap();
            assert!(seconds("idle_s") <= seconds("age_s") + 0.01, "{shown}");
            assert!(seconds("age_s") < 60.0, "{shown}");
        }

        // As many as were asked for, and people get a table.
        assert_eq!(list(site, &["2"])["connections"].as_array().unwrap().len(), 2);
        let table = says(site, &["status", "--connections"]);
        assert!(table.starts_with("one way: 3 connections open; 3 shown\n"), "{table}");
        let first = clients[0].address().to_string();
        let line = table.lines().find(|line| line.starts_with(&first)).expect(&table);
        for word in [listener.as_str(), &who[0], "multi-handoff", "open"] {
            assert!(line.split_whitespace().any(|part| part == word), "{word}: {table}");
        }
        for wrong in ["0", "10001"] {
            let refused = site.ask(&["status", "--connections", wrong]);
            assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        }

        // What has ended is remembered for a while, and comes last.
        let ended = clients.remove(0);
        let address = ended.address().to_string();
        drop(ended);
        site.oneway(|view| view.open() == 2);
        let shown = list(site, &[]);
        let last = shown["connections"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["client"], &last["state"]), (&address.into(), &"ended".into()));
    });
}

/// What the switch said at its start of its host: the verdict and the check.
fn warnings(site: &Site) -> Vec<String> {
    let said = site.switch.as_ref().unwrap().said();
    let words = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let verdicts = ["fail ", "unknown ", "warn "];
    let rows = said.lines().filter(|line| verdicts.iter().any(|verdict| line.starts_with(verdict)));
    rows.map(words).collect()
}

#[test]
fn a_switch_says_at_its_start_what_its_host_lacks_and_serves_all_the_same() {
    for variant in [Variant::Bridge, Variant::Routed] {
        on(Setup { variant, ..Setup::new("handoff", "name = \"lard\"") }, |site| {
            assert_eq!(warnings(site), [""; 0], "{variant:?}: nothing is the matter");
            let filter = format!("ipv4/conf/{}/rp_filter", site.bed.interface());
            let set = |site: &Site, cookies, strict| {
                site.bed.set(Host::Front, "ipv4/tcp_syncookies", cookies).unwrap();
                site.bed.set(Host::Front, &filter, strict).unwrap();
            };
            site.kill_switch();
            set(site, "0", "1");
            site.start_switch();
            assert_eq!(warnings(site), ["fail syncookies", "warn rp-filter"], "{variant:?}");
            let said = site.switch.as_ref().unwrap().said();
            for part in ["why: without them the kernel resets", "do:  switch it on\n"] {
                assert!(said.contains(part), "{variant:?}: {part}: {said}");
            }
            site.client().fetch(&files()[3]);

            // Who only relays is not told what hand-overs need.
            site.kill_switch();
            site.setup.delivery = "relay";
            site.write(1..=2);
            site.start_switch();
            assert_eq!(warnings(site), [""; 0], "{variant:?}: relayed");
        });
    }
}

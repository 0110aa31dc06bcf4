//! Promise: who dies takes nobody else along, and leaves nothing in the books.

use crate::client::Client;
use crate::on;
use crate::site::{Setup, Site, files};
use control::view::{OnewayView, ServerState};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Instant;
use testbed::Host;

/// Connections by who has them; each has had a reply.
fn by_server(site: &Site, count: usize) -> BTreeMap<String, Vec<Client>> {
    let mut all: BTreeMap<String, Vec<Client>> = BTreeMap::new();
    for mut client in site.clients(count) {
        let server = client.fetch(&files()[1]);
        all.entry(server).or_default().push(client);
    }
    all
}

/// Waits until a server is in a state.
fn comes_to_be(site: &Site, name: &str, state: ServerState) {
    let known = |servers: &[control::view::ServerReport]| {
        servers.iter().any(|one| one.server.name == name && one.standing.state == state)
    };
    site.servers_when(known);
}

fn open(view: &OnewayView, name: &str) -> u64 {
    view.servers.iter().filter(|one| one.server == name).map(|one| one.open).sum()
}

#[test]
fn a_server_that_goes_dark_has_its_connections_reset_and_is_used_again_when_it_is_back() {
    let setup = Setup { checked: true, ..Setup::new("handoff", "name = \"round-robin\"") };
    on(setup, |site| {
        let mut clients = by_server(site, 60);
        site.ip(Host::Wire, "link set server1 down");
        let dark = Instant::now();
        comes_to_be(site, "server1", ServerState::Down);
        let known = Instant::now();
        for client in clients.get_mut("server1").unwrap() {
            assert_eq!(client.end(), ErrorKind::ConnectionReset);
        }
        println!("30 reset {:?} after the check, which took {:?}", known.elapsed(), known - dark);
        let view = site.oneway(|view| view.swept["reset"] == 30);
        assert_eq!((view.counted("reset_down"), open(&view, "server1")), (30, 0), "{view:?}");
        assert_eq!(site.metric("baton_oneway_swept_total{what=\"reset\"}"), 30.0);
        assert_eq!(site.metric("baton_oneway_flows{server=\"server2\"}"), 30.0);
        let given: Vec<_> = site.servers().iter().map(|one| one.server.handed_over).collect();
        assert_eq!(given, [30, 30]);
        let elsewhere = by_server(site, 10);
        assert_eq!(elsewhere.keys().collect::<Vec<_>>(), ["server2"]);
        clients.get_mut("server2").unwrap().iter_mut().for_each(|one| drop(one.fetch(&files()[5])));

        site.ip(Host::Wire, "link set server1 up");
        let lit = Instant::now();
        comes_to_be(site, "server1", ServerState::Up);
        assert_eq!(by_server(site, 10).len(), 2, "it is used again");
        println!("used again {:?} after the link was up", lit.elapsed());
        drop((clients, elsewhere));
        site.is_at_rest();
    });
}

#[test]
fn a_server_that_is_stopped_leaves_no_client_hanging() {
    let setup = Setup { checked: true, ..Setup::new("multi-handoff", "name = \"round-robin\"") };
    on(setup, |site| {
        let mut clients = by_server(site, 40);
        site.stop_server(1);
        let stopped = Instant::now();
        for client in clients.get_mut("server1").unwrap() {
            let how = client.end();
            assert!([ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof].contains(&how), "{how}");
        }
        // Sent before anybody knows: there is an answer, by the other one, or an end.
        let mut early = site.clients(10);
        early.iter_mut().for_each(|client| client.send(crate::client::get("/f1")));
        let mut answered = 0;
        for client in &mut early {
            match client.reply() {
                Ok(reply) => answered += usize::from(reply.server() == "server2"),
                Err(how) => assert_eq!(how, ErrorKind::ConnectionReset),
            }
        }
        println!("{answered} of 10 answered, the rest reset, {:?} after", stopped.elapsed());
        comes_to_be(site, "server1", ServerState::Down);
        let both = clients.get_mut("server2").unwrap();
        for client in both.iter_mut() {
            assert_eq!(client.fetch(&files()[5]), "server2");
        }
        site.start_server(1);
        comes_to_be(site, "server1", ServerState::Up);
        assert_eq!(by_server(site, 10).len(), 2, "it is used again");
        drop((clients, early));
        site.is_at_rest();
    });
}

#[test]
fn a_drained_server_finishes_what_it_has_and_gets_nothing_new() {
    on(Setup::new("handoff", "name = \"round-robin\""), |site| {
        let mut clients = by_server(site, 20);
        let drained = site.ask(&["drain", "server1"]);
        assert!(drained.status.success(), "{drained:?}");
        assert_eq!(by_server(site, 12).into_keys().collect::<Vec<_>>(), ["server2"]);
        for client in clients.get_mut("server1").unwrap() {
            assert_eq!(client.fetch(&files()[6]), "server1", "it has the connection");
        }
        let view = site.oneway(|view| open(view, "server2") == 10);
        let one = view.servers.iter().find(|one| one.server == "server1").unwrap();
        assert_eq!((one.state.as_str(), one.open), ("draining", 10));
        let text = String::from_utf8(site.ask(&["status"]).stdout).unwrap();
        assert!(text.lines().any(|line| line.contains("draining") && line.contains("10 open")));
        clients.remove("server1");
        site.oneway(|view| open(view, "server1") == 0);
        assert!(site.ask(&["undrain", "server1"]).status.success());
        assert_eq!(by_server(site, 10).len(), 2);
        drop(clients);
        site.is_at_rest();
    });
}

#[test]
fn silent_connections_are_forgotten_and_so_are_clients_that_vanished() {
    let setup = Setup { oneway: "idle = \"5s\"", ..Setup::new("handoff", "name = \"lard\"") };
    on(setup, |site| {
        let files = files();
        let mut silent = site.clients(10);
        silent.iter_mut().for_each(|client| drop(client.fetch(&files[2])));
        let began = Instant::now();
        let mut busy = site.client();
        let mut view = site.oneway(|_| true);
        while view.open() > 1 || view.swept["idle"] < 10 {
            busy.fetch(&files[3]);
            view = site.oneway(|_| true);
            assert!(began.elapsed() < crate::site::PATIENCE, "{view:?}");
        }
        println!("forgotten after {:?}", began.elapsed());
        assert_eq!(site.metric("baton_oneway_swept_total{what=\"idle\"}"), 10.0);
        // Whoever comes back learns that it is over.
        for client in &mut silent {
            client.send(crate::client::get("/f2"));
            assert_eq!(client.end(), ErrorKind::ConnectionReset);
        }
        site.ip(Host::Wire, "link set client down");
        site.is_at_rest();
        site.ip(Host::Wire, "link set client up");
        let mut fresh = site.client();
        fresh.fetch(&files[3]);
    });
}

#[test]
fn connections_that_a_server_lost_are_forgotten_by_what_its_agent_says() {
    let setup = Setup {
        oneway: "agent_period = \"100ms\"",
        ..Setup::new("handoff", "name = \"round-robin\"")
    };
    on(setup, |site| {
        let clients = by_server(site, 20);
        // Nobody hears the server's word that it ends them, and it soon gives up to say it.
        site.bed.set(Host::Server(1), "ipv4/tcp_orphan_retries", "1").unwrap();
        site.ip(Host::Wire, "link set client down");
        site.stop_server(1);
        let lost = Instant::now();
        site.start_server(1);
        let view = site.oneway(|view| view.swept["disowned"] == 10);
        println!("reconciled after {:?}", lost.elapsed());
        assert_eq!((open(&view, "server1"), open(&view, "server2")), (0, 10), "{view:?}");
        site.ip(Host::Wire, "link set client up");
        drop(clients);
        site.is_at_rest();
    });
}

//! Promise: connections at a server that cannot hear its front-end any more end when they need it
//! to, and only then; new ones are relayed meanwhile.

use crate::client::{Client, get};
use crate::on;
use crate::site::{Setup, Site, files};
use control::view::OnewayView;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use testbed::{Adversity, Host};

/// New connections by who has them; each has had a reply.
fn by_server(site: &Site, count: usize) -> BTreeMap<String, Vec<Client>> {
    let mut all: BTreeMap<String, Vec<Client>> = BTreeMap::new();
    for mut client in site.clients(count) {
        all.entry(client.fetch(&files()[1])).or_default().push(client);
    }
    all
}

fn open(view: &OnewayView) -> Vec<u64> {
    view.servers.iter().map(|one| one.open).collect()
}

/// The agent of the first server is started anew with another key, or with the right one; then its
/// reports are waited for until `reports` have come.
fn restart_agent(site: &mut Site, wrong: &'static [u16], reports: u64) {
    site.setup.wrong = wrong;
    site.kill_agent(1);
    site.start_agent(1);
    site.stands(&[if wrong.is_empty() { "confirmed" } else { "doubted" }, "confirmed"]);
    let answers = site.status().agents[0].answers;
    site.status_when(|status| status.agents[0].answers >= answers + reports);
}

/// More reports than it takes to give a server up: see `LOST_AFTER` in `src/oneway/trust.rs`.
const ENOUGH: u64 = 6;

fn setup(delivery: &'static str) -> Setup {
    let oneway = "agent_period = \"100ms\"";
    Setup { oneway, ..Setup::new(delivery, "name = \"round-robin\"") }
}

#[test]
fn a_server_with_another_key_has_its_connections_reset_if_they_may_have_to_move() {
    on(setup("multi-handoff"), |site| {
        let mut clients = by_server(site, 20);
        restart_agent(site, &[1], ENOUGH);
        // Nobody of them has asked for anything, so it is the front-end that tells them.
        for client in clients.get_mut("server1").unwrap() {
            assert_eq!(client.end(), ErrorKind::ConnectionReset);
        }
        let view = site.oneway(|view| view.swept["reset"] >= 10 && open(view) == [0, 10]);
        assert_eq!((view.swept["reset"], view.counted("reset_down")), (10, 10), "{view:?}");
        assert_eq!(
            (view.servers[0].state.as_str(), view.servers[1].state.as_str()),
            ("down", "up")
        );

        let relayed = |view: &OnewayView| view.locals().get("unconfirmed").copied().unwrap_or(0);
        let before = relayed(&view);
        let more = by_server(site, 10);
        assert_eq!(more.values().map(Vec::len).collect::<Vec<_>>(), [5, 5], "it goes on serving");
        site.oneway(|view| relayed(view) == before + 5 && open(view) == [0, 15]);

        // The other server's connections go on, and none of them moves to where it would be lost.
        for client in clients.get_mut("server2").unwrap() {
            client.fetch(&files()[3]);
        }
        drop((clients, more));

        restart_agent(site, &[], 0);
        let back = by_server(site, 10);
        site.oneway(|view| open(view) == [5, 5]);
        drop(back);
        site.is_at_rest();
    });
}

#[test]
fn connections_that_stay_anyway_go_on_at_a_server_with_another_key() {
    on(setup("handoff"), |site| {
        let mut clients = by_server(site, 20);
        restart_agent(site, &[1], ENOUGH);
        for (server, clients) in &mut clients {
            for client in clients {
                assert_eq!(client.fetch(&files()[3]), *server, "it needs no envelopes");
            }
        }
        let view = site.oneway(|_| true);
        assert_eq!((open(&view), view.swept["reset"]), (vec![10, 10], 0), "{view:?}");
        drop(clients);
        site.is_at_rest();
    });
}

#[test]
fn a_hand_over_that_was_lost_before_its_server_was_known_to_be_deaf_is_not_waited_for() {
    on(setup("handoff"), |site| {
        let wire = site.bed.wire(Host::Server(1)).unwrap();
        wire.set(Adversity { loss: 1.0, ..Adversity::default() }).unwrap();
        let mut clients = site.clients(10);
        clients.iter_mut().for_each(|client| client.send(get(&files()[1].path)));
        site.oneway(|view| open(view) == [5, 5]);

        // What they repeat comes to a program that opens none of it.
        site.setup.wrong = &[1];
        site.kill_agent(1);
        site.start_agent(1);
        wire.set(Adversity::default()).unwrap();
        let (mut answered, mut reset) = (0, 0);
        for client in &mut clients {
            match client.reply() {
                Ok(reply) => {
                    reply.is(&files()[1]);
                    answered += 1;
                }
                Err(how) => {
                    assert_eq!(how, ErrorKind::ConnectionReset);
                    reset += 1;
                }
            }
        }
        assert_eq!((answered, reset), (5, 5));
        let view = site.oneway(|view| open(view) == [0, 5]);
        assert_eq!(view.servers[0].state, "deaf");
        drop(clients);
        site.is_at_rest();
    });
}

#[test]
fn connections_of_the_other_family_need_envelopes_and_are_reset() {
    on(setup("handoff"), |site| {
        // Servers are known by their IPv4 addresses.
        let mut clients: BTreeMap<String, Vec<Client>> = BTreeMap::new();
        for mut client in site.clients_of(site.bed.vip().v6.into(), 8) {
            clients.entry(client.fetch(&files()[1])).or_default().push(client);
        }
        restart_agent(site, &[1], ENOUGH);
        site.oneway(|view| view.servers[0].state == "deaf");
        for client in clients.get_mut("server1").unwrap() {
            client.send(get(&files()[3].path));
            assert_eq!(client.end(), ErrorKind::ConnectionReset);
        }
        for client in clients.get_mut("server2").unwrap() {
            assert_eq!(client.fetch(&files()[3]), "server2");
        }
        drop(clients);
        site.is_at_rest();
    });
}

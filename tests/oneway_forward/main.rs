//! Back-end forwarding with everything real: `baton run` with `delivery = "forward"`, `baton agent`
//! on two servers with nginx.
//!
//! Method: a site in network name spaces; each server says who it is, each byte is compared, and
//! the counters of agents and switch have to add up. A connection's packets go to one server, and
//! replies of both come by it. Without root it says so.

#![cfg(feature = "oneway")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod site;

use site::{Site, get};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use testbed::{Adversity, Host, Variant};

/// Runs a test on a site, and shows what was counted where it fails.
fn on_a_site(work: impl FnOnce(&mut Site)) {
    on(Variant::Bridge, "", work);
}

fn on(variant: Variant, more: &str, work: impl FnOnce(&mut Site)) {
    if !testbed::possible() {
        return; // It has said why.
    }
    let mut site = Site::up(variant, more);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&mut site))) {
        let counted = |counts: std::collections::BTreeMap<String, u64>| {
            counts.into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>()
        };
        println!("switch: {:?}", counted(site.oneway(|_| true).kernel));
        resume_unwind(panic);
    }
}

#[test]
fn one_connection_brings_what_two_servers_have_and_its_packets_go_to_one() {
    on_a_site(|site| {
        let mut client = site.client();
        let [ones, twos] = site.files.clone();
        for (one, two) in ones.iter().zip(&twos) {
            client.fetch(one, "server1");
            client.fetch(two, "server2");
            client.fetch(two, "server2");
        }
        let mut sent = 0;
        for (path, server) in [("/echo1", "server1"), ("/echo2", "server2")] {
            for bytes in [0, 5, 100_000] {
                let body: Vec<u8> = (0..bytes).map(|at| b'a' + (at % 23) as u8).collect();
                let head =
                    format!("POST {path} HTTP/1.1\r\nHost: bed\r\nContent-Length: {bytes}\r\n\r\n");
                client.send([head.as_bytes(), &body].concat());
                let reply = client.reply().unwrap();
                assert_eq!((reply.server(), reply.1 == body), (server, true), "{path} {bytes}");
                sent += bytes;
            }
        }
        client.send("HEAD /two/1m HTTP/1.1\r\nHost: bed\r\n\r\n");
        assert!(client.head().unwrap().contains("server2"));
        client.fetch(&ones[1], "server1");

        let first = site.forwarded(1, [8, 12]);
        assert_eq!((first.connections, first.requests["here"]), (1, 8), "{first:?}");
        assert_eq!(first.requests["elsewhere"], 12, "{first:?}");
        let others = ["pipelined", "unknown-server", "not-handed-over", "stood-in"];
        assert!(others.iter().all(|how| first.requests[*how] == 0), "{first:?}");
        let [own, peer] = &first.peers[..] else { panic!("{first:?}") };
        assert_eq!((own.server.as_str(), peer.server.as_str()), ("server1", "server2"));
        assert_eq!((own.failures, peer.failures), (0, 0), "{first:?}");
        assert_eq!((own.bytes_to, peer.bytes_to), (sent / 2, sent / 2), "{first:?}");
        let bodies = 2 * twos.iter().map(|file| file.bytes).sum::<u64>() + sent / 2;
        let heads = peer.bytes_from.checked_sub(bodies).expect("the bodies came from there");
        assert!(heads < 12 * 500, "{first:?}");
        let page = site.metrics(1);
        assert!(page.contains("\nbaton_agent_peer_requests_total{server=\"server2\"} 12\n"));

        let second = site.forwarding(2);
        assert_eq!((second.connections, second.requests["here"]), (0, 0), "{second:?}");
        let view = site.oneway(|_| true);
        assert_eq!((view.kernel["handed_over"], view.kernel["moved"]), (1, 0), "{view:?}");
    });
}

#[test]
fn over_either_protocol_and_behind_routers_both_servers_answer_all_the_same() {
    for variant in [Variant::Bridge, Variant::Routed] {
        on(variant, "", |site| {
            for vip in site.bed.vip().each() {
                let mut client = site.client_of(vip);
                for (one, two) in site.files[0].iter().zip(&site.files[1]) {
                    client.fetch(one, "server1");
                    client.fetch(two, "server2");
                }
            }
            site.forwarded(1, [8, 8]);
        });
    }
}

#[test]
fn requests_that_share_a_segment_are_all_served_where_the_connection_is() {
    on_a_site(|site| {
        let mut client = site.client();
        let (one, two) = (site.files[0][1].clone(), site.files[1][1].clone());
        client.fetch(&one, "server1");
        client.send(get(&two.path) + &get(&one.path) + &get(&two.path));
        for file in [&two, &one, &two] {
            client.reply().unwrap().is(file, "server1");
        }
        site.reload_agent(1, "the relay knows 2 servers");
        client.fetch(&two, "server2");
        let found = site.forwarding(1);
        assert_eq!(found.requests["pipelined"], 2, "{found:?}");
        assert_eq!(site.oneway(|_| true).kernel["stayed_pipelined"], 1);
    });
}

/// A rule that hangs on a header field, which the kernel does not read: it has to ask each time.
const ASKED_EACH_TIME: &str = "[[rule]]\nheader = \"X-Never\"\nclass = \"disk\"\n";

#[test]
fn every_request_goes_where_it_was_sent_though_segments_are_lost_and_doubled() {
    on(Variant::Bridge, ASKED_EACH_TIME, |site| {
        let wire = site.bed.wire(Host::Client).unwrap();
        wire.set(Adversity { loss: 0.01, duplicate: 0.5, ..Adversity::default() }).unwrap();
        let mut clients: Vec<_> = (0..4).map(|_| site.client()).collect();
        let (one, two) = (site.files[0][2].clone(), site.files[1][2].clone());
        for _ in 0..20 {
            for client in &mut clients {
                client.fetch(&one, "server1");
                client.fetch(&two, "server2");
            }
        }
        let [towards, from] = wire.counts();
        assert!(towards.duplicated + from.duplicated > 100, "{towards:?} {from:?}");
        site.forwarded(1, [80, 80]);
        let kernel = site.oneway(|_| true).kernel;
        assert!(kernel["asked"] >= 160 && kernel["asked_already"] > 10, "{kernel:?}");
    });
}

#[test]
fn the_holder_stands_in_for_a_server_that_is_gone() {
    on_a_site(|site| {
        let mut client = site.client();
        let (one, two) = (site.files[0][2].clone(), site.files[1][2].clone());
        client.fetch(&one, "server1");
        client.fetch(&two, "server2");
        site.stop_server(2);
        for _ in 0..3 {
            client.fetch(&two, "server1");
        }
        // Nothing of it had reached the other server: it may be sent again.
        client.send("POST /echo2 HTTP/1.1\r\nHost: bed\r\nContent-Length: 5\r\n\r\nhello");
        let reply = client.reply().unwrap();
        assert_eq!((reply.server(), &reply.1[..]), ("server1", &b"hello"[..]));
        let found = site.forwarding(1);
        assert_eq!((found.requests["elsewhere"], found.requests["stood-in"]), (5, 4), "{found:?}");
        assert_eq!((found.peers[1].requests, found.peers[1].failures), (1, 4), "{found:?}");
    });
}

#[test]
fn without_its_agent_a_server_answers_by_itself_and_the_switch_knows() {
    on_a_site(|site| {
        let (one, two) = (site.files[0][1].clone(), site.files[1][1].clone());
        let mut cut_off = site.client();
        cut_off.fetch(&one, "server1");
        site.kill_agent(1);
        assert!(cut_off.reply().is_none(), "its relay has gone");
        let fault = |agents: &[control::view::AgentView], number: usize| {
            agents[number - 1].fault.as_deref().is_some_and(|why| why.contains("no agent listens"))
        };
        let status = site.status(|status| fault(&status.agents, 1));
        assert!(!fault(&status.agents, 2), "{:?}", status.agents);
        let mut direct = site.client();
        for file in [&one, &two] {
            direct.fetch(file, "server1");
        }
        site.start_agent(1);
        site.status(|status| !fault(&status.agents, 1));
        let mut relayed = site.client();
        relayed.fetch(&one, "server1");
        relayed.fetch(&two, "server2");
        direct.fetch(&two, "server1");
        // The agent reads the one and the other at different times.
        site.load(1, |load| {
            let peer = load.forwarding.as_ref().and_then(|done| done.peers.get(1));
            load.kernel["agent_gone"] == 1 && peer.is_some_and(|peer| peer.requests == 1)
        });
    });
}

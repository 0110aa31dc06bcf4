//! Method: SYNs are answered in the driver of the front-end's interface (XDP) instead of above it;
//! clients must not notice. That connections move, and all else, is tested without it.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use handoff::{Delivery, Verdict};
use site::OneWay;
use site::client::Client;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;
use testbed::{Host, Plan};

#[test]
fn the_driver_answers_syns_where_it_can() {
    if !site::is_possible() {
        return;
    }
    let one_way = OneWay::up(&Plan::new(1), Delivery::Handoff, |_| Verdict::Server(0));
    let early = |interface: &str| one_way.front.attach_early(interface).unwrap();
    one_way.bed.enter(Host::Front, || early(one_way.bed.interface())).unwrap();
    // A virtual Ethernet takes what its peer sends that way only if it has a program as well.
    one_way.bed.enter(Host::Wire, || early("front")).unwrap();
    for vip in one_way.bed.vip().at(80) {
        one_way.client(|| {
            let mut client = Client::connect(vip).unwrap();
            client.fetch(one_way.file("/1500"), 1);
        });
    }
}

/// Whoever knows an old address of the front-end sends there, and a switch that does not know it
/// sends that everywhere.
#[test]
fn what_is_sent_to_another_machine_is_not_answered() {
    if !site::is_possible() {
        return;
    }
    let one_way = OneWay::up(&Plan::new(1), Delivery::Handoff, |_| Verdict::Server(0));
    let bed = &one_way.bed;
    let ip = |words: &[&str]| {
        let status = bed.command(Host::Client, "ip").args(words).status().unwrap();
        assert!(status.success(), "ip {words:?}");
    };
    for is_early in [false, true] {
        if is_early {
            let early = |interface: &str| one_way.front.attach_early(interface).unwrap();
            bed.enter(Host::Front, || early(bed.interface())).unwrap();
            bed.enter(Host::Wire, || early("front")).unwrap();
        }
        for vip in bed.vip().at(80) {
            let (address, dev) = (vip.ip().to_string(), bed.interface());
            let there = ["lladdr", "02:ff:00:00:00:01", "dev", dev, "nud", "permanent"];
            ip(&[&["neigh", "replace", &address][..], &there].concat());
            let answered = one_way.count("syn_answered");
            let connect = || TcpStream::connect_timeout(&vip, Duration::from_millis(300));
            let error = one_way.client(|| connect().unwrap_err().kind());
            assert_eq!((error, one_way.count("syn_answered")), (ErrorKind::TimedOut, answered));
            ip(&["neigh", "del", &address, "dev", dev]);
            one_way.client(|| {
                Client::connect(vip).unwrap().fetch(one_way.file("/1500"), 1);
            });
        }
    }
}

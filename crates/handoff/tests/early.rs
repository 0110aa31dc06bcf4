//! Method: SYNs are answered in the driver of the front-end's interface (XDP) instead of above it;
//! clients must not notice. That connections move, and all else, is tested without it.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use handoff::{Delivery, Verdict};
use site::OneWay;
use site::client::Client;
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

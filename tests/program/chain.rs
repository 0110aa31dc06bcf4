//! Promise: a switch before another one serves, and a switch before itself says so at once.

use crate::running::{Baton, config, eventually};
use crate::server::Server;

const QUIET: &str = "[health]\nkind = \"off\"\n";

#[test]
fn two_switches_may_stand_in_a_row() {
    let server = Server::saying("hello");
    let inner = Baton::run(&config(&[("a", server.address)], QUIET));
    let outer = Baton::run(&config(&[("inner", inner.address)], QUIET));
    let reply = outer.client().get("/");
    assert_eq!((reply.status, reply.text().as_str()), (200, "hello"));
    let head = server.seen().pop().unwrap();
    let names: Vec<_> = head.lines().filter_map(|line| line.strip_prefix("Via: 1.1 ")).collect();
    assert_eq!(names.len(), 2, "{head}");
    assert_ne!(names[0], names[1], "each has a name of its own");
}

#[test]
fn a_switch_that_is_its_own_server_answers_508_and_counts_it() {
    let address = testbed::Port::kept().unwrap().for_ever();
    let itself = config(&[("itself", address)], QUIET)
        .replace("address = \"127.0.0.1:0\"", &format!("address = \"{address}\""));
    let switch = Baton::run(&itself);
    let reply = switch.client().get("/");
    assert_eq!(reply.status, 508);
    assert!(reply.text().contains("leads back to it"), "{}", reply.text());
    // The reply is sent before it is counted.
    for counter in
        ["baton_rejects_total{cause=\"loop\"}", "baton_requests_ended_total{cause=\"PL\"}"]
    {
        eventually("it is counted", || switch.metric(counter) >= 1.0);
        assert_eq!(switch.metric(counter), 1.0, "once");
    }
}

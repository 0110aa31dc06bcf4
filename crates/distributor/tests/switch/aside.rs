//! Promise: what was assigned to a request before its connection came to the relay is what serves
//! it: the policy is asked once, and the books have it once, however the connection ends.

use crate::peer::Peer;
use crate::server::Server;
use crate::stage::{Stage, eventually};
use distributor::Reasons;
use distributor::ask::{Assigned, Course};
use policy::{Class, Load, Request, ServerId, State};
use rules::{Described, Rules};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

/// Asks for `path` in the name of a connection that the relay has not seen yet.
fn assigned(stage: &Stage, path: &str) -> Assigned {
    let described = format!("http://a.example{path}");
    let verdict = Rules::none().judge(&Described::new("GET", &described).unwrap());
    let (at, target) = (stage.shared.clock.now(), verdict.target);
    let question = Request { at, target, class: Class::STATIC, holder: None };
    match stage.shared.ask.decide_where(&question, &[], |_| false).unwrap() {
        Course::Relayed(assigned) => assigned,
        Course::OneWay(_) => panic!("no server takes connections over"),
    }
}

/// A switch before three servers that say their numbers, whose listener hands connections over.
fn stage() -> Stage {
    let servers = ["0", "1", "2"].map(|name| Server::saying(name).address);
    let stage = Stage::before(&servers);
    stage.entrance.one_way.store(true, std::sync::atomic::Ordering::Relaxed);
    stage
}

/// A connection whose first request, for `path`, was decided before it is accepted. The kernel of
/// a front-end makes the socket together with the request; here the switch accepts a connection
/// when its first bytes come (`Listen::defer_accept`).
fn decided_before(stage: &Stage, path: &str) -> Peer {
    let stream = TcpStream::connect(stage.address).unwrap();
    let client = stream.local_addr().unwrap();
    stage.shared.set_aside(client, "unconfirmed", Some(assigned(stage, path)));
    Peer::over(stream)
}

#[test]
fn of_many_at_once_each_is_served_by_whom_it_was_assigned_to() {
    let stage = stage();
    let mut waiting: Vec<Peer> = (0..9).map(|_| decided_before(&stage, "/")).collect();
    assert_eq!(stage.load(), Load::of(9), "what is on its way is on the books");
    // The last one first: the order of arrival decides nothing any more.
    for (turn, peer) in waiting.iter_mut().enumerate().rev() {
        assert_eq!(peer.get("/").text(), (turn % 3).to_string());
    }
    assert_eq!(stage.get("/").text(), "0", "no turn was taken twice");
    assert_eq!(waiting[0].get("/").text(), "1", "the next request is asked for");
    stage.settle();
}

#[test]
fn what_is_not_for_the_request_that_came_goes_back() {
    let stage = stage();
    let mut other = decided_before(&stage, "/a");
    assert_eq!(other.get("/b").text(), "1", "asked for: the turn was another target's");
    stage.settle();
    let gone = decided_before(&stage, "/");
    assert_eq!(stage.load(), Load::ONE);
    drop(gone);
    // Nobody comes: it is the front-end that looks for what was set aside.
    stage.shared.return_untaken(stage.shared.clock.now());
    stage.settle();
    let mut broken = decided_before(&stage, "/");
    broken.send("no request\r\n\r\n");
    eventually("it was refused", || stage.load() == Load::ZERO);
}

#[test]
fn a_server_that_went_down_meanwhile_does_not_get_it() {
    let stage = stage();
    let mut peer = decided_before(&stage, "/");
    stage.shared.ask.change(|edit| edit.set_state(ServerId(0), State::Down));
    assert_ne!(peer.get("/").text(), "0");
    stage.settle();
}

#[test]
fn a_connection_has_one_thing_left_for_it() {
    let stage = stage();
    let mut peer = decided_before(&stage, "/");
    let client = peer.stream().local_addr().unwrap();
    stage.shared.set_aside(client, "unconfirmed", Some(assigned(&stage, "/")));
    assert_eq!(stage.load(), Load::ONE, "its segment came again");
    assert_eq!(peer.get("/").text(), "1");
    stage.settle();
}

/// A kernel's side that has a reason for every connection, and keeps who it was asked about.
#[derive(Default)]
struct Noting(Mutex<Vec<(SocketAddr, SocketAddr)>>);

impl Reasons for Noting {
    fn why(&self, client: SocketAddr, listener: SocketAddr) -> Option<&'static str> {
        self.0.lock().unwrap().push((client, listener));
        Some("split-head")
    }
}

/// Why each request so far was relayed, from the first on.
fn reasons(stage: &Stage) -> Vec<&'static str> {
    stage.settle();
    stage.shared.journal.recent(100).iter().rev().map(|record| record.tally.local).collect()
}

#[test]
fn what_nobody_here_has_decided_has_the_reason_of_the_kernel() {
    let stage = stage();
    assert_eq!(stage.get("/").status, 200);
    let noting = Arc::new(Noting::default());
    let told: Arc<dyn Reasons> = Arc::clone(&noting) as _;
    stage.shared.set_reasons(Arc::downgrade(&told));
    let mut peer = stage.client();
    let client = peer.stream().local_addr().unwrap();
    peer.get("/");
    peer.get("/");
    assert_eq!(*noting.0.lock().unwrap(), [(client, stage.address)], "once, at its beginning");
    decided_before(&stage, "/").get("/");
    assert_eq!(noting.0.lock().unwrap().len(), 1, "what was decided here has its reason");
    drop((told, noting));
    stage.get("/");
    let all = ["first-segment", "split-head", "split-head", "unconfirmed", "first-segment"];
    assert_eq!(reasons(&stage), all);
}

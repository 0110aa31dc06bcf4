//! Promise: what fails is seen as a failure, never as an end; what is silent for too long ends.

use crate::peer::{End, STUCK};
use crate::running::eventually;
use crate::site::{Site, ask, content, origin, server};
use std::sync::mpsc::channel;
use std::time::Instant;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";

#[test]
fn a_server_that_resets_in_the_middle_of_a_reply_cuts_the_client_off() {
    for said in [1, 300_000] {
        let broken = server(move |mut peer| {
            peer.head().unwrap();
            peer.send("HTTP/1.0 200 OK\r\n\r\n");
            peer.send(content(0, said));
            // Once the client has it, it is not lost to the reset.
            peer.line();
            peer.reset();
        });
        let Some(site) = Site::before(&[broken], "") else { return };
        let mut client = site.client();
        assert!(client.send(GET));
        client.head().unwrap();
        assert!(client.take(said) == content(0, said));
        assert!(client.send("\r\n"));
        assert_eq!(client.rest(), (Vec::new(), End::Reset), "it is no end");
        let lines = site.stop();
        assert_eq!(lines[0]["term"], "SD", "{lines:?}");
    }
}

#[test]
fn a_client_that_resets_ends_its_servers_connection() {
    let (tell, told) = channel();
    let left = server(move |mut peer| {
        peer.head().unwrap();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        peer.rest();
        tell.send(()).unwrap();
    });
    let Some(site) = Site::before(&[left], "") else { return };
    let mut client = site.client();
    assert!(client.send(GET));
    assert_eq!(client.reply().text(), "hello");
    client.reset();
    told.recv_timeout(STUCK).unwrap();
    let lines = site.stop();
    assert_eq!(lines[0]["term"], "CD", "{lines:?}");
}

#[test]
fn a_server_that_fails_before_it_answers_is_replaced_by_another() {
    let failing = server(|mut peer| {
        peer.head().unwrap();
        peer.reset();
    });
    let Some(site) = Site::before(&[failing, origin()], "") else { return };
    for _ in 0..4 {
        ask(&mut site.client(), 1000);
    }
    let Some(site) = Site::before(&[failing], "") else { return };
    let mut client = site.client();
    assert!(client.send(GET));
    assert_eq!(client.reply().status, 502);
}

#[test]
fn a_request_that_is_no_http_is_refused_and_not_spliced() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let mut client = site.client();
    assert!(client.send("\x16\x03\x01 hello TLS\r\n\r\n"));
    assert_eq!(client.reply().status, 400);
    drop(client);
    let lines = site.stop();
    assert_eq!(lines[0]["delivery"], "relay", "{lines:?}");
}

#[test]
fn a_silent_connection_is_cut_and_one_that_speaks_is_not() {
    let brief = "[timeouts]\nidle = \"3s\"\nfirst_byte = \"3s\"\nbody = \"3s\"\n";
    let Some(site) = Site::before(&[origin()], brief) else { return };
    let (mut lively, mut silent) = (site.client(), site.client());
    ask(&mut silent, 10);
    let since = Instant::now();
    let ended = std::thread::spawn(move || (silent.rest(), since.elapsed()));
    while !ended.is_finished() {
        ask(&mut lively, 10);
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let ((rest, end), after) = ended.join().unwrap();
    assert_eq!((rest.len(), end), (0, End::Reset));
    assert!((2.9..15.0).contains(&after.as_secs_f64()), "after {after:?}");
    // Far longer than anybody may be silent.
    let speaking = Instant::now();
    eventually("it has spoken for long", || {
        ask(&mut lively, 10);
        speaking.elapsed().as_secs_f64() > 5.0
    });
}

#[test]
fn a_load_counts_for_as_long_as_the_connection_is_there() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let mut clients: Vec<_> = (0..3).map(|_| site.client()).collect();
    clients.iter_mut().for_each(|client| ask(client, 10));
    let load = || site.baton.status()["servers"][0]["load"].as_f64().unwrap();
    assert_eq!(load(), 3.0);
    clients.pop();
    eventually("one is gone", || load() == 2.0);
}

#[test]
fn a_switch_that_stops_ends_idle_connections_and_says_what_went_over_them() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let mut client = site.client();
    ask(&mut client, 5000);
    let lines = site.stop();
    assert_eq!(lines.len(), 1);
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
}

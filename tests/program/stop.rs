//! Promise: SIGTERM finishes what is open, lets in nobody new, leaves nothing behind and says 0;
//! what keeps the switch from starting is said in one sentence, with exit code 3.

use crate::peer::End;
use crate::running::{Baton, baton, config, eventually};
use crate::server::Server;
use rustix::process::Signal;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::channel;

const QUIET: &str = "[health]\nkind = \"off\"\n";

#[test]
fn open_requests_are_finished_and_nobody_new_is_let_in() {
    for signal in [Signal::TERM, Signal::INT] {
        let (go, gone) = channel::<()>();
        let gone = Mutex::new(gone);
        let server = Server::scripted(move |peer, _| {
            peer.head();
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
            let _ = gone.lock().unwrap().recv();
            peer.send("2\r\ncd\r\n0\r\n\r\n");
            peer.rest();
        });
        let mut switch = Baton::run(&config(&[("a", server.address)], QUIET));
        assert!(switch.path("admin.sock").exists());
        let mut busy = switch.client();
        busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        busy.head().unwrap();
        assert_eq!(busy.take(7), b"2\r\nab\r\n");
        switch.signal(signal);
        switch.hears("baton: stopping");
        eventually("nobody is let in", || TcpStream::connect(switch.address).is_err());
        go.send(()).unwrap();
        assert_eq!(busy.chunked().0, b"cd");
        assert_eq!(busy.rest().1, End::Closed);
        assert_eq!(switch.ended().code(), Some(0));
        assert!(!switch.path("admin.sock").exists(), "its socket is gone with it");
    }
}

#[test]
fn idle_connections_do_not_keep_it_from_stopping() {
    let server = Server::saying("x");
    let mut switch = Baton::run(&config(&[("a", server.address)], QUIET));
    let mut idle = switch.client();
    assert_eq!(idle.get("/").text(), "x");
    switch.signal(Signal::TERM);
    assert_eq!(idle.rest(), (Vec::new(), End::Closed));
    assert_eq!(switch.ended().code(), Some(0));
}

#[test]
fn what_takes_longer_than_the_drain_time_is_cut_off_and_said() {
    let server = Server::scripted(|peer, _| drop(peer.rest()));
    let rest = format!("{QUIET}[timeouts]\ndrain = \"100ms\"\n");
    let mut switch = Baton::run(&config(&[("a", server.address)], &rest));
    let mut stuck = switch.client();
    stuck.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("it is under way", || server.connections() == 1);
    switch.signal(Signal::TERM);
    switch.hears("1 connections were cut off");
    assert_eq!(switch.ended().code(), Some(0));
}

fn one_sentence(output: &std::process::Output, parts: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is in {text}"));
}

#[test]
fn a_port_in_use_is_one_sentence_and_exit_code_3() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let args =
        ["run", "--listen", &address, "--server", "127.0.0.1:1", "--set", "admin.socket=off"];
    one_sentence(&baton(&args), &[&address, "in use"]);
}

#[test]
fn the_port_of_another_switch_is_in_use_too() {
    let first = Baton::run(&config(&[("a", Server::nowhere())], QUIET));
    let address = first.address.to_string();
    let args =
        ["run", "--listen", &address, "--server", "127.0.0.1:1", "--set", "admin.socket=off"];
    one_sentence(&baton(&args), &[&address, "in use"]);
}

#[test]
fn the_admin_socket_of_a_running_switch_is_not_taken_away() {
    let first = Baton::run(&config(&[("a", Server::nowhere())], QUIET));
    let socket = first.path("admin.sock");
    let args =
        ["run", "--listen", "127.0.0.1:0", "--server", "127.0.0.1:1", "--admin"].map(String::from);
    let args: Vec<&str> = args.iter().map(String::as_str).chain(socket.to_str()).collect();
    one_sentence(&baton(&args), &["admin.sock"]);
    first.status();
}

#[test]
fn a_missing_file_is_one_sentence_and_exit_code_3() {
    one_sentence(&baton(&["run", "-c", "/nowhere/baton.toml"]), &["/nowhere/baton.toml"]);
}

#[test]
fn no_switch_to_ask_is_one_sentence_and_exit_code_3() {
    for command in ["status", "explain"] {
        let mut args = vec![command, "--admin", "/nowhere/admin.sock"];
        args.extend((command == "explain").then_some("/"));
        one_sentence(&baton(&args), &["/nowhere/admin.sock", "is it running"]);
    }
}

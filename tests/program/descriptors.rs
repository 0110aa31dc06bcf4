//! Promise: a switch that may open few files goes on serving, whoever comes and whatever it keeps
//! for later, and is as before when the crowd has gone.

use crate::peer::Peer;
use crate::running::{Baton, config};
use crate::server::Server;
use std::net::SocketAddr;
use std::process::Command;

/// The program with at most so many open files.
fn limited(files: u32, config: &str) -> Baton {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_baton")]);
    Baton::run_by(config, command)
}

#[test]
fn a_crowd_beyond_the_limit_waits_and_each_is_served_in_the_end() {
    let server = Server::saying("x");
    let rest = "[health]\nkind = \"off\"\n";
    let switch = limited(64, &config(&[("a", server.address)], rest));
    let mut crowd: Vec<Peer> = (0..100).map(|_| switch.client()).collect();
    for client in &mut crowd {
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    crowd.iter_mut().for_each(|client| assert_eq!(client.reply().text(), "x"));
    drop(crowd);
    for _ in 0..20 {
        assert_eq!(switch.client().get("/").text(), "x");
    }
    switch.status();
}

#[test]
fn what_is_kept_for_later_makes_room_for_what_is_needed_now() {
    // More servers than files: the idle connections to them cannot all be kept.
    let servers: Vec<Server> = (0..100).map(|_| Server::saying("x")).collect();
    let names: Vec<String> = (0..100).map(|at| format!("s{at}")).collect();
    let named: Vec<(&str, SocketAddr)> =
        names.iter().map(String::as_str).zip(servers.iter().map(|s| s.address)).collect();
    let rest = "[health]\nkind = \"off\"\n[policy]\nname = \"round-robin\"\n";
    let switch = limited(80, &config(&named, rest));
    let mut client = switch.client();
    for at in 0..300 {
        assert_eq!(client.get("/").text(), "x", "request {at}");
    }
}

//! Promise: a reload changes what is asked for and closes nothing that is open; a wrong new file
//! changes nothing at all and says why.

use crate::peer::{Peer, STUCK};
use crate::running::{Baton, config, eventually};
use crate::server::{Server, ok};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ScopedJoinHandle;

const RELOADS: usize = 20;
const STREAMS: usize = 200;
const PIECE: usize = 1500;
const QUIET: &str = "[health]\nkind = \"off\"\n[slow_start]\ntime = \"off\"\n";

/// How far servers may go with their streams.
#[derive(Default)]
struct Pace(Mutex<usize>, Condvar);

impl Pace {
    fn advance(&self) {
        *self.0.lock().unwrap() += 1;
        self.1.notify_all();
    }

    fn reached(&self, step: usize) {
        let held = self.0.lock().unwrap();
        let (_held, late) = self.1.wait_timeout_while(held, STUCK * 3, |now| *now < step).unwrap();
        assert!(!late.timed_out());
    }
}

/// The bytes of one step of one stream.
fn piece(stream: usize, step: usize) -> Vec<u8> {
    (0..PIECE).map(|at| (at * 31 + stream * 7 + step * 13) as u8).collect()
}

/// Streams one piece for each step: by length, in chunks, or as a tunnel, as the path says.
fn streaming(pace: &Arc<Pace>) -> Server {
    let pace = Arc::clone(pace);
    Server::scripted(move |peer, _| {
        while let Some(head) = peer.head() {
            let path = head.split(' ').nth(1).unwrap();
            let Ok(stream) = path[2..].parse::<usize>() else {
                peer.send(ok("plain"));
                continue;
            };
            let chunked = path.starts_with("/c");
            peer.send(match &path[..2] {
                "/l" => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", PIECE * RELOADS),
                "/c" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
                _ => "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n".to_owned(),
            });
            for step in 1..=RELOADS {
                pace.reached(step);
                let bytes = piece(stream, step);
                if chunked {
                    peer.send(format!("{:x}\r\n", bytes.len()));
                }
                peer.send(bytes);
                if chunked {
                    peer.send("\r\n");
                }
            }
            if chunked {
                peer.send("0\r\n\r\n");
            } else if path.starts_with("/t") {
                return;
            }
        }
    })
}

/// A different configuration for each reload: servers come, go and come back, the policy, rules,
/// limits and a second listener change.
fn nth(at: usize, servers: &[Server]) -> String {
    let names = ["s0", "s1", "s2"];
    let used: Vec<(&str, SocketAddr)> = (0..3)
        .filter(|server| at == 0 || !(at + server).is_multiple_of(3))
        .map(|server| (names[server], servers[server].address))
        .collect();
    let policy = ["lard-r", "maglev", "bounded-hash", "wrr", "cap", "maglev"][at % 6];
    let mut rest = format!("{QUIET}[policy]\nname = \"{policy}\"\n[queue]\nlength = {}\n", at + 10);
    if at.is_multiple_of(2) {
        rest += "[listen.other]\naddress = \"127.0.0.1:0\"\n";
    }
    if at % 4 == 3 {
        rest += "[[rule]]\npath_prefix = [\"/c\"]\nclass = \"disk\"\n";
    }
    config(&used, &rest)
}

fn open(address: SocketAddr, stream: usize) -> (Peer, u8) {
    let form = [b'l', b'c', b't'][stream % 3];
    let mut client = Peer::connect(address);
    let upgrade = if form == b't' { "Connection: upgrade\r\nUpgrade: x\r\n" } else { "" };
    let path = format!("/{}{stream}", form as char);
    client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{upgrade}\r\n"));
    let head = client.head().unwrap();
    assert!(head.starts_with(if form == b't' { "HTTP/1.1 101" } else { "HTTP/1.1 200" }), "{head}");
    (client, form)
}

#[test]
fn two_hundred_streams_outlive_twenty_reloads() {
    let pace = Arc::new(Pace::default());
    let servers: Vec<Server> = (0..3).map(|_| streaming(&pace)).collect();
    let switch = Baton::run(&nth(0, &servers));
    let addresses: Vec<SocketAddr> = switch.status()["status"]["listeners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|listener| listener["address"].as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(addresses.len(), 2);
    let mut streams: Vec<(Peer, u8)> =
        (0..STREAMS).map(|stream| open(addresses[stream % 2], stream)).collect();
    for step in 1..=RELOADS {
        switch.reload(&nth(step, &servers), "reloaded");
        pace.advance();
        for (stream, (client, form)) in streams.iter_mut().enumerate() {
            if *form == b'c' {
                assert_eq!(client.line(), format!("{PIECE:x}"), "stream {stream}, step {step}");
            }
            assert!(client.take(PIECE) == piece(stream, step), "stream {stream}, step {step}");
            if *form == b'c' {
                assert_eq!(client.line(), "");
            }
        }
        assert_eq!(switch.client().get("/plain").text(), "plain");
    }
    for (client, form) in &mut streams {
        match *form {
            b'c' => assert_eq!((client.line(), client.line()), ("0".to_owned(), String::new())),
            b't' => assert!(client.rest().0.is_empty()),
            _ => assert_eq!(client.get("/plain").text(), "plain", "the connection goes on"),
        }
    }
    drop(streams);
    assert_eq!(switch.metric("baton_streams_closed_by_reload_total"), 0.0);
    eventually("nothing is in flight", || switch.status()["status"]["in_flight"] == 0);
    assert_eq!(switch.status()["status"]["config"]["reloads_ok"], RELOADS);
}

#[test]
fn a_reload_takes_servers_listeners_and_policy_over() {
    let (a, b) = (Server::saying("a"), Server::saying("b"));
    let switch = Baton::run(&config(&[("a", a.address)], QUIET));
    let mut old = switch.client();
    assert_eq!(old.get("/").text(), "a");
    let rest = format!(
        "{QUIET}[policy]\nname = \"round-robin\"\n[listen.second]\naddress = \"127.0.0.1:0\"\n"
    );
    switch.reload(&config(&[("b", b.address)], &rest), "reloaded");
    assert_eq!(old.get("/").text(), "b", "an open connection meets the new servers");
    let status = switch.status();
    assert_eq!(status["status"]["policy"], "round-robin");
    let listeners = status["status"]["listeners"].as_array().unwrap().clone();
    assert_eq!(listeners.len(), 2);
    for listener in &listeners {
        let address: SocketAddr = listener["address"].as_str().unwrap().parse().unwrap();
        assert_eq!(Peer::connect(address).get("/").text(), "b");
    }
    let only = config(&[("b", b.address)], QUIET).replace("listen.web", "listen.second");
    switch.reload(&only, "reloaded");
    eventually("the first is closed", || TcpStream::connect(switch.address).is_err());
    assert_eq!(old.get("/").text(), "b", "who came in by it stays");
}

#[test]
fn those_who_wait_for_a_server_that_is_removed_are_served_by_another() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let a = Server::answering(move |asked| {
        let _ = gone.lock().unwrap().recv();
        ok(format!("a {}", asked.path()))
    });
    let b = Server::answering(|asked| ok(format!("b {}", asked.path())));
    let rest = format!("{QUIET}[queue]\nmax_inflight = 1\n[log]\naccess = \"json\"\n");
    let mut switch = Baton::run(&config(&[("a", a.address)], &rest));
    let ask = |path: &str| {
        let mut client = switch.client();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client
    };
    let mut first = ask("/first");
    eventually("a has the first", || a.seen().len() == 1);
    let mut waiting: Vec<Peer> = (0..5).map(|_| ask("/waiting")).collect();
    eventually("five wait", || switch.status()["servers"][0]["queued"] == 5);
    switch.reload(&config(&[("b", b.address)], &rest), "reloaded");
    for client in &mut waiting {
        assert_eq!(client.reply().text(), "b /waiting");
    }
    go.send(()).unwrap();
    assert_eq!(first.reply().text(), "a /first", "what it had, it finished");
    assert_eq!(switch.metric("baton_streams_closed_by_reload_total"), 0.0);
    drop((first, waiting));
    switch.signal(rustix::process::Signal::TERM);
    assert_eq!(switch.ended().code(), Some(0));
    for line in switch.output().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let server = if line["path"] == "/first" { "a" } else { "b" };
        assert_eq!(line["server"], server, "the log knows who served: {line}");
    }
}

#[test]
fn a_server_may_move_to_another_address_under_its_name() {
    let (before, after) = (Server::saying("before"), Server::saying("after"));
    let switch = Baton::run(&config(&[("a", before.address)], QUIET));
    assert_eq!(switch.client().get("/").text(), "before");
    switch.reload(&config(&[("a", after.address)], QUIET), "reloaded");
    assert_eq!(switch.client().get("/").text(), "after", "no idle connection to the old address");
}

#[test]
fn a_wrong_file_changes_nothing_and_says_why() {
    let a = Server::saying("a");
    let good = config(&[("a", a.address)], QUIET);
    let switch = Baton::run(&good);
    let failed = || switch.status()["status"]["config"]["reloads_failed"].as_u64().unwrap();
    for (wrong, part) in [
        (good.replace("address", "adress"), "did you mean \"address\"?"),
        (good.replace("workers = 2", "workers = \"two"), "baton.toml"),
        (format!("{good}[policy]\nname = \"lrad\"\n"), "lrad"),
        (good.replace("workers = 2", "workers = 3"), "restart"),
    ] {
        let count = failed();
        switch.reload(&wrong, part);
        eventually("it is noted", || failed() == count + 1);
        let view = &switch.status()["status"]["config"];
        assert_eq!(view["reload_last"]["ok"], false, "{view}");
        let message = view["reload_last"]["message"].as_str().unwrap();
        assert!(message.starts_with(|c: char| c.is_ascii_graphic()), "a sentence: {message:?}");
        assert_eq!(switch.client().get("/").text(), "a");
    }
    std::fs::remove_file(switch.path("baton.toml")).unwrap();
    switch.signal(rustix::process::Signal::HUP);
    switch.hears("baton.toml");
    eventually("it is noted", || failed() == 5);
    assert_eq!(switch.client().get("/").text(), "a");
    switch.reload(&good, "reloaded");
    eventually("it is noted", || switch.status()["status"]["config"]["reloads_ok"] == 1);
}

#[test]
fn a_listener_whose_address_is_taken_refuses_the_whole_reload() {
    let (a, b) = (Server::saying("a"), Server::saying("b"));
    let switch = Baton::run(&config(&[("a", a.address)], QUIET));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let rest = format!("{QUIET}[listen.second]\naddress = \"{}\"\n", taken.local_addr().unwrap());
    switch.reload(&config(&[("b", b.address)], &rest), "in use");
    assert_eq!(switch.client().get("/").text(), "a");
    assert_eq!(switch.status()["status"]["listeners"].as_array().unwrap().len(), 1);
}

#[test]
fn the_log_is_opened_anew_so_that_it_can_be_rotated() {
    let a = Server::saying("a");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let rest = format!("{QUIET}[log]\naccess = \"json\"\npath = \"{}\"\n", path.display());
    let switch = Baton::run(&config(&[("a", a.address)], &rest));
    let lines =
        |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default().lines().count();
    switch.client().get("/1");
    eventually("it is logged", || lines(&path) == 1);
    let old = folder.path().join("access.log.1");
    std::fs::rename(&path, &old).unwrap();
    switch.reload(&config(&[("a", a.address)], &rest), "reloaded");
    switch.client().get("/2");
    eventually("it is logged to the new file", || lines(&path) == 1);
    assert_eq!(lines(&old), 1);
}

#[test]
fn a_weight_that_the_operator_set_does_not_go_back_unsaid() {
    let a = Server::saying("a");
    let file = config(&[("a", a.address)], QUIET);
    let switch = Baton::run(&file);
    switch.answer(&["weight", "a", "40000"]);
    switch.hears("weight 1 -> weight 40000");
    switch.reload(&file, "server a: weight 40000 -> 1 (the configuration's)");
    switch.reload(&file, "nothing has changed");
}

#[test]
fn decisions_keep_the_name_of_the_policy_that_made_them() {
    let a = Server::saying("a");
    let policy = |name| format!("{QUIET}[policy]\nname = \"{name}\"\n");
    let switch = Baton::run(&config(&[("a", a.address)], &policy("lard")));
    let mut client = switch.client();
    let decided = |policy, reason| {
        let labels = format!("policy=\"{policy}\",reason=\"{reason}\"");
        switch.metric(&format!("baton_decisions_total{{{labels}}}"))
    };
    client.get("/1");
    eventually("it is counted", || switch.status()["status"]["in_flight"] == 0);
    assert_eq!(decided("lard", "first-seen"), 1.0);
    switch.reload(&config(&[("a", a.address)], &policy("round-robin")), "reloaded");
    client.get("/2");
    eventually("it is counted", || switch.status()["status"]["in_flight"] == 0);
    assert_eq!(decided("lard", "first-seen"), 1.0);
    assert_eq!(decided("round-robin", "rotation"), 1.0);
}

#[test]
fn servers_and_policies_change_under_load_and_every_request_is_answered() {
    let servers: Vec<Server> = ["a", "b", "c", "d"].map(Server::saying).into();
    let names = ["a", "b", "c", "d"];
    // One server or none is missing, and the policy is another one each time.
    let nth = |step: usize| {
        let named = names.iter().zip(&servers).enumerate().filter(|(at, _)| step % 5 != *at);
        let used: Vec<_> = named.map(|(_, (name, server))| (*name, server.address)).collect();
        let policy = ["\"maglev\"", "\"lard-r\"", "\"maglev\"\ntable_size = 1009"][step % 3];
        config(&used, &format!("{QUIET}[policy]\nname = {policy}\n"))
    };
    let switch = Baton::run(&nth(4));
    let address = switch.address;
    let answered = std::thread::scope(|scope| {
        let ask = |_| {
            let (more, over) = channel::<()>();
            let client = scope.spawn(move || {
                let (mut client, mut count) = (Peer::connect(address), 0);
                while over.try_recv() == Err(TryRecvError::Empty) {
                    let reply = client.get(&format!("/{}", count % 50));
                    assert_eq!(reply.status, 200, "{}", reply.text());
                    count += 1;
                }
                count
            });
            (more, client)
        };
        let clients: Vec<_> = (0..4).map(ask).collect();
        for step in 0..RELOADS {
            switch.reload(&nth(step), "reloaded");
            let there = names[(step + 1) % 4];
            if step % 5 != (step + 1) % 4 {
                switch.answer(&["drain", there]);
                switch.answer(&["weight", there, "7"]);
                switch.answer(&["undrain", there]);
            }
        }
        let ended = |(more, client): (Sender<()>, ScopedJoinHandle<'_, u64>)| {
            drop(more);
            client.join().unwrap()
        };
        clients.into_iter().map(ended).collect::<Vec<_>>()
    });
    assert!(answered.iter().all(|count| *count > 0), "{answered:?}");
    eventually("nothing is in flight", || switch.status()["status"]["in_flight"] == 0);
    let left = switch.status();
    assert!(left["servers"].as_array().unwrap().iter().all(|server| server["load"] == 0.0));
    assert_eq!(left["status"]["config"]["reloads_ok"], RELOADS);
}

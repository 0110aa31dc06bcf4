//! Promise: whatever is full, no client fails, and what was counted comes back to nothing.

use crate::client::{Client, get};
use crate::on;
use crate::process::Running;
use crate::site::{PORT, Setup, Site, files, many_files};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use testbed::Host;

/// Open connections at once, where the system lets a process have so many files.
const MANY: usize = 10_000;
/// Files of this process that are no connections.
const OTHER_FILES: usize = 500;
/// The least size of the kernel's tables that may be configured.
const TABLE: usize = 1024;

#[test]
fn ten_thousand_connections_are_open_at_once_and_nothing_is_left_of_them() {
    on(Setup::new("handoff", "name = \"round-robin\""), |site| {
        let count = MANY.min(many_files() - OTHER_FILES);
        let began = Instant::now();
        let mut clients = site.clients(count);
        clients.iter_mut().for_each(|client| drop(client.fetch(&files()[1])));
        println!("{count} connections open after {:?}", began.elapsed());
        let view = site.oneway(|view| view.open() == count as u64);
        let open: Vec<_> = view.servers.iter().map(|one| one.open).collect();
        assert_eq!(open, [count as u64 / 2; 2]);
        for client in clients.iter_mut().step_by(97) {
            client.fetch(&files()[5]);
        }
        drop(clients);
        site.is_at_rest();
        let view = site.oneway(|_| true);
        assert_eq!(view.counted("closed"), count as u64, "{view:?}");
        assert_eq!(view.swept["corrected"], 0, "{view:?}");
    });
}

#[test]
fn connections_beyond_the_table_are_relayed() {
    let setup = Setup { oneway: "flows_max = 1024", ..Setup::new("handoff", "name = \"lard\"") };
    on(setup, |site| {
        many_files();
        let mut clients = site.clients(TABLE + 100);
        clients.iter_mut().for_each(|client| drop(client.fetch(&files()[1])));
        let view = site.oneway(|_| true);
        let relayed = view.locals().get("full").copied().unwrap_or(0);
        assert_eq!(view.open() + relayed, clients.len() as u64, "{view:?}");
        assert!(relayed >= 100, "{view:?}");
        assert_eq!(site.metric("baton_oneway_local_total{reason=\"full\"}"), relayed as f64);
        let decisions = site.decisions();
        let locals: Vec<_> = decisions.iter().filter_map(|one| one.local.as_deref()).collect();
        assert!(locals.len() >= 100 && locals.iter().all(|why| *why == "full"), "{locals:?}");
        clients.iter_mut().for_each(|client| drop(client.fetch(&files()[2])));
        drop(clients);
        site.is_at_rest();
    });
}

#[test]
fn more_targets_than_the_kernel_may_remember_are_all_answered() {
    let setup = Setup { oneway: "memos_max = 1024", ..Setup::new("handoff", "name = \"lard\"") };
    on(setup, |site| {
        let file = &files()[1];
        for round in 0..2 {
            for turn in 0..TABLE + 300 {
                site.client().fetch_as(&format!("{}?{turn}", file.path), file);
            }
            let view = site.oneway(|view| view.open() == 0);
            assert!(view.targets <= TABLE as u64, "{round}: {view:?}");
        }
        site.is_at_rest();
    });
}

#[test]
fn a_relay_without_file_descriptors_stops_nothing_that_is_handed_over() {
    let rule = "[[rule]]\npath = \"/f2\"\ndelivery = \"relay\"\n";
    let setup = Setup { more: rule.to_owned(), ..Setup::new("handoff", "name = \"lard\"") };
    on(setup, |site| {
        let files = files();
        site.kill_switch();
        // Of the front-end's machine, but with so few files.
        let mut run = site.bed.command(Host::Front, "prlimit");
        let usual = site.run();
        run.args(["--nofile=150:150", "--"]).arg(env!("CARGO_BIN_EXE_baton"));
        run.args(words_of_baton(&usual));
        site.switch = Some(Running::start(run, "web listens on").unwrap());
        let mut relayed = site.clients(300);
        relayed.iter_mut().for_each(|client| client.send(get("/f2")));
        // As many as there is room for; the others wait where the kernel queues them.
        site.status_when(|status| status.replies.success >= 10);
        let handed: Vec<Client> = (0..100)
            .map(|turn| {
                let mut client = site.client();
                client.fetch(&files[3 + turn % 4]);
                client
            })
            .collect();
        assert_eq!(site.oneway(|_| true).open(), 100);
        drop((relayed, handed));
        site.is_at_rest();
        let mut after = site.client();
        after.fetch(&files[2]);
    });
}

/// What follows the program's name, through whatever enters the namespace.
fn words_of_baton(command: &std::process::Command) -> Vec<std::ffi::OsString> {
    let baton = std::ffi::OsStr::new(env!("CARGO_BIN_EXE_baton"));
    command.get_args().skip_while(|word| *word != baton).skip(1).map(Into::into).collect()
}

/// Speaks as an agent does, of a disk whose queue is as long as `queue` says.
fn speak(listener: &TcpListener, queue: &AtomicU32, stop: &AtomicBool) {
    while let Ok((mut stream, _)) = listener.accept() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let _question = stream.read(&mut [0; 1024]);
        let mut body = String::new();
        let queue = queue.load(Ordering::Relaxed);
        write!(body, "{{\"server\":\"server1\",\"period_s\":1.0,\"disk_queue\":{queue}.0}}")
            .unwrap();
        let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let _gone = stream.write_all((head + &body).as_bytes());
    }
}

/// Where targets go that server2 has, on connections that server1 holds: a fresh target each time.
fn answers(site: &Site, turn: &mut usize) -> BTreeSet<String> {
    let files = files();
    let mut names = BTreeSet::new();
    for _ in 0..4 {
        *turn += 1;
        let url = |what: &str| format!("{}?{what}{turn}", files[1].path);
        // The first goes to either; the second connection is for the other server.
        let (mut one, mut two) = (site.client(), site.client());
        let mut known = one.fetch_as(&url("a"), &files[1]);
        let mut holder = two.fetch_as(&url("b"), &files[1]);
        let mut target = url("a");
        if holder == "server2" {
            (known, holder, target) = (holder, known, url("b"));
            (one, two) = (two, one);
        }
        assert_eq!((known.as_str(), holder.as_str()), ("server2", "server1"));
        names.insert(two.fetch_as(&target, &files[1]));
        drop(one);
    }
    names
}

#[test]
fn the_queue_of_a_disk_as_its_agent_reports_it_decides_in_extended_lard() {
    let setup = Setup {
        oneway: "agent_period = \"1s\"",
        ..Setup::new("multi-handoff", "name = \"lard-ext\"")
    };
    on(setup, |site| {
        site.kill_agent(1);
        let own = site.bed.server(1).at(PORT)[0];
        let bind = || TcpListener::bind(own).unwrap();
        let listener = site.bed.enter(Host::Server(1), bind).unwrap();
        let (queue, stop) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| speak(&listener, &queue, &stop));
            let reported = |length: f64| {
                queue.store(length as u32, Ordering::Relaxed);
                site.status_when(|status| status.agents[0].disk_queue == Some(length));
            };
            let mut turn = 0;
            let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                reported(0.0);
                let idle = answers(site, &mut turn);
                reported(40.0);
                (idle, answers(site, &mut turn))
            }));
            stop.store(true, Ordering::Relaxed);
            let wake = || std::net::TcpStream::connect_timeout(&own, Duration::from_secs(5));
            drop(site.bed.enter(Host::Server(1), wake));
            let (idle, busy) = found.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            assert_eq!(idle, BTreeSet::from(["server1".to_owned()]), "its disk has time");
            assert_eq!(busy, BTreeSet::from(["server2".to_owned()]), "its disk has none");
        });
        site.is_at_rest();
    });
}

//! Promise: no process of ours is needed by connections that were handed over, and one that comes
//! back finds everything as it is.

use crate::client::Client;
use crate::on;
use crate::process::Running;
use crate::site::{Setup, Site, files, until};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// LARD that never has a reason to move a target: the kernel may repeat all that was asked once.
const CALM: &str = "name = \"lard\"\nt_high = 100000\nt_low = 50000";

/// Threads that ask for known targets on connections of their own until they are told to stop.
struct Crowd {
    stop: AtomicBool,
    replies: AtomicUsize,
}

impl Crowd {
    fn new() -> Self {
        Self { stop: AtomicBool::new(false), replies: AtomicUsize::new(0) }
    }

    fn work(&self, clients: &mut [Client]) {
        let files = files();
        for turn in 0.. {
            for client in &mut *clients {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                client.fetch(&files[turn % 4]);
                self.replies.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Waits for so many replies more.
    fn more(&self, count: usize) {
        let before = self.replies.load(Ordering::Relaxed);
        until(|| match self.replies.load(Ordering::Relaxed) {
            now if now >= before + count => Ok(()),
            now => Err(format!("{now} replies, {before} before")),
        });
    }
}

#[test]
fn a_killed_switch_loses_no_connection_and_its_successor_knows_them_all() {
    for delivery in ["handoff", "multi-handoff"] {
        on(Setup::new(delivery, CALM), |site| {
            let files = files();
            files.iter().take(4).for_each(|file| drop(site.client().fetch(file)));
            site.is_at_rest();
            let mut clients = site.clients(200);
            let (mut waiting, crowd) = (site.clients(10), Crowd::new());
            std::thread::scope(|scope| {
                for some in clients.chunks_mut(50) {
                    scope.spawn(|| crowd.work(some));
                }
                crowd.more(400);
                site.kill_switch();
                let killed = Instant::now();
                // Twice each: every connection has asked at least once without a switch.
                crowd.more(400);
                let mut fresh = site.client();
                fresh.fetch(&files[1]);
                let unknown: Vec<_> = waiting
                    .iter_mut()
                    .enumerate()
                    .map(|(at, client)| {
                        let url = format!("{}?unknown{at}", files[2].path);
                        let file = &files[2];
                        scope.spawn(move || client.fetch_as(&url, file))
                    })
                    .collect();
                let restarted = Instant::now();
                site.start_switch();
                println!(
                    "{delivery}: took over in {:?}, {:?} after the death",
                    restarted.elapsed(),
                    killed.elapsed()
                );
                unknown.into_iter().for_each(|one| drop(one.join().unwrap()));
                println!("{delivery}: waited for {:?} at most", killed.elapsed());
                crowd.more(400);
                crowd.stop.store(true, Ordering::Relaxed);
                drop(fresh);
            });
            let view = site.oneway(|view| view.open() == 210);
            assert_eq!(view.swept["corrected"], 0, "{view:?}");
            drop((clients, waiting));
            site.is_at_rest();
        });
    }
}

#[test]
fn after_sigterm_connections_go_on_and_nothing_new_is_taken() {
    for delivery in ["handoff", "multi-handoff"] {
        on(Setup::new(delivery, CALM), |site| {
            let files = files();
            let mut clients = site.clients(20);
            for client in &mut clients {
                files.iter().take(4).for_each(|file| drop(client.fetch(file)));
            }
            let mut switch = site.switch.take().unwrap();
            switch.signal(Signal::TERM);
            assert!(switch.ended().success());
            let began = Instant::now();
            for client in &mut clients {
                files.iter().take(4).for_each(|file| drop(client.fetch(file)));
            }
            // Each of 80 that waited for its client's repetition would have taken 200 ms.
            assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
            let vip = (site.bed.vip().v4, 80).into();
            let connect = || std::net::TcpStream::connect_timeout(&vip, Duration::from_secs(5));
            let fresh = site.bed.enter(testbed::Host::Client, connect).unwrap();
            assert_eq!(fresh.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
            site.start_switch();
            assert_eq!(site.oneway(|_| true).open(), 20);
            for client in &mut clients {
                files.iter().take(8).for_each(|file| drop(client.fetch(file)));
            }
            drop(clients);
            site.is_at_rest();
        });
    }
}

/// Who answers fresh connections, a file each.
fn answered(site: &Site) -> Vec<String> {
    let files = files();
    let mut names: Vec<_> = files.iter().map(|file| site.client().fetch(file)).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_reload_changes_servers_weights_and_delivery_under_open_connections() {
    let setup = Setup { servers: 3, ..Setup::new("handoff", "name = \"wrr\"") };
    on(setup, |site| {
        let files = files();
        let mut clients = site.clients(12);
        clients.iter_mut().for_each(|client| drop(client.fetch(&files[1])));
        let mut all_go_on =
            |_: &Site| clients.iter_mut().for_each(|one| drop(one.fetch(&files[5])));

        site.write(1..=2);
        site.reload();
        assert_eq!(answered(site), ["server1", "server2"], "one has left");
        all_go_on(site);
        let view = site.oneway(|_| true);
        let left = view.servers.iter().find(|one| one.state == "draining").expect("it has flows");
        assert_eq!((left.open, view.open()), (4, 12), "{view:?}");

        site.write(1..=3);
        site.reload();
        assert_eq!(answered(site), ["server1", "server2", "server3"], "it is back");
        let view = site.oneway(|view| view.open() == 12);
        let threes = view.servers.iter().filter(|one| one.server == "server3");
        assert_eq!(threes.count(), 2, "one for its old connections: {view:?}");
        all_go_on(site);

        site.setup.delivery = "relay";
        site.setup.oneway = "idle = \"1h\"";
        site.write(1..=3);
        site.reload();
        let before = site.oneway(|_| true).counted("handed_over");
        assert_eq!(answered(site).len(), 3, "by the relay");
        assert_eq!(site.oneway(|_| true).counted("handed_over"), before);
        all_go_on(site);

        site.setup.delivery = "multi-handoff";
        site.write(1..=3);
        site.reload();
        assert_eq!(answered(site).len(), 3);
        assert_eq!(site.oneway(|_| true).counted("handed_over"), before + 24);
        all_go_on(site);

        assert!(site.ask(&["weight", "server1", "4"]).status.success());
        let ones = (0..24).filter(|_| site.client().fetch(&files[1]) == "server1").count();
        assert_eq!(ones, 16, "4 of 6");
        drop(clients);
        site.is_at_rest();
    });
}

#[test]
fn a_switch_that_only_relays_after_the_death_of_one_that_did_not_gives_its_listeners_up() {
    on(Setup::new("handoff", CALM), |site| {
        let files = files();
        let mut before = site.client();
        before.fetch(&files[1]);
        site.kill_switch();
        site.setup.delivery = "relay";
        site.setup.oneway = "idle = \"1h\"";
        site.write(1..=2);
        site.start_switch();
        let mut relayed = site.client();
        relayed.fetch(&files[2]);
        before.fetch(&files[3]);
        let status = site.status();
        assert_eq!(status.connections_open(), 1, "it is relayed");
        assert_eq!(status.oneway.expect("it has a connection").open(), 1);
        site.setup.delivery = "handoff";
        site.write(1..=2);
        site.reload();
        site.stands(&["confirmed"; 2]);
        let mut after = site.client();
        after.fetch(&files[1]);
        relayed.fetch(&files[2]);
        assert_eq!(site.oneway(|_| true).open(), 2);
        drop((before, relayed, after));
        site.is_at_rest();
    });
}

#[test]
fn a_switch_that_only_relayed_begins_to_hand_over_at_a_reload() {
    on(Setup::new("handoff", CALM), |site| {
        let files = files();
        let mut switch = site.switch.take().unwrap();
        switch.signal(Signal::TERM);
        assert!(switch.ended().success());
        // No [oneway] at all.
        site.setup.delivery = "relay";
        site.write(1..=2);
        site.start_switch();
        let mut relayed = site.client();
        relayed.fetch(&files[1]);
        assert_eq!(site.status().oneway, None);
        site.setup.delivery = "handoff";
        site.write(1..=2);
        site.reload();
        // Agents are asked only then; before they have answered, connections are relayed.
        site.stands(&["confirmed"; 2]);
        let mut handed = site.client();
        handed.fetch(&files[1]);
        relayed.fetch(&files[2]);
        assert_eq!(site.oneway(|_| true).open(), 1);
        drop((relayed, handed));
        site.is_at_rest();
    });
}

#[test]
fn a_killed_agent_is_seen_and_missed_by_no_connection() {
    let setup = Setup { oneway: "agent_period = \"100ms\"", ..Setup::new("multi-handoff", CALM) };
    on(setup, |site| {
        let files = files();
        let mut clients = site.clients(20);
        let mut all_go_on =
            |at: usize| clients.iter_mut().for_each(|client| drop(client.fetch(&files[at])));
        (1..4).for_each(&mut all_go_on);
        site.kill_agent(1);
        (1..6).for_each(&mut all_go_on);
        let silent = |status: &control::view::Status| status.agents[0].fault.is_some();
        site.status_when(silent);
        let status = site.ask(&["status"]);
        let text = String::from_utf8(status.stdout).unwrap();
        let line = text.lines().find(|line| line.contains("agent of server1")).unwrap();
        assert!(line.contains("no agent listens there"), "{text}");
        let died = Instant::now();
        site.start_agent(1);
        site.status_when(|status| !silent(status));
        println!("an agent took over in {:?}", died.elapsed());
        (3..8).for_each(&mut all_go_on);
        assert_eq!(site.oneway(|_| true).open(), 20);
        drop(clients);
        site.is_at_rest();
    });
}

#[test]
fn a_second_switch_with_the_same_tables_is_refused() {
    on(Setup::new("handoff", CALM), |site| {
        let other = site.folder.path().join("other.toml");
        let text = site.setup.text(&site.bed, 1..=2).replace(":80\"", ":8080\"");
        std::fs::write(&other, text).unwrap();
        let mut run = site.bed.command(testbed::Host::Front, env!("CARGO_BIN_EXE_baton"));
        run.arg("run").arg("-c").arg(&other);
        run.arg("--admin").arg(site.folder.path().join("other.sock"));
        let said = Running::start(run, "listens on").err().expect("the first has the tables");
        assert!(said.contains("pin"), "{said}");
        assert!(
            said.contains(&site.bed.pins(testbed::Host::Front).display().to_string()),
            "{said}"
        );
        site.client().fetch(&files()[1]);
    });
}

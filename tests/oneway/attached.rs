//! Promise: no other program of ours takes the place of the front-end's; where somebody took that
//! off, it is said, and the program is put back.

use crate::on;
use crate::process::Running;
use crate::site::{Setup, Site, files, until};
use std::process::{Command, Output};
use testbed::Host;

/// A client's address of another site, for an agent on the front-end's machine.
const OTHER_VIP: &str = "203.0.113.9";

fn tc(site: &Site, host: Host, words: &str) {
    let mut tc = site.bed.command(host, "tc");
    assert!(tc.args(words.split(' ')).status().unwrap().success(), "tc {words}");
}

/// Waits until a new connection is handed over; those before are answered by the relay.
fn handed_over_again(site: &Site) {
    until(|| {
        let before = site.oneway(|_| true).counted("handed_over");
        site.client().fetch(&files()[1]);
        match site.oneway(|_| true).counted("handed_over") {
            after if after > before => Ok(()),
            after => Err(format!("{after} handed over")),
        }
    });
}

#[test]
fn a_program_of_the_front_end_that_was_taken_off_is_missed_said_and_put_back() {
    on(Setup::new("handoff", "name = \"round-robin\""), |site| {
        let (mut client, interface) = (site.client(), site.bed.interface());
        client.fetch(&files()[1]);
        let taken_off = ["qdisc del dev IF clsact", "filter del dev IF ingress pref 2983"];
        for (words, times) in taken_off.iter().zip(1..) {
            tc(site, Host::Front, &words.replace("IF", interface));
            handed_over_again(site);
            let view = site.oneway(|_| true);
            let one = view.interfaces.iter().find(|one| one.interface == interface).unwrap();
            assert_eq!((one.attached, one.restored), (true, times), "{view:?}");
        }
        for change in ["attached -> detached", "detached -> attached"] {
            let line = format!("interface {interface}: {change}: the front-end's program was ");
            until(|| match site.switch.as_ref().unwrap().said() {
                said if said.matches(&line).count() == 2 => Ok(()),
                said => Err(format!("{line}: {said}")),
            });
        }
        let sample = |name: &str| format!("baton_oneway_{name}{{interface=\"{interface}\"}}");
        assert_eq!(site.metric(&sample("restored_total")), 2.0);
        assert_eq!(site.metric(&sample("attached")), 1.0);
        client.fetch(&files()[2]);
    });
}

/// Whom the front-end's machine tells of its addresses.
fn arp(site: &Site, ignore: &str, announce: &str) {
    for (path, value) in [("arp_ignore", ignore), ("arp_announce", announce)] {
        site.bed.set(Host::Front, &format!("ipv4/conf/all/{path}"), value).unwrap();
    }
}

/// What an agent on the front-end's machine would be: its doctor finds nothing in its way.
fn agent(site: &Site) -> Command {
    arp(site, "1", "2");
    let mut agent = site.bed.command(Host::Front, env!("CARGO_BIN_EXE_baton"));
    agent.args(["agent", "--interface", site.bed.interface(), "--server", "127.0.0.1:80"]);
    agent.args(["--vip", &format!("{OTHER_VIP}:80"), "--listen", "127.0.0.1:0", "--pin"]);
    agent.arg(format!("{}-agent", site.bed.pins(Host::Front).display()));
    agent
}

#[test]
fn an_agent_on_the_front_ends_interface_is_refused_and_leaves_its_program_there() {
    on(Setup::new("handoff", "name = \"round-robin\""), |site| {
        site.ip(Host::Front, &format!("address add {OTHER_VIP}/32 dev lo"));
        let key = site.folder.path().join("key");
        std::fs::write(&key, "000102030405060708090a0b0c0d0e0f").unwrap();
        let refused = "has the front-end's program of Baton";
        let mut starts = agent(site);
        starts.arg("--key-file").arg(key);
        let said = Running::start(starts, "listens on").err().expect("it is refused");
        assert!(said.contains(refused) && said.contains(site.bed.interface()), "{said}");
        let Output { status, stderr, .. } = agent(site).arg("--detach").output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert!(!status.success() && said.contains(refused), "{said}");
        arp(site, "0", "0");
        let before = site.oneway(|_| true).counted("handed_over");
        site.client().fetch(&files()[1]);
        assert_eq!(site.oneway(|_| true).counted("handed_over"), before + 1);
    });
}

#[test]
fn a_front_end_on_a_servers_interface_is_refused() {
    on(Setup::new("handoff", "name = \"round-robin\""), |site| {
        let (host, pins) = (Host::Server(1), site.bed.pins(Host::Front));
        let text = site.setup.text(&site.bed, 1..=2).replace(":80\"", ":8080\"");
        let other = format!("{}-other", site.bed.pins(host).display());
        let text = text.replace(&pins.display().to_string(), &other);
        let path = site.folder.path().join("other.toml");
        std::fs::write(&path, text).unwrap();
        let mut run = site.bed.command(host, env!("CARGO_BIN_EXE_baton"));
        run.arg("run").arg("-c").arg(&path);
        run.arg("--admin").arg(site.folder.path().join("other.sock"));
        let said = Running::start(run, "listens on").err().expect("it is refused");
        let _made = std::fs::remove_dir(&other);
        assert!(said.contains("has an agent's program of Baton"), "{said}");
        let mut clients = site.clients(2);
        clients.iter_mut().for_each(|client| drop(client.fetch(&files()[1])));
        site.oneway(|view| view.counted("handed_over") == 2 && view.open() == 2);
    });
}

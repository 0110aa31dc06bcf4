//! Promise: a server that would lose connections gets none handed over, and its requests are
//! answered all the same; what is repaired is used without a restart of the switch.

use crate::client::get;
use crate::on;
use crate::process::Running;
use crate::site::{Setup, Site, files};
use control::view::OnewayView;
use std::collections::BTreeMap;
use testbed::Host;

/// Connections that are new, one request each, all of them sent before any reply is looked at: by
/// who answered.
fn answers(site: &Site, count: usize) -> BTreeMap<String, usize> {
    let (file, mut clients) = (&files()[2], site.clients(count));
    clients.iter_mut().for_each(|client| client.send(get(&file.path)));
    let mut by: BTreeMap<String, usize> = BTreeMap::new();
    for client in &mut clients {
        let reply = client.reply().unwrap_or_else(|how| panic!("no reply: {how}"));
        reply.is(file);
        *by.entry(reply.server().to_owned()).or_default() += 1;
    }
    by
}

fn unconfirmed(view: &OnewayView) -> u64 {
    view.locals().get("unconfirmed").copied().unwrap_or(0)
}

/// New connections are answered by each server in its turn, `relayed` of `count` by the relay.
fn each_in_its_turn(site: &Site, count: usize, relayed: usize) {
    let before = site.oneway(|_| true);
    let by = answers(site, count);
    let each = count / 3;
    assert_eq!(by.values().copied().collect::<Vec<_>>(), [each; 3], "{by:?}");
    let handed = |view: &OnewayView| view.counted("handed_over") - before.counted("handed_over");
    let after = site.oneway(|view| handed(view) == (count - relayed) as u64);
    assert_eq!(unconfirmed(&after) - unconfirmed(&before), relayed as u64, "{after:?}");
}

fn reason(view: &OnewayView, server: usize) -> &str {
    view.servers[server].doubt.as_ref().map_or("", |doubt| doubt.reason.as_str())
}

#[test]
fn another_key_and_no_agent_are_relayed_until_they_are_put_right_and_so_is_a_program_taken_off() {
    let setup = Setup {
        servers: 3,
        oneway: "agent_period = \"100ms\"",
        wrong: &[2],
        absent: &[3],
        ..Setup::new("handoff", "name = \"round-robin\"")
    };
    on(setup, |site| {
        let view = site.stands(&["confirmed", "doubted", "doubted"]);
        assert_eq!([1, 2].map(|server| reason(&view, server)), ["other-key", "silent"]);
        each_in_its_turn(site, 30, 20);
        let shown = String::from_utf8(site.ask(&["status"]).stdout).unwrap();
        assert!(shown.contains("give both the same key of [oneway]"), "{shown}");
        assert!(shown.contains("relayed all the same: unconfirmed 20\n"), "{shown}");
        assert_eq!(site.metric("baton_oneway_confirmed{server=\"server1\"}"), 1.0);
        assert_eq!(site.metric("baton_oneway_confirmed{server=\"server2\"}"), 0.0);
        assert!(site.page("/metrics").contains("baton_oneway_confirmed{server=\"server2\"} 0"));
        assert_eq!(site.metric("baton_oneway_local_total{reason=\"unconfirmed\"}"), 20.0);
        assert!(site.page("/").contains("relayed: its agent has another key"));

        // Both are put right, and the switch goes on as it is.
        (site.setup.wrong, site.setup.absent) = (&[], &[]);
        site.kill_agent(2);
        [2, 3].into_iter().for_each(|number| site.start_agent(number));
        site.stands(&["confirmed"; 3]);
        each_in_its_turn(site, 30, 0);
        let said = site.switch.as_ref().unwrap().said();
        for line in ["2: doubted: ", "2: doubted -> confirmed", "3: doubted: ", "1: confirmed: "] {
            assert_eq!(said.matches(&format!("server server{line}")).count(), 1, "{line}: {said}");
        }

        // Somebody takes a program off, under an agent that runs.
        let mut tc = site.bed.command(Host::Server(1), "tc");
        tc.args(["filter", "del", "dev", site.bed.interface(), "ingress", "pref", "2983"]);
        assert!(tc.status().unwrap().success());
        let view = site.stands(&["doubted", "confirmed", "confirmed"]);
        assert_eq!(reason(&view, 0), "detached");
        each_in_its_turn(site, 30, 10);
        site.kill_agent(1);
        site.start_agent(1);
        site.stands(&["confirmed"; 3]);

        // What is pinned goes on without the agent that said so.
        site.kill_agent(1);
        site.status_when(|status| status.agents[0].fault.is_some());
        each_in_its_turn(site, 30, 0);
        site.stands(&["confirmed"; 3]);
        site.is_at_rest();
    });
}

#[test]
fn without_a_single_server_that_takes_connections_all_are_relayed_and_readiness_says_why() {
    let setup =
        Setup { wrong: &[1], absent: &[2], ..Setup::new("multi-handoff", "name = \"lard\"") };
    on(setup, |site| {
        site.stands(&["doubted", "doubted"]);
        assert_eq!(answers(site, 10).values().sum::<usize>(), 10);
        assert_eq!(site.oneway(|_| true).counted("handed_over"), 0);
        let ready = site.page("/readyz");
        assert!(ready.starts_with("HTTP/1.0 200") && ready.contains("all are relayed"), "{ready}");
        assert!(ready.contains("server1: its agent has another key"), "{ready}");
    });
}

#[test]
fn one_agent_looks_after_a_folder_and_one_switch_after_a_network_namespace() {
    on(Setup::new("handoff", "name = \"lard\""), |site| {
        let host = Host::Server(1);
        let mut agent = site.bed.command(host, env!("CARGO_BIN_EXE_baton"));
        agent.arg("agent").arg("-c").arg(site.folder.path().join("baton.toml"));
        agent.args(["--listen", "127.0.0.1:0", "--pin"]).arg(site.bed.pins(host));
        let said = Running::start(agent, "listens on").err().expect("the first has the tables");
        assert!(said.contains("another agent uses the tables in"), "{said}");

        let pins = site.bed.pins(Host::Front);
        let text = site.setup.text(&site.bed, 1..=2).replace(":80\"", ":8080\"");
        let other = format!("{}-other", pins.display());
        let text = text.replace(&format!("{}\"", pins.display()), &format!("{other}\""));
        let path = site.folder.path().join("other.toml");
        std::fs::write(&path, text).unwrap();
        let mut run = site.bed.command(Host::Front, env!("CARGO_BIN_EXE_baton"));
        run.arg("run").arg("-c").arg(&path);
        run.arg("--admin").arg(site.folder.path().join("other.sock"));
        let said = Running::start(run, "listens on").err().expect("the first has the TAP");
        let _made = std::fs::remove_dir(&other);
        assert!(said.contains("another switch has the interface baton-held"), "{said}");
        site.client().fetch(&files()[1]);
    });
}

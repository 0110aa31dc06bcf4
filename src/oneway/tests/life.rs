//! Servers that go, come and move; processes that die; connections that nobody ends.

use super::site::{Site, VIP, client, config, get};
use crate::oneway::fabric::{Fabric, Owned, RowState, Slot};
use crate::oneway::keeper::{Keeper, Notice};
use policy::{Load, ServerId, State};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

#[test]
fn connections_of_a_server_that_goes_down_are_reset_and_counted() {
    let site = Site::new(&config(2, "handoff", ""));
    let (slot, _) = site.send(client(1), &get("/a"));
    let slot = slot.unwrap();
    site.set_state(slot.0, State::Down);
    site.oneway.keeper().turn();
    assert_eq!(site.fake.state().rows[&slot].state, RowState::Down);
    assert_eq!(site.holder(client(1)), None, "it is reset");
    assert_eq!(site.oneway.view().swept["reset"], 1);
    assert_eq!(site.load_of(slot.0), 0.0);
    let (other, asked) = site.send(client(2), &get("/a"));
    assert!(asked && other != Some(slot), "its memo is of an epoch before");
}

#[test]
fn who_is_in_no_book_any_more_is_told_too_that_its_server_is_down() {
    let site = Site::new(&config(2, "handoff", ""));
    let slot = site.send(client(1), &get("/a")).0.unwrap();
    // It has said its last word, and waits for the reply.
    site.fake.state().books.get_mut(&slot).unwrap().open = 0;
    let keeper = site.oneway.keeper();
    keeper.turn();
    assert_eq!(site.holder(client(1)), Some(slot));
    site.set_state(slot.0, State::Down);
    keeper.turn();
    assert_eq!(site.holder(client(1)), None, "it is reset");
    keeper.turn();
    assert_eq!(site.oneway.view().swept["reset"], 1, "they are looked for once");
}

#[test]
fn a_draining_server_finishes_what_it_has_and_gets_nothing_new() {
    let site = Site::new(&config(2, "handoff", ""));
    let slot = site.send(client(1), &get("/a")).0.unwrap();
    site.set_state(slot.0, State::Draining);
    site.oneway.keeper().turn();
    assert_eq!(site.holder(client(1)), Some(slot));
    assert_eq!(site.fake.state().rows[&slot].state, RowState::Draining);
    for who in 2..20 {
        assert_ne!(site.send(client(who), &get("/a")).0, Some(slot));
    }
}

#[test]
fn a_server_that_left_keeps_its_row_until_its_last_connection_has_ended() {
    let site = Site::new(&config(2, "handoff", ""));
    let slot = site.send(client(1), &get("/a")).0.unwrap();
    let mut less = config(2, "handoff", "");
    less.servers.remove(usize::from(slot.0));
    site.load(&less);
    site.oneway.keeper().turn();
    assert_eq!(site.fake.state().rows[&slot].state, RowState::Draining);
    site.fake.close(client(1), VIP);
    site.fake.state().ended.push(slot);
    site.oneway.keeper().turn();
    assert!(site.fake.state().rows.contains_key(&slot), "what its client sends still goes by it");
    site.fake.state().ended.clear();
    site.oneway.keeper().turn();
    assert!(!site.fake.state().rows.contains_key(&slot), "and then it is free");
    assert_eq!(site.shared.ask.books().desk().cluster().servers().count(), 1);
}

#[test]
fn what_a_server_has_at_its_old_address_counts_against_what_the_kernel_repeats() {
    let at = |network: u8| {
        let more = "[policy]\nname = \"lard\"\nt_low = 2\nt_high = 4\n";
        let mut config = config(2, "handoff", more);
        for (last, server) in (1..).zip(&mut config.servers) {
            server.address = format!("10.0.{network}.{last}:80");
        }
        config
    };
    let site = Site::new(&at(0));
    let old = site.send(client(0), &get("/a")).0.unwrap();
    for who in 1..4 {
        assert_eq!(site.send(client(who), &get("/a")), (Some(old), false));
    }
    site.load(&at(1));
    (0..2).for_each(|id| site.report(id, |_| {}));
    let told = |slot: Slot| site.fake.state().loads[&slot];
    let new = site.oneway.bridge.tables().roster.slot(ServerId(old.0)).unwrap();
    assert_ne!(old, new);
    assert_eq!(told(new), Load::of(4), "at once");
    assert_eq!(site.load_of(old.0), 4.0, "as the policy sees it");
    // The policy is asked before it is too much, though the new slot itself has few.
    for who in 4..6 {
        site.send(client(who), &get("/a"));
    }
    site.send(client(6), &get("/a"));
    assert!(site.send(client(7), &get("/a")).0 != Some(new), "it is too much already");
    site.fake.close(client(0), VIP);
    site.oneway.keeper().turn();
    assert_eq!(told(new), Load::of(3));
    (1..4).for_each(|who| site.fake.close(client(who), VIP));
    site.oneway.keeper().turn();
    assert_eq!(told(new), Load::ZERO);
}

#[test]
fn the_next_process_takes_connections_servers_and_loads_over() {
    let before = Site::new(&config(3, "handoff", ""));
    let slot = before.send(client(1), &get("/a")).0.unwrap();
    let names = |site: &Site| {
        let view = site.oneway.view();
        view.servers.into_iter().map(|row| (row.slot, row.server)).collect::<Vec<_>>()
    };
    let rows = names(&before);
    // kill -9: nothing of it ends well; the file has the servers in another order now.
    let mut config = config(3, "handoff", "");
    config.servers.reverse();
    let after = Site::over(&config, Some(Arc::clone(&before.fake)));
    assert_eq!(names(&after), rows, "slots mean what they meant");
    assert_eq!(after.holder(client(1)), Some(slot), "no connection is lost");
    let loads: f64 = (0..3).map(|id| after.load_of(id)).sum();
    assert_eq!(loads, 1.0, "and it is in the new books");
    assert!(after.send(client(2), &get("/a")).1, "answers of the old policy are not repeated");
}

#[test]
fn connections_of_servers_that_the_next_process_does_not_have_end_in_peace() {
    let before = Site::new(&config(2, "handoff", "[policy]\nname = \"wrr\"\n"));
    before.send(client(1), &get("/a"));
    before.send(client(2), &get("/b"));
    let after = Site::over(&config(1, "handoff", ""), Some(Arc::clone(&before.fake)));
    let rows = after.fake.rows();
    assert_eq!(rows.len(), 2, "{rows:?}");
    let strange = rows.iter().find(|(_, row)| row.state == RowState::Draining).unwrap().0;
    assert_eq!(after.oneway.view().servers[usize::from(strange.0)].server, "#1");
    after.fake.close(client(1), VIP);
    after.fake.close(client(2), VIP);
    after.oneway.keeper().turn();
    assert_eq!(after.fake.rows().len(), 1);
}

#[test]
fn a_connection_that_is_silent_for_too_long_is_closed() {
    let site = Site::new(&config(1, "handoff", ""));
    site.send(client(1), &get("/a"));
    let keeper = site.oneway.keeper();
    keeper.turn();
    assert_eq!(site.load_of(0), 1.0, "not yet");
    Keeper { idle: Duration::ZERO, ..keeper }.turn();
    assert_eq!((site.load_of(0), site.oneway.view().swept["idle"]), (0.0, 1));
}

#[test]
fn a_lost_fin_does_not_leak_for_the_agent_knows_better() {
    let site = Site::new(&config(1, "handoff", ""));
    let clients = [1, 2, 3].map(client);
    for who in clients {
        assert!(site.send(who, &get("/a")).0.is_some());
    }
    let settled = Duration::from_secs(5);
    let last = site.fake.state().flows.values().map(|flow| flow.seen).max().unwrap();
    let by = |asked| Owned { asked, ends: vec![(clients[0], VIP)], vips: vec![VIP] };
    let owned = by(last);
    assert!(!owned.lacks(clients[0], VIP) && owned.lacks(clients[1], VIP));
    let young = site.fake.disown(Slot(0), &owned, settled);
    assert_eq!(young, 0, "whoever was handed over just now may not be known yet");
    assert_eq!(site.fake.disown(Slot(0), &by(last.plus(settled)), settled), 2);
    assert_eq!(site.load_of(0), 1.0);
}

#[test]
fn the_threads_answer_tell_and_end() {
    let site = Site::new(&config(2, "handoff", ""));
    site.oneway.start().unwrap();
    assert_eq!(site.fake.arrive(client(1), VIP, &get("/a")), super::fake::Now::Asked);
    site.fake.wait("the question is answered", |state| state.flows.len() == 1);
    let slot = site.holder(client(1)).unwrap();
    site.set_state(slot.0, State::Down);
    site.oneway.refresh();
    site.fake.wait("the keeper resets what a dead server had", |state| state.flows.is_empty());
    site.oneway.stop();
    assert!(site.fake.listening().is_empty(), "nothing new is taken");
    assert_eq!(site.fake.state().epoch, 0, "and nothing is repeated");
}

#[test]
fn a_device_that_is_gone_ends_the_questions_and_nothing_else() {
    let site = Site::new(&config(1, "handoff", ""));
    site.oneway.start().unwrap();
    site.fake.state().broken = true;
    site.oneway.stop();
}

#[test]
fn a_keeper_ends_when_nobody_can_tell_it_anything_any_more() {
    let site = Site::new(&config(1, "handoff", ""));
    let (sender, notices) = sync_channel(1);
    sender.send(Notice::Owned(ServerId(0), Owned::default())).unwrap();
    drop(sender);
    site.oneway.keeper().run(&notices);
}

//! Who gets connections handed over depends on what servers' agents say; who serves does not.

use super::fake::Now;
use super::site::{Site, VIP, client, config, get};
use crate::gather::Ear;
use crate::oneway::fabric::{Fabric, Owned, RowState, Slot, Verdict};
use crate::oneway::reason::Local;
use agent::LoadReport;
use distributor::Scribe;
use policy::{ServerId, State};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn other_key(report: &mut LoadReport) {
    "another".clone_into(&mut report.takes_over.as_mut().unwrap().key_check);
}

fn only_reports(report: &mut LoadReport) {
    report.takes_over = None;
}

fn other_address(report: &mut LoadReport) {
    report.takes_over.as_mut().unwrap().vips = vec![SocketAddr::from(([10, 0, 0, 101], 80))];
}

fn unconfirmed(site: &Site) -> u64 {
    site.oneway.view().locals()["unconfirmed"]
}

/// Asks for `path`. Who serves, and whether the kernel hands it over: what is for the relay is on
/// the desk's books, in the name of the server that was chosen.
fn served(site: &Site, who: u16, path: &str) -> (ServerId, bool) {
    let begun = || -> Vec<_> {
        let books = site.shared.ask.books();
        let cluster = books.desk().cluster();
        cluster.servers().map(|one| (one.id, cluster.load_here(one.id).as_f64())).collect()
    };
    let before = begun();
    match site.send(client(who), &get(path)) {
        (Some(slot), _) => (ServerId(slot.0), true),
        (None, asked) => {
            assert!(asked, "it is nobody's");
            let after = begun().into_iter().zip(before);
            let rose: Vec<_> = after.filter(|(now, then)| now != then).collect();
            let [((one, now), (_, then))] = rose[..] else { panic!("{rose:?}") };
            assert_eq!(now, then + 1.0);
            (one, false)
        }
    }
}

#[test]
fn a_server_that_nobody_has_confirmed_is_served_by_the_relay_in_its_turn() {
    let site = Site::new(&config(3, "handoff", "[policy]\nname = \"round-robin\"\n"));
    site.report(1, other_key);
    let order: Vec<_> = (0..12).map(|who| served(&site, who, "/a")).collect();
    let wanted: Vec<_> = (0..12).map(|turn| (ServerId(turn % 3), turn % 3 != 1)).collect();
    assert_eq!(order, wanted, "no turn is lost, none is taken twice, and no other is relayed");
    assert_eq!(unconfirmed(&site), 4);
    assert_eq!(site.fake.state().repeated, 0, "no wheel has a seat for it");
    site.report(1, |_| {});
    let handed: Vec<_> = (12..24).map(|who| site.send(client(who), &get("/a")).0).collect();
    assert!(handed.contains(&Some(Slot(1))) && !handed.contains(&None), "{handed:?}");
    assert!(site.fake.state().repeated > 6, "the wheel turns again");
}

#[test]
fn what_was_set_aside_for_the_relay_goes_back_to_the_books_if_it_does_not_come() {
    let site = Site::new(&config(1, "handoff", ""));
    site.report(0, other_key);
    let asking = site.asking();
    for path in ["/a", "/b"] {
        assert_eq!(site.send(client(0), &get(path)), (None, true));
        assert_eq!(site.load_of(0), 1.0, "the client's last word counts");
    }
    asking.tidy();
    assert_eq!(site.load_of(0), 1.0, "it may come yet");
    site.shared.return_untaken(site.shared.clock.now());
    assert_eq!(site.load_of(0), 0.0);
    assert_eq!(site.send(client(1), &get("/a")), (None, true));
    let (stop, ended) = (std::sync::atomic::AtomicBool::new(true), site.asking());
    ended.run(&stop);
    assert_eq!(site.load_of(0), 0.0, "nor does it when the switch ends");
}

#[test]
fn what_the_kernel_repeats_is_taken_back_when_a_server_comes_to_be_doubted() {
    let site = Site::new(&config(2, "handoff", ""));
    let slot = site.send(client(0), &get("/a")).0.unwrap();
    assert_eq!(site.send(client(1), &get("/a")), (Some(slot), false), "it repeats");
    let detached = |report: &mut LoadReport| {
        let takes_over = report.takes_over.as_mut().unwrap();
        (takes_over.attached, takes_over.detached_from) = (false, vec!["eth0".to_owned()]);
    };
    site.report(usize::from(slot.0), detached);
    let same = (ServerId(slot.0), false);
    assert_eq!(served(&site, 2, "/a"), same, "relayed, by whom the policy chooses");
    assert_eq!(site.send(client(3), &get("/a")), (None, true), "nothing is repeated of it");
    assert_eq!(unconfirmed(&site), 2);
    let view = site.oneway.view();
    let row = view.servers.iter().find(|row| row.slot == slot.0).unwrap();
    assert_eq!(row.standing, "doubted");
    let doubt = row.doubt.as_ref().unwrap();
    assert_eq!(doubt.reason, "detached");
    assert!(doubt.sentence.contains("not attached to eth0"), "{doubt:?}");
    assert_eq!(view.taking(), (1, 2));
    site.report(usize::from(slot.0), |_| {});
    assert_eq!(site.send(client(4), &get("/a")), (Some(slot), true));
    assert_eq!(site.send(client(5), &get("/a")), (Some(slot), false), "and repeats again");
}

#[test]
fn an_agent_that_falls_silent_after_its_word_matters_no_more() {
    let site = Site::new(&config(1, "handoff", ""));
    site.oneway.silent(ServerId(0), "no agent listens there");
    assert_eq!(site.send(client(0), &get("/a")).0, Some(Slot(0)));
    assert_eq!(site.oneway.view().taking(), (1, 1));
}

#[test]
fn a_connection_is_fetched_for_by_its_holder_but_not_begun_at_a_doubted_server() {
    let site = Site::new(&config(2, "forward", "[policy]\nname = \"round-robin\"\n"));
    site.report(1, other_key);
    assert_eq!(site.send(client(0), &get("/a")).0, Some(Slot(0)));
    let held = |payload: &[u8]| {
        site.fake.arrive(client(0), VIP, payload);
        site.fake.question(std::time::Duration::ZERO).unwrap().unwrap()
    };
    // The second turn is the doubted server's: its Web server is asked by the holder's relay.
    let next = held(&get("/b"));
    site.asking().settle(&next, &mut Scribe::new(&site.shared.journal));
    assert_eq!(site.holder(client(0)), Some(Slot(1)), "in memory a tag is a move");
}

#[test]
fn who_cannot_hear_keeps_what_it_has_or_is_rid_of_it() {
    let more = "[policy]\nname = \"round-robin\"\n";
    for (delivery, stays) in [("handoff", true), ("multi-handoff", false)] {
        let site = Site::new(&config(2, delivery, more));
        let holder = site.send(client(0), &get("/a")).0.unwrap();
        site.report(usize::from(holder.0), other_key);
        assert_eq!(site.send(client(0), &get("/b")).0, Some(holder), "it would not let go");
        let keeper = site.oneway.keeper();
        keeper.turn();
        assert_eq!(site.holder(client(0)), Some(holder), "the front-end's key may be next");
        (0..4).for_each(|_| site.report(usize::from(holder.0), other_key));
        assert!(!keeper.turn(), "there is no more to do");
        assert_eq!(site.holder(client(0)).is_some(), stays, "{delivery}");
        assert_eq!(site.fake.book(holder).open, u64::from(stays));
        let reset = site.oneway.view().swept["reset"];
        keeper.turn();
        assert_eq!((reset, site.oneway.view().swept["reset"]), (u64::from(!stays), reset));
        // Whether what has not arrived is told so: the program resets it when it is repeated.
        let state = site.fake.state().rows[&holder].state;
        assert_eq!(state, if stays { RowState::Deaf } else { RowState::Down });
        site.report(usize::from(holder.0), |_| {});
        let state = site.fake.state().rows[&holder].state;
        assert_eq!(state, RowState::Up, "it gets connections again, at once");
    }
}

#[test]
fn a_hand_over_to_a_host_whose_agent_only_reports_is_given_up_after_a_while_and_no_sooner() {
    let site = Site::new(&config(1, "multi-handoff", ""));
    let holder = site.send(client(0), &get("/a")).0.unwrap();
    let state = || {
        site.oneway.keeper().turn();
        site.fake.state().rows[&holder].state
    };
    for turn in 1..=5 {
        site.report(0, |report| report.takes_over = None);
        assert_eq!(state(), if turn < 5 { RowState::Up } else { RowState::Doubted }, "{turn}");
    }
    assert_eq!(site.holder(client(0)), Some(holder), "what has arrived is there");
    site.report(0, |_| {});
    assert_eq!(state(), RowState::Up);
}

#[test]
fn what_is_said_of_a_host_does_not_touch_connections_that_were_left_at_another() {
    let config = config(1, "multi-handoff", "");
    let site = Site::new(&config);
    let holder = site.send(client(0), &get("/a")).0.unwrap();
    site.oneway.place(ServerId(0), &config.servers[0], SocketAddr::from(([10, 0, 0, 9], 80)));
    (0..9).for_each(|_| site.report(0, other_key));
    site.oneway.keeper().turn();
    assert_eq!(site.holder(client(0)), Some(holder));
    assert_eq!(site.fake.state().rows[&holder].state, RowState::Draining);
    assert_eq!(site.send(client(0), &get("/b")).0, None, "and it hears that it is to let go");
}

#[test]
fn an_address_that_a_server_does_not_take_over_is_relayed_and_the_others_are_handed_over() {
    let site = Site::new(&config(1, "handoff", ""));
    let slot = site.send(client(0), &get("/a")).0;
    assert_eq!(site.send(client(1), &get("/a")), (slot, false), "the kernel repeats it");
    let fresh = SocketAddr::from(([10, 0, 0, 101], 80));
    let more = format!("[listen.more]\naddress = \"{fresh}\"\ndelivery = \"handoff\"\n");
    let wider = config(1, "handoff", &more);
    site.oneway.expect(&wider);
    site.oneway.apply(&wider).unwrap();
    let send = |who: u16, vip| {
        let now = site.fake.arrive(client(who), vip, &get("/a"));
        assert_eq!(now, Now::Asked, "what the kernel repeats it repeats for every address");
        let held = site.fake.question(Duration::ZERO).unwrap().unwrap();
        site.asking().settle(&held, &mut Scribe::new(&site.shared.journal));
        site.fake.state().flows.get(&(client(who), vip)).map(|flow| flow.holder)
    };
    assert_eq!([send(2, fresh), send(3, VIP), send(4, VIP)], [None, slot, slot]);
    site.report(0, |_| {});
    let view = site.oneway.view();
    assert_eq!(view.servers[0].doubt.as_ref().unwrap().reason, "other-address");
    assert_eq!([send(5, fresh), send(6, VIP)], [None, slot]);
    site.report(0, |report| report.takes_over.as_mut().unwrap().vips.push(fresh));
    assert_eq!([send(7, fresh)], [slot]);
    assert_eq!(site.fake.arrive(client(8), fresh, &get("/a")), Now::Handed(slot.unwrap()));
}

#[test]
fn a_server_that_was_down_is_handed_nothing_before_its_agent_answers_again() {
    let site = Site::new(&config(1, "handoff", ""));
    site.set_state(0, State::Down);
    site.oneway.keeper().turn();
    site.set_state(0, State::Up);
    site.oneway.keeper().turn();
    assert_eq!(site.send(client(0), &get("/a")), (None, true), "its host may have begun anew");
    site.oneway.silent(ServerId(0), "no agent listens there");
    assert_eq!(site.oneway.view().servers[0].doubt.as_ref().unwrap().reason, "silent");
    assert_eq!(site.send(client(1), &get("/a")), (None, true));
    site.report(0, |_| {});
    assert_eq!(site.send(client(2), &get("/a")).0, Some(Slot(0)));
}

#[test]
fn each_change_is_one_event_with_its_remedy() {
    let site = Site::new(&config(2, "handoff", ""));
    let (events, count) = (Arc::new(Mutex::new(Vec::new())), AtomicUsize::new(0));
    let kept = Arc::clone(&events);
    site.oneway.tell(Box::new(move |event| kept.lock().unwrap().push(event.line())));
    let more = |change: fn(&mut LoadReport)| {
        site.report(1, change);
        site.report(1, change);
        let before = count.swap(events.lock().unwrap().len(), Ordering::Relaxed);
        events.lock().unwrap()[before..].to_vec()
    };
    let [line] = &more(other_key)[..] else { panic!("{:?}", events.lock()) };
    assert!(line.starts_with("server b: confirmed -> doubted: connections are relayed"), "{line}");
    assert!(line.contains("give both the same key"), "{line}");
    let [line] = &more(|report| report.server = "a".to_owned())[..] else { panic!() };
    assert!(line.contains("speaks for server a"), "{line}");
    let [line] = &more(|_| {})[..] else { panic!() };
    assert_eq!(
        line,
        "server b: doubted -> confirmed: its agent confirms that it takes connections over"
    );
}

#[test]
fn a_question_in_flight_is_answered_by_what_is_known_when_it_is_answered() {
    let site = Site::new(&config(1, "handoff", ""));
    site.fake.arrive(client(0), VIP, &get("/a"));
    let held = site.fake.question(std::time::Duration::ZERO).unwrap().unwrap();
    site.report(0, other_key);
    site.asking().settle(&held, &mut Scribe::new(&site.shared.journal));
    assert_eq!(site.fake.state().relayed, [client(0)]);
    assert_eq!(Local::Unconfirmed.name(), "unconfirmed");
    assert!(matches!(Verdict::Relay(Local::Unconfirmed), Verdict::Relay(_)));
}

#[test]
fn connections_are_forgotten_by_the_word_of_an_agent_that_is_confirmed_before_and_after_alone() {
    let site = Site::new(&config(2, "handoff", "[policy]\nname = \"round-robin\"\n"));
    (0..4).for_each(|who| assert!(site.send(client(who), &get("/a")).0.is_some()));
    site.oneway.start().unwrap();
    let asked = site.shared.clock.now().plus(Duration::from_secs(60));
    let listed = |id: usize, before: fn(&mut LoadReport), after: fn(&mut LoadReport)| {
        site.report(id, before);
        let none = Owned { asked, ..Owned::default() };
        site.oneway.owned(ServerId(u16::try_from(id).unwrap()), none);
        site.report(id, after);
    };
    let well: fn(&mut LoadReport) = |_| {};
    let other_server: fn(&mut LoadReport) = |report| report.server = "b".to_owned();
    for other in [only_reports, other_address, other_server, other_key] {
        listed(0, other, other);
        listed(0, well, other);
        listed(0, other, well);
    }
    listed(1, well, well);
    // The keeper takes one word after the other.
    site.fake.wait("the other server's are forgotten", |state| state.flows.len() < 4);
    assert_eq!([0, 1].map(|slot| site.fake.book(Slot(slot)).open), [2, 0]);
    listed(0, well, well);
    site.fake.wait("by a word that counts they are forgotten", |state| state.flows.is_empty());
    site.oneway.stop();
}

#[test]
fn who_may_not_hear_is_not_asked_to_let_go_and_is_not_reset() {
    for doubt in [only_reports, other_address] {
        let site = Site::new(&config(2, "multi-handoff", "[policy]\nname = \"round-robin\"\n"));
        let holder = site.send(client(0), &get("/a")).0.unwrap();
        (0..9).for_each(|_| site.report(usize::from(holder.0), doubt));
        for path in ["/b", "/c", "/d"] {
            assert_eq!(site.send(client(0), &get(path)).0, Some(holder), "it would not let go");
        }
        site.oneway.keeper().turn();
        assert_eq!(site.holder(client(0)), Some(holder), "its program may be there yet");
        assert_eq!(site.load_of(holder.0), 1.0);
        site.report(usize::from(holder.0), |_| {});
        let next = ["/e", "/f"].map(|path| site.send(client(0), &get(path)).0);
        assert!(next.contains(&Some(Slot(1 - holder.0))), "it moves again: {next:?}");
    }
}

#[test]
fn a_holder_that_is_doubted_serves_what_is_its_own() {
    let site = Site::new(&config(1, "multi-handoff", ""));
    let holder = site.send(client(0), &get("/a")).0;
    let fault = agent::Fault { stops: true, ..agent::Fault::default() };
    (0..3).for_each(|_| site.report(0, |report| report.faults = vec![fault.clone()]));
    assert_eq!(site.oneway.view().taking(), (0, 1));
    assert_eq!(site.send(client(0), &get("/b")).0, holder, "nothing is handed over");
    assert_eq!(site.send(client(1), &get("/b")).0, None, "but this would be");
    assert_eq!(unconfirmed(&site), 1);
}

#[test]
fn what_a_holder_cannot_fetch_from_a_lost_server_it_serves_itself() {
    let site = Site::new(&config(2, "forward", "[policy]\nname = \"round-robin\"\n"));
    assert_eq!(site.send(client(0), &get("/a")).0, Some(Slot(0)));
    (0..5).for_each(|_| site.report(1, other_key));
    site.oneway.keeper().turn();
    for path in ["/b", "/c", "/d"] {
        assert_eq!(site.send(client(0), &get(path)).0, Some(Slot(0)));
        assert_eq!([0, 1].map(|id| site.load_of(id)), [1.0, 0.0], "nothing is begun elsewhere");
    }
    assert!(site.fake.state().relayed.is_empty());
}

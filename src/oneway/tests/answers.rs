//! Who answers, what is repeated, and what goes to the relay.

use super::site::{Site, VIP, client, config, get};
use crate::oneway::fabric::{Fabric, Slot};
use crate::oneway::reading::read;
use crate::oneway::reason::Local;
use distributor::Reasons;
use distributor::ask::kernel::Kernel;
use distributor::journal::Delivered;
use policy::{Cluster, Desk, Dice, Elsewhere, Request, ServerId, Spec, State};
use std::collections::BTreeMap;

#[test]
fn the_first_request_for_a_target_is_asked_and_later_ones_are_repeated() {
    let site = Site::new(&config(3, "handoff", ""));
    let (first, asked) = site.send(client(1), &get("/a"));
    assert!(asked && first.is_some());
    let (second, asked) = site.send(client(2), &get("/a"));
    assert_eq!((second, asked), (first, false), "the memo says the same");
    assert!(site.send(client(3), &get("/b")).1, "another target has none");
    assert_eq!(site.load_of(first.unwrap().0), 2.0, "and the desk sees what the kernel counts");
}

/// Two switches see the same requests: one whose kernel repeats, one whose policy is asked each
/// time. Neither may ever answer differently.
#[test]
fn the_kernel_never_answers_differently_from_the_policy_asked_directly() {
    // Thresholds low enough that targets do move.
    let low = "t_low = 5\nt_high = 12";
    for (policy, params) in [
        ("lard", low),
        ("lard-r", low),
        ("wrr", ""),
        ("cap", ""),
        ("lard-cost", ""),
        ("bounded-hash", ""),
        ("least-loaded", ""),
    ] {
        agree(policy, params, 4_000);
    }
}

fn agree(policy: &str, params: &str, requests: usize) {
    let rule = "[[rule]]\npath_prefix = \"/1\"\nclass = \"cpu\"\n";
    let more = format!("[policy]\nname = \"{policy}\"\n{params}\n{rule}");
    let config = config(3, "handoff", &more);
    let site = Site::new(&config);
    let mut desk = Desk::new(config.policy.build(), Cluster::new(0.5), 1);
    for server in &config.servers {
        let spec = Spec { ..server.spec() };
        desk.join(spec, State::Up, policy::Instant::ZERO).unwrap();
    }
    let mut dice = Dice::new(7);
    let mut open: Vec<u16> = Vec::new();
    for number in 0..requests {
        if open.len() > 24 || (dice.below(3) == 0 && !open.is_empty()) {
            let gone = open.swap_remove(dice.below(open.len()));
            site.fake.close(client(gone), VIP);
        }
        let path = format!("/{}", dice.below(40).min(dice.below(40)));
        let who = number as u16;
        let verdict = site
            .shared
            .live
            .load()
            .rules
            .judge(&rules::Described::new("GET", &format!("http://h{path}")).unwrap());
        let at = site.shared.clock.now();
        for (slot, book) in site.fake.state().books.clone() {
            let count = Elsewhere { open: book.open, begun: book.begun, chosen: book.chosen };
            desk.elsewhere(ServerId(slot.0), count, at);
        }
        let question = Request { at, target: verdict.target, class: verdict.class, holder: None };
        let wanted = desk.ask(&question, &[]).unwrap().server;
        let (slot, _) = site.send(client(who), &get(&path));
        assert_eq!(slot, Some(Slot(wanted.0)), "{policy}: request {number} for {path}");
        open.push(who);
    }
    let repeated = site.fake.state().repeated;
    // These two promise nothing.
    if !["least-loaded", "bounded-hash"].contains(&policy) {
        assert!(repeated > requests as u64 / 10, "{policy} repeated {repeated}");
    }
}

#[test]
fn what_a_rule_sends_to_the_relay_the_kernel_sends_there_by_itself_from_then_on() {
    let rule = "[[rule]]\npath_prefix = \"/up\"\ndelivery = \"relay\"\n";
    let site = Site::new(&config(2, "handoff", rule));
    assert_eq!(site.send(client(1), &get("/up")), (None, true));
    assert_eq!(site.send(client(2), &get("/up")), (None, false), "without being asked");
    assert_eq!(site.oneway.view().locals()["rule-says-relay"], 1);
    let why = |who| site.oneway.bridge.why(client(who), VIP);
    assert_eq!(why(1), None, "who was asked has set the reason aside");
    assert_eq!([why(2), why(2)], [Some("rule-says-relay"), None], "once");
}

#[test]
fn what_header_fields_decide_is_asked_each_time() {
    let rule = "[[rule]]\ncookie = \"user\"\ntarget = \"cookie:user\"\n";
    let site = Site::new(&config(2, "handoff", rule));
    for who in 0..3 {
        assert!(site.send(client(who), &get("/a")).1, "any request may have a cookie");
    }
}

#[test]
fn a_request_that_is_not_whole_goes_to_the_relay_with_its_reason() {
    let site = Site::new(&config(2, "multi-handoff", ""));
    let long = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let cases: [(&[u8], Local); 9] = [
        (b"GET / HTTP/1.1\r\nHost: h\r\n", Local::SplitHead),
        (b"GET /a", Local::SplitHead),
        (b"\x16\x03\x01\x02\x00\x01", Local::NotHttp),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Local::NotHttp),
        (b"GET / HTTP/1.1\r\n\r\n", Local::BadRequest),
        (long.as_bytes(), Local::TooLong),
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /b", Local::Pipelined),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcG", Local::Pipelined),
        (
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
            Local::Pipelined,
        ),
    ];
    for (who, (payload, why)) in (0..).zip(cases) {
        let before = site.oneway.view().local[why.name()];
        let text = String::from_utf8_lossy(&payload[..payload.len().min(60)]).into_owned();
        assert_eq!(site.send(client(who), payload), (None, true), "{text}");
        assert_eq!(site.oneway.view().local[why.name()], before + 1, "{} of {text}", why.name());
    }
}

#[test]
fn requests_in_one_segment_go_to_one_server_where_a_connection_has_only_one() {
    let two = b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n";
    for (delivery, handed) in [("handoff", true), ("multi-handoff", false), ("forward", false)] {
        let site = Site::new(&config(2, delivery, ""));
        let (slot, asked) = site.send(client(1), two);
        assert_eq!((slot.is_some(), asked), (handed, true), "{delivery}");
    }
}

#[test]
fn a_body_that_is_not_whole_is_no_hindrance() {
    let live = Site::new(&config(1, "handoff", "")).shared.live.load_full();
    let post = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300\r\n\r\nabc";
    assert!(!read(post, &live, &mut |_| {}).unwrap().pipelined);
    let chunked = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nab";
    assert!(!read(chunked, &live, &mut |_| {}).unwrap().pipelined);
}

#[test]
fn whoever_has_the_connection_reads_on_what_is_no_request() {
    let site = Site::new(&config(2, "multi-handoff", ""));
    let (first, _) = site.send(client(1), &get("/a"));
    for payload in [&b"\x00\x01\x02"[..], b"GET /b HTTP/1.1\r\nHost: h\r\n\r\nGET /c"] {
        assert_eq!(site.send(client(1), payload), (first, true), "it stays");
    }
    assert_eq!(site.oneway.view().asked[Delivered::Stayed.name()], 2);
}

#[test]
fn a_connection_moves_with_its_requests_and_the_books_with_it() {
    let site = Site::new(&config(2, "multi-handoff", "[policy]\nname = \"wrr\"\n"));
    let (first, _) = site.send(client(1), &get("/a"));
    let (second, _) = site.send(client(1), &get("/b"));
    assert_ne!(first, second, "the rotation's next turn");
    assert_eq!(
        (site.load_of(0), site.load_of(1)),
        if first == Some(Slot(0)) { (0., 1.) } else { (1., 0.) }
    );
}

#[test]
fn without_a_server_that_is_up_the_relay_says_so() {
    let site = Site::new(&config(1, "handoff", ""));
    site.set_state(0, State::Down);
    assert_eq!(site.send(client(1), &get("/a")), (None, true));
    assert_eq!(site.oneway.view().local["no-server"], 1);
    site.set_state(0, State::Up);
    site.oneway.keeper().turn();
    assert_eq!(site.send(client(2), &get("/a")).0, Some(Slot(0)), "that is not repeated");
}

#[test]
fn what_the_policy_forgets_the_kernel_forgets_whatever_the_request_line() {
    let rule = "[[rule]]\npath_prefix = \"/\"\ntarget = \"path\"\n";
    let site = Site::new(&config(3, "handoff", rule));
    let lines = [get("/a"), get("/a?x=1"), get("/a?x=2")];
    for (who, line) in (0..).zip(&lines) {
        assert!(site.send(client(who), line).1, "each line is asked about once");
    }
    for (who, line) in (3..).zip(&lines) {
        assert!(!site.send(client(who), line).1, "and then they are one target");
    }
    let target = site.fake.state().memos.values().next().unwrap().target;
    site.oneway.bridge.forget(&[target]);
    assert!(site.fake.state().memos.is_empty());
    assert!(site.send(client(6), &lines[1]).1, "nothing is left of it");
    assert!(!site.send(client(7), &lines[2]).1, "until the policy promises again, for all lines");
}

#[test]
fn targets_are_bounded_and_the_oldest_go_with_their_memos() {
    let site = Site::new(&config(1, "handoff", "memos_max = 1024"));
    for who in 0..2_000 {
        site.send(client(who), &get(&format!("/{who}")));
        site.fake.close(client(who), VIP);
    }
    assert_eq!(site.oneway.view().targets, 1024);
    assert_eq!(site.fake.state().memos.len(), 1024);
    assert!(site.send(client(3_000), &get("/0")).1, "the oldest is asked about again");
    assert!(!site.send(client(3_001), &get("/1999")).1, "the latest is not");
}

#[test]
fn rules_that_change_take_their_answers_back() {
    let with = config(2, "handoff", "[[rule]]\npath = \"/a\"\ndelivery = \"relay\"\n");
    let site = Site::new(&with);
    assert_eq!(site.send(client(1), &get("/a")).0, None);
    assert_eq!(site.send(client(2), &get("/a")), (None, false));
    site.load(&config(2, "handoff", ""));
    assert!(site.send(client(3), &get("/a")).0.is_some(), "the rule is gone, and its memo");
}

#[test]
fn ring_and_counters_know_what_was_handed_over_and_what_was_repeated() {
    let site = Site::new(&config(2, "handoff", ""));
    site.send(client(1), &get("/a"));
    site.send(client(2), &get("/a"));
    let mut scribe = distributor::Scribe::new(&site.shared.journal);
    let (shared, bridge) = (&site.shared, &site.oneway.bridge);
    site.fake
        .told(std::time::Duration::ZERO, &mut |told| {
            crate::oneway::telling::write_down(shared, bridge, &told, &mut scribe);
        })
        .unwrap();
    let records = site.shared.journal.recent(10);
    let paths: Vec<_> = records.iter().map(|record| record.path.text().into_owned()).collect();
    assert_eq!(paths, ["", "/a"], "what the kernel repeats has its target only");
    assert_eq!(records[0].tally.target, records[1].tally.target);
    assert_eq!(records[0].server.text(), records[1].server.text());
    assert!(records.iter().all(|record| record.tally.delivered == Delivered::Handoff));
    let view = site.oneway.view();
    let by: BTreeMap<_, _> = view.servers.iter().map(|s| (s.server.as_str(), s.open)).collect();
    assert_eq!(by.values().sum::<u64>(), 2);
    assert_eq!((view.counted("handed_over"), view.asked["handoff"]), (2, 1));
}

#[test]
fn what_the_kernel_repeats_is_noted_with_the_way_it_went() {
    for (delivery, way) in [("multi-handoff", Delivered::Moved), ("forward", Delivered::Forward)] {
        let site = Site::new(&config(2, delivery, "[policy]\nname = \"round-robin\"\n"));
        for path in ["/a", "/b", "/a", "/b"] {
            site.send(client(1), &get(path));
        }
        let mut scribe = distributor::Scribe::new(&site.shared.journal);
        let (shared, bridge) = (&site.shared, &site.oneway.bridge);
        let mut note =
            |told| crate::oneway::telling::write_down(shared, bridge, &told, &mut scribe);
        site.fake.told(std::time::Duration::ZERO, &mut note).unwrap();
        let records = site.shared.journal.recent(10);
        let repeated = records.iter().filter(|record| record.path.text().is_empty());
        let ways: Vec<_> = repeated.map(|record| record.tally.delivered).collect();
        assert!(!ways.is_empty() && ways.iter().all(|one| *one == way), "{delivery}: {ways:?}");
    }
}

#[test]
fn many_spellings_of_a_target_do_not_keep_others_from_it() {
    let rule = "[[rule]]\npath_prefix = \"/\"\ntarget = \"path\"\n";
    let site = Site::new(&config(1, "handoff", &format!("memos_max = 1024\n{rule}")));
    let mut who = 0..;
    let mut asked = |path: &str| {
        let who = client(who.next().unwrap());
        let (_, asked) = site.send(who, &get(path));
        site.fake.close(who, VIP);
        asked
    };
    let memos = || site.fake.state().memos.len();
    (0..200).for_each(|spelling| assert!(asked(&format!("/a?{spelling}"))));
    assert!(asked("/a"));
    assert!(!asked("/a"), "it is known at once, whoever was there before");
    assert!(asked("/a?0"), "what was there first had to go");
    assert_eq!(memos(), 64);
    for target in 0..40 {
        (0..64).for_each(|spelling| assert!(asked(&format!("/{target}?{spelling}"))));
        assert!(memos() <= 1024, "all together are bounded too");
    }
    assert!(!asked("/39?63") && asked("/a"), "the oldest went");
}

#[test]
fn a_request_line_that_names_something_else_by_new_rules_is_asked_about() {
    let rule = "[[rule]]\npath = \"/a\"\ntarget = \"path\"\n";
    let before = config(3, "handoff", rule);
    let rule = format!("[[rule]]\nquery = \"1\"\ntarget = \"path+query\"\n{rule}");
    let after = config(3, "handoff", &rule);
    let site = Site::new(&before);
    for (who, path) in [(1, "/a"), (2, "/a?1")] {
        assert!(site.send(client(who), &get(path)).1);
    }
    site.load(&after);
    assert!(site.send(client(3), &get("/a")).1, "its target is promised anew");
    assert!(site.send(client(4), &get("/a?1")).1, "which this is no more");
}

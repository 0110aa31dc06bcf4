//! Method: reports one after the other.

use super::*;
use crate::oneway::doubt::tests::{but, terms, vip, well};
use agent::Fault;

const ID: ServerId = ServerId(1);

fn other_vip() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 101], 80))
}

fn other_key() -> LoadReport {
    but(|one| one.key_check.clear())
}

fn no_program() -> LoadReport {
    LoadReport { takes_over: None, ..well() }
}

fn identity() -> Identity {
    Identity { name: "a".to_owned(), address: vip(), agent: Some("h:1".to_owned()) }
}

/// Of one server, that is not heard of yet.
fn trust() -> Trust {
    let mut trust = Trust::default();
    trust.expect(&[vip()]);
    trust.place(ID, identity());
    trust
}

/// Of one that is confirmed.
fn confirmed() -> Trust {
    let mut trust = trust();
    assert_eq!(trust.heard(ID, &terms(), &well()).unwrap().to, Standing::Confirmed);
    trust
}

fn hear(trust: &mut Trust, report: &LoadReport) -> Option<String> {
    trust.heard(ID, &terms(), report).map(|turn| match turn.to {
        Standing::Doubted(doubt) => doubt.name().to_owned(),
        other => other.name().to_owned(),
    })
}

#[test]
fn a_server_is_confirmed_by_its_agent_and_may_lose_it() {
    let mut trust = Trust::default();
    trust.expect(&[vip()]);
    assert!(trust.takes(ID, vip()) && trust.all_take(), "of nobody nothing is held against him");
    trust.place(ID, identity());
    assert!(!trust.takes(ID, vip()) && !trust.all_take());
    let turn = trust.silent(ID, "refused").unwrap();
    assert_eq!((turn.was(), turn.to.name()), (None, "doubted"));
    assert_eq!(trust.silent(ID, "timed out"), None, "it is said once");
    let turn = trust.heard(ID, &terms(), &well()).unwrap();
    assert_eq!((turn.server.as_str(), turn.to.name()), ("a", "confirmed"));
    assert!(!turn.ends_hand_overs());
    assert_eq!(hear(&mut trust, &well()), None);
    assert_eq!(trust.silent(ID, "gone"), None, "its program is pinned");
    trust.place(ID, identity());
    assert!(trust.takes(ID, vip()) && trust.all_take(), "a reload changes nothing");
    let turn = trust.heard(ID, &terms(), &other_key()).unwrap();
    assert!(turn.ends_hand_overs() && trust.is_deaf(ID) && !trust.takes(ID, vip()));
    let turn = trust.heard(ID, &terms(), &but(|one| one.port = 9)).unwrap();
    assert!(!turn.ends_hand_overs());
    assert_eq!(hear(&mut trust, &no_program()), None, "what is pinned is as deaf as it was");
    assert_eq!(hear(&mut trust, &well()).unwrap(), "confirmed");
    trust.place(ID, Identity { address: other_vip(), ..identity() });
    assert!(!trust.takes(ID, vip()), "another host has to say so itself");
    assert_eq!(hear(&mut trust, &no_program()).unwrap(), "no-program");
}

#[test]
fn a_server_without_an_agent_is_believed_as_ever() {
    let mut trust = Trust::default();
    trust.expect(&[vip()]);
    trust.place(ID, Identity { agent: None, ..identity() });
    trust.is_down(ID);
    assert!(trust.takes(ID, vip()) && trust.all_take());
    assert_eq!(hear(&mut trust, &other_key()), None);
    assert_eq!(trust.standing(ID), Some(&Standing::Unchecked));
}

#[test]
fn connections_are_given_up_only_when_report_after_report_says_that_letters_are_lost() {
    let mut trust = confirmed();
    for _ in 1..LOST_AFTER {
        hear(&mut trust, &other_key());
        assert!(trust.is_deaf(ID) && !trust.is_lost(ID), "the front-end may be next");
    }
    hear(&mut trust, &other_key());
    assert!(trust.is_lost(ID));
    hear(&mut trust, &well());
    hear(&mut trust, &other_key());
    assert!(!trust.is_lost(ID), "it is counted anew");
}

#[test]
fn who_was_down_since_its_agent_answered_gets_nothing_until_it_answers_again() {
    let mut trust = confirmed();
    trust.is_down(ID);
    assert!(!trust.takes(ID, vip()) && !trust.all_take() && !trust.is_content(ID));
    assert_eq!(hear(&mut trust, &well()), None);
    assert!(trust.takes(ID, vip()) && trust.all_take(), "it was the Web server alone");
    trust.is_down(ID);
    let turn = trust.silent(ID, "no agent listens there").unwrap();
    assert_eq!((turn.from.name(), turn.to.name()), ("confirmed", "doubted"));
    assert!(turn.ends_hand_overs() && !trust.takes(ID, vip()));
    assert_eq!(hear(&mut trust, &well()).unwrap(), "confirmed");
}

#[test]
fn an_agent_without_a_program_is_believed_the_second_time_or_after_its_host_began_anew() {
    let mut trust = confirmed();
    assert_eq!(hear(&mut trust, &no_program()), None);
    assert!(trust.takes(ID, vip()) && !trust.is_content(ID), "it is asked again soon");
    assert_eq!(hear(&mut trust, &no_program()).unwrap(), "no-program");
    let at = |uptime_s, report| LoadReport { uptime_s: Some(uptime_s), ..report };
    let mut trust = confirmed();
    assert_eq!(hear(&mut trust, &at(1000.0, well())), None);
    assert_eq!(hear(&mut trust, &at(20.0, no_program())).unwrap(), "no-program");
}

#[test]
fn what_comes_and_goes_stops_nothing_before_it_has_come_three_times_in_a_row() {
    let fault = |evidence: &str| {
        let fault = Fault { stops: true, evidence: evidence.to_owned(), ..Fault::default() };
        LoadReport { faults: vec![fault], ..well() }
    };
    let mut trust = confirmed();
    for _ in 0..10 {
        assert_eq!(hear(&mut trust, &fault("once")), None);
        assert_eq!(hear(&mut trust, &fault("twice")), None);
        assert_eq!(hear(&mut trust, &well()), None);
    }
    assert!(trust.takes(ID, vip()));
    let said = ["1", "2", "3", "4"].map(|evidence| hear(&mut trust, &fault(evidence)));
    let wanted = [None, None, Some("fault".to_owned()), None];
    assert_eq!(said, wanted, "other words are no other trouble");
    let Some(Standing::Doubted(Doubt::Fault(kept))) = trust.standing(ID) else { panic!() };
    assert_eq!(kept.evidence, "4", "but they are what is shown");
    let mut fresh = self::trust();
    assert_eq!(hear(&mut fresh, &fault("1")).unwrap(), "fault", "it was never believed");
}

#[test]
fn an_address_that_it_does_not_take_over_is_kept_from_it_and_no_other() {
    let mut trust = confirmed();
    assert!(trust.expect(&[vip(), other_vip()]), "what is repeated has to be taken back");
    assert!(!trust.expect(&[vip(), other_vip()]));
    assert!(trust.takes(ID, vip()) && !trust.takes(ID, other_vip()));
    assert!(!trust.all_take() && !trust.takes_all(ID));
    assert_eq!(hear(&mut trust, &well()).unwrap(), "other-address");
    assert!(trust.takes(ID, vip()) && !trust.takes(ID, other_vip()));
    let both = but(|one| one.vips = vec![vip(), other_vip()]);
    assert_eq!(hear(&mut trust, &both).unwrap(), "confirmed");
    assert!(trust.all_take() && trust.takes_all(ID));
    assert_eq!(hear(&mut trust, &well()).unwrap(), "other-address");
    assert!(!trust.expect(&[vip()]) && trust.all_take(), "nobody needs it any more");
}

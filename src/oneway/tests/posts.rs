//! Promise: a program that is missing is put back, and what happened is said once.

use super::site::{Site, config};
use std::sync::{Arc, Mutex};

#[test]
fn a_program_that_is_missing_is_put_back_as_soon_as_it_can_be_and_each_step_is_said_once() {
    let site = Site::new(&config(1, "handoff", ""));
    let events = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&events);
    site.oneway.tell(Box::new(move |event| kept.lock().unwrap().push(event.line())));
    let look = || {
        site.oneway.keeper().look();
        (std::mem::take(&mut *events.lock().unwrap()), site.oneway.view().interfaces.remove(0))
    };
    let (said, view) = look();
    assert_eq!((said.len(), view.attached, view.sentence()), (0, true, None));

    site.fake.state().missing = true;
    let (said, view) = look();
    let [off, on] = &said[..] else { panic!("{said:?}") };
    assert!(off.starts_with("interface eth0: attached -> detached: the front-end's "), "{off}");
    assert!(on.starts_with("interface eth0: detached -> attached: the front-end's "), "{on}");
    assert_eq!((view.attached, view.restored), (true, 1));

    (site.fake.state().missing, site.fake.state().taken) = (true, Some("an agent has it"));
    let (said, view) = look();
    let [off, why] = &said[..] else { panic!("{said:?}") };
    assert!(off.contains("attached -> detached"), "{off}");
    assert_eq!(why, "interface eth0: detached: it cannot be attached again: an agent has it");
    assert_eq!((view.attached, view.restored), (false, 1));
    assert!(view.sentence().is_some_and(|one| one.ends_with(": an agent has it")), "{view:?}");
    assert_eq!(look().0, [""; 0], "it is said once");

    site.fake.state().taken = None;
    let (said, view) = look();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!((view.attached, view.fault, view.restored), (true, None, 2));
}

#[test]
fn rows_are_written_anew_for_a_while_since_routes_come_later_than_interfaces() {
    let site = Site::new(&config(1, "handoff", ""));
    let written = || {
        // What was written by a route of before.
        site.fake.state().rows.clear();
        site.oneway.keeper().look();
        !site.fake.state().rows.is_empty()
    };
    assert!(!written(), "nothing has changed");
    site.fake.state().missing = true;
    assert_eq!((0..60).filter(|_| written()).count(), 60);
    assert!(!written(), "a minute later routes are there");
}

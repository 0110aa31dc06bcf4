//! The servers that are looked after and all that is known of each, by name. Pure but for the
//! time of day in what is shown: time is an argument.

use super::{Check, ServerSpec};
use crate::ejection::{Ejection, Feed};
use crate::events::{Event, unix_ms_now};
use crate::health::{Health, Turn};
use crate::probe::Fault;
use crate::slow_start;
use crate::view::{CheckView, ServerState, Standing};
use policy::{Instant, State, WARM};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The servers that are looked after.
#[derive(Default)]
pub(super) struct Roster {
    watches: BTreeMap<String, Watch>,
    /// Whether servers were ever given: who joins later starts slowly.
    running: bool,
    /// Number of the next watch: a probe's result finds the watch it was made for, not another of
    /// the same name.
    serial: u64,
}

/// All that is known of one server.
pub(super) struct Watch {
    pub(super) spec: ServerSpec,
    pub(super) feed: Feed,
    pub(super) standing: Standing,
    pub(super) serial: u64,
    /// When its next probe is due; `None` while one is under way.
    pub(super) probe_at: Option<Instant>,
    /// Whether any probe of it has ended.
    pub(super) probed: bool,
    health: Health,
    ejection: Ejection,
    eject_why: String,
    drained: bool,
    /// Whether the switch has been told of its state.
    told: Option<State>,
    warm_since: Option<Instant>,
    warmth_told: u16,
}

/// A change of state, to be told.
pub(super) struct Change {
    pub(super) server: String,
    pub(super) state: State,
    pub(super) event: Event,
}

impl Roster {
    pub(super) fn apply(&mut self, specs: Vec<ServerSpec>, now: Instant, wake: &Arc<Notify>) {
        let mut before = std::mem::take(&mut self.watches);
        for spec in specs {
            self.serial += 1;
            let watch = match before.remove(&spec.name) {
                Some(watch) => watch.renewed(spec, self.serial, now),
                None => Watch::new(spec, self.serial, self.running, now, wake),
            };
            self.watches.insert(watch.spec.name.clone(), watch);
        }
        self.running = true;
    }

    pub(super) fn get(&self, server: &str) -> Option<&Watch> {
        self.watches.get(server)
    }

    pub(super) fn watches(&self) -> impl Iterator<Item = &Watch> {
        self.watches.values()
    }

    pub(super) fn watches_mut(&mut self) -> impl Iterator<Item = &mut Watch> {
        self.watches.values_mut()
    }

    /// Returns whether it was draining before; `None` when there is no such server.
    pub(super) fn drain(&mut self, server: &str, drain: bool) -> Option<bool> {
        let watch = self.watches.get_mut(server)?;
        Some(std::mem::replace(&mut watch.drained, drain))
    }

    /// Takes note of a probe's result; nothing if its server has left since.
    pub(super) fn probed(
        &mut self,
        server: &str,
        serial: u64,
        found: &Result<String, Fault>,
        took: Duration,
        now: Instant,
        again_at: Instant,
    ) {
        let Some(watch) = self.watches.get_mut(server).filter(|watch| watch.serial == serial)
        else {
            return;
        };
        let Some(Check { rule, .. }) = watch.spec.check else { return };
        let message = match found {
            Ok(message) => message.clone(),
            Err(fault) => fault.to_string(),
        };
        let verdict = if found.is_ok() { Ok(message.as_str()) } else { Err(message.as_str()) };
        if watch.health.observe(verdict, rule, now) == Some(Turn::Up) {
            watch.feed.reset();
        }
        watch.standing.check = Some(CheckView {
            at_unix_ms: unix_ms_now(),
            passed: found.is_ok(),
            message,
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        });
        watch.probed = true;
        watch.probe_at = Some(again_at);
    }

    /// Ends ejections whose time is over and begins those that are due.
    pub(super) fn eject(&mut self, now: Instant) {
        for watch in self.watches.values_mut() {
            if watch.ejection.returns(now) {
                watch.feed.reset();
            }
        }
        let count = |state| self.watches().filter(|watch| watch.state() == state).count();
        let mut ejected = count(State::Ejected);
        let servers = count(State::Up) + ejected;
        for watch in self.watches.values_mut().filter(|watch| watch.state() == State::Up) {
            let Some(failures) = watch.feed.due() else { continue };
            if watch.spec.ejection.allows(ejected, servers) {
                let span = watch.ejection.eject(&watch.spec.ejection, now);
                watch.eject_why =
                    format!("{failures} requests in a row failed; left alone for {span:?}");
                ejected += 1;
            }
        }
    }

    /// The changes of state since the last call, in the order of names.
    pub(super) fn changes(&mut self, now: Instant) -> Vec<Change> {
        self.watches.values_mut().filter_map(|watch| watch.change(now)).collect()
    }

    /// The state and warmth of every server, as last told.
    pub(super) fn told(&self) -> impl Iterator<Item = (&str, State, u16)> {
        let told = |watch: &Watch| Some((watch.told?, watch.warmth_told));
        self.watches.iter().filter_map(move |(name, watch)| {
            told(watch).map(|(state, warmth)| (name.as_str(), state, warmth))
        })
    }

    /// The changes of warmth since the last call.
    pub(super) fn warmths(&mut self, now: Instant) -> Vec<(String, u16)> {
        let step = |watch: &mut Watch| {
            let warmth = watch.warmth(now);
            (std::mem::replace(&mut watch.warmth_told, warmth) != warmth)
                .then(|| (watch.spec.name.clone(), warmth))
        };
        self.watches.values_mut().filter_map(step).collect()
    }
}

impl Watch {
    fn new(spec: ServerSpec, serial: u64, late: bool, now: Instant, wake: &Arc<Notify>) -> Self {
        Self {
            feed: Feed::new(spec.ejection.failures, wake.clone()),
            standing: Standing {
                state: ServerState::Up,
                why: "not checked yet".to_owned(),
                since_unix_ms: unix_ms_now(),
                check: None,
            },
            serial,
            probe_at: spec.check.is_some().then_some(now),
            probed: false,
            health: Health::unknown(now),
            ejection: Ejection::default(),
            eject_why: String::new(),
            drained: false,
            told: None,
            warm_since: late.then_some(now),
            warmth_told: WARM,
            spec,
        }
    }

    /// The same server under a new specification. Another address or check makes what the old
    /// one found worthless: its health is unknown again.
    fn renewed(mut self, spec: ServerSpec, serial: u64, now: Instant) -> Self {
        if spec.address != self.spec.address || spec.check != self.spec.check {
            self.health = Health::unknown(now);
            self.standing.check = None;
            self.probe_at = spec.check.is_some().then_some(now);
            self.probed = false;
            self.serial = serial;
        }
        self.feed.set_failures_max(spec.ejection.failures);
        Self { spec, ..self }
    }

    fn state(&self) -> State {
        if self.drained {
            State::Draining
        } else if !self.health.passing() {
            State::Down
        } else if self.ejection.until().is_some() {
            State::Ejected
        } else {
            State::Up
        }
    }

    fn why(&self) -> &str {
        match self.state() {
            State::Draining => "the operator drains it",
            State::Ejected => &self.eject_why,
            State::Up if self.told == Some(State::Ejected) => "its time out is over",
            State::Up if self.told == Some(State::Draining) => "the operator ended the drain",
            State::Up if self.spec.check.is_none() => "it is not checked",
            State::Up | State::Down | State::Left => self.health.why(),
        }
    }

    fn change(&mut self, now: Instant) -> Option<Change> {
        let state = self.state();
        let before = self.told;
        if before == Some(state) {
            // The first check of a server that was trusted changes the reason alone, and so does
            // a server that is down for another reason than before.
            let first = state == State::Up && self.standing.why == "not checked yet";
            if self.probed && (first || state == State::Down) {
                self.health.why().clone_into(&mut self.standing.why);
            }
            return None;
        }
        let why = self.why().to_owned();
        self.told = Some(state);
        if state == State::Up && matches!(before, Some(State::Down | State::Ejected)) {
            self.warm_since = Some(now);
        }
        let since_unix_ms = unix_ms_now();
        self.standing.state = state.into();
        self.standing.since_unix_ms = since_unix_ms;
        self.standing.why.clone_from(&why);
        let name = |state: State| ServerState::from(state).name().to_owned();
        let event = Event {
            subject: format!("server {}", self.spec.name),
            from: before.map(name),
            to: Some(name(state)),
            message: why,
            ..Event::default()
        };
        Some(Change { server: self.spec.name.clone(), state, event })
    }

    fn warmth(&mut self, now: Instant) -> u16 {
        let Some(since) = self.warm_since else { return WARM };
        let warmth = slow_start::warmth(now.since(since), self.spec.slow_start);
        if warmth == WARM {
            self.warm_since = None;
        }
        warmth
    }
}

//! THE PROOF that a kernel which repeats answers is no second policy: random traffic goes through a
//! desk with a kernel and, request by request, past it to a policy object that is asked for
//! everything. Every answer must be the same.
//!
//! The driver does not know what kind of kernel it drives: [`Plane`] is the seam. [`model`] is a
//! kernel in Rust, against which the desk's half is tested; the programs of the real one are driven
//! in the same way. Connections open, ask again and close in waves that pass the policies'
//! thresholds; others are relayed; servers join, leave, fail, and change their weights; another
//! policy takes over.

pub mod model;
mod reference;

use super::kernel::Decided;
use super::{Answer, Ask};
use policy::{
    Class, Dice, Edit, Instant, Outcome, Policy, Request, ServerId, Spec, State, TargetId, Ticket,
    WARM,
};
use reference::Reference;
use std::time::Duration;

/// A kernel under test, with the hands that feed it.
pub trait Plane {
    /// The time, by the clock that requests carry.
    fn now(&self) -> Instant;

    /// Lets time pass.
    fn wait(&mut self, span: Duration);

    /// Delivers a request, whose time is [`Plane::now`]. The connection opens if it is new, and
    /// moves if it is with another server than the answer's. `None`: no server may be chosen.
    fn deliver(&mut self, connection: u64, request: &Request) -> Option<Delivered>;

    /// Closes a connection.
    fn close(&mut self, connection: u64);

    /// The servers have changed.
    fn changed(&mut self) {}
}

/// What became of a request.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Who has it.
    pub server: ServerId,
    /// What the desk said; `None` if the kernel knew by itself.
    pub decided: Option<Decided>,
}

/// What is played.
pub struct Script<'a> {
    /// Makes the policy: the desk must have one like it, and a cluster without servers and panic.
    pub policy: &'a dyn Fn() -> Box<dyn Policy>,
    /// Of the traffic, and of the desk's dice.
    pub seed: u64,
    /// Things that happen.
    pub steps: u32,
    /// Targets that are asked for.
    pub targets: usize,
    /// Whether the policy asked directly notes repeated answers too: always, but where its table is
    /// so small that it forgets targets. Who repeats does not touch the table, so the other forgets
    /// other ones, and both are right. It still is asked, and must say the same.
    pub notes_repeats: bool,
    /// One in so many steps is a change of the servers or the policy; zero: none is.
    pub change_every: usize,
}

/// What was played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Requests that were delivered one way.
    pub delivered: u64,
    /// Of these, how many the kernel answered by itself.
    pub repeated: u64,
    /// Requests that were relayed.
    pub relayed: u64,
    /// Connections that moved.
    pub moved: u64,
}

/// Plays a script.
///
/// # Errors
/// The first disagreement, in words.
pub fn play(script: &Script<'_>, ask: &Ask, plane: &mut dyn Plane) -> Result<Tally, String> {
    let mut stage = Stage {
        script,
        ask,
        reference: Reference::new((script.policy)(), script.seed),
        plane,
        dice: Dice::new(script.seed),
        open: Vec::new(),
        relays: Vec::new(),
        next: 0,
        rising: true,
        favourite: ServerId(0),
        tally: Tally::default(),
    };
    (0..SERVERS).try_for_each(|_| stage.apply(&stage_join(1)))?;
    for step in 0..script.steps {
        stage.step().map_err(|why| format!("step {step}: {why}"))?;
    }
    stage.end()?;
    Ok(stage.tally)
}

/// Servers at the beginning, and at most.
const SERVERS: usize = 4;
const SERVERS_MAX: usize = 7;

/// Open connections at which a wave turns: beyond twice the papers' `T_high` on each server.
const OPEN_MAX: usize = 500;

/// A change of the servers.
enum Act {
    Join(Spec),
    Leave(ServerId),
    State(ServerId, State),
    Share(ServerId, u32, u16),
}

fn stage_join(weight: u32) -> Act {
    Act::Join(Spec { name: format!("of weight {weight}").into(), weight, capacity: None })
}

struct Stage<'a> {
    script: &'a Script<'a>,
    ask: &'a Ask,
    reference: Reference,
    plane: &'a mut dyn Plane,
    dice: Dice,
    open: Vec<(u64, ServerId)>,
    relays: Vec<Ticket>,
    /// Number of the next connection.
    next: u64,
    /// Whether more is opened than closed.
    rising: bool,
    /// Whose connections are closed first: so that loads differ.
    favourite: ServerId,
    tally: Tally,
}

impl Stage<'_> {
    fn step(&mut self) -> Result<(), String> {
        if self.open.len() >= OPEN_MAX || self.open.is_empty() {
            self.rising = self.open.is_empty();
            self.favourite = self.server();
        }
        let opens = if self.rising { 50 } else { 15 };
        if self.script.change_every > 0 && self.dice.below(self.script.change_every) == 0 {
            return self.change();
        }
        let any = self.any_open();
        match self.dice.below(100) {
            draw if draw < opens => self.deliver(None),
            draw if draw < 65 => self.close(),
            65..80 if any.is_some() => self.deliver(any),
            80..87 => self.relay(),
            87..94 => self.relay_end(),
            94 => self.explain(),
            95 if self.dice.below(20) == 0 => self.wait(Duration::from_secs(7)),
            _ => self.wait(Duration::from_millis(3)),
        }
    }

    fn any_open(&mut self) -> Option<usize> {
        (!self.open.is_empty()).then(|| self.dice.below(self.open.len()))
    }

    fn server(&mut self) -> ServerId {
        let ids: Vec<_> = self.reference.cluster.servers().map(|server| server.id).collect();
        if ids.is_empty() { ServerId(0) } else { ids[self.dice.below(ids.len())] }
    }

    /// Few targets are hot, and each is always of the same class.
    fn request(&mut self, holder: Option<ServerId>) -> Request {
        let rank = (self.dice.unit() * self.dice.unit() * self.script.targets as f64) as u64;
        let class = Class((rank % 5) as u8);
        Request { at: self.plane.now(), target: TargetId(rank), class, holder }
    }

    /// Delivers a request, by a new connection or by one that is open.
    fn deliver(&mut self, which: Option<usize>) -> Result<(), String> {
        let place = which.unwrap_or(self.open.len());
        let before = self.open.get(place).copied();
        let (connection, holder) = before.map_or((self.next, None), |(id, at)| (id, Some(at)));
        let request = self.request(holder);
        let delivered = self.plane.deliver(connection, &request);
        let expected = self.reference.decide(&request);
        let repeats = delivered.is_some_and(|delivered| delivered.decided.is_none());
        if let Some(expected) = expected.filter(|_| !repeats || self.script.notes_repeats) {
            self.reference.commit(&request, &expected);
        }
        let (Some(given), Some(expected)) = (delivered, expected) else {
            return agree("whether there is a server", delivered.is_some(), expected.is_some());
        };
        let by = if repeats { "who repeats" } else { "who was asked" };
        agree(&format!("{by}, for {request:?}"), given.server, expected.server)?;
        if let Some(decided) = given.decided {
            agree("the desk", decided.assignment.why, expected.why)?;
        }
        self.tally.delivered += 1;
        self.tally.repeated += u64::from(repeats);
        if holder == Some(given.server) {
            return Ok(());
        }
        self.reference.opened(given.server, request.at);
        if let Some(holder) = holder {
            self.reference.closed(holder, request.at);
            self.open[place].1 = given.server;
            self.tally.moved += 1;
        } else {
            self.open.push((connection, given.server));
            self.next += 1;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let favourite = self.open.iter().position(|(_, server)| *server == self.favourite);
        if let Some(at) = favourite.or_else(|| self.any_open()) {
            let (connection, server) = self.open.swap_remove(at);
            self.plane.close(connection);
            self.reference.closed(server, self.plane.now());
        }
        Ok(())
    }

    fn relay(&mut self) -> Result<(), String> {
        let request = self.request(None);
        let failed = (self.dice.below(10) == 0).then(|| self.server());
        let avoid = failed.as_slice();
        let expected = self.reference.decide(&request);
        if let Some(answer) = &expected {
            self.reference.commit(&request, answer);
        }
        let expected = expected.and_then(|answer| self.reference.past(answer.server, avoid));
        match self.ask.assign(&request, avoid) {
            Answer::Go(assigned) => {
                agree("a relay", Some(assigned.ticket.server), expected)?;
                self.reference.opened(assigned.ticket.server, request.at);
                self.relays.push(assigned.ticket);
                self.tally.relayed += 1;
                Ok(())
            }
            _ => agree("a relay", None, expected),
        }
    }

    fn relay_end(&mut self) -> Result<(), String> {
        if !self.relays.is_empty() {
            let ticket = self.relays.swap_remove(self.dice.below(self.relays.len()));
            let outcome = Outcome { at: self.plane.now(), ok: true, first_byte: None };
            self.reference.finish(&ticket, outcome);
            self.ask.finish(ticket, outcome);
        }
        Ok(())
    }

    /// Asks without answering: books and policy must be where the other's are.
    fn explain(&mut self) -> Result<(), String> {
        let request = self.request(None);
        let answer = self.ask.books().desk().explain(&request).answer;
        let expected = self.reference.explain(&request);
        agree("an explanation", answer.map(|a| a.server), expected.map(|a| a.server))
    }

    fn wait(&mut self, span: Duration) -> Result<(), String> {
        self.plane.wait(span);
        Ok(())
    }

    fn change(&mut self) -> Result<(), String> {
        let (id, weight) = (self.server(), 1 + self.dice.below(4) as u32);
        let states = [State::Up, State::Down, State::Ejected, State::Draining];
        let (state, warmth) = (states[self.dice.below(4)], WARM >> self.dice.below(3));
        let few = self.reference.cluster.servers().count() < SERVERS_MAX;
        match self.dice.below(12) {
            0..2 if few => self.apply(&stage_join(weight)),
            2 => self.apply(&Act::Leave(id)),
            3..5 => self.apply(&Act::State(id, state)),
            5..9 => self.apply(&Act::State(id, State::Up)),
            9 => self.apply(&Act::Share(id, weight, WARM)),
            10 => self.apply(&Act::Share(id, 1, warmth)),
            _ => {
                self.ask.change_with(Some((self.script.policy)()), |_| (), |_, ()| ());
                self.reference.replace((self.script.policy)());
                self.plane.changed();
                Ok(())
            }
        }
    }

    fn apply(&mut self, act: &Act) -> Result<(), String> {
        let now = self.plane.now();
        let slot = self.ask.change(|edit| edited(edit, act, now));
        let expected = self.reference.apply(act, now);
        self.plane.changed();
        agree("the slot", slot, expected)
    }

    /// Closes and ends all; then the books must be as if nothing had happened.
    fn end(&mut self) -> Result<(), String> {
        while !self.open.is_empty() {
            self.close()?;
        }
        while !self.relays.is_empty() {
            self.relay_end()?;
        }
        let (books, expected) = (self.ask.books(), &self.reference.cluster);
        let cluster = books.desk().cluster();
        agree("what is left", cluster.total(), policy::Load::ZERO)?;
        let counts = |cluster: &policy::Cluster| -> Vec<_> {
            cluster.servers().map(|server| (server.id, server.load, server.begun)).collect()
        };
        agree("the books", counts(cluster), counts(expected))
    }
}

fn edited(edit: &mut Edit<'_>, act: &Act, now: Instant) -> Option<ServerId> {
    match act {
        Act::Join(spec) => return edit.join(spec.clone(), State::Up, now),
        Act::Leave(id) => edit.leave(*id),
        Act::State(id, state) => edit.set_state(*id, *state),
        Act::Share(id, weight, warmth) => edit.set_share(*id, *weight, *warmth),
    }
    None
}

/// The same on both ways, or a sentence.
fn agree<T: PartialEq + core::fmt::Debug>(what: &str, one: T, other: T) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    Err(format!("{what}: {one:?} with the kernel, {other:?} by the policy asked directly"))
}

#[cfg(test)]
mod tests;

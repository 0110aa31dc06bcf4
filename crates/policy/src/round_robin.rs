//! Round robin: every server in turn, whatever its weight.
//!
//! The baseline "RR" of Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web
//! Clusters Providing Multiple Services*, WWW10 2001. Weights are `wrr`'s business; slow start is
//! respected here too, for a server that warms up is not yet a server like the others.

use crate::rotation::{Roster, Rotation};
use crate::{
    Assignment, Change, Class, Cluster, Dice, Entry, Instant, Policy, Request, Wheel, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "round-robin",
    aliases: &["rr"],
    about: "every server in turn, whatever its weight",
    paper: "RR in Casalicchio, Colajanni, WWW10 2001",
    params: &[],
    build: |_| Box::new(RoundRobin::default()),
};

#[derive(Default)]
struct RoundRobin {
    roster: Roster,
    rotation: Rotation,
}

impl Policy for RoundRobin {
    fn decide(&self, _: &Request, _: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(self.rotation.next(&self.roster)?, Why::Rotation))
    }

    fn commit(&mut self, _: &Request, answer: &Assignment, _: &Cluster) {
        self.rotation.take(answer.server, &self.roster);
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        let roster = Roster::of(cluster, |server| u64::from(server.warmth));
        self.rotation.adapt(&self.roster, &roster);
        self.roster = roster;
    }

    fn wheel(&self, _: Class, _: &Cluster) -> Option<Wheel> {
        let cycle = self.rotation.cycle(&self.roster)?;
        Some(Wheel { number: 0, cycle, until: Instant::NEVER })
    }

    fn turned(&mut self, _: Class, turns: u64, _: &Cluster) {
        self.rotation.turned(turns, &self.roster);
    }
}

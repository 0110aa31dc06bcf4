//! Weighted round robin: turns in proportion to the configured weights.
//!
//! The content-blind baseline of every paper here (Pai et al., ASPLOS 1998, onwards). Those weigh
//! by load as well; see `wrr-num` and `wrr-time` for weights that follow measurements. The turns
//! are spread smoothly, as nginx does since 1.3.1, and slow start scales the weight.

use crate::rotation::{Roster, Rotation};
use crate::{
    Assignment, Change, Class, Cluster, Dice, Entry, Instant, Policy, Request, Server, Wheel, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "wrr",
    aliases: &["weighted-round-robin"],
    about: "turns in proportion to the configured weights, spread smoothly",
    paper: "WRR in Pai et al., ASPLOS 1998; smooth turns from nginx 1.3.1 (2012)",
    params: &[],
    build: |_| Box::new(Wrr::default()),
};

#[derive(Default)]
struct Wrr {
    roster: Roster,
    rotation: Rotation,
}

impl Policy for Wrr {
    fn decide(&self, _: &Request, _: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(self.rotation.next(&self.roster)?, Why::Rotation))
    }

    fn commit(&mut self, _: &Request, answer: &Assignment, _: &Cluster) {
        self.rotation.take(answer.server, &self.roster);
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        let roster = Roster::of(cluster, Server::share);
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

//! Random: a server drawn by lot, in proportion to shares.
//!
//! The baseline "RAN" of Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web
//! Clusters Providing Multiple Services*, WWW10 2001. The paper's servers are alike, so there the
//! draw is even; here weights and slow start count.

use crate::rotation::Roster;
use crate::{Assignment, Change, Cluster, Dice, Entry, Policy, Request, Server, Why};

pub(crate) const ENTRY: Entry = Entry {
    name: "random",
    aliases: &["ran"],
    about: "a server drawn by lot, in proportion to weights",
    paper: "RAN in Casalicchio, Colajanni, WWW10 2001",
    params: &[],
    build: |_| Box::new(Random::default()),
};

#[derive(Default)]
struct Random {
    roster: Roster,
}

impl Policy for Random {
    fn decide(&self, _: &Request, _: &Cluster, dice: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(self.roster.drawn(dice)?, Why::Random))
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        self.roster = Roster::of(cluster, Server::share);
    }
}

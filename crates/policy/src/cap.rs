//! CAP: one circular list of servers for each class, so that every server gets an equal share of
//! *each* class and none of its components (network, CPU, disk) more than its share of work.
//!
//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10 2001. The lists do not depend on any state of the servers. Where they
//! begin is not in the paper: here each begins at another server, for if all began at the first,
//! the first request of every class would go there. Weights and slow start scale the turns.

use crate::rotation::{Roster, Rotation};
use crate::{
    Assignment, Change, Class, Cluster, Dice, Entry, Instant, Policy, Request, Server, ServerId,
    Wheel, Why,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "cap",
    aliases: &["client-aware"],
    about: "a rotation for each class: every server gets an equal share of each class",
    paper: "Casalicchio, Colajanni, WWW10 2001",
    params: &[],
    build: |_| Box::new(Cap::default()),
};

#[derive(Default)]
struct Cap {
    lists: Lists,
}

impl Policy for Cap {
    fn decide(&self, request: &Request, _: &Cluster, _: &mut Dice) -> Option<Assignment> {
        Some(Assignment::new(self.lists.next(request.class)?, Why::Rotation))
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, _: &Cluster) {
        self.lists.take(request.class, answer);
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        self.lists.adapt(Roster::of(cluster, Server::share));
    }

    fn wheel(&self, class: Class, _: &Cluster) -> Option<Wheel> {
        let cycle = self.lists.turns[place(class)].cycle(&self.lists.roster)?;
        Some(Wheel { number: place(class) as u8, cycle, until: Instant::NEVER })
    }

    fn turned(&mut self, class: Class, turns: u64, _: &Cluster) {
        self.lists.turns[place(class)].turned(turns, &self.lists.roster);
    }
}

/// The circular lists: the same servers in each, a turn of its own for each class.
pub(crate) struct Lists {
    roster: Roster,
    /// By class, [`Class::COUNT_MAX`] of them.
    turns: Vec<Rotation>,
}

impl Default for Lists {
    fn default() -> Self {
        let turns = (0..Class::COUNT_MAX).map(Rotation::starting_at).collect();
        Self { roster: Roster::default(), turns }
    }
}

impl Lists {
    /// Whose turn it is in the list of `class`.
    pub(crate) fn next(&self, class: Class) -> Option<ServerId> {
        self.turns[place(class)].next(&self.roster)
    }

    /// Takes the turn that [`Lists::next`] gave.
    pub(crate) fn take(&mut self, class: Class, answer: &Assignment) {
        self.turns[place(class)].take(answer.server, &self.roster);
    }

    /// Puts other servers, or the same with other shares, into every list.
    pub(crate) fn adapt(&mut self, roster: Roster) {
        for rotation in &mut self.turns {
            rotation.adapt(&self.roster, &roster);
        }
        self.roster = roster;
    }
}

/// Index of a class; those beyond [`Class::COUNT_MAX`], which no configuration can name, share
/// the last list.
pub(crate) fn place(class: Class) -> usize {
    class.index().min(Class::COUNT_MAX - 1)
}

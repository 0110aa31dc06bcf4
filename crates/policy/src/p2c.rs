//! Power of two choices: the less loaded of two servers drawn by lot.
//!
//! Mitzenmacher: *The Power of Two Choices in Randomized Load Balancing*, IEEE Transactions on
//! Parallel and Distributed Systems 12(10), 2001. Nearly as even as asking everybody, and unlike
//! asking everybody it does not herd when the books are late.

use crate::{Assignment, Cluster, Dice, Entry, Policy, Request, ServerId, Why};

pub(crate) const ENTRY: Entry = Entry {
    name: "p2c",
    aliases: &["power-of-two"],
    about: "the less loaded of two servers drawn by lot",
    paper: "Mitzenmacher, IEEE TPDS 12(10), 2001",
    params: &[],
    build: |_| Box::new(P2c),
};

struct P2c;

impl Policy for P2c {
    fn decide(&self, _: &Request, cluster: &Cluster, dice: &mut Dice) -> Option<Assignment> {
        let pair = two_drawn(cluster, dice)?;
        Some(Assignment::new(cluster.least_loaded_of(pair)?, Why::Sampled))
    }

    fn cost(&self, server: ServerId, _: &Request, cluster: &Cluster) -> Option<f64> {
        Some(cluster.pressure(server).as_f64())
    }
}

/// Two different usable servers, each pair as likely; the same one twice when it is alone.
pub(crate) fn two_drawn(cluster: &Cluster, dice: &mut Dice) -> Option<[ServerId; 2]> {
    let usable = cluster.usable();
    match usable {
        [] => None,
        [only] => Some([*only; 2]),
        _ => {
            let one = dice.below(usable.len());
            // Of the others: those from `one` on move up a place.
            let two = dice.below(usable.len() - 1);
            Some([usable[one], usable[two + usize::from(two >= one)]])
        }
    }
}

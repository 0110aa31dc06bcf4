//! Static partitioning: dedicated servers for each class, and a rotation among them.
//!
//! The competitor "StaticPartitioning" of Casalicchio, Colajanni: *A Client-Aware Dispatching
//! Algorithm for Web Clusters Providing Multiple Services*, WWW10 2001, with the split
//! proportional to the arrivals of each class. The split is either written down, by server names,
//! or measured over a period and rounded by largest remainder, with a server at least for each
//! class that was seen. A class that has no server up uses any: dedicating must not refuse work.

use crate::cap::place;
use crate::rotation::{Roster, Rotation};
use crate::{
    Assignment, Change, Class, Cluster, Dice, Entry, Instant, Kind, Param, Params, Policy, Request,
    Server, Value, Wheel, Why,
};
use core::time::Duration;

pub(crate) const ENTRY: Entry = Entry {
    name: "static-partition",
    aliases: &["static-partitioning"],
    about: "dedicated servers for each class, written down or in proportion to its arrivals",
    paper: "StaticPartitioning in Casalicchio, Colajanni, WWW10 2001",
    params: &[
        Param {
            name: "partition",
            kind: Kind::Partition,
            default: || Value::Partition(Vec::new()),
            about: "server names for each class; unset, the split follows measured arrivals",
        },
        Param {
            name: "period",
            kind: Kind::Span,
            default: || Value::Span(Duration::from_secs(10)),
            about: "over which arrivals are measured (ours: the paper splits once, ideally)",
        },
    ],
    build: |params| Box::new(StaticPartition::new(params)),
};

struct StaticPartition {
    /// As configured; empty when the split is measured.
    named: Vec<(Class, Vec<Box<str>>)>,
    period: Duration,
    due: Instant,
    /// By class, since the last split.
    arrivals: [u64; Class::COUNT_MAX],
    /// By class, in the period before it: what the present split follows.
    measured: [u64; Class::COUNT_MAX],
    /// By class: the servers it uses.
    parts: Vec<Roster>,
    /// By class.
    turns: Vec<Rotation>,
}

impl StaticPartition {
    fn new(params: &Params) -> Self {
        Self {
            named: params.partition("partition").to_vec(),
            period: params.span("period"),
            due: Instant::ZERO,
            arrivals: [0; Class::COUNT_MAX],
            measured: [0; Class::COUNT_MAX],
            parts: vec![Roster::default(); Class::COUNT_MAX],
            turns: (0..Class::COUNT_MAX).map(Rotation::starting_at).collect(),
        }
    }

    /// Deals the usable servers out to the classes.
    fn split(&mut self, cluster: &Cluster) {
        let all = Roster::of(cluster, Server::share);
        let parts = if self.named.is_empty() {
            measured_parts(&all, &self.measured)
        } else {
            named_parts(&all, &self.named, cluster)
        };
        for (class, part) in parts.into_iter().enumerate() {
            let part = if part.is_empty() { all.clone() } else { part };
            self.turns[class].adapt(&self.parts[class], &part);
            self.parts[class] = part;
        }
    }
}

impl Policy for StaticPartition {
    fn decide(&self, request: &Request, _: &Cluster, _: &mut Dice) -> Option<Assignment> {
        let class = place(request.class);
        Some(Assignment::new(self.turns[class].next(&self.parts[class])?, Why::Rotation))
    }

    fn commit(&mut self, request: &Request, answer: &Assignment, cluster: &Cluster) {
        let class = place(request.class);
        self.turns[class].take(answer.server, &self.parts[class]);
        self.arrivals[class] += 1;
        if !self.named.is_empty() || request.at < self.due {
            return;
        }
        // The first period begins with the first request; until it is over, all serve all.
        if self.due != Instant::ZERO {
            self.measured = core::mem::replace(&mut self.arrivals, [0; Class::COUNT_MAX]);
            self.split(cluster);
        }
        self.due = request.at.plus(self.period);
    }

    fn changed(&mut self, _: Change, cluster: &Cluster) {
        self.split(cluster);
    }

    fn wheel(&self, class: Class, _: &Cluster) -> Option<Wheel> {
        // The request that ends the period has to be seen: the split follows it.
        let until = if self.named.is_empty() { self.due } else { Instant::NEVER };
        let number = place(class);
        let cycle = self.turns[number].cycle(&self.parts[number])?;
        (until > Instant::ZERO).then_some(Wheel { number: number as u8, cycle, until })
    }

    fn turned(&mut self, class: Class, turns: u64, _: &Cluster) {
        let class = place(class);
        self.turns[class].turned(turns, &self.parts[class]);
        self.arrivals[class] += turns;
    }
}

/// The configured parts, by class. A class that has none uses the servers nobody claims.
fn named_parts(all: &Roster, named: &[(Class, Vec<Box<str>>)], cluster: &Cluster) -> Vec<Roster> {
    let name = |id| cluster.server(id).map(|server| &server.spec.name);
    let is_in = |id, names: &[Box<str>]| name(id).is_some_and(|name| names.contains(name));
    let free = Roster::new(all.iter().filter(|(id, _)| !named.iter().any(|(_, n)| is_in(*id, n))));
    let part = |class: usize| {
        let mine = || named.iter().filter(|(named, _)| place(*named) == class);
        if mine().next().is_none() {
            return free.clone();
        }
        Roster::new(all.iter().filter(|(id, _)| mine().any(|(_, names)| is_in(*id, names))))
    };
    (0..Class::COUNT_MAX).map(part).collect()
}

/// Parts in proportion to `arrivals`, by class; empty for a class that was not seen. With more
/// classes than servers, several classes share one.
fn measured_parts(all: &Roster, arrivals: &[u64; Class::COUNT_MAX]) -> Vec<Roster> {
    let mut parts = vec![Roster::default(); Class::COUNT_MAX];
    let seen: Vec<_> = (0..Class::COUNT_MAX).filter(|class| arrivals[*class] > 0).collect();
    let servers = all.iter().count();
    if servers == 0 {
        return parts;
    }
    if seen.len() > servers {
        for (turn, class) in seen.into_iter().enumerate() {
            parts[class] = Roster::new(all.iter().skip(turn % servers).take(1));
        }
        return parts;
    }
    let mut members = all.iter();
    let weights: Vec<_> = seen.iter().map(|class| arrivals[*class]).collect();
    for (class, count) in seen.into_iter().zip(apportioned(servers, &weights)) {
        parts[class] = Roster::new(members.by_ref().take(count));
    }
    parts
}

/// `seats` dealt out in proportion to `votes`, at least one each, by largest remainder; ties go to
/// the more votes, then to the first. `seats` is at least the number of votes, no vote is zero.
fn apportioned(seats: usize, votes: &[u64]) -> Vec<usize> {
    let total = votes.iter().map(|votes| u128::from(*votes)).sum::<u128>().max(1);
    let quota = |votes: u64| u128::from(votes) * seats as u128;
    let mut dealt: Vec<_> = votes.iter().map(|v| ((quota(*v) / total) as usize).max(1)).collect();
    // What a party is still owed, in units of 1/total of a seat; negative after the seat everyone
    // gets, and then it is the first to give one back.
    let owed = |party: usize, dealt: &[usize]| {
        quota(votes[party]) as i128 - (dealt[party] as u128 * total) as i128
    };
    let parties = 0..votes.len();
    while dealt.iter().sum::<usize>() < seats {
        let neediest = |party: &usize| (owed(*party, &dealt), votes[*party], usize::MAX - party);
        let Some(party) = parties.clone().max_by_key(neediest) else { break };
        dealt[party] += 1;
    }
    while dealt.iter().sum::<usize>() > seats {
        let rich = parties.clone().filter(|party| dealt[*party] > 1);
        let Some(party) = rich.min_by_key(|party| (owed(*party, &dealt), *party)) else { break };
        dealt[party] -= 1;
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_dealt_out_by_largest_remainder_and_everyone_gets_one() {
        for (seats, votes, dealt, why) in [
            (10, &[60, 40][..], &[6, 4][..], "exact quotas"),
            (10, &[66, 34], &[7, 3], "6.6 and 3.4: the larger remainder wins"),
            (4, &[1000, 1, 1], &[2, 1, 1], "a class that is seen has a server"),
            (3, &[1000, 1, 1], &[1, 1, 1], "even if the others have no more than one"),
            (5, &[1, 1], &[3, 2], "a tie goes to the first"),
            (7, &[5], &[7], "alone it has all"),
        ] {
            assert_eq!(apportioned(seats, votes), dealt, "{why}");
        }
    }
}

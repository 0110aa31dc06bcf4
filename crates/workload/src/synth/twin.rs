//! A synthetic trace with the published figures of one that nobody has.

use super::connections::Connections;
use super::{Facts, PER_CONNECTION, RATE_RPS, Structure, Unfit, counts, sizes};
use crate::trace::{Target, Trace};
use policy::Dice;

/// Pages among which an object of [`Structure::Pages`] finds the one it belongs to: the ones just
/// above it in popularity.
const NEIGHBOURS: usize = 6;

/// What a synthetic twin is to be like.
///
/// The published figures hold from 200,000 requests on for Rice, 300,000 for the others and 20,000
/// for chess. But below [`Twin::natural_requests`] there are too few requests for sizes that have
/// nothing to do with popularity: every target has to be asked for at least once, so there must be
/// fewer targets that are asked for rarely, and larger ones; and popularity is flatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twin {
    /// Whose twin.
    pub facts: Facts,
    /// Requests.
    pub requests: u32,
    /// Which of all twins; the same seed gives the same one.
    pub seed: u64,
    /// What the requests of a connection have to do with each other.
    pub structure: Structure,
    /// Mean requests of a connection, from 1 to [`super::PER_CONNECTION_MAX`].
    pub per_connection: f64,
    /// Requests a second, on average, above 0.
    pub rate_rps: f64,
}

impl Twin {
    /// The twin as it is when nothing else is asked for.
    pub const fn new(facts: Facts) -> Self {
        Self {
            facts,
            requests: facts.requests,
            seed: 1,
            structure: Structure::Pages,
            per_connection: PER_CONNECTION,
            rate_rps: RATE_RPS,
        }
    }

    /// From how many requests on popularity has its natural shape: 852,000 for Rice, 3.2 million
    /// for IBM.
    pub fn natural_requests(&self) -> u32 {
        counts::natural_requests(&self.facts)
    }

    /// Makes the trace: 32 bytes a request, and as many again while it is made.
    ///
    /// # Errors
    /// When there are not enough requests for the facts, or a figure is out of its range.
    pub fn trace(&self) -> Result<Trace, Unfit> {
        let mut dice = Dice::new(self.seed);
        let counts = counts::counts(&self.facts, self.requests)?;
        let sizes = sizes::sizes(&self.facts, &counts, &mut dice)?;
        let mut connections =
            Connections::new(self.requests, self.per_connection, self.rate_rps, &mut dice)?;
        let is_page = match self.structure {
            Structure::Independent => self.independent(&counts, &mut connections),
            Structure::Pages => self.pages(&counts, &mut connections),
            Structure::SharedObjects => self.shared(&counts, &mut connections),
        };
        let target = |(rank, size): (usize, u64)| {
            let url = match (self.structure, is_page[rank]) {
                (Structure::Independent, _) => format!("/target/{}", rank + 1),
                (_, true) => format!("/page/{}.html", rank + 1),
                (_, false) => format!("/object/{}.gif", rank + 1),
            };
            Target { url: url.into(), size, site: 0 }
        };
        let targets = sizes.into_iter().enumerate().map(target).collect();
        Ok(connections.trace(self.facts.name, targets))
    }

    fn independent(&self, counts: &[u32], connections: &mut Connections) -> Vec<bool> {
        let mut all = repeated(counts, |_| true);
        connections.shuffle(&mut all);
        let firsts = (f64::from(self.requests) / self.per_connection).ceil() as usize;
        let (firsts, laters) = all.split_at_mut(firsts);
        connections.deal(firsts, laters);
        vec![true; counts.len()]
    }

    /// The most popular targets are everybody's objects, as many as there are later requests.
    fn shared(&self, counts: &[u32], connections: &mut Connections) -> Vec<bool> {
        let share = 1.0 - 1.0 / self.per_connection;
        let mut room = (f64::from(self.requests) * share) as u32;
        let is_page: Vec<bool> = counts
            .iter()
            .map(|&count| {
                let left = room.checked_sub(count);
                room = left.unwrap_or(room);
                left.is_none()
            })
            .collect();
        let mut firsts = repeated(counts, |rank| is_page[rank]);
        let mut laters = repeated(counts, |rank| !is_page[rank]);
        connections.shuffle(&mut firsts);
        connections.shuffle(&mut laters);
        connections.deal(&firsts, &mut laters);
        is_page
    }

    fn pages(&self, counts: &[u32], connections: &mut Connections) -> Vec<bool> {
        let families = families(counts, self.per_connection, connections);
        let mut is_page = vec![true; counts.len()];
        let mut firsts = repeated(counts, |rank| families[rank].is_some());
        connections.shuffle(&mut firsts);
        for &object in families.iter().flatten().flatten() {
            is_page[object as usize] = false;
        }
        // Of the visits to a page that are left, so many have still to show the object: taken one
        // by one with that chance, every number comes out exactly.
        let mut left = counts.to_vec();
        let mut connection = Vec::new();
        for page in firsts {
            connection.clear();
            connection.push(page);
            let visits = left[page as usize];
            left[page as usize] -= 1;
            for &object in families[page as usize].iter().flatten() {
                let shows = &mut left[object as usize];
                if (connections.below(visits as usize) as u32) < *shows {
                    *shows -= 1;
                    connection.push(object);
                }
            }
            connections.push(&connection);
        }
        is_page
    }
}

/// By rank: the objects of a page, or nothing for an object. An object belongs to a page more
/// popular than itself; which target becomes what keeps the mean requests of a connection from
/// rank to rank.
fn families(
    counts: &[u32],
    per_connection: f64,
    connections: &mut Connections,
) -> Vec<Option<Vec<u32>>> {
    let mut families: Vec<Option<Vec<u32>>> = Vec::with_capacity(counts.len());
    let mut pages: Vec<usize> = Vec::new();
    let (mut firsts, mut laters) = (0_u64, 0_u64);
    for (rank, &count) in counts.iter().enumerate() {
        if laters as f64 >= (per_connection - 1.0) * firsts as f64 {
            firsts += u64::from(count);
            pages.push(rank);
            families.push(Some(Vec::new()));
            continue;
        }
        laters += u64::from(count);
        let near = pages.len().min(NEIGHBOURS);
        let page = pages[pages.len() - 1 - connections.below(near)];
        families.push(None);
        if let Some(objects) = &mut families[page] {
            objects.push(rank as u32);
        }
    }
    families
}

/// The ranks for which `wanted` says so, each as often as it is asked for.
fn repeated(counts: &[u32], wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    let ranks = counts.iter().enumerate().filter(|(rank, _)| wanted(*rank));
    ranks.flat_map(|(rank, &count)| std::iter::repeat_n(rank as u32, count as usize)).collect()
}

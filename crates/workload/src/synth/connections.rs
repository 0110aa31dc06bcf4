//! Requests to connections: who asks, and when.
//!
//! Times are such that [`crate::Sessions`] finds the connections and batches again by the rule of
//! the USENIX 1999 paper: less than 15 s from request to request, the first alone, batches of at
//! most 5 s. Read as HTTP/1.0, the trace is simply its requests one by one.

use super::{PER_CONNECTION_MAX, Unfit};
use crate::draw::{Draw, Exponential};
use crate::trace::{Entry, Target, Trace};
use policy::Dice;
use std::collections::VecDeque;

/// Connections of one client, on average. Nothing the papers measure depends on it.
const CONNECTIONS_PER_CLIENT: usize = 8;

/// Milliseconds from one connection of a client to its next at least: more than servers wait.
const APART_MS: u64 = 15_001;

/// Milliseconds from the first request (the page) to the second at least and at most.
const FOLLOWS_MS: (u64, usize) = (200, 1_800);

/// Milliseconds that a batch takes at most, and between two of its requests at most.
const BATCH_MS: (usize, usize) = (4_900, 200);

/// Milliseconds from the start of the first batch of objects to that of the second, when there is
/// one: not within 5 s, and not 15 s after.
const SECOND_MS: (u64, usize) = (5_001, 3_000);

/// One connection in this many has two batches of objects, if it has two objects or more.
const SECOND_BATCH_OF: usize = 3;

/// Tries to give a connection an object it does not have yet.
const TRIES: usize = 4;

/// Collects connections in the order of their start.
pub(super) struct Connections<'a> {
    dice: &'a mut Dice,
    gap_ms: Draw,
    now_ms: f64,
    clients_wanted: usize,
    clients: u32,
    /// Clients that were there before, and when the last request of each was.
    resting: VecDeque<(u64, u32)>,
    entries: Vec<Entry>,
}

impl<'a> Connections<'a> {
    /// Connections with `requests` requests in all, `rate_rps` of them a second.
    pub fn new(
        requests: u32,
        per_connection: f64,
        rate_rps: f64,
        dice: &'a mut Dice,
    ) -> Result<Self, Unfit> {
        if !(1.0..=PER_CONNECTION_MAX).contains(&per_connection) {
            return Err(Unfit::PerConnection);
        }
        let mean = per_connection * 1000.0 / rate_rps;
        if !(mean.is_finite() && mean > 0.0) {
            return Err(Unfit::Rate);
        }
        let connections = (f64::from(requests) / per_connection) as usize;
        Ok(Self {
            dice,
            gap_ms: Draw::Exponential(Exponential { mean }),
            now_ms: 0.0,
            clients_wanted: connections.div_ceil(CONNECTIONS_PER_CLIENT),
            clients: 0,
            resting: VecDeque::new(),
            entries: Vec::with_capacity(requests as usize),
        })
    }

    /// A whole number below `end`, for whoever fills connections.
    pub fn below(&mut self, end: usize) -> usize {
        self.dice.below(end)
    }

    /// Puts numbers into random order (Fisher, Yates).
    pub fn shuffle(&mut self, numbers: &mut [u32]) {
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, self.dice.below(last + 1));
        }
    }

    /// Adds a connection that asks for these targets, in this order.
    pub fn push(&mut self, targets: &[u32]) {
        self.now_ms += self.gap_ms.sample(self.dice);
        let start_ms = self.now_ms as u64;
        let client = self.client(start_ms);
        let Some((&page, objects)) = targets.split_first() else { return };
        self.entry(start_ms, client, page);
        let (least, spread) = FOLLOWS_MS;
        let first_ms = start_ms + least + self.dice.below(spread) as u64;
        let twice = objects.len() > 1 && self.dice.below(SECOND_BATCH_OF) == 0;
        let split = if twice { 1 + self.dice.below(objects.len() - 1) } else { objects.len() };
        let mut last_ms = self.batch(first_ms, client, &objects[..split]);
        if twice {
            let (least, spread) = SECOND_MS;
            let second_ms = first_ms + least + self.dice.below(spread) as u64;
            last_ms = self.batch(second_ms, client, &objects[split..]);
        }
        self.resting.push_back((last_ms, client));
    }

    /// Adds requests close to each other and returns when the last one is.
    fn batch(&mut self, start_ms: u64, client: u32, objects: &[u32]) -> u64 {
        let (batch, step) = BATCH_MS;
        let step = (batch / objects.len().max(1)).min(step);
        let mut at_ms = start_ms;
        for (place, &object) in objects.iter().enumerate() {
            if place > 0 {
                at_ms += self.dice.below(step + 1) as u64;
            }
            self.entry(at_ms, client, object);
        }
        at_ms
    }

    fn entry(&mut self, at_ms: u64, client: u32, target: u32) {
        self.entries.push(Entry { at_ms, bytes: 0, client, target, status: 200, method: 0 });
    }

    /// A client that was there before and has been silent for long enough, or a new one.
    fn client(&mut self, start_ms: u64) -> u32 {
        let enough = self.resting.len() >= self.clients_wanted;
        match self.resting.front() {
            Some(&(last_ms, client)) if enough && last_ms + APART_MS <= start_ms => {
                self.resting.pop_front();
                client
            }
            _ => {
                self.clients += 1;
                self.clients - 1
            }
        }
    }

    /// Makes a connection of each of `firsts`, in their order, and deals `laters` out to them: as
    /// in a random row of all of them that begins with a first.
    pub fn deal(&mut self, firsts: &[u32], mut laters: &mut [u32]) {
        let mut connection = Vec::new();
        for (place, &first) in firsts.iter().enumerate() {
            let firsts_left = firsts.len() - place - 1;
            connection.clear();
            connection.push(first);
            while !laters.is_empty() && self.below(firsts_left + laters.len()) < laters.len() {
                // A browser does not ask twice for one object: take another one, if there is.
                for _ in 0..TRIES {
                    if !connection.contains(&laters[0]) {
                        break;
                    }
                    let other = self.below(laters.len());
                    laters.swap(0, other);
                }
                connection.push(laters[0]);
                laters = &mut laters[1..];
            }
            self.push(&connection);
        }
    }

    /// The trace of all connections. `targets` are what their numbers mean.
    pub fn trace(self, site: &str, targets: Vec<Target>) -> Trace {
        let Self { mut entries, clients, .. } = self;
        for entry in &mut entries {
            entry.bytes = targets[entry.target as usize].size;
        }
        Trace::of_one_site(site, targets, entries, clients)
    }
}

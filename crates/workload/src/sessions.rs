//! HTTP/1.1 connections from a log that knows of none.
//!
//! The rule of Aron, Druschel, Zwaenepoel: *Efficient Support for P-HTTP in Cluster-based Web
//! Servers*, USENIX 1999: requests of one client less than 15 s apart (servers' idle time-out)
//! share a connection; the first, the page, stands alone; the following ones that lie within 5 s of
//! each other are one batch, which a client may send at once, but only after all replies to the
//! batch before it have come. "Within 5 s of each other" is read as: no two further apart.

use crate::Trace;
use std::ops::Range;

/// How requests are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Longest gap between requests of one session, in milliseconds.
    pub gap_ms_max: u64,
    /// Longest time from a batch's first request to its last, in milliseconds.
    pub batch_ms_max: u64,
}

impl Default for Shape {
    /// The paper's values; "less than 15 s" in a log of whole seconds is 14,999 ms at most.
    fn default() -> Self {
        Self { gap_ms_max: 14_999, batch_ms_max: 5_000 }
    }
}

/// The sessions of a trace, in order of their start.
///
/// Flat: 4 bytes a request, 4 a batch, 8 a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// Request numbers, session by session.
    order: Vec<u32>,
    /// Where each batch begins in `order`, and the end.
    batches: Vec<u32>,
    /// Where each session begins in `batches`, and the end.
    sessions: Vec<u32>,
}

/// One connection: requests of a client in batches.
#[derive(Clone, Copy, Debug)]
pub struct Session<'a> {
    all: &'a Sessions,
    first: u32,
    end: u32,
}

impl Sessions {
    /// Groups the requests of a trace.
    pub fn of(trace: &Trace, shape: Shape) -> Self {
        let requests = &trace.requests;
        // A trace holds fewer than 2^32 requests, see `Builder::push`.
        let mut by_client: Vec<u32> = (0..requests.len() as u32).collect();
        by_client.sort_by_key(|&number| requests[number as usize].client);

        let mut runs: Vec<Range<usize>> = Vec::new();
        for place in 0..by_client.len() {
            let this = &requests[by_client[place] as usize];
            let joins = place > 0 && {
                let last = &requests[by_client[place - 1] as usize];
                last.client == this.client && this.at_ms - last.at_ms <= shape.gap_ms_max
            };
            match runs.last_mut() {
                Some(run) if joins => run.end = place + 1,
                _ => runs.push(place..place + 1),
            }
        }
        // The number of a session's first request orders sessions by start, ties as logged.
        runs.sort_by_key(|run| by_client[run.start]);

        let mut all = Self::default();
        for run in runs {
            all.sessions.push(all.batches.len() as u32);
            let mut began_ms = None;
            for (place, &number) in by_client[run].iter().enumerate() {
                let at_ms = requests[number as usize].at_ms;
                if place < 2 || began_ms.is_none_or(|began| at_ms - began > shape.batch_ms_max) {
                    all.batches.push(all.order.len() as u32);
                    began_ms = Some(at_ms);
                }
                all.order.push(number);
            }
        }
        all.sessions.push(all.batches.len() as u32);
        all.batches.push(all.order.len() as u32);
        all
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sessions.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The session with this number, below [`Sessions::len`].
    pub fn get(&self, number: usize) -> Option<Session<'_>> {
        let (&first, &end) = (self.sessions.get(number)?, self.sessions.get(number + 1)?);
        Some(Session { all: self, first, end })
    }

    /// All of them, by start.
    pub fn iter(&self) -> impl Iterator<Item = Session<'_>> {
        (0..self.len()).filter_map(|number| self.get(number))
    }
}

impl<'a> Session<'a> {
    /// Its batches, each a list of indices into [`Trace::requests`]; none is empty.
    pub fn batches(self) -> impl ExactSizeIterator<Item = &'a [u32]> {
        (self.first..self.end).map(move |batch| {
            let bounds = &self.all.batches[batch as usize..batch as usize + 2];
            &self.all.order[bounds[0] as usize..bounds[1] as usize]
        })
    }

    /// Its requests, whatever their batch: indices into [`Trace::requests`]; at least one.
    pub fn requests(self) -> &'a [u32] {
        let (first, end) = (self.first as usize, self.end as usize);
        &self.all.order[self.all.batches[first] as usize..self.all.batches[end] as usize]
    }
}

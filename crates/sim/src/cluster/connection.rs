//! The open connections, in numbered places that are used again.

use policy::{Held, Instant, ServerId};

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing: the place is free.
    Free,
    /// The layer-4 stage passes it to a distributor.
    Switching,
    /// The front-end takes it in.
    Accepting,
    /// Its distributor waits for the dispatcher's answer.
    Questioning,
    /// Its distributor hands it to another node.
    Handing,
    /// No node is up.
    Stalled,
    /// The front-end reads a later request.
    Asking,
    /// A node serves it.
    Serving,
    /// Its node reads a request whose target another one has.
    Forwarding,
    /// Another node serves its node.
    Fetching,
    /// Its node sends the rest of what it fetched.
    Sending,
    /// The front-end passes the rest of a reply on.
    Passing,
}

impl Stage {
    /// Whether the distributor that took the connection in still has it, or works for it.
    pub(super) fn is_at_distributor(self) -> bool {
        let first = matches!(self, Self::Switching | Self::Accepting | Self::Handing);
        first || matches!(self, Self::Asking | Self::Questioning)
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stage: Stage,
    /// Counts the stages in this place, so that news of an earlier one is recognised.
    pub(super) turn: u32,
    /// The node that took it in, where nodes do.
    pub(super) distributor: u16,
    /// Whether the node that gets it may cache what it reads.
    pub(super) keep: bool,
    /// The node that serves the request: the holder, or the one it is fetched from.
    pub(super) worker: ServerId,
    /// The books, once it was given to a node.
    pub(super) held: Option<Held>,
    /// The present request, and the end, in the script.
    pub(super) at: u32,
    pub(super) end: u32,
    /// Bytes of the present reply that were fetched.
    pub(super) fetched_bytes: u64,
    pub(super) entered: Instant,
    /// When the client sent the present batch.
    pub(super) asked: Instant,
    /// When the last byte of the present reply was sent.
    pub(super) sent: Instant,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    places: Vec<Connection>,
    free: Vec<u32>,
}

impl Connections {
    /// Opens one for the requests `at..end`.
    pub(super) fn open(&mut self, (at, end): (u32, u32), now: Instant) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Connection {
                stage: Stage::Free,
                turn: 0,
                distributor: 0,
                keep: true,
                worker: ServerId(0),
                held: None,
                at: 0,
                end: 0,
                fetched_bytes: 0,
                entered: now,
                asked: now,
                sent: now,
            });
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 connections are open")
        });
        let connection = &mut self.places[place as usize];
        (connection.at, connection.end) = (at, end);
        (connection.entered, connection.asked) = (now, now);
        connection.stage = Stage::Accepting;
        place
    }

    /// Frees a place.
    pub(super) fn close(&mut self, place: u32) {
        let connection = &mut self.places[place as usize];
        connection.stage = Stage::Free;
        connection.turn = connection.turn.wrapping_add(1);
        self.free.push(place);
    }

    #[inline]
    pub(super) fn get(&mut self, place: u32) -> &mut Connection {
        &mut self.places[place as usize]
    }

    /// How many are open.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The open ones with their places, in order of places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Connection)> + Clone {
        (0..).zip(&self.places).filter(|(_, connection)| connection.stage != Stage::Free)
    }
}

impl Connection {
    /// The node that has the connection.
    ///
    /// # Panics
    /// Before it was given to one.
    #[inline]
    pub(super) fn holder(&self) -> ServerId {
        self.held.as_ref().expect("a connection beyond the front-end is held").holder()
    }

    /// Enters a stage and returns its number.
    #[inline]
    pub(super) fn turn_to(&mut self, stage: Stage) -> u32 {
        self.stage = stage;
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }
}

//! What goes into a node and what comes out of it.

use core::time::Duration;
use policy::{Class, Instant, TargetId};

/// A request, as a node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The driver's name for it, returned with its parts.
    pub tag: u64,
    /// What it names.
    pub target: TargetId,
    /// The size of the answer's body; zero and no reading for a `HEAD`.
    pub bytes: u64,
    /// Its class.
    pub class: Class,
    /// Whether only the head of the answer is wanted: neither cache nor disk is used.
    pub head_only: bool,
}

/// What a request costs the CPU beside the demands of its class, and what becomes of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handling {
    /// Before anything is looked up: reading the request, and accepting its connection where both
    /// are one turn of the CPU.
    pub before: Duration,
    /// Sending each started 512 bytes.
    pub send_512: Duration,
    /// After the last byte in the same turn: tearing the connection down.
    pub after: Duration,
    /// Whether the cache gets the target when it has to be read, and others may join that read.
    pub keep: bool,
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The cache.
    Hit,
    /// The disk, and it went into the cache.
    Miss,
    /// The read that another request's miss had begun.
    Coalesced,
    /// The service, past the cache.
    Bypass,
}

/// The life of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// When it was admitted.
    pub arrived: Instant,
    /// When the CPU had read it and computed what was to be computed.
    pub computed: Instant,
    /// When the first 512 bytes of the body were sent.
    pub first_byte: Instant,
    /// When all was sent.
    pub last_byte: Instant,
}

/// More of an answer has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The driver's name for the request.
    pub tag: u64,
    /// Bytes of the body sent so far.
    pub sent_bytes: u64,
    /// Where it comes from.
    pub source: Source,
    /// The whole story, with the last part.
    pub end: Option<Timeline>,
}

/// Something that will have happened at a known time: to be handed to [`crate::Node::step`]
/// then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake(pub(crate) Stage, pub(crate) u32);

/// What will have happened, to the job or read whose number goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The CPU has read the request and computed what is to be computed.
    Computed,
    /// A chunk of the answer is sent.
    Sent,
    /// A chunk of the target is read.
    Read,
}

/// What a call gave rise to. The driver empties it after each call.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// To be handed back at their times.
    pub wakes: Vec<(Instant, Wake)>,
    /// Of answers, in order.
    pub parts: Vec<Part>,
}

/// What a node has done since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests admitted.
    pub requests: u64,
    /// Answered from the cache.
    pub hits: u64,
    /// Read from the disk for the cache.
    pub misses: u64,
    /// Answered by a read that was under way.
    pub coalesced: u64,
    /// Past the cache.
    pub bypassed: u64,
    /// Answered to the end.
    pub finished: u64,
    /// Bytes of bodies sent.
    pub sent_bytes: u64,
    /// Targets evicted.
    pub evicted: u64,
}

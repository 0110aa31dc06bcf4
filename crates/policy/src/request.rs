//! What a policy learns of a request, and what it answers.

use crate::{Class, Instant, Load, ServerId, TargetId};

/// All that a policy ever learns of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When the question is asked.
    pub at: Instant,
    /// What the request names.
    pub target: TargetId,
    /// Which resource it leans on.
    pub class: Class,
    /// The server that has the client's persistent connection now, if any.
    pub holder: Option<ServerId>,
}

/// A policy's answer: who serves, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The server that answers the request.
    pub server: ServerId,
    /// The rule that chose it.
    pub why: Why,
    /// Whether the server is believed to have the target in its cache.
    pub expect: Expect,
    /// Whether the server that keeps the connection may cache what another server sends through
    /// it. False only for extended LARD's reads on a busy disk and its forwarded requests.
    pub cache: bool,
    /// How long the same answer may be repeated without asking.
    pub guard: Option<Guard>,
}

impl Assignment {
    /// An answer without a guard, the cache to be used and nothing known of its content.
    pub const fn new(server: ServerId, why: Why) -> Self {
        Self { server, why, expect: Expect::Unknown, cache: true, guard: None }
    }
}

/// The promise that a policy would answer the same again for the same target, whatever the class of
/// the request and whoever holds the connection. (Extended LARD, which heeds the holder, gives
/// none.)
///
/// It holds while **all** of this is true: the server's load (before the new request is added) is
/// at most `load_max`; the time is before `until`; [`crate::Cluster::epoch`] is still `epoch`; no
/// later answer for the target was given; and the target was not returned by
/// [`crate::Policy::forgotten`]. A kernel table or a remote distributor that checks these may
/// repeat the answer and be right by construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Up to which load of the server, in the cluster's books, the answer stays.
    pub load_max: Load,
    /// Until when it stays; [`Instant::NEVER`] if time alone changes nothing.
    pub until: Instant,
    /// The state of the cluster it was given for.
    pub epoch: u64,
}

/// What a policy believes of the chosen server's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The target was sent there before.
    Hit,
    /// It was not.
    Miss,
    /// The policy does not think of caches.
    Unknown,
}

impl Expect {
    /// The word used in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Unknown => "unknown",
        }
    }
}

macro_rules! whys {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why a server was chosen: a closed set, for logs, metrics and `baton explain`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Why { $($(#[$doc])* $variant,)* }

        impl Why {
            /// Every reason, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word used in logs and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

whys! {
    /// The target is mapped to this server.
    Affinity = "affinity",
    /// Nobody had the target; it went to the least loaded server.
    FirstSeen = "first-seen",
    /// The mapped server is too busy: the target moved.
    SpillOverload = "spill-overload",
    /// The mapped servers are too busy: one more was added.
    Replicate = "replicate",
    /// The replica set was unchanged long enough to lose its most loaded member.
    Shrink = "shrink",
    /// The server that holds the connection serves it.
    Sticky = "sticky",
    /// The holder fetches it from this server.
    Forward = "forward",
    /// A hash of the target chose.
    Hash = "hash",
    /// The hash's first choice was at its bound; the next one on the ring serves.
    BoundExceeded = "bound-exceeded",
    /// The next one in the rotation.
    Rotation = "rotation",
    /// The least loaded of all.
    LeastLoaded = "least-loaded",
    /// The best of a few that were drawn or probed.
    Sampled = "sampled",
    /// Drawn by chance.
    Random = "random",
    /// The first choice is still warming up; its share went elsewhere.
    SlowStart = "slow-start",
    /// Another server than before, because the first attempt failed.
    Retry = "retry",
    /// The policy's choice works on as many requests as it may, and as many wait for it.
    QueueFull = "queue-full",
    /// Too few servers are up: health is ignored.
    Panic = "panic",
}

impl Why {
    /// Whether a server that is known, or meant, to have the target was passed over.
    pub const fn gives_up_locality(self) -> bool {
        matches!(
            self,
            Self::SpillOverload
                | Self::Replicate
                | Self::BoundExceeded
                | Self::SlowStart
                | Self::QueueFull
        )
    }

    /// The reason as an index into per-reason arrays.
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stays_within_a_cache_line() {
        assert!(size_of::<Assignment>() <= 64);
    }
}

//! SYNTHETIC TRACES: stand-ins for logs that were never published, and plain Zipf.
//!
//! A [`Twin`] has the published figures of its log exactly or nearly so: targets, bytes, and the
//! bytes that cover 97, 98 and 99 per cent of the requests. All else is assumed, and the
//! assumptions are constants with a sentence each: [`Facts::reply_bytes_mean`], the share of the
//! most popular target (`counts`), the distribution of sizes (`sizes`), the times within a
//! connection (`connections`). The [`Structure`] is the assumption that matters most: one alone
//! does not show everything that was published of persistent connections.
//!
//! The same values give the same trace on every machine: whole numbers wherever possible, and
//! logarithms of our own where not (`draw::series`).

mod connections;
mod counts;
mod facts;
mod sizes;
mod twin;
mod zipf;

pub use facts::{CHESS, Facts, IBM, IBM_1998, RICE, RICE_1998, TWINS, facts};
pub use twin::Twin;
pub use zipf::{Drift, Hot, Zipf};

/// Requests of one connection at most, on average: more than a browser would keep one open for.
pub const PER_CONNECTION_MAX: f64 = 64.0;

/// Requests a connection has on average when nothing else is said: real logs have 2.1 to 3.3
/// when cut by the papers' rule.
pub const PER_CONNECTION: f64 = 2.3;

/// Requests per second when nothing else is said: a busy site of the period. It only places the
/// requests in time.
pub const RATE_RPS: f64 = 50.0;

/// What the requests of one connection have to do with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Structure {
    /// Nothing: every request is drawn from all targets.
    Independent,
    /// Pages: the first names a page, the others objects that belong to this page and to no other.
    /// Locality is anchored in pages.
    #[default]
    Pages,
    /// Shared objects: the first names a page, the others a small set of objects that all pages
    /// show, the most popular targets: logos, buttons, styles.
    SharedObjects,
}

impl Structure {
    /// All, with the names that the command line knows them by.
    pub const ALL: [(&'static str, Self); 3] = [
        ("independent", Self::Independent),
        ("pages", Self::Pages),
        ("shared-objects", Self::SharedObjects),
    ];
}

/// Why there is no such trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Every target has to be asked for, and less popular ones less often: that takes more
    /// requests.
    #[error(
        "so few requests cannot ask for every target and have this coverage; ask for more (300,000 \
         are enough for every twin)"
    )]
    Few,
    /// A connection has at least one request and at most [`PER_CONNECTION_MAX`] on average.
    #[error("requests a connection must be from 1 to 64")]
    PerConnection,
    /// Requests per second are above 0.
    #[error("requests per second must be above 0")]
    Rate,
    /// A Zipf trace has targets, an exponent from 0 to 10, a share from 0 to 1 for fewer hot
    /// targets than there are, and drifts after at least one request.
    #[error(
        "a Zipf trace needs a target, an exponent from 0 to 10, fewer hot targets than targets, \
         a hot share from 0 to 1, and at least one request from drift to drift"
    )]
    Zipf,
}

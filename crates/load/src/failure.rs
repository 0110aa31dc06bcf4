//! Why a request was not answered as it should have been.

use std::fmt;

/// Failures kept as examples in a report.
pub const EXAMPLES_MAX: usize = 16;

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What went wrong: a closed set, so that failures can be counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause { $($(#[$doc])* $variant,)* }

        impl Cause {
            /// Every cause, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word used in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

causes! {
    /// No connection could be opened: the server refused it, or was out of reach.
    Connect = "connect",
    /// The client's own system had no descriptor, port or memory for a connection.
    Client = "client",
    /// The connection broke, or was closed before the reply began, though it was new.
    Reset = "reset",
    /// Nothing came for longer than [`crate::Options::timeout`], or no connection was open by then.
    Timeout = "timeout",
    /// What came is no HTTP/1 reply.
    Malformed = "malformed",
    /// The status is not the one expected, or of another class where contents are not compared.
    Status = "status",
    /// The connection ended before the reply did.
    ShortBody = "short-body",
    /// The reply is longer than it announced.
    LongBody = "long-body",
    /// The body is whole, but not as long as it should be: of a replay as the trace's target, of
    /// a [`crate::Scenario`] as the URL says.
    Size = "size",
    /// The body's bytes are not those expected.
    Content = "content",
    /// The request cannot be written as HTTP/1.1: a space in its URL, a line end in its site.
    Unsendable = "unsendable",
}

impl Cause {
    /// The cause as an index into per-cause arrays.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub cause: Cause,
    /// What is known beyond the cause: the system's error, the status, the lengths.
    pub detail: String,
    /// The site and URL that were asked for.
    pub target: String,
}

//! Why a request of a one-way listener goes through the relay all the same: a closed set, for log,
//! metrics and `baton explain`.

macro_rules! locals {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why the relay takes a request that could have been handed over.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Local { $($(#[$doc])* $variant,)* }

        impl Local {
            /// Every reason, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word used in logs and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

locals! {
    /// It is not HTTP/1: TLS, HTTP/2, or something else.
    NotHttp = "not-http",
    /// Its head is not whole in the first segment.
    SplitHead = "split-head",
    /// Another request follows in the same segment.
    Pipelined = "pipelined",
    /// Its head is beyond a limit, so it is refused.
    TooLong = "too-long",
    /// It is refused for another reason.
    BadRequest = "bad-request",
    /// A rule says so.
    RuleSaysRelay = "rule-says-relay",
    /// The server has not confirmed that it takes connections over, or says that it does not.
    Unconfirmed = "unconfirmed",
    /// No server that connections can be handed to may be chosen.
    NoServer = "no-server",
    /// The kernel's table of connections has no room.
    Full = "full",
}

impl Local {
    /// Its place in arrays by reason.
    pub const fn index(self) -> usize {
        self as usize
    }
}

//! How replies reach the client, and what is asked for: the rows and columns of the result.

/// A way from the client to the server's bytes, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The client asks the server's own address: nobody is in between. What others are measured by.
    Direct,
    /// Handed to the server of the first request.
    Handoff,
    /// Handed on at every request.
    MultiHandoff,
    /// Handed to the agent's relay on one server, every further request being for the other.
    Forward,
    /// Joined to a connection to the server, within the front-end's kernel.
    Splice,
    /// Our relay.
    Relay,
    /// HAProxy's.
    HaProxy,
}

impl Mode {
    /// In the order of the tables.
    pub const ALL: [Self; 7] = [
        Self::Direct,
        Self::Handoff,
        Self::MultiHandoff,
        Self::Forward,
        Self::Splice,
        Self::Relay,
        Self::HaProxy,
    ];

    /// As `delivery` has it, where Baton does it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Handoff => "handoff",
            Self::MultiHandoff => "multi-handoff",
            Self::Forward => "forward",
            Self::Splice => "splice",
            Self::Relay => "relay",
            Self::HaProxy => "haproxy",
        }
    }

    /// Whether Baton stands at the front-end.
    pub fn is_ours(self) -> bool {
        !matches!(self, Self::Direct | Self::HaProxy)
    }

    /// Whether the kernel hands connections over.
    pub fn is_one_way(self) -> bool {
        matches!(self, Self::Handoff | Self::MultiHandoff | Self::Forward)
    }
}

/// What all clients ask for during one run.
#[derive(Debug)]
pub struct Load {
    pub name: &'static str,
    /// For the reader of the table.
    pub about: &'static str,
    /// The file of the test bed.
    pub path: &'static str,
    pub bytes: usize,
    /// Whether a connection is closed after its first reply.
    pub close: bool,
}

/// In the order of the tables.
pub static LOADS: [Load; 4] = [
    kept("keepalive", "1.5 KB, connections kept", "/1500", 1500),
    Load {
        name: "close",
        about: "1.5 KB, one request a connection",
        path: "/1500",
        bytes: 1500,
        close: true,
    },
    kept("64k", "64 KB, connections kept", "/64k", 64 << 10),
    kept("1m", "1 MB, connections kept", "/1m", 1 << 20),
];

/// Sizes of replies at which moving a connection is held against fetching the reply laterally:
/// about the published crossing, and far on both sides.
pub static SIZES: [Load; 7] = [
    kept("1", "1 KB", "/1k", 1 << 10),
    kept("4", "4 KB", "/4k", 4 << 10),
    kept("8", "8 KB", "/8k", 8 << 10),
    kept("16", "16 KB", "/16k", 16 << 10),
    kept("32", "32 KB", "/32k", 32 << 10),
    kept("64", "64 KB", "/64k", 64 << 10),
    kept("128", "128 KB", "/128k", 128 << 10),
];

const fn kept(name: &'static str, about: &'static str, path: &'static str, bytes: usize) -> Load {
    Load { name, about, path, bytes, close: false }
}

//! What a bed is to be like: how many servers, how they are wired, which files they have.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// The most servers of one bed: the hosts of one IPv4 subnet, and more nginx than one machine
/// serves usefully.
pub const SERVERS_MAX: u16 = 64;

/// Longest name of a bed, in characters: it is part of file names.
const NAME_LENGTH_MAX: usize = 32;

/// The smallest MTU, in bytes, that IPv6 runs over (RFC 8200).
const MTU_MIN: u16 = 1280;

/// The largest MTU of a virtual Ethernet, in bytes, with room for its own header.
const MTU_MAX: u16 = 65_000;

/// What servers and front-end may send before the first acknowledgement, in segments. A socket that
/// is made for a moved connection begins with it, and so does any other; the system's 10 would
/// have each reply after a move wait for several acknowledgements, as no kept connection does.
/// 128 KB are 91 segments; and as the kernel lets half a window go at a time, its largest bursts
/// (64 KB, 45 segments) want 90 too.
pub const INITIAL_WINDOW: u16 = 128;

/// The largest initial window that is sensible: what the usual receive buffers hold.
const INITIAL_WINDOW_MAX: u16 = 4096;

/// A bed as it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its name: lower-case letters, digits and `-`, part of the name of each namespace.
    pub name: String,
    /// How many servers: 1 to [`SERVERS_MAX`].
    pub servers: u16,
    /// How they are wired.
    pub variant: Variant,
    /// What every server has in its document root.
    pub files: Vec<File>,
    /// The largest packet of every link, in bytes.
    pub mtu: u16,
    /// What servers and front-end send at first, in segments: [`INITIAL_WINDOW`] unless changed.
    #[serde(default = "usual_window")]
    pub initial_window: u16,
}

/// Of a bed whose plan was kept before there was a choice.
fn usual_window() -> u16 {
    INITIAL_WINDOW
}

impl Plan {
    /// Neighbours with [`File::usual`] files, 1500-byte packets, and a name that no other process
    /// and no other plan of this process has.
    pub fn new(servers: u16) -> Self {
        static PLANS: AtomicU32 = AtomicU32::new(0);
        let turn = PLANS.fetch_add(1, Ordering::Relaxed);
        Self {
            name: format!("p{}-{turn}", std::process::id()),
            servers,
            variant: Variant::Bridge,
            files: File::usual(),
            mtu: 1500,
            initial_window: INITIAL_WINDOW,
        }
    }

    /// The same with another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The same, wired otherwise.
    #[must_use]
    pub fn wired(self, variant: Variant) -> Self {
        Self { variant, ..self }
    }

    /// Every machine of the bed, the wire last.
    pub fn hosts(&self) -> Vec<Host> {
        let mut hosts = vec![Host::Client, Host::Front];
        hosts.extend((1..=self.servers).map(Host::Server));
        hosts.extend((self.variant == Variant::Routed).then_some(Host::Router));
        hosts.push(Host::Wire);
        hosts
    }

    /// The network namespace of a machine, as it is called under `/run/netns`.
    pub fn namespace(&self, host: Host) -> String {
        format!("baton-{}-{host}", self.name)
    }

    /// Looks whether such a bed can be made.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Plan(why));
        is_name(&self.name)?;
        if self.servers == 0 || self.servers > SERVERS_MAX {
            return refuse(format!("a test bed has 1 to {SERVERS_MAX} servers"));
        }
        if self.mtu < MTU_MIN || self.mtu > MTU_MAX {
            return refuse(format!("the MTU is {MTU_MIN} to {MTU_MAX} bytes"));
        }
        if self.initial_window == 0 || self.initial_window > INITIAL_WINDOW_MAX {
            return refuse(format!("the initial window is 1 to {INITIAL_WINDOW_MAX} segments"));
        }
        let odd = self.files.iter().find(|file| !file.is_plain());
        odd.map_or(Ok(()), |file| refuse(format!("{} is no plain path such as /a/1", file.path)))
    }
}

/// Whether `name` can be a bed's.
///
/// # Errors
/// A sentence that says what names are like.
pub(crate) fn is_name(name: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=NAME_LENGTH_MAX).contains(&name.len());
    if fits && name.bytes().all(plain) && !name.starts_with('-') {
        return Ok(());
    }
    let like = "is of a-z, 0-9 and -, and at most 32 characters long";
    Err(Error::Plan(format!("a test bed's name {like}")))
}

/// How the machines are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// All are neighbours on one Ethernet.
    Bridge,
    /// Client, front-end and servers are on a subnet each, with a router between them: the
    /// front-end reaches no server by its Ethernet address, and replies pass the router, not the
    /// front-end.
    Routed,
}

/// A machine of the bed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// Where requests come from.
    Client,
    /// Who answers for the virtual address.
    Front,
    /// A server, counted from 1.
    Server(u16),
    /// Between the subnets of [`Variant::Routed`].
    Router,
    /// Not a machine but what joins them: it holds the bridges.
    Wire,
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => out.write_str("client"),
            Self::Front => out.write_str("front"),
            Self::Server(number) => write!(out, "server{number}"),
            Self::Router => out.write_str("router"),
            Self::Wire => out.write_str("wire"),
        }
    }
}

impl FromStr for Host {
    type Err = Error;

    /// The machine of a name such as `server2`.
    fn from_str(name: &str) -> Result<Self, Error> {
        let known = [Self::Client, Self::Front, Self::Router, Self::Wire];
        let number = || name.strip_prefix("server")?.parse().ok().map(Self::Server);
        let fixed = known.into_iter().find(|host| host.to_string() == name);
        fixed
            .or_else(number)
            .filter(|host| host.to_string() == name) // no server01
            .ok_or_else(|| Error::Plan(format!("no machine of a test bed is called {name}")))
    }
}

/// A file in every server's document root; [`crate::content`] says what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Where it is asked for: letters, digits, `.`, `-`, `_`, and `/` before each part.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
}

impl File {
    /// A file of this path and length in bytes.
    pub fn new(path: &str, bytes: u64) -> Self {
        Self { path: path.to_owned(), bytes }
    }

    /// From nothing to 10 MB: `/0`, `/1500`, `/4k` to `/128k`, `/1m`, `/10m`, where k and m are
    /// binary.
    pub fn usual() -> Vec<Self> {
        let kilo = [4, 8, 16, 32, 64, 128].map(|k| Self::new(&format!("/{k}k"), k << 10));
        let mut files = vec![Self::new("/0", 0), Self::new("/1500", 1500)];
        files.extend(kilo);
        files.extend([Self::new("/1m", 1 << 20), Self::new("/10m", 10 << 20)]);
        files
    }

    fn is_plain(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let part = |part: &str| !part.is_empty() && !part.starts_with('.');
        let parts = self.path.strip_prefix('/').map(|rest| rest.split('/'));
        parts.is_some_and(|mut parts| parts.all(|text| part(text) && text.bytes().all(plain)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_from_its_own_name_and_from_no_other() {
        for host in Plan::new(3).wired(Variant::Routed).hosts() {
            assert_eq!(host.to_string().parse::<Host>().unwrap(), host);
        }
        for name in ["", "server", "server01", "server+1", "server-1", "Front", "bridge"] {
            assert!(name.parse::<Host>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_plan_that_was_kept_without_a_window_can_be_read() {
        let plan = Plan::new(2);
        let mut kept = serde_json::to_value(&plan).expect("it can be kept");
        assert!(kept.as_object_mut().expect("keys").remove("initial_window").is_some());
        let read: Plan = serde_json::from_value(kept).expect("it can be read");
        assert_eq!(read.initial_window, INITIAL_WINDOW);
    }

    #[test]
    fn a_plan_that_cannot_be_built_is_refused() {
        assert!(Plan::new(SERVERS_MAX).check().is_ok());
        let refused = [
            Plan::new(0),
            Plan::new(SERVERS_MAX + 1),
            Plan { mtu: 1279, ..Plan::new(1) },
            Plan { initial_window: 0, ..Plan::new(1) },
            Plan::new(1).named(""),
            Plan::new(1).named("../etc"),
            Plan { files: vec![File::new("/../passwd", 1)], ..Plan::new(1) },
            Plan { files: vec![File::new("1500", 1)], ..Plan::new(1) },
        ];
        for plan in refused {
            assert!(plan.check().is_err(), "{plan:?}");
        }
    }
}

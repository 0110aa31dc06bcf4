//! The quantities every crate shares, each with its own type so that they cannot be mixed up.

use core::fmt;
use core::time::Duration;

/// A point in time: nanoseconds since the run began.
///
/// Our own type because `std::time::Instant` cannot be made up, and so cannot be simulated.
/// Two instants cannot be added; see [`Instant::since`] and [`Instant::plus`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that will happen.
    pub const NEVER: Self = Self(u64::MAX);

    /// The time from `earlier` to this instant; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This instant moved by `span`, no further than [`Instant::NEVER`].
    pub fn plus(self, span: Duration) -> Self {
        let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(span_ns))
    }
}

/// A server of the cluster: a slot number, given by [`crate::Cluster::join`] and free for another
/// server once the one that held it has left and all its work has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u16);

impl ServerId {
    /// The slot as an index into per-server arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a request names: a 64-bit hash of host and path (and whatever else the rules say).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId(pub u64);

impl TargetId {
    /// The hash scrambled by `salt`: independent functions of one target for hash policies.
    ///
    /// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit reaches
    /// every output bit, so even consecutive numbers make good targets.
    pub const fn mixed(self, salt: u64) -> u64 {
        mix(self.0 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

pub(crate) const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Which resource a request leans on (CAP, WWW10 2001): an index into the names that the
/// configuration gives, of which the first five are fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

impl Class {
    /// Files: network only. CAP's "N".
    pub const STATIC: Self = Self(0);
    /// Lightly dynamic: a little CPU, sometimes cacheable. Also CAP's "N" in the paper.
    pub const LIGHT: Self = Self(1);
    /// CPU bound, such as encryption. CAP's "CB".
    pub const CPU: Self = Self(2);
    /// Disk bound, such as a database query. CAP's "DB".
    pub const DISK: Self = Self(3);
    /// Both. CAP's "DCB".
    pub const CPU_DISK: Self = Self(4);
    /// The names of the fixed classes, by index.
    pub const NAMES: [&'static str; 5] = ["static", "light", "cpu", "disk", "cpu+disk"];
    /// Classes a cluster can have at most: the fixed five and the user's own.
    pub const COUNT_MAX: usize = 64;

    /// The class as an index into per-class arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Work given to a server and not yet finished, in fixed point: [`Load::ONE`] is one request.
///
/// Fractions exist because extended LARD charges a remote server 1/N for each request of a batch
/// of N (USENIX 1999). `ONE` is the least common multiple of 1..=16, so that such shares are exact
/// up to N = 16; beyond, a share is rounded, and what was charged is what is given back.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Load(pub u64);

impl Load {
    /// Nothing to do.
    pub const ZERO: Self = Self(0);
    /// One request or connection.
    pub const ONE: Self = Self(720_720);
    /// More than any server can be given.
    pub const MAX: Self = Self(u64::MAX);

    /// `count` whole requests.
    pub const fn of(count: u64) -> Self {
        Self(count.saturating_mul(Self::ONE.0))
    }

    /// The nearest fixed-point value to `requests`; negative and NaN give zero.
    pub fn from_f64(requests: f64) -> Self {
        Self((requests * Self::ONE.0 as f64).round() as u64)
    }

    /// The load as a number of requests, for people and for arithmetic that may round.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }

    /// The next smaller load: `a <= b.below()` says `a < b`.
    pub const fn below(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The sum, no more than [`Load::MAX`].
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, no less than zero.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This load `numerator / denominator` times, rounded down. `denominator` is not zero.
    #[inline]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        if let Some(product) = self.0.checked_mul(numerator) {
            return Self(product / denominator); // A division of 128 bits takes four times as long.
        }
        let wide = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Self(u64::try_from(wide).unwrap_or(u64::MAX))
    }

    /// The largest load that [`Load::scaled`] by the same two numbers makes at most this one.
    /// `numerator` is not zero.
    pub fn unscaled(self, numerator: u64, denominator: u64) -> Self {
        let above = (u128::from(self.0) + 1) * u128::from(denominator);
        Self(u64::try_from((above - 1) / u128::from(numerator)).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Load({})", self.as_f64())
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

/// A seeded source of random numbers, passed in by the driver: SplitMix64.
///
/// Chosen because it is eight lines, has no state to get wrong and gives the same numbers on every
/// machine and in every version: a policy's answers are part of what users replay. Not for secrets.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The same seed gives the same throws.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..end`, `end` not zero. The bias is below 2^-32 for ends below 2^32.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number in `0.0..1.0` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

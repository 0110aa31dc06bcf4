//! What the cluster adds to its nodes: front-end, hand-off, forwarding, limits. Every constant with
//! its source, in the marks of [`model::cost`]; **calibrated** means set so that a published figure
//! comes out, and named beside every claim that depends on it.

use core::time::Duration;
use model::CpuCost;
use model::cost::SEND_UNIT_BYTES;

/// Cache of a node in the ASPLOS simulator. Recalled.
pub const CACHE_ASPLOS: u64 = 32 << 20;

/// 40 % of the ASPLOS paper's `T_low` of 25 connections: below, a node's time is under-utilised.
/// Recalled.
pub const IDLE_BELOW_ASPLOS: u32 = 10;

/// The same share of the P-HTTP paper's `L_idle` of 30. Derived.
pub const IDLE_BELOW_PHTTP: u32 = 12;

/// Connections for each node that the front-end of the P-HTTP simulator lets in. Chosen: `T_high`
/// of ASPLOS 1998, whose limit comes to this number a node in large clusters; the P-HTTP paper's
/// own is unknown.
pub const CONNECTIONS_PER_NODE: u32 = 65;

/// CPU time of a front-end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontCost {
    /// Taking a connection in, reading its first request and delivering it, its later
    /// acknowledgements included.
    pub connection: Duration,
    /// Reading and delivering each later request.
    pub request: Duration,
    /// Passing on each started 512 bytes of replies.
    pub reply_512: Duration,
}

impl FrontCost {
    /// The papers' simulators: a front-end is never a bottleneck.
    pub const FREE: Self = Self::us(0, 0, 0);

    /// TCP hand-off on a Pentium II at 300 MHz. "Nearly 300 us" a connection is published (USENIX
    /// 2000). 80 us for each later request is derived: six nodes with extended LARD and forwarding
    /// at four times 151 requests/s each load the front-end by 60 %, recalled of USENIX 1999, at
    /// 2.5 requests a connection.
    pub const HANDOFF: Self = Self::us(300, 80, 0);

    /// The same on an 800 MHz Athlon, see [`athlon`]: just under 7,000 connections/s.
    pub const HANDOFF_ATHLON: Self = Self {
        connection: athlon(Self::HANDOFF.connection),
        request: athlon(Self::HANDOFF.request),
        reply_512: Duration::ZERO,
    };

    /// TCP splicing on the same machine: "more than 750 us, growing with the size" is published
    /// (USENIX 2000). The growth is chosen: a quarter of Apache's cost of sending.
    pub const SPLICING: Self = Self::us(750, 80, 6);

    /// A relay in user space on the same machine: a Flash server's costs for connection and
    /// request, and its cost of sending for each byte that comes in and each that goes out.
    /// Chosen: no source gives it.
    pub const RELAYING: Self = Self::us(129 + 129 + 159, 159, 48);

    const fn us(connection_us: u64, request_us: u64, reply_us: u64) -> Self {
        Self {
            connection: Duration::from_micros(connection_us),
            request: Duration::from_micros(request_us),
            reply_512: Duration::from_micros(reply_us),
        }
    }

    /// Whether it costs nothing at all.
    pub fn is_free(&self) -> bool {
        *self == Self::FREE
    }

    /// Passing on a reply of `bytes`.
    pub(super) fn reply(&self, bytes: u64) -> Duration {
        if self.reply_512.is_zero() {
            return Duration::ZERO;
        }
        let units = u32::try_from(bytes.div_ceil(SEND_UNIT_BYTES)).unwrap_or(u32::MAX);
        self.reply_512.saturating_mul(units)
    }
}

/// What a distributed front-end costs (USENIX 2000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistributedCost {
    /// The layer-4 stage, for each connection.
    pub layer4: Duration,
    /// CPU of the distributor for taking a connection in and reading its request.
    pub accept: Duration,
    /// CPU of the distributor for reading each later request.
    pub request: Duration,
    /// CPU of the distributor for handing a connection to another node; within a node it is a call.
    pub handoff: Duration,
    /// CPU of the distributor for each message to the dispatcher, with its answer.
    pub node_message: Duration,
    /// CPU of the dispatcher for each message, with its answer.
    pub message: Duration,
    /// CPU of the dispatcher for each question: the policy.
    pub question: Duration,
}

impl DistributedCost {
    /// Nodes of 300 MHz.
    ///
    /// Published: 0.8 us for the policy; nearly 300 us for all that a front-end does for a
    /// connection by hand-off, which here is `accept` and `handoff` together; a software layer-4
    /// stage passes 128,000 packets/s, and a connection is 5 to 6 of them: 43 us. Chosen: that a
    /// third of the 300 us is the hand-off itself. Calibrated: 40 us for each message at either
    /// end, so that the dispatcher of the paper's largest run (13,000 connections/s on 800 MHz) is
    /// as little loaded as its predicted limit of 50,000 says, without the help of batches.
    pub const PENTIUM_300: Self = Self {
        layer4: Duration::from_micros(43),
        accept: Duration::from_micros(200),
        request: Duration::from_micros(80),
        handoff: Duration::from_micros(100),
        node_message: Duration::from_micros(40),
        message: Duration::from_micros(40),
        question: Duration::from_nanos(800),
    };

    /// Nodes of 800 MHz without a layer-4 stage: one Gigabit switch, clients spread themselves.
    pub const ATHLON_800: Self = Self {
        layer4: Duration::ZERO,
        accept: athlon(Self::PENTIUM_300.accept),
        request: athlon(Self::PENTIUM_300.request),
        handoff: athlon(Self::PENTIUM_300.handoff),
        node_message: athlon(Self::PENTIUM_300.node_message),
        message: athlon(Self::PENTIUM_300.message),
        question: athlon(Self::PENTIUM_300.question),
    };
}

/// A span on the 800 MHz Athlon that is `span` on the 300 MHz Pentium II.
///
/// Derived (USENIX 2000): the single front-end's limit of just under 7,000 connections/s is 143 us
/// for each, where the Pentium II takes nearly 300: a factor of 2.1, although the clock is 2.67
/// times as fast.
pub const fn athlon(span: Duration) -> Duration {
    Duration::from_nanos((span.as_nanos() as u64) * 143 / 300)
}

/// [`CpuCost::APACHE`] on the 800 MHz Athlon. Derived, see [`athlon`].
pub const APACHE_ATHLON: CpuCost = CpuCost {
    connect: athlon(CpuCost::APACHE.connect),
    close: athlon(CpuCost::APACHE.close),
    request: athlon(CpuCost::APACHE.request),
    send_512: athlon(CpuCost::APACHE.send_512),
};

/// Cache of an Athlon node with 256 MB: what the 128 MB node keeps for itself taken away as well.
/// Derived from the P-HTTP paper's 85 MB of 128.
pub const CACHE_ATHLON: u64 = (256 - 43) << 20;

/// What it costs to hand a connection on from one node to another: the paper's unknown `C_h` is
/// the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveCost {
    /// CPU of the node that gives it up.
    pub leave: Duration,
    /// CPU of the node that takes it.
    pub join: Duration,
}

impl MoveCost {
    /// Nothing: the ideal mechanism.
    pub const FREE: Self = Self { leave: Duration::ZERO, join: Duration::ZERO };

    /// Tearing down there and setting up here, at the server's own costs.
    ///
    /// Chosen, because it needs no fitting: with [`ForwardCost`] it puts the size from which
    /// handing on is cheaper than forwarding at 11.9 KB (Apache) and 5.5 KB (Flash); recalled are
    /// 12 and 6 KB.
    pub fn of(cpu: &CpuCost) -> Self {
        Self { leave: cpu.close, join: cpu.connect }
    }
}

/// What fetching a target from another node costs beyond serving it: the paper's unknown `C_f` and
/// `c_f`. The node that has the client spends what it always does; the one that has the target
/// spends this, as a file server in the kernel would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardCost {
    /// `C_f`: each request.
    pub request: Duration,
    /// `c_f`: each started 512 bytes.
    pub send_512: Duration,
}

/// Sending alone, at the cost of sending to a client: Apache and Flash have the same. Chosen; the
/// least that it can be.
pub const FORWARD: ForwardCost =
    ForwardCost { request: Duration::ZERO, send_512: CpuCost::APACHE.send_512 };

/// The size in bytes from which handing on costs less than forwarding: `512 (C_h - C_f) / c_f`.
pub fn crossover_bytes(moving: &MoveCost, forward: &ForwardCost) -> f64 {
    let above = (moving.leave + moving.join).saturating_sub(forward.request);
    SEND_UNIT_BYTES as f64 * above.as_secs_f64() / forward.send_512.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_up_and_tear_down_alone_predict_the_published_crossovers() {
        let kb = |cpu| crossover_bytes(&MoveCost::of(&cpu), &FORWARD) / 1024.0;
        assert!((kb(CpuCost::APACHE) - 11.6).abs() < 0.1, "{}", kb(CpuCost::APACHE));
        assert!((kb(CpuCost::FLASH) - 5.4).abs() < 0.1, "{}", kb(CpuCost::FLASH));
    }
}

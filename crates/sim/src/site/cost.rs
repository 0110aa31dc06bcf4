//! What things cost in the Web cluster of CAP and in ClubWeb: every constant, with its source.
//!
//! Provenance marks as in [`model::cost`], and one more: **calibrated** means that it was set so
//! that a published result comes out; whatever depends on it says so. Rates are in powers of ten,
//! as the makers of disks and networks count.

use core::time::Duration;
use model::CpuCost;
use model::cost::DESKSTAR_ACCESS;

/// Fast Ethernet, each server's and the switch's. Published (WWW10 2001; WWW 2003).
pub const ETHERNET_BITS_S: u64 = 100_000_000;

/// Payload of a full TCP segment on Ethernet. Derived from its frame of 1500 bytes.
pub const SEGMENT_BYTES: u64 = 1460;

/// What a segment adds on the wire: TCP and IP 40, Ethernet 18, preamble and gap 20. Derived.
pub const SEGMENT_EXTRA_BYTES: u64 = 78;

/// Segments without data that a server sends for a connection: SYN/ACK, FIN, one acknowledgement,
/// each a shortest frame with preamble and gap, 84 bytes. Derived.
pub const CONNECTION_EXTRA_BYTES: u64 = 3 * 84;

/// The head of a reply. Chosen: what Apache 1.3 sends for a file, about.
pub const HEAD_BYTES: u64 = 260;

/// The sender's first window, in segments (RFC 2581). Published there; not in the papers.
pub const WINDOW_FIRST: u64 = 2;

/// The largest window, in segments: 32 KB, as Linux 2.2 offers. Chosen.
pub const WINDOW_MAX: u64 = 22;

/// One way between two machines of the LAN, beyond the time on the wire. Chosen: the 0.2 ms that a
/// ping took on such a network are half spent in each direction.
pub const LAN_DELAY: Duration = Duration::from_micros(100);

/// The memory, from which all that is sent is copied once: 100 MB/s. Published (WWW10 2001).
pub const MEMORY_BYTES_S: u64 = 100_000_000;

/// The disk, once it has found a file: 20 MB/s. Published (WWW10 2001).
pub const DISK_BYTES_S: u64 = 20_000_000;

/// Finding a file on it: controller 0.05 ms, seek 9 ms, half a rotation at 7200 rpm. Published
/// (WWW10 2001), the rotation derived.
pub const DISK_ACCESS: Duration = DESKSTAR_ACCESS;

/// What each access of a database query reads. Chosen.
pub const DATABASE_PAGE_BYTES: u64 = 8 * 1024;

/// Each server's share of the site's bytes in its cache. Published (WWW10 2001).
pub const CACHE_SHARE: f64 = 0.15;

/// CPU of CAP's servers, of which the paper says only that parsing and building replies is not
/// intensive: Apache of P-HTTP, the paper that it takes the switch's delays from. Chosen.
pub const SERVER: CpuCost = CpuCost::APACHE;

/// Bytes in KB of the rates below.
const KBIT_BITS: u64 = 1000;

/// The key exchange of a session: one RSA operation of 256 bits at 38.5 kbit/s. Rates published
/// (WWW10 2001); that it is one operation is the natural reading, not the only one.
pub const KEY_EXCHANGE: Duration = model::cost::RSA;

/// Triple-DES, 46,886 kbit/s. Published (WWW10 2001).
const TRIPLE_DES_BITS_S: u64 = 46_886 * KBIT_BITS;

/// MD5, 331,034 kbit/s. Published (WWW10 2001).
const MD5_BITS_S: u64 = 331_034 * KBIT_BITS;

/// The server's certificate, once a session. Published (WWW10 2001).
pub const CERTIFICATE_BYTES: u64 = 2048;

/// Hello and close, once a connection. Published (WWW10 2001).
pub const HELLO_BYTES: u64 = 73;

/// The header of a record. Published (WWW10 2001).
pub const RECORD_HEAD_BYTES: u64 = 29;

/// The longest record of SSL 3. Published there; not in the paper.
pub const RECORD_BYTES: u64 = 16 * 1024;

/// Round trips of a key exchange, and of resuming a session on another connection (SSL 3).
/// Published there; not in the paper.
pub const KEY_EXCHANGE_TRIPS: u32 = 2;
/// See [`KEY_EXCHANGE_TRIPS`].
pub const RESUME_TRIPS: u32 = 1;

/// Enciphering and signing `bytes`.
pub fn cipher(bytes: u64) -> Duration {
    at_rate(bytes * 8, TRIPLE_DES_BITS_S) + at_rate(bytes * 8, MD5_BITS_S)
}

/// What `amount` takes at `per_s` a second.
pub fn at_rate(amount: u64, per_s: u64) -> Duration {
    Duration::from_nanos((u128::from(amount) * 1_000_000_000 / u128::from(per_s)) as u64)
}

/// CPU of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchCost {
    /// Layer 7: accepting a connection, reading its first request, handing it off.
    pub handoff: Duration,
    /// Layer 7: reading another request of the connection where each is looked at.
    pub parse: Duration,
    /// Layer 7: handing the connection to another server for it (multiple hand-off).
    pub again: Duration,
    /// Both layers: passing a client's packet on.
    pub packet: Duration,
}

impl SwitchCost {
    /// A Pentium II at 300 MHz. The delays of the P-HTTP paper that CAP refers to could not be
    /// recovered: `handoff` and `packet` are those of the same authors' next paper (published,
    /// USENIX 2000: nearly 300 us; 128,000 packets/s). `parse` and `again` are chosen: of the
    /// hand-off's 300 us, a sixth to read a request and a half to move the connection.
    pub const PENTIUM_II: Self = Self {
        handoff: Duration::from_micros(300),
        parse: Duration::from_micros(50),
        again: Duration::from_micros(150),
        packet: Duration::from_nanos(7_813),
    };

    /// ClubWeb's switch, two Pentium III at 833 MHz: [`SwitchCost::PENTIUM_II`] at its clock, one
    /// of its two CPUs. Derived.
    pub const PENTIUM_III: Self = Self {
        handoff: Duration::from_nanos(300_000 * 100 / PENTIUM_III_OVER_II_PERCENT),
        parse: Duration::from_nanos(50_000 * 100 / PENTIUM_III_OVER_II_PERCENT),
        again: Duration::from_nanos(150_000 * 100 / PENTIUM_III_OVER_II_PERCENT),
        packet: Duration::from_nanos(7_813 * 100 / PENTIUM_III_OVER_II_PERCENT),
    };

    /// The same with `count` CPUs that share the work evenly (`count` at least 1).
    pub fn with_cpus(self, count: u32) -> Self {
        Self {
            handoff: self.handoff / count,
            parse: self.parse / count,
            again: self.again / count,
            packet: self.packet / count,
        }
    }
}

/// ClubWeb's TCP gateway: everything for one small request, at user level and in both directions.
/// Calibrated to its 600 connections/s (WWW 2003).
pub const GATEWAY: Duration = Duration::from_micros(1_667);

/// The clocks' ratio, 833 to 300 MHz, in percent.
const PENTIUM_III_OVER_II_PERCENT: u64 = 278;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enciphering_costs_what_the_published_rates_say() {
        let ms = cipher(10_240).as_secs_f64() * 1e3;
        assert!((ms - (1.747 + 0.247)).abs() < 0.01, "{ms}");
        assert!((KEY_EXCHANGE.as_secs_f64() - 256.0 / 38_500.0).abs() < 1e-5);
    }

    #[test]
    fn a_full_segment_takes_its_frame_on_the_wire() {
        let bits = (SEGMENT_BYTES + SEGMENT_EXTRA_BYTES) * 8;
        assert_eq!(at_rate(bits, ETHERNET_BITS_S), Duration::from_nanos(123_040));
    }
}

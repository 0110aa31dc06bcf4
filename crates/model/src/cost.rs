//! What work costs on the machines of the papers: every constant of the model, with its source.
//!
//! Provenance marks, as in the notes on the papers that this project keeps: **published** means the
//! number was read in a paper; **recalled** means it was not, but reproduces published figures by
//! arithmetic; **derived** follows from the others; **chosen** is ours, because no source gives it.
//! KB means 1024 bytes throughout, as it did then.

use core::time::Duration;

/// CPU time of a Web server: once for a connection, once for a request, and by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCost {
    /// Accepting a TCP connection.
    pub connect: Duration,
    /// Tearing it down.
    pub close: Duration,
    /// Reading and answering a request, apart from sending the body.
    pub request: Duration,
    /// Sending each started 512 bytes of the body.
    pub send_512: Duration,
}

/// The bytes that [`CpuCost::send_512`] pays for.
pub const SEND_UNIT_BYTES: u64 = 512;

impl CpuCost {
    /// The simulator of LARD (ASPLOS 1998): Pentium II at 300 MHz, FreeBSD.
    ///
    /// Recalled; 145 us is published again in the simulators derived from it. An 8 KB document from
    /// the cache costs 2 * 145 + 16 * 40 = 930 us, the 1075 requests/s that the paper quotes.
    pub const ASPLOS: Self = Self::us(145, 0, 40);

    /// Apache 1.3.1 on the same machine (USENIX 1999, P-HTTP).
    ///
    /// Recalled. 8 KB by HTTP/1.0 cost 2 * 278 + 527 + 16 * 24 = 1467 us: 682 requests/s, as
    /// published.
    pub const APACHE: Self = Self::us(278, 527, 24);

    /// Flash on the same machine (USENIX 1999, P-HTTP).
    ///
    /// Recalled. 8 KB by HTTP/1.0 cost 2 * 129 + 159 + 16 * 24 = 801 us: 1248 requests/s, as
    /// published.
    pub const FLASH: Self = Self::us(129, 159, 24);

    /// Every set with the name it goes by in configurations and reports.
    pub const SETS: [(&'static str, Self); 3] =
        [("asplos", Self::ASPLOS), ("apache", Self::APACHE), ("flash", Self::FLASH)];

    const fn us(connection_us: u64, request_us: u64, send_us: u64) -> Self {
        Self {
            connect: Duration::from_micros(connection_us),
            close: Duration::from_micros(connection_us),
            request: Duration::from_micros(request_us),
            send_512: Duration::from_micros(send_us),
        }
    }

    /// The set called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::SETS.iter().find(|(known, _)| *known == name).map(|(_, set)| *set)
    }

    /// Sending `bytes` of a body.
    pub fn send(&self, bytes: u64) -> Duration {
        times(self.send_512, bytes.div_ceil(SEND_UNIT_BYTES))
    }

    /// A whole exchange on a connection of its own (HTTP/1.0), the target in the cache.
    pub fn exchange(&self, bytes: u64) -> Duration {
        self.connect + self.request + self.send(bytes) + self.close
    }
}

/// A disk: an access costs a fixed time, then so much for each page, and one more seek for each
/// block beyond the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskCost {
    /// Finding the file: two seeks and half a rotation.
    pub first: Duration,
    /// Transfer of each started page.
    pub page: Duration,
    /// Finding each further block.
    pub again: Duration,
}

/// The unit of transfer.
pub const PAGE_BYTES: u64 = 4 * 1024;

/// How much lies together on the disk, and what is read at once: a whole number of pages, so that
/// the blocks of a file cost what the file costs.
pub const BLOCK_BYTES: u64 = 44 * 1024;

impl DiskCost {
    /// The disk of the ASPLOS and P-HTTP simulators:
    /// `28 ms + 410 us per 4 KB + 14 ms per 44 KB beyond the first`.
    ///
    /// 28 ms and 14 ms per 44 KB are published, 410 us recalled. (Simulators derived from it use
    /// 0.08192 ms/KB, another disk: do not mix them.)
    pub const ASPLOS: Self = Self {
        first: Duration::from_millis(28),
        page: Duration::from_micros(410),
        again: Duration::from_millis(14),
    };

    /// Reading a file of `bytes` from the beginning to the end.
    pub fn read(&self, bytes: u64) -> Duration {
        let further = blocks(bytes) - 1;
        self.first + times(self.page, bytes.div_ceil(PAGE_BYTES)) + times(self.again, further)
    }

    /// Reading block `index` (from 0) of a file of `bytes`. The blocks' times sum to
    /// [`DiskCost::read`].
    pub fn read_block(&self, bytes: u64, index: u64) -> Duration {
        let find = if index == 0 { self.first } else { self.again };
        find + times(self.page, block_bytes(bytes, index).div_ceil(PAGE_BYTES))
    }
}

/// In how many blocks a file of `bytes` is read: at least one, for even an empty file is opened.
pub const fn blocks(bytes: u64) -> u64 {
    let count = bytes.div_ceil(BLOCK_BYTES);
    if count == 0 { 1 } else { count }
}

/// The length of block `index` of a file of `bytes`.
pub const fn block_bytes(bytes: u64, index: u64) -> u64 {
    let rest = bytes.saturating_sub(index.saturating_mul(BLOCK_BYTES));
    if rest < BLOCK_BYTES { rest } else { BLOCK_BYTES }
}

/// One random access of CAP's disk, an IBM Deskstar 34GXP: 0.05 ms controller, 9 ms seek and
/// 4.17 ms, half a rotation at 7200 rpm. Published (WWW10 2001); the rotation is derived.
pub const DESKSTAR_ACCESS: Duration = Duration::from_micros(13_220);

/// Reading one 8 KB database page on it at the published 20 MB/s. The page size is chosen.
pub const DESKSTAR_PAGE: Duration = Duration::from_micros(410);

/// Random accesses of a database query. Chosen: CAP gives no service time for its back-ends.
pub const QUERY_ACCESSES: u32 = 3;

/// Finding and reading one such page. Derived.
pub const QUERY_ACCESS: Duration = DESKSTAR_ACCESS.saturating_add(DESKSTAR_PAGE);

/// CPU of a program that computes (CGI, PHP) beyond that of a file. Chosen: no paper gives it; the
/// simulator's ClubWeb has the same, and a server of CAP's prototype answers 25 a second.
pub const PROGRAM_CPU: Duration = Duration::from_millis(40);

/// CPU of a program that leans on the disk. Chosen, as the simulator's ClubWeb.
pub const PROGRAM_DISK_CPU: Duration = Duration::from_millis(2);

/// The network card of a server: Fast Ethernet. Published (WWW10 2001; WWW 2003).
pub const NETWORK_BITS_S: u64 = 100_000_000;

/// CPU of a lightly dynamic answer beyond that of a file. Chosen: about two Apache requests.
pub const LIGHT_CPU: Duration = Duration::from_millis(1);

/// Probability that a lightly dynamic answer is cacheable. Published (WWW10 2001).
pub const LIGHT_CACHEABLE: f64 = 0.3;

/// One RSA operation with 256 bits at the published 38.5 kbit/s (WWW10 2001). Derived.
pub const RSA: Duration = Duration::from_micros(6_650);

/// Triple-DES at 46,886 kbit/s and MD5 at 331,034 kbit/s, for each started KB. Derived from the
/// published rates (WWW10 2001).
pub const CIPHER_KIB: Duration = Duration::from_nanos(199_470);

/// `span` `count` times, no more than the longest span.
pub(crate) fn times(span: Duration, count: u64) -> Duration {
    let total_ns = span.as_nanos().saturating_mul(u128::from(count));
    Duration::from_nanos(u64::try_from(total_ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_second(span: Duration) -> u64 {
        (1.0 / span.as_secs_f64()).round() as u64
    }

    #[test]
    fn the_cpu_sets_give_the_published_capacities_for_8_kb_over_http_1_0() {
        let figures = CpuCost::SETS.map(|(name, set)| (name, per_second(set.exchange(8 * 1024))));
        assert_eq!(figures, [("asplos", 1075), ("apache", 682), ("flash", 1248)]);
    }

    #[test]
    fn the_disk_formula_gives_the_papers_terms() {
        let read_us = |bytes| DiskCost::ASPLOS.read(bytes).as_micros();
        assert_eq!(read_us(0), 28_000);
        assert_eq!(read_us(1), 28_410);
        assert_eq!(read_us(8 * 1024), 28_820);
        assert_eq!(read_us(44 * 1024), 28_000 + 11 * 410);
        assert_eq!(read_us(44 * 1024 + 1), 28_000 + 12 * 410 + 14_000);
        assert_eq!(read_us(132 * 1024), 28_000 + 33 * 410 + 2 * 14_000);
    }

    #[test]
    fn blocks_cost_together_what_the_file_costs() {
        for bytes in [0, 1, 4096, 45_055, 45_056, 45_057, 90_112, 1_000_000, 5_000_001] {
            let parts = (0..blocks(bytes)).map(|i| DiskCost::ASPLOS.read_block(bytes, i)).sum();
            assert_eq!(DiskCost::ASPLOS.read(bytes), parts, "{bytes} bytes");
            let lengths: u64 = (0..blocks(bytes)).map(|i| block_bytes(bytes, i)).sum();
            assert_eq!(bytes, lengths);
        }
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        assert!(CpuCost::APACHE.send(u64::MAX) > Duration::from_secs(1 << 30));
        assert_eq!(block_bytes(u64::MAX, u64::MAX), 0);
    }
}

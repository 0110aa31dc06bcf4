//! A reply on its way: TCP cuts it into segments and sends them by windows that acknowledgements
//! open (slow start, RFC 2581), and a secure channel cuts it into records.
//!
//! What is modelled: every segment's overhead on the wire, the first window, its doubling with each
//! acknowledged one up to the receiver's, and the wait for the first acknowledgement of a window.
//! What is not: loss, delayed acknowledgements, and that segments of two connections alternate on
//! the wire, for a window passes the card in one piece.

use super::cost::{
    ETHERNET_BITS_S, LAN_DELAY, RECORD_BYTES, RECORD_HEAD_BYTES, SEGMENT_BYTES,
    SEGMENT_EXTRA_BYTES, WINDOW_FIRST, WINDOW_MAX, at_rate,
};
use core::time::Duration;

/// The part of a reply that was not sent yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Transfer {
    left_bytes: u64,
    secure: bool,
}

/// The sender's window, which lives as long as the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window(u64);

impl Default for Window {
    fn default() -> Self {
        Self(WINDOW_FIRST)
    }
}

/// What goes out at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    /// Of the reply.
    pub bytes: u64,
    /// With everything that is around them on the wire.
    pub wire_bytes: u64,
    /// Whether more follows.
    pub more: bool,
}

impl Transfer {
    pub fn new(bytes: u64, secure: bool) -> Self {
        let records = if secure { bytes.div_ceil(RECORD_BYTES) } else { 0 };
        Self { left_bytes: bytes + records * RECORD_HEAD_BYTES, secure }
    }

    pub fn is_secure(self) -> bool {
        self.secure
    }

    /// Takes a window's worth off, and opens the window for the next.
    pub fn burst(&mut self, window: &mut Window) -> Burst {
        let bytes = self.left_bytes.min(window.0 * SEGMENT_BYTES);
        self.left_bytes -= bytes;
        window.0 = (window.0 * 2).min(WINDOW_MAX);
        Burst { bytes, wire_bytes: wire_bytes(bytes), more: self.left_bytes > 0 }
    }
}

/// `bytes` with what their segments add on the wire.
pub(super) fn wire_bytes(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(SEGMENT_BYTES).max(1) * SEGMENT_EXTRA_BYTES
}

/// From the moment a burst has left the card to the moment its first acknowledgement has arrived:
/// the round trip, less what the other segments took meanwhile; zero when they took longer.
pub(super) fn wait_for_ack(burst: &Burst) -> Duration {
    let first = SEGMENT_BYTES + SEGMENT_EXTRA_BYTES;
    let others = burst.wire_bytes.saturating_sub(first);
    (2 * LAN_DELAY).saturating_sub(at_rate(others * 8, ETHERNET_BITS_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(bytes: u64, secure: bool) -> Vec<u64> {
        let (mut transfer, mut window) = (Transfer::new(bytes, secure), Window::default());
        let mut sent = Vec::new();
        loop {
            let burst = transfer.burst(&mut window);
            sent.push(burst.bytes);
            if !burst.more {
                return sent;
            }
        }
    }

    #[test]
    fn windows_double_up_to_the_receivers_and_all_bytes_are_sent() {
        let sent = bursts(100_000, false);
        let segments = |count: u64| count * SEGMENT_BYTES;
        assert_eq!(sent[..5], [2, 4, 8, 16, 22].map(segments));
        assert_eq!(sent.iter().sum::<u64>(), 100_000);
    }

    #[test]
    fn a_secure_reply_is_longer_by_the_heads_of_its_records() {
        assert_eq!(bursts(40_000, true).iter().sum::<u64>(), 40_000 + 3 * 29);
        assert_eq!(bursts(0, false), [0], "an empty reply is a burst all the same");
    }

    #[test]
    fn a_long_burst_hides_the_round_trip() {
        let burst = |bytes| Burst { bytes, wire_bytes: wire_bytes(bytes), more: true };
        assert_eq!(wait_for_ack(&burst(SEGMENT_BYTES)), 2 * LAN_DELAY);
        assert_eq!(wait_for_ack(&burst(10 * SEGMENT_BYTES)), Duration::ZERO);
    }
}

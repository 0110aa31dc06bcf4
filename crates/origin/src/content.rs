//! What an origin's answers contain: a pure function of the target and the offset.
//!
//! One pattern of [`PERIOD_BYTES`] pseudo-random bytes repeats for ever; a target begins at a place
//! in it that its hash gives. So an origin writes from the pattern itself without generating or
//! copying anything, and a client checks an answer by comparing with the same slices. The period
//! is a prime number: a piece that is missing or doubled, of whatever round length, is noticed,
//! unless it is a multiple of the whole period. Two targets begin at the same place once in a
//! million pairs.

use policy::{Dice, TargetId};
use std::borrow::Cow;
use std::sync::LazyLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// After how many bytes contents repeat: the largest prime below 2^20.
pub const PERIOD_BYTES: u64 = 1_048_573;

/// A slice has at least this many bytes, where as many are wanted: the pattern is kept so much
/// longer than its period.
pub const SLICE_BYTES: usize = 256 * 1024;

/// Seed of the pattern: the digits of pi. Changing it changes every content.
const PATTERN_SEED: u64 = 0x3141_5926_5358_9793;

static PATTERN: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut dice = Dice::new(PATTERN_SEED);
    let period = PERIOD_BYTES as usize;
    let mut bytes = Vec::with_capacity(period + SLICE_BYTES + 8);
    while bytes.len() < period {
        bytes.extend_from_slice(&dice.bits().to_le_bytes());
    }
    bytes.truncate(period);
    bytes.extend_from_within(..SLICE_BYTES);
    bytes.into_boxed_slice()
});

/// The target that a request names: a hash of the host, in lower case and without port, and of
/// path and query as they stand in the request. A missing host is the empty one.
pub fn target(authority: Option<&str>, path_and_query: &str) -> TargetId {
    let host = host_of(authority.unwrap_or(""));
    let host = if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    };
    TargetId(xxh3_64_with_seed(path_and_query.as_bytes(), xxh3_64(host.as_bytes())))
}

/// The host of an authority that may have a port. Colons in brackets belong to the host.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// What `target`'s content has from `offset` on: at most `len_max` bytes, and at least that many or
/// [`SLICE_BYTES`].
pub fn slice(target: TargetId, offset: u64, len_max: u64) -> &'static [u8] {
    let start = (target.mixed(PATTERN_SEED) % PERIOD_BYTES + offset % PERIOD_BYTES) % PERIOD_BYTES;
    let rest = &PATTERN[start as usize..];
    &rest[..usize::try_from(len_max).map_or(rest.len(), |len| len.min(rest.len()))]
}

/// Whether `bytes` is what `target`'s content has from `offset` on.
pub fn verify(target: TargetId, offset: u64, bytes: &[u8]) -> bool {
    let (mut offset, mut bytes) = (offset, bytes);
    while !bytes.is_empty() {
        let expected = slice(target, offset, bytes.len() as u64);
        let (these, rest) = bytes.split_at(expected.len());
        if these != expected {
            return false;
        }
        offset = offset.wrapping_add(expected.len() as u64);
        bytes = rest;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_does_not_depend_on_how_it_is_cut() {
        let target = target(Some("a.example"), "/x");
        let mut whole = Vec::new();
        while whole.len() < 3_000_000 {
            whole.extend_from_slice(slice(target, whole.len() as u64, 1 << 40));
        }
        for offset in [0, 1, 777, 1_048_572, 1_048_573, 2_500_000] {
            let piece = slice(target, offset as u64, 1000);
            assert_eq!(piece, &whole[offset..offset + 1000]);
            assert!(verify(target, offset as u64, &whole[offset..]));
        }
    }

    #[test]
    fn a_changed_a_lost_and_a_foreign_byte_are_noticed() {
        let target = target(Some("a.example"), "/x");
        let content = slice(target, 0, 100_000).to_vec();
        assert!(verify(target, 0, &content));
        assert!(!verify(target, 1, &content));
        assert!(!verify(target, 65_536, &content));
        assert!(!verify(super::target(Some("a.example"), "/y"), 0, &content));
        let mut changed = content.clone();
        changed[99_999] ^= 1;
        assert!(!verify(target, 0, &changed));
    }

    #[test]
    fn a_target_is_host_and_path_and_query_but_not_the_port_or_the_hosts_case() {
        let one = target(Some("a.example"), "/x?y");
        assert_eq!(one, target(Some("A.Example:8080"), "/x?y"));
        assert_ne!(one, target(Some("b.example"), "/x?y"));
        assert_ne!(one, target(Some("a.example"), "/X?y"));
        assert_ne!(one, target(Some("a.example"), "/x"));
        assert_eq!(target(Some("[::1]:80"), "/"), target(Some("[::1]"), "/"));
        assert_eq!(target(None, "/"), target(Some(""), "/"));
    }
}

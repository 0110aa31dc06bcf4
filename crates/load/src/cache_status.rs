//! The Cache-Status field (RFC 9211): did a cache on the way have it?
//!
//! A list of caches, each with parameters: `origin-3; hit, edge; fwd=miss`. `hit` says that the
//! cache answered without asking further. Quoted strings may hold commas and semicolons.

/// What the caches on the way say of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cached {
    /// Nothing.
    #[default]
    Unsaid,
    /// None had it.
    Miss,
    /// One had it.
    Hit,
}

/// What one field line says.
pub(crate) fn read(value: &[u8]) -> Cached {
    let mut found = Cached::Unsaid;
    for member in split(value, b',') {
        let mut parameters = split(member, b';').map(<[u8]>::trim_ascii);
        if parameters.next().is_none_or(<[u8]>::is_empty) {
            continue;
        }
        if parameters.any(|parameter| matches!(parameter, b"hit" | b"hit=?1")) {
            return Cached::Hit;
        }
        found = Cached::Miss;
    }
    found
}

/// The parts of `text` between separators that are not within quotes.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |&byte| {
        let ends = byte == separator && !quoted;
        if byte == b'"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_of_any_cache_is_a_hit() {
        let cases: [(&str, Cached); 10] = [
            ("origin; hit", Cached::Hit),
            ("origin;hit=?1;ttl=376", Cached::Hit),
            ("origin; fwd=uri-miss, edge; hit; detail=\"a, b\"", Cached::Hit),
            ("origin; fwd=miss; stored", Cached::Miss),
            ("origin", Cached::Miss),
            ("origin; hit=?0", Cached::Miss),
            ("\"x; hit\"; fwd=miss", Cached::Miss),
            ("\"x\\\"; hit, y\"; fwd=miss; detail=\"; hit\"", Cached::Miss),
            ("", Cached::Unsaid),
            (" , ", Cached::Unsaid),
        ];
        for (value, expected) in cases {
            assert_eq!(read(value.as_bytes()), expected, "{value}");
        }
    }
}

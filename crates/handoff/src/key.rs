//! How the front-end's program knows a request again: SipHash-1-3 with 128 bits over the request
//! line and the Host field in lower case (`bpf/scan.h` has the same in C; a test runs both).

/// Bytes of a segment that the program looks at.
const SCAN_MAX: usize = 2048;

/// A request's key. `None` for a head that the program does not read: longer than it looks, not
/// whole, or with more than one Host.
pub fn memo_key(secret: &[u8; 16], head: &[u8]) -> Option<(u64, u64)> {
    let head = &head[..head.len().min(SCAN_MAX)];
    let mut first = None;
    let mut host: Option<&[u8]> = None;
    let mut hosts = 0;
    let mut from = 0;
    loop {
        let length = head[from..].iter().position(|byte| *byte == b'\n')?;
        let line = &head[from..from + length];
        from += length + 1;
        if line.is_empty() || line == b"\r" {
            break;
        }
        if first.is_none() {
            first = Some(line.strip_suffix(b"\r").unwrap_or(line));
        } else if line.len() >= 5 && line[..5].eq_ignore_ascii_case(b"host:") {
            hosts += 1;
            host = Some(trimmed(&line[5..]));
        }
    }
    if hosts > 1 {
        return None;
    }
    let mut sip = Sip::new(secret);
    sip.span(first?);
    sip.span(&host.unwrap_or(b"").to_ascii_lowercase());
    Some(sip.end())
}

/// Without the blanks at its ends: up to four at each, as the program does.
fn trimmed(mut value: &[u8]) -> &[u8] {
    for _ in 0..4 {
        value = value.strip_prefix(b" ").or_else(|| value.strip_prefix(b"\t")).unwrap_or(value);
    }
    for _ in 0..4 {
        if let [rest @ .., b' ' | b'\t' | b'\r'] = value {
            value = rest;
        }
    }
    value
}

struct Sip([u64; 4]);

impl Sip {
    fn new(secret: &[u8; 16]) -> Self {
        let (low, high) = secret.split_at(8);
        let key = |half: &[u8]| u64::from_ne_bytes(half.try_into().expect("half of sixteen"));
        let (key0, key1) = (key(low), key(high));
        Self([
            key0 ^ 0x736f_6d65_7073_6575,
            key1 ^ 0x646f_7261_6e64_6f6d,
            key0 ^ 0x6c79_6765_6e65_7261,
            key1 ^ 0x7465_6462_7974_6573,
        ])
    }

    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.0;
        *v0 = v0.wrapping_add(*v1);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v3);
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.wrapping_add(*v3);
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v2 = v2.rotate_left(32);
    }

    fn rounds(&mut self) -> u64 {
        (0..3).for_each(|_| self.round());
        self.0.iter().fold(0, |sum, v| sum ^ v)
    }

    fn word(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    fn span(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    fn end(mut self) -> (u64, u64) {
        self.0[2] ^= 0xff;
        let low = self.rounds();
        self.0[1] ^= 0xdd;
        (low, self.rounds())
    }
}

/// A secret for another purpose, made from the site's: with it cookies and memos are keyed, so that
/// they stay valid when the switch is started again.
pub(crate) fn derived(secret: &[u8; 16], purpose: &[u8]) -> [u8; 16] {
    let mut sip = Sip::new(secret);
    sip.span(purpose);
    let (low, high) = sip.end();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&low.to_ne_bytes());
    bytes[8..].copy_from_slice(&high.to_ne_bytes());
    bytes
}

/// What tells whether two hosts have the same key, and nothing of the key itself: its keyed hash of
/// a fixed text, in hexadecimal.
pub fn key_check(key: &[u8; 16]) -> String {
    derived(key, b"the same key?").iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_tells_keys_apart_and_says_nothing_that_is_used_elsewhere() {
        let (one, other) = (key_check(&[7; 16]), key_check(&[8; 16]));
        assert_eq!((one.len(), &one), (32, &key_check(&[7; 16])));
        assert_ne!(one, other);
        for spent in [[7; 16], derived(&[7; 16], b"cookie")] {
            assert_ne!(u128::from_str_radix(&one, 16).unwrap(), u128::from_be_bytes(spent));
        }
    }

    #[test]
    fn a_host_is_known_in_any_spelling_and_a_path_in_its_own() {
        let key = |line: &str, host: &str| {
            memo_key(&[7; 16], format!("{line}\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap()
        };
        assert_eq!(key("GET /a", "Example.ORG:80"), key("GET /a", "example.org:80"));
        assert_ne!(key("GET /a", "h"), key("GET /A", "h"));
        // Bytes that differ in the same bit and are no letters.
        for (one, other) in [("@", "`"), ("[", "{"), ("\u{c1}", "\u{e1}")] {
            assert_ne!(key("GET /a", one), key("GET /a", other), "{one} {other}");
        }
    }
}

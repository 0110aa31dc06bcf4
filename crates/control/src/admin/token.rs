//! The token that guards an admin listener on TCP.

use std::fmt;

/// Characters a token has at least: shorter ones can be guessed over a network.
pub const TOKEN_CHARS_MIN: usize = 16;

/// A secret shared with the operator. Never shown, not even in debugging output.
#[derive(Clone)]
pub struct Token(Box<[u8]>);

impl Token {
    /// Takes a token of at least [`TOKEN_CHARS_MIN`] visible ASCII characters.
    ///
    /// # Errors
    /// What is wrong with it, without the token.
    pub fn new(token: &str) -> Result<Self, &'static str> {
        if token.len() < TOKEN_CHARS_MIN {
            return Err("the admin token is too short: give at least 16 characters");
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the admin token has a space or a character that is not plain ASCII");
        }
        Ok(Self(token.as_bytes().into()))
    }

    /// Whether an Authorization field carries the token: as Bearer, for programs, or as the
    /// password of Basic (RFC 7617) under any user name, so that a browser can open the page.
    pub(super) fn admits(&self, authorization: Option<&str>) -> bool {
        let Some((scheme, credentials)) = authorization.and_then(|field| field.split_once(' '))
        else {
            return false;
        };
        let credentials = credentials.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.equals(credentials.as_bytes());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        let pair = base64(credentials).unwrap_or_default();
        let colon = pair.iter().position(|byte| *byte == b':');
        colon.is_some_and(|colon| self.equals(&pair[colon + 1..]))
    }

    /// Compares in a time that depends on the length given alone, not on where the first
    /// difference is: that would let the token be guessed piece by piece.
    fn equals(&self, given: &[u8]) -> bool {
        let mut difference = u8::from(given.len() != self.0.len());
        for (byte, own) in given.iter().zip(self.0.iter().cycle()) {
            difference |= byte ^ own;
        }
        std::hint::black_box(difference) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// Decodes standard base64 (RFC 4648 section 4), padding optional; `None` when it is not.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0u32, 0);
    for char in text.trim_end_matches('=').bytes() {
        let six = match char {
            b'A'..=b'Z' => char - b'A',
            b'a'..=b'z' => char - b'a' + 26,
            b'0'..=b'9' => char - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = word << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    //! Method: fields as programs and browsers send them, and as attackers might.

    use super::*;

    #[test]
    fn only_the_whole_token_is_admitted() {
        let token = Token::new("correct-horse-battery").unwrap();
        for (field, admitted) in [
            ("Bearer correct-horse-battery", true),
            ("bearer correct-horse-battery", true),
            // printf 'me:correct-horse-battery' | base64
            ("Basic bWU6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", true),
            ("Basic bWU6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ6", false),
            ("Bearer correct-horse-batterz", false),
            ("Bearer correct-horse-batter", false),
            ("Bearer correct-horse-batteryy", false),
            ("Bearer correct-horse-batterycorrect-horse-battery", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("Basic !!!", false),
            ("Basic ", false),
            ("Digest correct-horse-battery", false),
        ] {
            assert_eq!(token.admits(Some(field)), admitted, "{field}");
        }
        assert!(!token.admits(None));
    }

    #[test]
    fn a_token_that_can_be_guessed_is_refused_and_none_is_ever_shown() {
        assert!(Token::new("short").is_err());
        assert!(Token::new("sixteen chars with spaces").is_err());
        let token = Token::new("correct-horse-battery").unwrap();
        assert!(!format!("{token:?}").contains("horse"));
    }

    #[test]
    fn base64_of_every_length_is_decoded() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")]
        {
            assert_eq!(base64(text).unwrap(), bytes.as_bytes(), "{text}");
        }
    }
}

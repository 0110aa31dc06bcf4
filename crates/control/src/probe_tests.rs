//! Method: answers are cut at every byte, so that a slow server is judged like a fast one; random
//! bytes may be judged in any way but with a panic.

use super::*;
use proptest::prelude::*;

fn said(answer: &[u8]) -> String {
    match status_of(answer) {
        Ok(None) => "more".to_owned(),
        Ok(Some(status)) => status.to_string(),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn an_answer_is_judged_by_its_final_status_line() {
    for (answer, expected) in [
        (&b"HTTP/1.1 200 OK\r\n"[..], "200"),
        (b"HTTP/1.0 404 Not Found\r\n", "404"),
        (b"HTTP/1.1 204\r\n", "204"),
        (b"HTTP/1.1 200 OK\n", "200"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 500 Oops\r\n", "500"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "more"),
        (b"HTTP/1.1 2000 OK\r\n", "answered 'HTTP/1.1 2000 OK' instead of HTTP"),
        (b"HTTP/1.1 +20 OK\r\n", "answered 'HTTP/1.1 +20 OK' instead of HTTP"),
        (b"HTTP/1.1 999 No\r\n", "answered 'HTTP/1.1 999 No' instead of HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "answered 'SSH-2.0-OpenSSH_9.2' instead of HTTP"),
        (b"+OK Redis\x1b[31m\r\n", "answered '+OK Redis.[31m' instead of HTTP"),
        (
            b"\x15\x03\x01\x00\x02\x02\x46",
            "answered with a TLS record instead of HTTP: \
            is this its HTTPS port?",
        ),
    ] {
        assert_eq!(said(answer), expected, "{}", String::from_utf8_lossy(answer));
    }
}

#[test]
fn a_server_that_sends_byte_by_byte_gets_the_same_verdict() {
    let answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n";
    for cut in 0..answer.len() {
        assert_eq!(said(&answer[..cut]), "more", "cut at {cut}");
    }
    assert_eq!(said(answer), "204");
}

#[test]
fn a_long_strange_answer_is_quoted_in_part() {
    let Fault::NotHttp(quote) = not_http(&[b'x'; 1000]) else { panic!("not TLS") };
    assert_eq!(quote.chars().count(), QUOTE_CHARS_MAX + 1);
}

proptest! {
    #[test]
    fn no_answer_panics_or_puts_control_characters_into_the_log(
        answer in proptest::collection::vec(any::<u8>(), 0..200),
        http in any::<bool>(),
    ) {
        let answer = if http { [b"HTTP/1.", &answer[..]].concat() } else { answer };
        prop_assert!(!said(&answer).chars().any(char::is_control));
    }
}

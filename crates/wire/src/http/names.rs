//! The field names that matter to an intermediary, found by length and first letter.

/// A field that decides something here; all others are passed on unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Name {
    /// Ends at this hop, whatever its value.
    Hop,
    ContentLength,
    Date,
    Expect,
    Forwarded,
    ForwardedFor,
    ForwardedHost,
    /// What only other proxies say of a client, and we never do: X-Forwarded-Port, X-Real-IP.
    ForwardedOther,
    ForwardedProto,
    Host,
    MaxForwards,
    RequestId,
    TransferEncoding,
    Via,
    Upgrade,
    /// Ends at this hop and says something; marked as [`Name::Hop`].
    Connection,
    /// Likewise.
    Te,
}

/// How many of them have marks of their own.
pub(crate) const MARKS: usize = Name::Upgrade as usize + 1;

/// Which of the names that matter this is. One comparison of letters at most.
#[inline]
pub(crate) fn known(name: &str) -> Option<Name> {
    let first = name.as_bytes().first()? | 0x20;
    let (full, known) = match (name.len(), first) {
        (2, b't') => ("te", Name::Te),
        (3, b'v') => ("via", Name::Via),
        (4, b'h') => ("host", Name::Host),
        (4, b'd') => ("date", Name::Date),
        // No RFC has it; a CGI program would find it in HTTP_PROXY and trust it ("httpoxy").
        (5, b'p') => ("proxy", Name::Hop),
        (6, b'e') => ("expect", Name::Expect),
        (7, b'u') => ("upgrade", Name::Upgrade),
        (9, b'x') => ("x-real-ip", Name::ForwardedOther),
        (9, b'f') => ("forwarded", Name::Forwarded),
        (10, b'c') => ("connection", Name::Connection),
        (10, b'k') => ("keep-alive", Name::Hop),
        (12, b'm') => ("max-forwards", Name::MaxForwards),
        (12, b'x') => ("x-request-id", Name::RequestId),
        (14, b'c') => ("content-length", Name::ContentLength),
        (15, b'x') => ("x-forwarded-for", Name::ForwardedFor),
        (16, b'x') if name.as_bytes()[12] | 0x20 == b'p' => {
            ("x-forwarded-port", Name::ForwardedOther)
        }
        (16, b'x') => ("x-forwarded-host", Name::ForwardedHost),
        (16, b'p') => ("proxy-connection", Name::Hop),
        (17, b'x') => ("x-forwarded-proto", Name::ForwardedProto),
        (17, b't') => ("transfer-encoding", Name::TransferEncoding),
        // Credentials meant for a proxy, and a proxy's demand for them, are between that proxy
        // and its client; this switch asks for none, and the server behind must not see them.
        (18, b'p') => ("proxy-authenticate", Name::Hop),
        (19, b'p') => ("proxy-authorization", Name::Hop),
        (25, b'p') => ("proxy-authentication-info", Name::Hop),
        _ => return None,
    };
    name.eq_ignore_ascii_case(full).then_some(known)
}

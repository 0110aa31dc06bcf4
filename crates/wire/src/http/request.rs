//! Request heads: what a client may say to this switch, and with which status it is refused.

use super::judge::{Coding, Judged};
use super::names::Name;
use super::{Fields, Framing, Limits, Method, Slots, Version};
use httparse::Status;

/// Why a request is refused. The connection must be closed after saying so: where this message
/// ends, and so where the next begins, is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The status to answer with.
    pub status: u16,
    /// The reason, a sentence without a full stop, for the reply's body and the log.
    pub why: &'static str,
}

impl Reject {
    pub(crate) const fn new(status: u16, why: &'static str) -> Self {
        Self { status, why }
    }
}

/// The form of a request target (RFC 9112, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/path?query`
    Origin,
    /// `http://host/path?query`
    Absolute,
    /// `*`, of the server as a whole.
    Asterisk,
}

/// A request head that may be acted on.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'b, 's> {
    /// The method.
    pub method: Method,
    /// The method as it was spelt.
    pub method_name: &'b str,
    /// The target as it came, ASCII without spaces or controls, without a fragment.
    pub target: &'b str,
    /// Which form the target has.
    pub form: Form,
    /// The path, which begins with `/`, or `*`. Percent signs are as they came.
    pub path: &'b str,
    /// What follows the first `?`, where there is one.
    pub query: Option<&'b str>,
    /// Host and port that the request is for: of an absolute target, else of the Host field. Not
    /// lower-cased. `None` if there is none, which only HTTP/1.0 and an empty Host can say.
    pub authority: Option<&'b str>,
    /// The version.
    pub version: Version,
    /// Bytes of the head in the buffer, its blank line included: where the body begins.
    pub head_bytes: usize,
    /// Where the body ends.
    pub body: Framing,
    /// Whether the client wants to use the connection again.
    pub keep_alive: bool,
    /// Whether it waits for 100 (Continue) before it sends the body.
    pub expect_continue: bool,
    /// The protocols it would switch to, as listed. Only where Connection says `upgrade` too, and
    /// never for HTTP/2 in clear text, which would carry requests past every check made here.
    pub upgrade: Option<&'b str>,
    /// Whether it takes trailers.
    pub te_trailers: bool,
    fields: Fields<'b, 's>,
}

impl<'b, 's> RequestHead<'b, 's> {
    /// The fields.
    #[inline]
    pub fn fields(&self) -> &Fields<'b, 's> {
        &self.fields
    }

    /// The value of the first field of that name, in whatever case.
    pub fn field(&self, name: &str) -> Option<&'b [u8]> {
        self.fields.get(name)
    }

    /// How much further an OPTIONS request may go: its Max-Forwards (RFC 9110, 7.6.2). At zero it
    /// is for whoever holds it to answer. `None` without one, where it is no number, and for all
    /// other methods, for which the field means nothing.
    pub fn max_forwards(&self) -> Option<u64> {
        let first = self.fields.marks.of(Name::MaxForwards);
        if self.method != Method::Options || first == 0 {
            return None;
        }
        let digits = self.fields.list[first.trailing_zeros() as usize].value;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        // A number too long to count down is as good as none.
        core::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
    }

    /// Whether Via says that the request passed a switch called `name` already (RFC 9110, 7.6.3:
    /// then it goes in a circle). Names are compared as hosts are, without case.
    pub fn came_by(&self, name: &str) -> bool {
        let mut fields = self.fields.marks.of(Name::Via);
        while fields != 0 {
            let value = self.fields.list[fields.trailing_zeros() as usize].value;
            // Protocol, white space, who received it, and perhaps a comment.
            let receiver = |element: &[u8]| {
                let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
                let mut words = element.split(blank).filter(|word| !word.is_empty());
                words.nth(1).is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
            };
            if value.split(|byte| *byte == b',').any(receiver) {
                return true;
            }
            fields &= fields - 1;
        }
        false
    }

    /// Whether field `index` ends at this hop.
    pub fn is_hop_by_hop(&self, index: usize) -> bool {
        self.fields.is_hop_by_hop(index)
    }
}

/// Reads the request head that `bytes` begins with. `Ok(None)`: it is not whole yet.
///
/// The answer depends on the bytes only, never on how they were cut up on the way: a longer
/// `bytes` repeats the answer a shorter one had, unless that was `Ok(None)`.
///
/// # Errors
///
/// [`Reject`] as soon as it is certain that these bytes are no acceptable head, which for a head
/// that is too long is before its end was seen.
#[inline]
pub fn parse<'b, 's>(
    bytes: &'b [u8],
    limits: &Limits,
    slots: &'s mut Slots<'b>,
) -> Result<Option<RequestHead<'b, 's>>, Reject> {
    let window = &bytes[..bytes.len().min(limits.head_bytes_max)];
    let lead = empty_line(window)?;
    let text = &window[lead..];
    let mut split = httparse::Request::new(&mut []);
    let status = split.parse_with_uninit_headers(text, slots.first(limits.fields_max));
    if bytes.len() > limits.target_bytes_max
        && let Some(method) = split.method
        && target_bytes(text, method) > limits.target_bytes_max
    {
        return Err(Reject::new(414, "the target is too long"));
    }
    match status {
        Ok(Status::Complete(length)) => {
            judge(split, &text[..length], lead + length, limits.body_bytes_max).map(Some)
        }
        Ok(Status::Partial) if bytes.len() >= limits.head_bytes_max => {
            Err(Reject::new(431, "the head is too long"))
        }
        Ok(Status::Partial) => Ok(None),
        Err(fault) => Err(refusal(fault, &split, text)),
    }
}

/// Bytes of an empty line before the request line: one is forgiven (RFC 9112, 2.2), no more.
#[inline]
fn empty_line(bytes: &[u8]) -> Result<usize, Reject> {
    match bytes {
        [b'\r', b'\n', b'\r' | b'\n', ..] => Err(Reject::new(400, "it begins with empty lines")),
        [b'\r', b'\n', ..] => Ok(2),
        [b'\n', ..] | [b'\r', _, ..] => Err(Reject::new(400, "it begins with half a line end")),
        _ => Ok(0),
    }
}

/// Bytes of the target so far, whole or not.
#[cold]
fn target_bytes(text: &[u8], method: &str) -> usize {
    let target = &text[method.len() + 1..];
    target.iter().position(|b| *b <= b' ' || *b == 0x7f).unwrap_or(target.len())
}

/// What to answer where the splitter gave up.
#[cold]
fn refusal(fault: httparse::Error, split: &httparse::Request<'_, '_>, text: &[u8]) -> Reject {
    use httparse::Error as E;
    let line = split.method.zip(split.path).map(|(method, path)| method.len() + path.len() + 2);
    match fault {
        E::TooManyHeaders => Reject::new(431, "the head has too many fields"),
        E::Version => match line.and_then(|start| text.get(start..)) {
            Some([b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', ..]) => {
                Reject::new(505, "the version is neither HTTP/1.0 nor HTTP/1.1")
            }
            _ => Reject::new(400, "the request line has no version"),
        },
        E::HeaderName => Reject::new(
            400,
            "a field name holds what none may hold (a space before the colon, a folded line)",
        ),
        E::HeaderValue => Reject::new(400, "a field value holds a control character"),
        _ if line.is_none() => Reject::new(400, "the method or the target is malformed"),
        _ => Reject::new(400, "a line does not end as lines do"),
    }
}

#[inline]
fn judge<'b, 's>(
    split: httparse::Request<'s, 'b>,
    raw: &'b [u8],
    head_bytes: usize,
    body_bytes_max: u64,
) -> Result<RequestHead<'b, 's>, Reject> {
    let (Some(method_name), Some(target), Some(minor)) = (split.method, split.path, split.version)
    else {
        return Err(Reject::new(400, "the request line is not whole"));
    };
    let list: &'s [httparse::Header<'b>] = split.headers;
    let mut judged = Judged::default();
    judged.read(raw, list)?;
    let method = Method::named(method_name);
    let version = if minor == 1 { Version::Http11 } else { Version::Http10 };
    let at = Target::read(method, target)?;
    let host = host(&judged, version)?;
    if judged.expect_other {
        return Err(Reject::new(417, "an expectation other than 100-continue"));
    }
    Ok(RequestHead {
        method,
        method_name,
        target,
        form: at.form,
        path: at.path,
        query: at.query,
        authority: at.authority.or(host),
        version,
        head_bytes,
        body: framing(&judged, version, body_bytes_max)?,
        keep_alive: !judged.close && (version == Version::Http11 || judged.keep_alive),
        // A 1.0 client does not know interim replies (RFC 9110, 10.1.1).
        expect_continue: judged.expect_continue && version == Version::Http11,
        upgrade: upgrade(&judged, version),
        te_trailers: judged.te_trailers,
        fields: Fields { raw, list, marks: judged.marks },
    })
}

/// Where the body ends (RFC 9112, 6.3, without its repairs).
#[inline]
fn framing(judged: &Judged<'_>, version: Version, body_bytes_max: u64) -> Result<Framing, Reject> {
    let refuse = |status, why| Err(Reject::new(status, why));
    match (judged.coding, judged.content_length) {
        (Coding::Absent, None) => Ok(Framing::None),
        (Coding::Absent, Some(length)) if length > body_bytes_max => {
            refuse(413, "the content is too long")
        }
        (Coding::Absent, Some(length)) => Ok(Framing::Length(length)),
        (_, Some(_)) => refuse(400, "Content-Length and Transfer-Encoding contradict each other"),
        _ if version == Version::Http10 => refuse(400, "Transfer-Encoding in HTTP/1.0"),
        (Coding::Chunked, None) => Ok(Framing::Chunked),
        (Coding::Unknown, None) => refuse(501, "a transfer coding other than chunked"),
        (Coding::ChunkedInside, None) => refuse(400, "chunked is not the last transfer coding"),
        (Coding::EmptyElement, None) => refuse(400, "Transfer-Encoding has an empty element"),
    }
}

/// The value of Host, `None` where it is missing in 1.0 or empty.
#[inline]
fn host<'b>(judged: &Judged<'b>, version: Version) -> Result<Option<&'b str>, Reject> {
    match judged.host {
        _ if judged.host_twice => Err(Reject::new(400, "Host is there twice")),
        None if version == Version::Http11 => Err(Reject::new(400, "Host is missing")),
        None | Some([]) => Ok(None),
        Some(value) => authority(value).map(Some),
    }
}

fn upgrade<'b>(judged: &Judged<'b>, version: Version) -> Option<&'b str> {
    let value = core::str::from_utf8(judged.upgrade?).ok()?;
    let single = judged.marks.of(Name::Upgrade).count_ones() == 1;
    let clear_http2 = |protocol: &str| {
        protocol.trim_ascii().get(..3).is_some_and(|p| p.eq_ignore_ascii_case("h2c"))
    };
    (single
        && judged.upgrade_option
        && version == Version::Http11
        && !value.is_empty()
        && !value.split(',').any(clear_http2))
    .then_some(value)
}

struct Target<'b> {
    form: Form,
    authority: Option<&'b str>,
    path: &'b str,
    query: Option<&'b str>,
}

impl<'b> Target<'b> {
    #[inline]
    fn read(method: Method, target: &'b str) -> Result<Self, Reject> {
        if !target.is_ascii() {
            return Err(Reject::new(400, "the target has bytes beyond ASCII"));
        }
        if method == Method::Connect {
            return Err(Reject::new(501, "CONNECT is for forward proxies"));
        }
        if method == Method::Trace {
            return Err(Reject::new(405, "TRACE would give back what servers are told of clients"));
        }
        if target.starts_with('/') {
            let (path, query) = path_and_query(target)?;
            return Ok(Self { form: Form::Origin, authority: None, path, query });
        }
        if target == "*" && method == Method::Options {
            return Ok(Self { form: Form::Asterisk, authority: None, path: "*", query: None });
        }
        Self::absolute(method, target)
    }

    /// `http://authority[/path][?query]`, whose authority overrides Host (RFC 9112, 3.2.2).
    #[cold]
    fn absolute(method: Method, target: &'b str) -> Result<Self, Reject> {
        let scheme = ["http://", "https://"].into_iter().find(|scheme| {
            target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        let Some(scheme) = scheme else {
            return Err(Reject::new(400, "the target is neither a path nor an http URI"));
        };
        let rest = &target[scheme.len()..];
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let host = authority(&rest.as_bytes()[..end])?;
        let (path, query) = path_and_query(&rest[end..])?;
        let path = match path {
            // RFC 9112, 3.2.4: the last proxy turns an empty path into the asterisk.
            "" if method == Method::Options && query.is_none() => "*",
            "" => "/",
            path => path,
        };
        Ok(Self { form: Form::Absolute, authority: Some(host), path, query })
    }
}

#[inline]
fn path_and_query(target: &str) -> Result<(&str, Option<&str>), Reject> {
    let bytes = target.as_bytes();
    match memchr::memchr2(b'?', b'#', bytes) {
        None => Ok((target, None)),
        Some(at) if bytes[at] == b'?' && memchr::memchr(b'#', &bytes[at..]).is_none() => {
            Ok((&target[..at], Some(&target[at + 1..])))
        }
        Some(_) => Err(Reject::new(400, "the target has a fragment")),
    }
}

/// Host and optional port. Stricter than the grammar of URIs: no user name, no percent signs, no
/// commas, for those serve only to make two readers see two hosts.
#[inline]
fn authority(value: &[u8]) -> Result<&str, Reject> {
    const WRONG: Reject = Reject::new(400, "the host is malformed");
    let text = core::str::from_utf8(value).map_err(|_| WRONG)?;
    let (host_valid, rest) = match value {
        [b'[', inner @ ..] => {
            let end = memchr::memchr(b']', inner).ok_or(WRONG)?;
            let digits = |b: &u8| b.is_ascii_hexdigit() || matches!(b, b':' | b'.');
            (end >= 2 && inner[..end].iter().all(digits), &inner[end + 1..])
        }
        _ => {
            let end = memchr::memchr(b':', value).unwrap_or(value.len());
            (end > 0 && value[..end].iter().all(|b| HOST_BYTES[usize::from(*b)]), &value[end..])
        }
    };
    let port_valid = match rest {
        [] => true,
        [b':', port @ ..] => {
            port.len() <= 5
                && port.iter().all(u8::is_ascii_digit)
                && port.iter().fold(0, |sum, b| sum * 10 + u32::from(b - b'0')) <= 65_535
        }
        _ => false,
    };
    if host_valid && port_valid { Ok(text) } else { Err(WRONG) }
}

/// Bytes of a registered name or an IPv4 address.
const HOST_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric()
            || matches!(b, b'-' | b'.' | b'_' | b'~')
            || matches!(b, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b';' | b'=');
        byte += 1;
    }
    table
};

//! Response heads: what a server says, and when it is not believed.

use super::judge::{Coding, Judged};
use super::{Fields, Framing, Limits, Method, Reject, Slots, Version};
use httparse::Status;

/// A server's reply that cannot be passed on: the client gets 502, the connection to the server
/// is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The reason, a sentence without a full stop, for the log and the server's record.
    pub why: &'static str,
}

impl From<Reject> for Broken {
    fn from(fault: Reject) -> Self {
        Self { why: fault.why }
    }
}

/// What was asked: without it nobody can say where the reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestContext {
    /// The request's method.
    pub method: Method,
    /// Whether the request offered to switch protocols, so that 101 is an answer to it.
    pub upgrade: bool,
}

/// A response head that may be passed on.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'b, 's> {
    /// The status, 100 to 999.
    pub status: u16,
    /// The version.
    pub version: Version,
    /// Bytes of the head in the buffer, its blank line included: where the body begins.
    pub head_bytes: usize,
    /// Where the body ends.
    pub body: Framing,
    /// Whether the server will take another request on the connection after this reply.
    pub keep_alive: bool,
    fields: Fields<'b, 's>,
}

impl<'b, 's> ResponseHead<'b, 's> {
    /// Whether another head follows for the same request (1xx, but for 101).
    pub fn is_interim(&self) -> bool {
        self.status < 200 && !self.is_upgrade()
    }

    /// Whether the connection now speaks another protocol (101).
    pub fn is_upgrade(&self) -> bool {
        self.status == 101
    }

    /// The fields.
    #[inline]
    pub fn fields(&self) -> &Fields<'b, 's> {
        &self.fields
    }

    /// The value of the first field of that name, in whatever case.
    pub fn field(&self, name: &str) -> Option<&'b [u8]> {
        self.fields.get(name)
    }

    /// Whether field `index` ends at this hop.
    pub fn is_hop_by_hop(&self, index: usize) -> bool {
        self.fields.is_hop_by_hop(index)
    }
}

/// Reads the response head that `bytes` begins with. `Ok(None)`: it is not whole yet.
///
/// # Errors
///
/// [`Broken`] for whatever RFC 9112 forbids a server, even where it lets a client repair it: lines
/// that are folded or end in LF alone, both Content-Length and Transfer-Encoding (6.3 lets the
/// latter win, but calls the message an attempt at response splitting), and a 101 nobody asked for.
#[inline]
pub fn parse<'b, 's>(
    bytes: &'b [u8],
    asked: &RequestContext,
    limits: &Limits,
    slots: &'s mut Slots<'b>,
) -> Result<Option<ResponseHead<'b, 's>>, Broken> {
    if matches!(bytes, [b'\r' | b'\n', ..]) {
        return Err(Broken { why: "the reply begins with an empty line" });
    }
    let window = &bytes[..bytes.len().min(limits.head_bytes_max)];
    let mut split = httparse::Response::new(&mut []);
    let status = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut split,
        window,
        slots.first(limits.fields_max),
    );
    match status {
        Ok(Status::Complete(length)) => judge(split, &window[..length], asked).map(Some),
        Ok(Status::Partial) if bytes.len() >= limits.head_bytes_max => {
            Err(Broken { why: "the reply's head is too long" })
        }
        Ok(Status::Partial) => Ok(None),
        Err(fault) => Err(Broken { why: refusal(fault) }),
    }
}

#[cold]
fn refusal(fault: httparse::Error) -> &'static str {
    use httparse::Error as E;
    match fault {
        E::TooManyHeaders => "the reply has too many fields",
        E::Version => "the reply does not begin with HTTP/1.0 or HTTP/1.1",
        E::Status => "the status line is malformed",
        E::HeaderName => "a field name is malformed, or a line folded",
        E::HeaderValue => "a field value holds a control character",
        _ => "a line does not end as lines do",
    }
}

#[inline]
fn judge<'b, 's>(
    split: httparse::Response<'s, 'b>,
    raw: &'b [u8],
    asked: &RequestContext,
) -> Result<ResponseHead<'b, 's>, Broken> {
    let (Some(status), Some(minor)) = (split.code, split.version) else {
        return Err(Broken { why: "the status line is not whole" });
    };
    let list: &'s [httparse::Header<'b>] = split.headers;
    let mut judged = Judged::default();
    judged.read(raw, list)?;
    if status < 100 {
        return Err(Broken { why: "a status below 100" });
    }
    if status == 101 && !(asked.upgrade && judged.upgrade_option && judged.upgrade.is_some()) {
        return Err(Broken { why: "it switches protocols though nobody asked" });
    }
    let version = if minor == 1 { Version::Http11 } else { Version::Http10 };
    let body = framing(&judged, version, status, asked.method)?;
    let stays = !judged.close && (version == Version::Http11 || judged.keep_alive);
    Ok(ResponseHead {
        status,
        version,
        head_bytes: raw.len(),
        body,
        keep_alive: stays && body != Framing::UntilClose && status != 101,
        fields: Fields { raw, list, marks: judged.marks },
    })
}

/// Where the body ends (RFC 9112, 6.3, in its order, without its repairs).
#[inline]
fn framing(
    judged: &Judged<'_>,
    version: Version,
    status: u16,
    method: Method,
) -> Result<Framing, Broken> {
    let refuse = |why| Err(Broken { why });
    let body = match (judged.coding, judged.content_length) {
        (Coding::Absent, None) => Framing::UntilClose,
        (Coding::Absent, Some(length)) => Framing::Length(length),
        (_, Some(_)) => {
            return refuse("Content-Length and Transfer-Encoding contradict each other");
        }
        _ if version == Version::Http10 => return refuse("Transfer-Encoding in HTTP/1.0"),
        (Coding::Chunked, None) => Framing::Chunked,
        _ => return refuse("a transfer coding other than chunked alone"),
    };
    let connected = method == Method::Connect && (200..300).contains(&status);
    match status {
        _ if method == Method::Head || connected => Ok(Framing::None),
        100..=199 | 204 | 304 => Ok(Framing::None),
        _ => Ok(body),
    }
}

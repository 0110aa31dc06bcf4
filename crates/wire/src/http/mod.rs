//! HTTP/1 for an intermediary: heads, where bodies end, and the heads it sends on.
//!
//! RFC 9110 (meaning) and RFC 9112 (bytes). `httparse` splits a head into fields; the judging is
//! here. Where RFC 9112 lets a recipient choose between repairing a message and refusing it, this
//! module refuses: two parties that repair differently see different messages, which is how a
//! request is smuggled. `tests/smuggling.rs` is the list of what is refused and why.
//!
//! A relay's use:
//!
//! ```
//! use wire::http::{Limits, Slots, emit, request};
//!
//! let limits = Limits::default();
//! let received = b"GET /a HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n";
//! let mut slots = Slots::new();
//! let head = request::parse(received, &limits, &mut slots).unwrap().expect("the head is whole");
//! assert_eq!((head.path, head.authority), ("/a", Some("a.example")));
//!
//! let mut out = Vec::new();
//! let edit = emit::RequestEdit { via: Some("baton"), ..Default::default() };
//! emit::request(&head, &edit, &mut out);
//! assert_eq!(out, b"GET /a HTTP/1.1\r\nHost: a.example\r\nVia: 1.1 baton\r\n\r\n");
//! ```

pub mod body;
pub mod date;
pub mod emit;
mod head;
mod judge;
mod limits;
mod names;
pub mod request;
pub mod response;
pub mod status;

pub use body::{BadChunk, Body, Chunks, Framing};
pub use head::{Fields, Method, Slots, Version};
pub use limits::{FIELDS_CAP, Limits};
pub use request::{Reject, RequestHead};
pub use response::{Broken, RequestContext, ResponseHead};

//! What is asked for, and with which settings each program answers best.

use crate::measure::Variant;
use crate::measure::haproxy::{HAPROXY, LARGE, SMALL};

/// One kind of request, and the settings with which each program was found to cost least.
pub struct Case {
    pub name: &'static str,
    /// For the reader of the table.
    pub about: &'static str,
    pub bytes: usize,
    /// Whether the client asks for each connection to be closed.
    pub close: bool,
    pub haproxy: &'static Variant,
    pub nginx: &'static Variant,
    /// How the byte-blind floor moves replies; it cannot tell one request from the next, so there
    /// is none where the two sides' connections do not end together.
    pub floor: Option<&'static Variant>,
}

/// In the order of the last line of output.
pub const CASES: [Case; 4] = [
    Case {
        name: "keepalive",
        about: "1.5 KB, connections kept",
        bytes: 1536,
        close: false,
        haproxy: &HAPROXY[SMALL],
        nginx: &NGINX[0],
        floor: Some(&FLOOR_COPY),
    },
    Case {
        name: "close",
        about: "1.5 KB, one request a connection",
        bytes: 1536,
        close: true,
        haproxy: &HAPROXY[SMALL],
        nginx: &NGINX[0],
        floor: None,
    },
    Case {
        name: "64k",
        about: "64 KB, connections kept",
        bytes: 64 << 10,
        close: false,
        haproxy: &HAPROXY[LARGE],
        nginx: &NGINX[5],
        floor: Some(&FLOOR_SPLICE),
    },
    Case {
        name: "1m",
        about: "1 MB, connections kept",
        bytes: 1 << 20,
        close: false,
        haproxy: &HAPROXY[LARGE],
        nginx: &NGINX[5],
        floor: Some(&FLOOR_SPLICE),
    },
];

const BUFFERS_4K: (&str, &str) = ("BUFFERS", "8 4k");
const BUFFERS_32K: (&str, &str) = ("BUFFERS", "8 32k");
const BUFFERS_128K: (&str, &str) = ("BUFFERS", "8 128k");
const HEAD_4K: (&str, &str) = ("HEAD_BUFFER", "4k");
const HEAD_32K: (&str, &str) = ("HEAD_BUFFER", "32k");
const HEAD_128K: (&str, &str) = ("HEAD_BUFFER", "128k");
const BUFFER: (&str, &str) = ("BUFFERING", "on");
const STREAM: (&str, &str) = ("BUFFERING", "off");

/// Every way nginx was tried. Streamed bodies pass through the buffer of the head.
pub static NGINX: [Variant; 6] = [
    Variant { label: "buffers 4k", values: &[BUFFER, HEAD_4K, BUFFERS_4K] },
    Variant { label: "buffers 32k", values: &[BUFFER, HEAD_32K, BUFFERS_32K] },
    Variant { label: "buffers 128k", values: &[BUFFER, HEAD_128K, BUFFERS_128K] },
    Variant { label: "stream 4k", values: &[STREAM, HEAD_4K, BUFFERS_4K] },
    Variant { label: "stream 32k", values: &[STREAM, HEAD_32K, BUFFERS_32K] },
    Variant { label: "stream 128k", values: &[STREAM, HEAD_128K, BUFFERS_128K] },
];

/// Baton has one: its defaults.
pub static BATON: Variant = Variant { label: "defaults", values: &[] };

static FLOOR_COPY: Variant = Variant { label: COPIED, values: &[] };
static FLOOR_SPLICE: Variant = Variant { label: SPLICED, values: &[] };

/// What [`crate::floor::run`] is told.
pub const COPIED: &str = "copy";
pub const SPLICED: &str = "splice";

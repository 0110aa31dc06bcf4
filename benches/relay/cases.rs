//! What is asked for, and with which settings each program answers best.

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
}

/// One way to configure a program: what to put where the file has `@KEY@`.
#[derive(Debug)]
pub struct Variant {
    pub label: &'static str,
    pub values: &'static [(&'static str, &'static str)],
}

/// In the order of the last line of output.
pub const CASES: [Case; 4] = [
    Case {
        name: "keepalive",
        about: "1.5 KB, connections kept",
        bytes: 1536,
        close: false,
        haproxy: &HAPROXY[0],
        nginx: &NGINX[0],
    },
    Case {
        name: "close",
        about: "1.5 KB, one request a connection",
        bytes: 1536,
        close: true,
        haproxy: &HAPROXY[0],
        nginx: &NGINX[0],
    },
    Case {
        name: "64k",
        about: "64 KB, connections kept",
        bytes: 64 << 10,
        close: false,
        haproxy: &HAPROXY[0],
        nginx: &NGINX[0],
    },
    Case {
        name: "1m",
        about: "1 MB, connections kept",
        bytes: 1 << 20,
        close: false,
        haproxy: &HAPROXY[0],
        nginx: &NGINX[0],
    },
];

const SPLICE: (&str, &str) = ("SPLICE", "option splice-auto");
const SPLICE_ALL: (&str, &str) = ("SPLICE", "option splice-response");
const COPY: (&str, &str) = ("SPLICE", "");
const PLAIN: (&str, &str) = ("GLOBAL", "");

/// Every way HAProxy was tried; `--tune` measures them all.
pub static HAPROXY: [Variant; 10] = [
    Variant { label: "copy 16k", values: &[("BUFFER", "16384"), COPY, PLAIN] },
    Variant { label: "copy 64k", values: &[("BUFFER", "65536"), COPY, PLAIN] },
    Variant { label: "copy 128k", values: &[("BUFFER", "131072"), COPY, PLAIN] },
    Variant { label: "copy 256k", values: &[("BUFFER", "262144"), COPY, PLAIN] },
    Variant { label: "auto 16k", values: &[("BUFFER", "16384"), SPLICE, PLAIN] },
    Variant { label: "auto 64k", values: &[("BUFFER", "65536"), SPLICE, PLAIN] },
    Variant { label: "splice 16k", values: &[("BUFFER", "16384"), SPLICE_ALL, PLAIN] },
    Variant {
        label: "splice 16k, pipe 256k",
        values: &[("BUFFER", "16384"), SPLICE_ALL, ("GLOBAL", "tune.pipesize 262144")],
    },
    Variant {
        label: "splice 16k, pipe 1m",
        values: &[("BUFFER", "16384"), SPLICE_ALL, ("GLOBAL", "tune.pipesize 1048576")],
    },
    Variant {
        label: "copy 16k, edge",
        values: &[("BUFFER", "16384"), COPY, ("GLOBAL", EDGE_TRIGGERED)],
    },
];

const EDGE_TRIGGERED: &str = "expose-experimental-directives\n    tune.fd.edge-triggered on";

const STREAM: (&str, &str) = ("BODY_BUFFERS", "proxy_buffering off;");

/// Every way nginx was tried.
pub static NGINX: [Variant; 6] = [
    Variant {
        label: "buffers 8 x 4k",
        values: &[HEAD_4K, ("BODY_BUFFERS", "proxy_buffers 8 4k;")],
    },
    Variant {
        label: "buffers 8 x 32k",
        values: &[
            ("HEAD_BUFFER", "32k"),
            ("BODY_BUFFERS", "proxy_buffers 8 32k; proxy_busy_buffers_size 64k;"),
        ],
    },
    Variant {
        label: "buffers 8 x 128k",
        values: &[
            ("HEAD_BUFFER", "128k"),
            ("BODY_BUFFERS", "proxy_buffers 8 128k; proxy_busy_buffers_size 256k;"),
        ],
    },
    Variant { label: "stream 4k", values: &[HEAD_4K, STREAM] },
    Variant { label: "stream 128k", values: &[("HEAD_BUFFER", "128k"), STREAM] },
    Variant { label: "stream 256k", values: &[("HEAD_BUFFER", "256k"), STREAM] },
];

const HEAD_4K: (&str, &str) = ("HEAD_BUFFER", "4k");

/// Baton has one: its defaults.
pub static BATON: Variant = Variant { label: "defaults", values: &[] };

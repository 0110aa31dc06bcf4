//! HAProxy with the settings by which it costs least; bench/README.md has the reason for each.

use super::Variant;

/// Its configuration, with places to fill.
pub const TEMPLATE: &str = include_str!("haproxy.cfg");

/// Which of [`HAPROXY`] is the cheapest for replies of a few kilobytes.
pub const SMALL: usize = 0;
/// Which is for larger ones.
pub const LARGE: usize = 8;

const SPLICE: (&str, &str) = ("SPLICE", "option splice-auto");
const SPLICE_ALL: (&str, &str) = ("SPLICE", "option splice-response");
const COPY: (&str, &str) = ("SPLICE", "");
const PLAIN: (&str, &str) = ("GLOBAL", "");

/// Every way HAProxy was tried; `bench-relay --tune` measures them all. With splice-response bodies
/// are spliced always, with splice-auto when HAProxy thinks it worth while (it seldom does).
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

//! Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10, 2001.
//!
//! Figures 3 to 6 over the model of [`crate::site`], and the spread of utilisation of figure 10,
//! which in the paper is the prototype's. "LARD" is what the authors compared with, on utilisation
//! from reports; LARD on connections, as it was published in 1998, is shown beside it.

mod claims;
mod runs;

pub(super) use claims::CLAIMS;

use crate::{Axis, Study};
use runs::{FREQUENCIES, MEASURED, distribution, sensitivity, spread, wrr_periods};

const LATENCY: Axis = Axis::log("page latency (s)");
const PROBABILITY: Axis = Axis::linear("cumulative frequency");
const PERCENTILE: Axis = Axis::log("90-percentile of page latency (s)");

/// Its figures, and the sensitivities that explain them.
pub(super) const STUDIES: &[Study] = &[
    Study {
        id: "cap-3a",
        title: "WRR by metric and gather period: publishing site",
        source: "CAP, Fig. 3(a)",
        x: Axis::log("gather period (s)"),
        y: PERCENTILE,
        columns: &["p90_s", "p50_s"],
        caption: |scale| runs::caption(scale, runs::PUBLISHING),
        runs: |_, scale| wrr_periods(scale, runs::PUBLISHING),
    },
    Study {
        id: "cap-3b",
        title: "WRR by metric and gather period: commerce site",
        source: "CAP, Fig. 3(b)",
        x: Axis::log("gather period (s)"),
        y: PERCENTILE,
        columns: &["p90_s", "p50_s"],
        caption: |scale| runs::caption(scale, runs::COMMERCE_ALL),
        runs: |_, scale| wrr_periods(scale, runs::COMMERCE_ALL),
    },
    Study {
        id: "cap-4a",
        title: "Publishing site, static documents",
        source: "CAP, Fig. 4(a)",
        x: LATENCY,
        y: PROBABILITY,
        columns: FREQUENCIES,
        caption: |scale| runs::caption(scale, runs::PUBLISHING),
        runs: |_, scale| distribution(scale, runs::PUBLISHING),
    },
    Study {
        id: "cap-4b",
        title: "Publishing site, lightly dynamic documents",
        source: "CAP, Fig. 4(b)",
        x: LATENCY,
        y: PROBABILITY,
        columns: FREQUENCIES,
        caption: |scale| runs::caption(scale, runs::PUBLISHING_LIGHT),
        runs: |_, scale| distribution(scale, runs::PUBLISHING_LIGHT),
    },
    Study {
        id: "cap-5",
        title: "Transaction site",
        source: "CAP, Fig. 5",
        x: LATENCY,
        y: PROBABILITY,
        columns: FREQUENCIES,
        caption: |scale| runs::caption(scale, runs::TRANSACTION),
        runs: |_, scale| distribution(scale, runs::TRANSACTION),
    },
    Study {
        id: "cap-6a",
        title: "Commerce site, CPU bound requests",
        source: "CAP, Fig. 6(a)",
        x: LATENCY,
        y: PROBABILITY,
        columns: FREQUENCIES,
        caption: |scale| runs::caption(scale, runs::COMMERCE_CPU),
        runs: |_, scale| distribution(scale, runs::COMMERCE_CPU),
    },
    Study {
        id: "cap-6b",
        title: "Commerce site, CPU or disk bound requests",
        source: "CAP, Fig. 6(b)",
        x: LATENCY,
        y: PROBABILITY,
        columns: FREQUENCIES,
        caption: |scale| runs::caption(scale, runs::COMMERCE_EITHER),
        runs: |_, scale| distribution(scale, runs::COMMERCE_EITHER),
    },
    Study {
        id: "cap-6c",
        title: "Commerce site, CPU and/or disk bound requests",
        source: "CAP, Fig. 6(c)",
        x: LATENCY,
        y: PROBABILITY,
        columns: FREQUENCIES,
        caption: |scale| runs::caption(scale, runs::COMMERCE_ALL),
        runs: |_, scale| distribution(scale, runs::COMMERCE_ALL),
    },
    Study {
        id: "cap-10",
        title: "Least and most utilised server under CAP and LARD",
        source: "CAP, Fig. 10",
        x: Axis::linear("time (s)"),
        y: Axis::linear("utilisation of the busiest component"),
        columns: &["utilisation"],
        caption: runs::spread_caption,
        runs: |_, scale| spread(scale),
    },
    Study {
        id: "cap-load",
        title: "Transaction site by arrival rate",
        source: "sensitivity of CAP, Fig. 5",
        x: Axis::linear("new users per second"),
        y: PERCENTILE,
        columns: MEASURED,
        caption: |scale| runs::sensitivity_caption(scale, &runs::LOAD),
        runs: |_, scale| sensitivity(scale, &runs::LOAD),
    },
    Study {
        id: "cap-queries",
        title: "Transaction site by the length of a query, its disks equally busy",
        source: "sensitivity of CAP, Fig. 5",
        x: Axis::linear("disk accesses of a query"),
        y: PERCENTILE,
        columns: MEASURED,
        caption: |scale| runs::sensitivity_caption(scale, &runs::QUERIES),
        runs: |_, scale| sensitivity(scale, &runs::QUERIES),
    },
    Study {
        id: "cap-programs",
        title: "Transaction site by the number of its programs",
        source: "sensitivity of CAP, Fig. 5",
        x: Axis::log("programs"),
        y: PERCENTILE,
        columns: MEASURED,
        caption: |scale| runs::sensitivity_caption(scale, &runs::PROGRAMS),
        runs: |_, scale| sensitivity(scale, &runs::PROGRAMS),
    },
    Study {
        id: "cap-keys",
        title: "Commerce site, CPU bound requests, by the cost of a key exchange",
        source: "sensitivity of CAP, Fig. 6(a)",
        x: Axis::log("CPU of a key exchange (ms)"),
        y: PERCENTILE,
        columns: MEASURED,
        caption: |scale| runs::sensitivity_caption(scale, &runs::KEYS),
        runs: |_, scale| sensitivity(scale, &runs::KEYS),
    },
    Study {
        id: "cap-popularity",
        title: "Lightly dynamic against static by the skew of popularity",
        source: "sensitivity of CAP, Fig. 4",
        x: Axis::linear("exponent of Zipf's law"),
        y: Axis::linear("hit ratio"),
        columns: &["hit_ratio", "p90_s", "disk"],
        caption: runs::popularity_caption,
        runs: |_, scale| runs::popularity(scale),
    },
];

//! What is known of traces that nobody outside can have.
//!
//! The Rice and IBM logs behind the papers were never published; their sizes and working sets
//! were. Two cuts of each are on record, which must not be mixed when claims are checked.

/// The published facts of a trace, and what had to be assumed beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence: whose log it was.
    pub about: &'static str,
    /// Where the figures are from.
    pub source: &'static str,
    /// Different targets.
    pub targets: u32,
    /// Their sizes, summed, in bytes.
    pub bytes: u64,
    /// Bytes of the most requested targets that cover 97, 98 and 99 per cent of the requests.
    pub coverage_bytes: [u64; 3],
    /// Requests of a twin when nothing else is asked for.
    pub requests: u32,
    /// Mean bytes of a reply. Assumed, not published: the USENIX 1999 paper speaks of Web content
    /// of 8 to 13 KB. It decides how far the CPU counts beside the disk.
    pub reply_bytes_mean: u64,
}

const MB: u64 = 1_000_000;

/// Rice University's departmental servers, in the cut of the USENIX papers.
pub const RICE: Facts = Facts {
    name: "rice",
    about: "Rice University's departmental Web servers, the cut of the USENIX papers",
    source: "Aron, Druschel, Zwaenepoel, USENIX 1999; Aron, Sanders, Druschel, Zwaenepoel, \
             USENIX 2000",
    targets: 31_000,
    bytes: 1_015 * MB,
    coverage_bytes: [526 * MB, 619 * MB, 745 * MB],
    requests: 2_300_000,
    reply_bytes_mean: 12_000,
};

/// www.ibm.com, in the cut of the USENIX 2000 paper.
pub const IBM: Facts = Facts {
    name: "ibm",
    about: "www.ibm.com, the cut of the USENIX 2000 paper",
    source: "Aron, Sanders, Druschel, Zwaenepoel, USENIX 2000",
    targets: 38_500,
    bytes: 984 * MB,
    coverage_bytes: [43 * MB, 69 * MB, 165 * MB],
    requests: 4_000_000,
    reply_bytes_mean: 8_000,
};

/// Rice as the first LARD paper had it.
pub const RICE_1998: Facts = Facts {
    name: "rice-1998",
    about: "Rice University's departmental Web servers, the cut of the LARD paper",
    source: "Pai and others, ASPLOS 1998",
    targets: 37_703,
    bytes: 1_418 * MB,
    coverage_bytes: [560 * MB, 705 * MB, 927 * MB],
    requests: 2_290_000,
    reply_bytes_mean: 12_000,
};

/// IBM as the first LARD paper had it, where it was 15.6 million requests long.
pub const IBM_1998: Facts = Facts {
    name: "ibm-1998",
    about: "www.ibm.com, the cut of the LARD paper",
    source: "Pai and others, ASPLOS 1998",
    targets: 38_527,
    bytes: 1_029 * MB,
    coverage_bytes: [51 * MB, 80 * MB, 182 * MB],
    requests: 4_000_000,
    reply_bytes_mean: 8_000,
};

/// A working set that one node's cache holds. All that was published of the log of the Deep Blue
/// match is that it was such a one: every figure here is assumed.
pub const CHESS: Facts = Facts {
    name: "chess",
    about: "a site whose working set fits one node, as that of the Deep Blue match of 1997",
    source: "figures assumed; that it fits one node: Pai and others, ASPLOS 1998",
    targets: 1_200,
    bytes: 14 * MB,
    coverage_bytes: [4 * MB, 5 * MB, 7 * MB],
    requests: 1_000_000,
    reply_bytes_mean: 8_000,
};

/// Every trace that has a twin: the only list.
pub const TWINS: &[Facts] = &[RICE, IBM, RICE_1998, IBM_1998, CHESS];

/// The facts called `name`.
pub fn facts(name: &str) -> Option<&'static Facts> {
    TWINS.iter().find(|facts| facts.name == name)
}

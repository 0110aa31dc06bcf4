//! What the rules allow and refuse: data, so that every change of mind is a line in a diff.

/// Which crate may know which; a test may know what its crate may. The root, which is where parts
/// meet, may know all.
pub const ARROWS: &[(&str, &[&str])] = &[
    ("policy", &[]),
    ("wire", &[]),
    ("rules", &["policy"]),
    ("workload", &["policy"]),
    ("model", &["policy"]),
    ("sim", &["model", "policy", "workload"]),
    ("origin", &["model", "policy", "wire"]),
    ("load", &["wire", "workload", "policy"]),
    ("distributor", &["policy", "rules", "wire"]),
    ("control", &["policy"]),
    ("testbed", &["origin", "policy"]),
    ("agent", &["policy"]),
    ("handoff", &[]),
];

/// What the tests of a crate may know besides.
pub const TEST_ARROWS: &[(&str, &[&str])] = &[
    ("agent", &["testbed"]),
    ("control", &["testbed"]),
    ("distributor", &["testbed"]),
    ("handoff", &["testbed"]),
    ("load", &["testbed"]),
];

/// Crates into which no clock, socket, thread or chance can get.
pub const PURE: &[&str] = &["policy", "wire", "rules", "workload", "model", "sim"];

/// Lines of a file: one sitting's reading.
pub const FILE_LINES_MAX: usize = 400;

/// Lines of a function, from its name to its closing brace: one screen.
pub const FUNCTION_LINES_MAX: usize = 70;

/// Columns: two files side by side.
pub const COLUMNS_MAX: usize = 100;

/// Files longer than [`FILE_LINES_MAX`], each with its reason. A row that is not needed any more
/// is a mistake too.
pub const LONG_FILES: &[(&str, &str)] = &[];

/// Where a ban holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In all code.
    Code,
    /// In code that ships: not in tests, benchmarks and examples.
    Shipped,
    /// In tests alone.
    Tests,
    /// In the code of the crates that ships, not in the program.
    Libraries,
    /// In comments too.
    Text,
}

/// Something that is not written here.
pub struct Ban {
    pub word: &'static str,
    pub place: Where,
    /// Files, or folders ending in `/`, in which it stands with good reason.
    pub except: &'static [&'static str],
    pub why: &'static str,
}

const fn ban(word: &'static str, place: Where, why: &'static str) -> Ban {
    Ban { word, place, except: &[], why }
}

pub const BANS: &[Ban] = &[
    ban("todo!", Where::Code, "unfinished work does not ship"),
    ban("unimplemented!", Where::Code, "unfinished work does not ship"),
    ban("TODO", Where::Text, "what is left to do is an issue, not a comment"),
    ban("FIXME", Where::Text, "what is left to do is an issue, not a comment"),
    ban("XXX", Where::Text, "what is left to do is an issue, not a comment"),
    ban("dbg!", Where::Code, "debugging output does not ship"),
    ban(".unwrap()", Where::Shipped, "what the world sends is a value; ours is an `expect`"),
    ban("process::exit", Where::Code, "destructors would not run: give src/exit.rs an Exit"),
    Ban {
        word: "println!",
        place: Where::Libraries,
        // A build script talks to cargo that way.
        except: &["crates/handoff/build.rs"],
        why: "the terminal is the program's; a library returns values",
    },
    ban("eprintln!", Where::Shipped, "it panics when nobody reads any more: `say` does not"),
    ban("eprint!", Where::Shipped, "it panics when nobody reads any more: `say` does not"),
    ban("print!", Where::Libraries, "the terminal is the program's; a library returns values"),
    ban("static mut", Where::Code, "state has an owner"),
    ban("#[ignore", Where::Code, "a test that does not run proves nothing"),
    ban("tokio::spawn", Where::Libraries, "a reactor is one thread here: spawn on its LocalSet"),
    Ban {
        word: "unsafe",
        place: Where::Code,
        except: &[
            "crates/distributor/src/sys.rs",
            "crates/handoff/src/sys.rs",
            "crates/testbed/src/wire/tap.rs",
        ],
        why: "rustix and socket2 cover the system calls; what they lack stands in these alone",
    },
    Ban {
        word: ":0\").unwrap().local_addr()",
        place: Where::Code,
        except: &[],
        why: "a port that is let go is anybody's: testbed::Port keeps it",
    },
    Ban {
        word: "thread::sleep",
        place: Where::Code,
        // The controlling thread looks at its workers until they are done, or patience ends; so
        // does the benchmark at the programs it started. The example shows a page for a while.
        except: &[
            "crates/distributor/src/team.rs",
            "benches/relay/",
            "benches/measure/",
            "benches/oneway/",
            "crates/control/examples/status_page.rs",
        ],
        why: "wait for what is to happen, with a limit",
    },
    Ban {
        word: "time::sleep",
        place: Where::Tests,
        // Holds the one loop of its tests that waits for a condition, with a limit.
        except: &["crates/control/tests/fake/mod.rs"],
        why: "a test waits for a condition, with a limit",
    },
    Ban {
        word: "Instant::now",
        place: Where::Shipped,
        // The slow side, the client and an emulated link keep time themselves; a switch has one
        // clock, and its controlling thread the patience of a stop.
        except: &[
            "crates/control/",
            "crates/load/",
            "crates/distributor/src/shared.rs",
            "crates/testbed/src/wire/pump.rs",
            "crates/distributor/src/team.rs",
            // The demonstration's client is one too.
            "src/demo/oneway/client.rs",
        ],
        why: "time is an argument: take the clock of whoever drives this",
    },
];

/// Files named after nothing.
pub const FILE_NAMES_BANNED: &[&str] =
    &["util", "utils", "common", "misc", "helper", "helpers", "manager", "types", "stuff"];

/// What a name may end in only with a unit behind it, if it is a plain number.
pub const QUANTITIES: &[&str] = &[
    "time",
    "timeout",
    "delay",
    "latency",
    "interval",
    "duration",
    "elapsed",
    "deadline",
    "period",
    "patience",
    "age",
    "size",
    "memory",
    "rate",
    "bandwidth",
    "throughput",
    "budget",
    "wait",
];

/// Units that the comment above a plain number may give instead of its name.
pub const UNITS: &[&str] = &[
    "bytes",
    "nanoseconds",
    "microseconds",
    "milliseconds",
    "seconds",
    "ns",
    "us",
    "ms",
    "minutes",
    "hours",
    "ticks",
    "second",
    "requests",
    "targets",
    "places",
    "entries",
    "slots",
    "characters",
    "percent",
    "parts",
    "lines",
    "columns",
    "share",
];

//! The services of the papers by name, with where each of their constants comes from.
//!
//! A row's demands are those of [`Service`]; its constants say for every demand that is not a
//! file's how it was come by, with the marks of [`crate::cost`]. The first five have the names and
//! numbers of the fixed classes, but not all their default demands: [`crate::Services::default`],
//! which simulations start from, has CAP's secure requests and queries there, which are rows of
//! their own here.

use crate::Service;

/// How a constant was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Read in a paper.
    Published,
    /// Reproduces published figures.
    Recalled,
    /// Follows from others.
    Derived,
    /// Ours, because no source gives it.
    Chosen,
}

impl Mark {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Recalled => "recalled",
            Self::Derived => "derived",
            Self::Chosen => "chosen",
        }
    }
}

/// Where one demand of a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Which demand: `cpu`, `cpu_per_kib`, `disk`, `cacheable` or `handshake`.
    pub key: &'static str,
    /// How it was come by.
    pub mark: Mark,
    /// Where it stands, or what it follows from.
    pub source: &'static str,
}

/// A service by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its name, and its path prefix between slashes.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it asks of a server.
    pub service: Service,
    /// Where that comes from; what is not named is as for a file.
    pub constants: &'static [Constant],
}

const fn constant(key: &'static str, mark: Mark, source: &'static str) -> Constant {
    Constant { key, mark, source }
}

const CIPHER: Constant = constant(
    "cpu_per_kib",
    Mark::Derived,
    "triple-DES at 46,886 kbit/s and MD5 at 331,034 kbit/s (WWW10 2001)",
);
const RSA: Constant =
    constant("handshake", Mark::Derived, "RSA of 256 bits at 38.5 kbit/s (WWW10 2001)");
const QUERY_CPU: Constant = constant("cpu", Mark::Chosen, "as a light page");
const QUERY: Constant = constant(
    "disk",
    Mark::Chosen,
    "3 accesses of 13.22 ms (WWW10 2001, Deskstar 34GXP) with a page of 8 KB each; the papers do \
     not say how many",
);
const NEVER: Constant =
    constant("cacheable", Mark::Published, "results of queries are not kept (WWW10 2001)");
const NEVER_RUN: Constant =
    constant("cacheable", Mark::Published, "only the static part of the mix is (WWW 2003)");
const PROGRAM: Constant = constant("cpu", Mark::Chosen, "no paper gives it; as simulated ClubWeb");

/// Every service, the fixed classes first, in the order of [`policy::Class::NAMES`].
pub const ROWS: [Row; 8] = [
    Row { name: "static", about: "a file", service: Service::STATIC, constants: &[] },
    Row {
        name: "light",
        about: "a file filled in by a little computation; the cache is mostly in vain",
        service: Service::LIGHT,
        constants: &[
            constant("cpu", Mark::Chosen, "about two requests of Apache"),
            constant("cacheable", Mark::Published, "WWW10 2001"),
        ],
    },
    Row {
        name: "cpu",
        about: "a program that computes (CGI, PHP)",
        service: Service::PROGRAM,
        constants: &[PROGRAM, NEVER_RUN],
    },
    Row {
        name: "disk",
        about: "a program that leans on the disk",
        service: Service::PROGRAM_DISK,
        constants: &[PROGRAM, QUERY, NEVER_RUN],
    },
    Row {
        name: "cpu+disk",
        about: "a program that does both",
        service: Service::PROGRAM_BOTH,
        constants: &[PROGRAM, QUERY, NEVER_RUN],
    },
    Row {
        name: "query",
        about: "a database query",
        service: Service::DISK,
        constants: &[QUERY_CPU, QUERY, NEVER],
    },
    Row {
        name: "secure",
        about: "a file over a secure connection; its first answer pays for the key exchange",
        service: Service::SECURE,
        constants: &[CIPHER, RSA],
    },
    Row {
        name: "secure+query",
        about: "a database query over a secure connection, likewise",
        service: Service::SECURE_QUERY,
        constants: &[QUERY_CPU, CIPHER, QUERY, NEVER, RSA],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Class;
    use std::collections::BTreeSet;

    #[test]
    fn the_fixed_classes_come_first_and_no_name_comes_twice() {
        assert_eq!(ROWS.map(|row| row.name)[..5], Class::NAMES);
        assert_eq!(ROWS.iter().map(|row| row.name).collect::<BTreeSet<_>>().len(), ROWS.len());
    }

    #[test]
    fn every_demand_that_is_not_a_files_says_where_it_comes_from_and_no_other() {
        for row in ROWS {
            let (file, own) = (Service::STATIC, row.service);
            let differing: BTreeSet<_> = [
                ("cpu", own.cpu != file.cpu),
                ("cpu_per_kib", own.cpu_kib != file.cpu_kib),
                ("disk", own.disk != file.disk),
                ("cacheable", own.cacheable != file.cacheable),
                ("handshake", own.handshake != file.handshake),
            ]
            .into_iter()
            .filter_map(|(key, differs)| differs.then_some(key))
            .collect();
            let explained = row.constants.iter().map(|constant| constant.key).collect();
            assert_eq!(differing, explained, "{}", row.name);
        }
    }

    #[test]
    fn a_secure_session_pays_once_what_a_secure_request_on_a_new_connection_pays() {
        let (secure, alone) = (Service::SECURE, Service::CPU);
        assert_eq!(secure.handshake + secure.compute(10_240), alone.compute(10_240));
        let (query, alone) = (Service::SECURE_QUERY, Service::CPU_DISK);
        assert_eq!(query.handshake + query.compute(10_240), alone.compute(10_240));
        assert_eq!(query.disk, alone.disk);
    }
}

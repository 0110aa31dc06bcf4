//! What can go wrong with a bed: each variant is something else to do about it.

use std::io;

/// Why a bed could not be made, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Namespaces and interfaces are made by root alone.
    #[error("a test bed needs root: it makes network namespaces; try it with sudo")]
    NotRoot,
    /// Programs or abilities of the kernel that are not there, each with how to get it.
    #[error("this machine lacks: {}", .0.join("; "))]
    Missing(Vec<String>),
    /// The plan cannot be built, for this reason.
    #[error("{0}")]
    Plan(String),
    /// A bed of this name is there already.
    #[error("there is a test bed {0} already")]
    Exists(String),
    /// No bed has this name.
    #[error("there is no test bed {0}")]
    Unknown(String),
    /// It was told to stop before it was ready; what it had made is removed.
    #[error("interrupted")]
    Interrupted,
    /// A program that was run said no.
    #[error("{program}: {said}")]
    Program {
        /// The program, with what it was told.
        program: String,
        /// What it wrote to standard error, or how it ended.
        said: String,
    },
    /// The system said no.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// The system's answer.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: the system said no to `doing`.
    pub(crate) fn system<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |source| Self::System { doing: doing.into(), source: source.into() }
    }
}

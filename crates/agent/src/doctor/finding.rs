//! What a check finds, and what can be set to repair it.

use crate::host::Host;
use serde::{Serialize, Serializer};
use std::io;

/// How a check ended; later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Not looked at, for nobody said where to look.
    Skipped,
    /// It works, but worse than it could, or not for everybody.
    Warn,
    /// It could not be read.
    Unknown,
    /// Connections cannot be handed over.
    Fail,
}

impl Verdict {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Warn => "warn",
            Self::Unknown => "unknown",
            Self::Fail => "fail",
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it ended.
    pub verdict: Verdict,
    /// What was read, and where.
    pub evidence: String,
    /// What to do; `None` where nothing is.
    pub remedy: Option<String>,
    /// Sysctls that repair it and harm nobody.
    pub settings: Vec<Setting>,
}

impl Finding {
    fn new(verdict: Verdict, evidence: String, remedy: Option<&str>) -> Self {
        Self { verdict, evidence, remedy: remedy.map(str::to_owned), settings: Vec::new() }
    }

    pub(super) fn ok(evidence: impl Into<String>) -> Self {
        Self::new(Verdict::Ok, evidence.into(), None)
    }

    pub(super) fn warn(evidence: impl Into<String>, remedy: &str) -> Self {
        Self::new(Verdict::Warn, evidence.into(), Some(remedy))
    }

    pub(super) fn fail(evidence: impl Into<String>, remedy: &str) -> Self {
        Self::new(Verdict::Fail, evidence.into(), Some(remedy))
    }

    pub(super) fn skipped(missing: &str) -> Self {
        Self::new(Verdict::Skipped, format!("not looked at: {missing}"), None)
    }

    /// Adds what repairs it.
    #[must_use]
    pub(super) fn set(mut self, path: impl Into<String>, value: u64) -> Self {
        self.settings.push(Setting { path: path.into(), value: value.to_string() });
        self
    }

    /// The worse of two; both are said when both are bad.
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        let (mut worse, better) =
            if other.verdict > self.verdict { (other, self) } else { (self, other) };
        if better.verdict >= Verdict::Warn || better.verdict == worse.verdict {
            worse.evidence = format!("{}; {}", worse.evidence, better.evidence);
        }
        let new = better.settings.into_iter().filter(|one| !worse.settings.contains(one));
        let new: Vec<_> = new.collect();
        worse.settings.extend(new);
        worse
    }
}

/// The verdict on several things at once: see [`Finding::and`].
pub(super) fn all(findings: impl IntoIterator<Item = Finding>) -> Option<Finding> {
    findings.into_iter().reduce(Finding::and)
}

/// Something that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what}: {error}")]
pub struct Unread {
    /// What: a path, or what the kernel was asked for.
    pub what: String,
    /// The system's reason.
    #[source]
    pub error: io::Error,
}

impl Unread {
    /// Makes one of what was asked for, for `map_err`.
    pub(crate) fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        |error| Self { what, error }
    }
}

impl From<Unread> for Finding {
    fn from(unread: Unread) -> Self {
        let remedy = match unread.error.kind() {
            io::ErrorKind::PermissionDenied => "run the doctor as root",
            _ => "see that /proc and /sys are mounted and are this host's",
        };
        Self::new(Verdict::Unknown, unread.to_string(), Some(remedy))
    }
}

/// A sysctl and the value that it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its path below /proc/sys: not its key, for an interface's name may hold a dot.
    path: String,
    value: String,
}

impl Setting {
    /// The line for a file of /etc/sysctl.d. Keys are written with dots, but for an interface with
    /// a dot in its name, for which sysctl.d(5) takes slashes.
    pub fn line(&self) -> String {
        let dots = self.path.contains('.');
        let key = if dots { self.path.clone() } else { self.path.replace('/', ".") };
        format!("{key} = {}", self.value)
    }

    /// Sets it until the next start of the host.
    ///
    /// # Errors
    /// The system's.
    pub fn apply(&self, host: &dyn Host) -> io::Result<()> {
        host.write(&format!("{SYSCTLS}{}", self.path), &format!("{}\n", self.value))
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.line())
    }
}

const SYSCTLS: &str = "/proc/sys/";

/// The text of a file.
pub(super) fn text(host: &dyn Host, path: &str) -> Result<String, Unread> {
    let bytes = host.read(path).map_err(Unread::of(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of a sysctl, given below /proc/sys.
pub(super) fn sysctl(host: &dyn Host, path: &str) -> Result<String, Unread> {
    Ok(text(host, &format!("{SYSCTLS}{path}"))?.trim().to_owned())
}

/// The same, of one that is a number.
pub(super) fn number(host: &dyn Host, path: &str) -> Result<u64, Unread> {
    let value = sysctl(host, path)?;
    value.parse().map_err(|_| {
        let error = io::Error::other(format!("{value:?} is no number"));
        Unread { what: format!("{SYSCTLS}{path}"), error }
    })
}

/// The same, or `None` where this kernel or name space has no such sysctl.
pub(super) fn number_if_any(host: &dyn Host, path: &str) -> Result<Option<u64>, Unread> {
    match number(host, path) {
        Err(unread) if unread.error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

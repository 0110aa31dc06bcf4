//! Misbehaviour on demand, for the tests of whoever talks to an origin.
//!
//! `POST /.origin/health?state=down` makes `GET /.origin/health` answer 503 until `state=up`.
//! `POST /.origin/fault?kind=K&count=N` spoils the next N (default 1) requests for content:
//!
//! | kind | what happens |
//! |---|---|
//! | `delay&ms=M` | the request is taken up M milliseconds late (at most a minute) |
//! | `reset` | the connection is reset instead of an answer |
//! | `close` | the connection is closed without an answer |
//! | `bad-head` | something that is no HTTP head, then the end |
//! | `truncate` | the head and half of the content, then the end |
//! | `status&code=S` | an answer with that status (200 to 599) |
//!
//! `count=0` ends a fault. Both answer 403 unless [`crate::Config::faults`] is set.

use core::time::Duration;

/// A delay is at most this.
const DELAY_MAX: Duration = Duration::from_secs(60);

/// What happens to a request instead of what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Delay(Duration),
    Reset,
    Close,
    BadHead,
    Truncate,
    Status(u16),
}

/// What is to go wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) down: bool,
    next: Option<(Fault, u64)>,
}

impl Faults {
    /// The fault for the next request, which uses it up.
    pub(crate) fn take(&mut self) -> Option<Fault> {
        let (fault, left) = self.next.as_mut()?;
        let fault = *fault;
        *left -= 1;
        if *left == 0 {
            self.next = None;
        }
        Some(fault)
    }

    /// Sets what a query says; an error is a sentence for whoever asked.
    pub(crate) fn set(&mut self, query: &str) -> Result<(), &'static str> {
        let number = |name| match field(query, name) {
            None => Ok(None),
            Some(text) => text.parse::<u64>().map(Some).map_err(|_| "a number is malformed"),
        };
        let fault = match field(query, "kind") {
            Some("delay") => {
                let ms = number("ms")?.ok_or("delay needs ms")?;
                Fault::Delay(Duration::from_millis(ms).min(DELAY_MAX))
            }
            Some("reset") => Fault::Reset,
            Some("close") => Fault::Close,
            Some("bad-head") => Fault::BadHead,
            Some("truncate") => Fault::Truncate,
            Some("status") => match number("code")?.map(u16::try_from) {
                Some(Ok(code @ 200..=599)) => Fault::Status(code),
                _ => return Err("status needs a code from 200 to 599"),
            },
            _ => return Err("kind is none of delay, reset, close, bad-head, truncate, status"),
        };
        let count = number("count")?.unwrap_or(1);
        self.next = (count > 0).then_some((fault, count));
        Ok(())
    }

    /// Sets the health that a query says.
    pub(crate) fn set_health(&mut self, query: &str) -> Result<(), &'static str> {
        match field(query, "state") {
            Some("up") => self.down = false,
            Some("down") => self.down = true,
            _ => return Err("state is neither up nor down"),
        }
        Ok(())
    }
}

fn field<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').filter_map(|field| field.split_once('=')).find(|f| f.0 == name).map(|f| f.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_lasts_for_as_many_requests_as_was_said() {
        let mut faults = Faults::default();
        assert_eq!(faults.take(), None);
        faults.set("kind=status&code=503&count=2").unwrap();
        assert_eq!(faults.take(), Some(Fault::Status(503)));
        assert_eq!(faults.take(), Some(Fault::Status(503)));
        assert_eq!(faults.take(), None);
        faults.set("kind=reset&count=5").unwrap();
        faults.set("kind=reset&count=0").unwrap();
        assert_eq!(faults.take(), None);
    }

    #[test]
    fn a_fault_that_makes_no_sense_is_refused_and_changes_nothing() {
        let mut faults = Faults::default();
        for query in ["", "kind=x", "kind=delay", "kind=delay&ms=x", "kind=status&code=99"] {
            assert!(faults.set(query).is_err(), "{query}");
        }
        assert!(faults.set_health("state=maybe").is_err());
        assert_eq!((faults.take(), faults.down), (None, false));
        faults.set("kind=delay&ms=99999999").unwrap();
        assert_eq!(faults.take(), Some(Fault::Delay(DELAY_MAX)));
    }
}

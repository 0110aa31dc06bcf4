//! Writes down requests that no worker served: those whose connection was handed to a server.

use crate::access::{self, Texts};
use crate::counters::Cause;
use crate::journal::{Choice, Delivered, FLUSH_BYTES, Journal, Tally};
use crate::settings::AccessFormat;
use policy::{Expect, Request, Why};
use std::net::IpAddr;

/// A request that was handed over. Texts that are not known are empty.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    /// When, what and of which class.
    pub question: Request,
    /// Who asked.
    pub client: IpAddr,
    /// Its method.
    pub method: &'a str,
    /// Its host.
    pub host: &'a str,
    /// Its path and query.
    pub path: &'a str,
    /// Its protocol, such as `HTTP/1.1`.
    pub version: &'a str,
    /// Its Referer.
    pub referer: &'a str,
    /// Its User-Agent.
    pub agent: &'a str,
    /// Name of the server that answers it.
    pub server: &'a str,
    /// Name of the policy in force.
    pub policy: &'a str,
    /// Name of its class.
    pub class: &'a str,
    /// Why that server; `None`: the kernel repeated an answer and does not know any more.
    pub why: Option<Why>,
    /// Between whom it was chosen.
    pub choice: Choice,
    /// Whether the server was believed to have it cached.
    pub expect: Expect,
    /// How it went there.
    pub delivered: Delivered,
}

/// Adds to ring and log what no worker sees. Lines wait here until [`Scribe::flush`], or until
/// there are many.
pub struct Scribe<'a> {
    journal: &'a Journal,
    lines: Vec<u8>,
}

impl<'a> Scribe<'a> {
    /// Without lines.
    pub fn new(journal: &'a Journal) -> Self {
        Self { journal, lines: Vec::new() }
    }

    /// Writes a request down; a line too if there is a log.
    pub fn note(&mut self, passed: &Passed<'_>, format: Option<AccessFormat>) {
        let mut tally = Tally::new(&passed.question, passed.client);
        tally.why = passed.why;
        tally.choice = passed.choice;
        tally.expect = passed.expect;
        tally.attempts = 1;
        tally.cause = Cause::OneWay;
        tally.delivered = passed.delivered;
        self.journal.remember(self.journal.scribes(), |record| {
            record.method.set(passed.method.as_bytes());
            record.host.set(passed.host.as_bytes());
            record.path.set(passed.path.as_bytes());
            record.server.set(passed.server.as_bytes());
            record.tally = tally;
        });
        let Some(format) = format else { return };
        let texts = Texts {
            method: known(passed.method),
            host: known(passed.host),
            server: known(passed.server),
            path: known(passed.path),
            policy: passed.policy,
            class: passed.class,
            referer: passed.referer,
            agent: passed.agent,
            version: known(passed.version),
            ..Texts::unknown(passed.policy)
        };
        access::write(format, &mut self.lines, self.journal.started_unix_ms(), &tally, &texts);
        if self.lines.len() >= FLUSH_BYTES {
            self.flush();
        }
    }

    /// Hands the lines to the log's writer.
    pub fn flush(&mut self) {
        let lines = core::mem::take(&mut self.lines);
        let count = lines.iter().filter(|byte| **byte == b'\n').count();
        if !lines.is_empty() && !self.journal.hand_on(lines) {
            self.journal.lose(count as u64);
        }
    }
}

fn known(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Cause;
    use policy::{Class, Instant, ServerId, TargetId};
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    struct Sink(Sender<Vec<u8>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.send(bytes.to_vec()).unwrap();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn passed() -> Passed<'static> {
        let (target, class, holder) = (TargetId(255), Class::STATIC, Some(ServerId(0)));
        Passed {
            question: Request { at: Instant(5_000_000), target, class, holder },
            client: IpAddr::from([10, 0, 0, 9]),
            method: "GET",
            host: "h",
            path: "/a",
            version: "HTTP/1.1",
            referer: "",
            agent: "curl",
            server: "b",
            policy: "lard",
            class: "static",
            why: Some(Why::Affinity),
            choice: Choice::default(),
            expect: Expect::Hit,
            delivered: Delivered::Moved,
        }
    }

    fn lines(format: AccessFormat) -> String {
        let (sender, written) = channel();
        let journal = Journal::new(1);
        journal.log_to(Some(Box::new(Sink(sender)))).unwrap();
        let mut scribe = Scribe::new(&journal);
        scribe.note(&passed(), Some(format));
        scribe.flush();
        journal.close(Duration::from_secs(10));
        String::from_utf8(written.into_iter().flatten().collect()).unwrap()
    }

    #[test]
    fn what_is_not_known_of_a_reply_is_null_and_not_zero() {
        let line: serde_json::Value = serde_json::from_str(&lines(AccessFormat::Json)).unwrap();
        for unseen in
            ["status", "bytes", "bytes_out", "bytes_in", "first_byte_ms", "total_ms", "mechanism"]
        {
            assert_eq!(line[unseen], serde_json::Value::Null, "{unseen}");
        }
        assert_eq!((&line["delivery"], &line["server"]), (&"moved".into(), &"b".into()));
        assert_eq!((&line["reason"], &line["term"]), (&"affinity".into(), &"-O".into()));
        let combined = lines(AccessFormat::Combined);
        assert!(combined.contains("\"GET /a HTTP/1.1\" - - \"-\" \"curl\""), "{combined}");
        assert!(combined.contains(" delivery=moved local=- "), "{combined}");
    }

    #[test]
    fn the_ring_has_it_beside_the_workers_own() {
        let journal = Journal::new(1);
        journal.remember(0, |record| record.tally.at = Instant(1));
        Scribe::new(&journal).note(&passed(), None);
        let recent = journal.recent(10);
        assert_eq!(recent.len(), 2);
        assert_eq!(
            (recent[0].tally.cause, recent[0].tally.delivered),
            (Cause::OneWay, Delivered::Moved)
        );
    }
}

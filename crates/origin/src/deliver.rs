//! What the threads of the real mode have finished becomes answers.

use crate::conn::{Answer, Close, Phase};
use crate::origin::Origin;
use crate::real::Outcome;
use crate::reply::{self, Head};
use policy::Instant;

impl Origin {
    /// Writes the answers to what is finished; false if there was nothing.
    pub(crate) fn deliver(&mut self) -> bool {
        let Some(real) = &mut self.real else { return false };
        let mut outcomes = core::mem::take(&mut self.outcomes);
        real.collect(&mut outcomes);
        let some = !outcomes.is_empty();
        for outcome in outcomes.drain(..) {
            let tag = outcome.due.tag;
            self.finish(outcome);
            self.drive(tag);
        }
        self.outcomes = outcomes;
        some
    }

    /// Lets an answer go.
    fn finish(&mut self, outcome: Outcome) {
        let Outcome { due, source, body, failed } = outcome;
        let Some(conn) = self.conns.get_mut(due.tag) else { return };
        let Phase::Answer(answer) = &mut conn.phase else { return };
        let today = self.today.text();
        conn.progress = self.now;
        let mut head = Head {
            status: 200,
            version: due.version,
            keep_alive: due.keep_alive,
            content_type: "application/octet-stream",
            length: due.length,
            cache: Some((&self.cache_name, source)),
        };
        if let Some(why) = failed {
            let text = format!("{why}\n");
            (head.status, head.keep_alive, head.cache) = (500, false, None);
            (head.content_type, head.length) = ("text/plain", Some(text.len() as u64));
            reply::emit(&head, today, &mut conn.out);
            conn.out.extend_from_slice(text.as_bytes());
            conn.phase = Phase::Answer(Answer::text(Close::Yes));
            return;
        }
        reply::emit(&head, today, &mut conn.out);
        self.out_bytes += answer.bytes;
        (answer.begun, answer.ended, answer.released) = (true, true, answer.bytes);
        answer.body = body;
    }

    /// Requests in progress, those of clients who have gone included.
    pub(crate) fn active(&self) -> usize {
        self.real.as_ref().map_or_else(|| self.timed.node.active(), |real| real.active())
    }

    /// A client has connected.
    pub(crate) fn charge_connect(&mut self, now: Instant) {
        match &self.real {
            Some(real) => real.connect(),
            None => self.timed.connect(now),
        }
    }

    /// A connection was closed.
    pub(crate) fn charge_close(&mut self, now: Instant) {
        match &self.real {
            Some(real) => real.close(),
            None => self.timed.close(now),
        }
    }
}

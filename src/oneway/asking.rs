//! The thread that answers what the kernel cannot: reads the held request, judges it by the rules,
//! asks the desk, releases the segment, and lets the kernel repeat the answer where that is exact.

use super::bridge::Bridge;
use super::fabric::{Held, Repeat, Slot, Verdict};
use super::reading::read;
use super::reason::Local;
use super::roster::name_hash;
use super::seen::Seen;
use distributor::ask::kernel::{Decided, Repeat as Promised};
use distributor::ask::{Assigned, Course};
use distributor::journal::{Choice, Delivered};
use distributor::{ASIDE_MAX, Backend, Delivery, Live, Passed, Scribe, Shared, say};
use policy::{Class, Expect, Instant, Request, ServerId, TargetId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::http::{RequestHead, Version};

/// How long the thread waits for a question before it looks whether it is to end.
const PATIENCE: Duration = Duration::from_millis(200);

/// Times that a question is judged anew because servers or rules changed meanwhile.
const ROUNDS_MAX: usize = 3;

/// Answers questions.
pub(super) struct Asking {
    pub(super) shared: Arc<Shared>,
    pub(super) bridge: Arc<Bridge>,
    pub(super) seen: Arc<Seen>,
}

/// An answer, and what it came from.
struct Answer {
    verdict: Verdict,
    question: Request,
    decided: Option<Decided>,
    /// For the relay, where it has been assigned already.
    aside: Option<Assigned>,
    /// Whether the head was read: what the log may be told.
    read: bool,
    by_line: bool,
    epoch: u64,
    head_bytes: usize,
}

impl Answer {
    /// Version of the server table that it is for; `None`: nobody was asked.
    fn version(&self) -> Option<u64> {
        let decided = self.decided.as_ref().map(|decided| decided.version);
        decided.or_else(|| self.aside.as_ref().map(Assigned::version))
    }
}

impl Asking {
    /// Answers until `stop`. What the fabric cannot do any more ends it, said once.
    pub(super) fn run(&self, stop: &AtomicBool) {
        let mut scribe = Scribe::new(&self.shared.journal);
        while !stop.load(Ordering::Relaxed) {
            self.tidy();
            match self.bridge.fabric().question(PATIENCE) {
                Ok(Some(held)) => self.settle(&held, &mut scribe),
                Ok(None) => scribe.flush(),
                Err(error) => {
                    say(format_args!(
                        "one way: questions of the kernel cannot be read any more: {error}; what \
                         it does not know by itself waits"
                    ));
                    break;
                }
            }
        }
        scribe.flush();
        self.shared.return_untaken(Instant::NEVER);
    }

    /// Takes back what was set aside for connections that did not come to the relay.
    pub(super) fn tidy(&self) {
        let now = self.shared.clock.now();
        let patience = u64::try_from(ASIDE_MAX.as_nanos()).unwrap_or(u64::MAX);
        if let Some(before) = now.0.checked_sub(patience) {
            self.shared.return_untaken(Instant(before));
        }
    }

    /// Answers one question.
    pub(super) fn settle(&self, held: &Held, scribe: &mut Scribe<'_>) {
        let (live, mut answer) = self.judge(held);
        if let Verdict::Relay(why) = answer.verdict {
            // Before the worker can accept it.
            self.shared.set_aside(held.client, why.name(), answer.aside.take());
            self.seen.local(why);
        }
        if self.bridge.fabric().answer(held, answer.verdict).is_err() {
            self.seen.unanswered.add(1);
        }
        self.learn(held, &answer);
        if let Verdict::Server(slot) = answer.verdict {
            self.write_down(held, &live, &answer, slot, scribe);
        }
    }

    /// The answer, given for the servers and rules that are in force when it is given.
    fn judge(&self, held: &Held) -> (Arc<Live>, Answer) {
        let mut round = 0;
        loop {
            // In this order: what is judged by `live` is at least as new as the epoch.
            let epoch = self.bridge.epoch();
            let live = self.shared.live.load_full();
            let answer = self.judge_by(&live, held, epoch);
            let outdated = answer.version().is_some_and(|version| version != live.version);
            round += 1;
            if !outdated || round == ROUNDS_MAX {
                // After that many reloads in a row nothing of it is to be repeated.
                return (live, Answer { by_line: answer.by_line && !outdated, ..answer });
            }
            self.shared.put_back(answer.aside);
        }
    }

    fn judge_by(&self, live: &Live, held: &Held, epoch: u64) -> Answer {
        let at = self.shared.clock.now();
        let holder = held.holder.and_then(|slot| self.bridge.tables().roster.owner(slot));
        let nothing = Request { at, target: TargetId(0), class: Class::STATIC, holder };
        let blank = Answer {
            verdict: Verdict::Relay(Local::BadRequest),
            question: nothing,
            decided: None,
            aside: None,
            read: false,
            by_line: false,
            epoch,
            head_bytes: 0,
        };
        let stay = |why| held.holder.map_or(Verdict::Relay(why), Verdict::Server);
        let is_deaf = |holder| self.bridge.tables().is_deaf(holder, held.listener);
        if held.holder.is_some_and(is_deaf) {
            // It would not hear that it is to give the connection up.
            return Answer { verdict: stay(Local::Unconfirmed), ..blank };
        }
        let read = match read(&held.payload, live, &mut |_| {}) {
            Ok(read) => read,
            // Whoever has the connection reads on: this may be the middle of anything.
            Err(why) => return Answer { verdict: stay(why), ..blank },
        };
        let question =
            Request { target: read.verdict.target, class: read.verdict.class, ..nothing };
        let (head_bytes, by_line) = (read.head_bytes, read.verdict.by_line);
        let known = Answer { question, read: true, head_bytes, ..blank };
        // Handed over for good, the one server has all that follows; the program does the same.
        if read.pipelined && held.delivery != Delivery::Handoff {
            return Answer { verdict: stay(Local::Pipelined), ..known };
        }
        if read.verdict.relay {
            let verdict = Verdict::Relay(Local::RuleSaysRelay);
            return Answer { verdict, by_line, ..known };
        }
        let mut hindrance = None;
        let way = self.shared.ask.decide_where(&question, &[], |server| {
            hindrance = self.hindrance(held, server);
            hindrance.is_none()
        });
        match way {
            None => Answer { verdict: Verdict::Relay(Local::NoServer), ..known },
            // The relay of a connection with a holder is the holder's, whose work that is.
            Some(Course::Relayed(assigned)) => {
                if let Some(holder) = fetches(held) {
                    self.shared.put_back([assigned]);
                    return Answer { verdict: Verdict::Server(holder), ..known };
                }
                let why = hindrance.unwrap_or(Local::NoServer);
                Answer { verdict: Verdict::Relay(why), aside: Some(assigned), ..known }
            }
            Some(Course::OneWay(decided)) => {
                let slot = self.bridge.tables().roster.slot(decided.assignment.server);
                let verdict = slot.map_or(Verdict::Relay(Local::NoServer), Verdict::Server);
                let by_line = by_line && slot.is_some();
                Answer { verdict, by_line, decided: Some(decided), ..known }
            }
        }
    }

    /// Why a server cannot be handed this connection. One whose holder fetches for it needs no
    /// program, but a row that is not down.
    fn hindrance(&self, held: &Held, server: ServerId) -> Option<Local> {
        let tables = self.bridge.tables();
        let slot = tables.roster.slot(server);
        if held.holder.is_some() && held.holder == slot {
            // Nothing is handed over: it has the connection.
            return None;
        }
        let doubted = match fetches(held).is_some() {
            true => tables.trust.is_lost(server),
            false => !tables.trust.takes(server, held.listener),
        };
        let why = if doubted { Local::Unconfirmed } else { Local::NoServer };
        (doubted || slot.is_none()).then_some(why)
    }

    /// Lets the kernel repeat the answer, if request line and Host alone led to it.
    fn learn(&self, held: &Held, answer: &Answer) {
        if !answer.by_line {
            return;
        }
        let head = held.payload.get(..answer.head_bytes).unwrap_or_default();
        let Some(key) = self.bridge.fabric().key(head) else { return };
        let Request { class, target, .. } = answer.question;
        match answer.decided.as_ref().map(|decided| decided.repeat) {
            None => self.bridge.repeat(key, Repeat::Relay, answer.epoch, class, target),
            Some(Promised::Target(_)) => self.bridge.bind(key, answer.epoch, class, target),
            Some(Promised::Wheel) => {
                let seat = self.bridge.tables().seat(class);
                if let Some(number) = seat {
                    self.bridge.repeat(key, Repeat::Wheel(number), answer.epoch, class, target);
                }
            }
            Some(Promised::Nothing) => {}
        }
    }

    fn write_down(
        &self,
        held: &Held,
        live: &Live,
        answer: &Answer,
        slot: Slot,
        scribe: &mut Scribe<'_>,
    ) {
        let delivered = delivered(held.delivery, held.holder, slot);
        self.seen.delivered(delivered);
        if !answer.read {
            return;
        }
        let server = self.name(live, slot);
        let assignment = answer.decided.map(|decided| decided.assignment);
        let mut note = |head: &RequestHead<'_, '_>| {
            let field = |name| head.field(name).map(String::from_utf8_lossy).unwrap_or_default();
            let passed = Passed {
                question: answer.question,
                client: held.client.ip().to_canonical(),
                method: head.method_name,
                host: head.authority.unwrap_or(""),
                path: head.target,
                version: if head.version == Version::Http10 { "HTTP/1.0" } else { "HTTP/1.1" },
                referer: &field("referer"),
                agent: &field("user-agent"),
                server: &server,
                policy: &live.policy,
                class: live.rules.classes().name(answer.question.class),
                why: assignment.map(|assignment| assignment.why),
                choice: answer.decided.map_or(Choice::default(), |decided| decided.choice),
                expect: assignment.map_or(Expect::Unknown, |assignment| assignment.expect),
                delivered,
            };
            scribe.note(&passed, live.settings.access);
        };
        // It was read before: this shows the head to the scribe, no more.
        let _read_again = read(&held.payload, live, &mut note);
    }

    fn name(&self, live: &Live, slot: Slot) -> String {
        name(&self.bridge, live, slot)
    }
}

/// How a request came to the server of a slot that `holder` had the connection of.
pub(super) fn delivered(delivery: Delivery, holder: Option<Slot>, slot: Slot) -> Delivered {
    match holder {
        None => Delivered::Handoff,
        Some(holder) if holder == slot => Delivered::Stayed,
        Some(_) if delivery == Delivery::Forward => Delivered::Forward,
        Some(_) => Delivered::Moved,
    }
}

/// The holder of a connection, if it fetches from other servers what they are to serve.
fn fetches(held: &Held) -> Option<Slot> {
    held.holder.filter(|_| held.delivery == Delivery::Forward)
}

/// What the server of a slot is called.
pub(super) fn name(bridge: &Bridge, live: &Live, slot: Slot) -> String {
    let tables = bridge.tables();
    let (owner, hash) = (tables.roster.owner(slot), tables.roster.name(slot));
    drop(tables);
    let backend = owner.and_then(|id| live.backends.get(id.index())?.as_ref());
    // One that left and joined anew is another server to the books, but not to people.
    let namesake = |one: &&Arc<Backend>| Some(name_hash(&one.name)) == hash;
    let backend = backend.or_else(|| live.backends.iter().flatten().find(namesake));
    backend.map_or_else(|| format!("#{}", slot.0), |backend| backend.name.to_string())
}

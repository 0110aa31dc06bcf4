//! The supervisor: decides which servers take new requests, and tells the switch.
//!
//! Four facts make a server's state, the first that holds decides: the operator drains it; it
//! fails its checks; it is ejected for failed requests; else it is up. The pure parts decide
//! ([`crate::health`], [`crate::ejection`], [`crate::slow_start`]); here is who asks them, when.
//! Everything is kept by server name, so that a reload keeps what is known of servers that stay.

mod roster;
mod rounds;

use crate::ejection::{EjectionRule, Feed};
use crate::events::{Event, Events, Log};
use crate::health::HealthRule;
use crate::probe::Probe;
use crate::view::{ServerReport, ServerState, ServerView, Standing};
use crate::{Refusal, Switch};
use roster::Roster;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A server to look after.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    /// Its stable name, the same as in [`ServerView`].
    pub name: String,
    /// Where it is checked: `host:port`.
    pub address: String,
    /// How it is checked; `None`: it counts as well.
    pub check: Option<Check>,
    /// When real requests that fail take it out.
    pub ejection: EjectionRule,
    /// How long a server that comes back, or joins a running switch, takes to get its full share.
    pub slow_start: Duration,
}

/// How a server is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it is asked.
    pub probe: Probe,
    /// From the end of one check to the start of the next, give or take a tenth.
    pub interval: Duration,
    /// How long it has to answer.
    pub time_max: Duration,
    /// How many verdicts change its health.
    pub rule: HealthRule,
}

impl Check {
    /// `probe` with the intervals and limits users of HAProxy know: every 2 s, 2 s to answer.
    pub fn new(probe: Probe) -> Self {
        let span = Duration::from_secs(2);
        Self { probe, interval: span, time_max: span, rule: HealthRule::default() }
    }
}

/// Decides which servers take new requests. Its methods may be called from any thread;
/// [`Supervisor::run`] does the waiting.
pub struct Supervisor {
    switch: Arc<dyn Switch>,
    books: Mutex<Books>,
    log: Log,
    /// Wakes [`Supervisor::run`]: servers were changed, or one is due for ejection.
    wake: Arc<Notify>,
    began: Instant,
    stopping: AtomicBool,
}

struct Books {
    roster: Roster,
    events: Events,
}

impl Supervisor {
    /// A supervisor of no servers; the line of each event goes to standard error.
    pub fn new(switch: Arc<dyn Switch>) -> Arc<Self> {
        // A panic for want of a reader would take health checks down with it.
        let log = |line: &str| drop(writeln!(std::io::stderr().lock(), "baton: {line}"));
        Self::with_log(switch, Box::new(log))
    }

    /// The same with another place for the lines of events.
    pub fn with_log(switch: Arc<dyn Switch>, log: Log) -> Arc<Self> {
        let books = Mutex::new(Books { roster: Roster::default(), events: Events::new() });
        Arc::new(Self {
            switch,
            books,
            log,
            wake: Arc::new(Notify::new()),
            began: Instant::now(),
            stopping: AtomicBool::new(false),
        })
    }

    /// Looks after these servers from now on: those named before keep what is known of them,
    /// others are new, and who is not named is forgotten. The first call takes servers as warm,
    /// for a switch that starts has no one else to send requests to. The switch must know the
    /// servers already.
    pub fn apply(&self, specs: Vec<ServerSpec>) {
        let mut books = self.books();
        let Books { roster, events } = &mut *books;
        roster.apply(specs, self.now(), &self.wake);
        self.tell(roster, events);
        // A reload may have built the switch's books anew.
        for (server, state, warmth) in roster.told() {
            self.switch.set_state(server, state);
            self.switch.set_warmth(server, warmth);
        }
        self.close(books);
        self.wake.notify_one();
    }

    /// Where workers report how requests to a server end; `None` when it is not looked after.
    /// A feed outlives reloads that keep the server.
    pub fn feed(&self, server: &str) -> Option<Feed> {
        self.books().roster.get(server).map(|watch| watch.feed.clone())
    }

    /// Gives a server no new work, or work again. Returns whether it was draining before.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when no server has the name.
    pub fn drain(&self, server: &str, drain: bool) -> Result<bool, Refusal> {
        let mut books = self.books();
        let Books { roster, events } = &mut *books;
        let was = roster.drain(server, drain).ok_or_else(|| self.unknown(server))?;
        self.tell(roster, events);
        self.close(books);
        Ok(was)
    }

    /// Changes a server's weight until the next reload. Returns the old one.
    ///
    /// # Errors
    /// Those of [`Switch::set_weight`].
    pub fn set_weight(&self, server: &str, weight: u32) -> Result<u32, Refusal> {
        let was = self.switch.set_weight(server, weight)?;
        self.note(Event {
            subject: format!("server {server}"),
            from: Some(format!("weight {was}")),
            to: Some(format!("weight {weight}")),
            message: "changed by the operator".to_owned(),
            ..Event::default()
        });
        Ok(was)
    }

    /// Keeps and logs an event of someone else, such as a reload.
    pub fn note(&self, event: Event) {
        let mut books = self.books();
        books.events.push(event);
        self.close(books);
    }

    /// The last `count` events, newest first.
    pub fn events(&self, count: usize) -> Vec<Event> {
        self.books().events.last(count)
    }

    /// Every server of the switch with its standing, by slot.
    pub fn reports(&self) -> Vec<ServerReport> {
        let views = self.switch.servers();
        let books = self.books();
        let report = |server: ServerView| {
            let standing = books.roster.get(&server.name).map(|watch| watch.standing.clone());
            ServerReport { standing: standing.unwrap_or_else(left), server }
        };
        views.into_iter().map(report).collect()
    }

    /// One server of the switch with its standing.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when no server has the name.
    pub fn report(&self, server: &str) -> Result<ServerReport, Refusal> {
        let found = self.reports().into_iter().find(|report| report.server.name == server);
        found.ok_or_else(|| self.unknown(server))
    }

    /// From now on the switch is not ready: it stops, and nobody should send it new clients.
    pub fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether clients should be sent here: the switch listens, is not stopping, and at least one
    /// server may be chosen (up, or ejected while ejections are ignored for lack of others).
    ///
    /// # Errors
    /// What is missing and what to do.
    pub fn ready(&self) -> Result<(), (&'static str, &'static str)> {
        let status = self.switch.status();
        if self.stopping.load(Ordering::Relaxed) {
            return Err(("the switch is stopping", "send new clients elsewhere"));
        }
        if status.listeners.is_empty() {
            return Err(("the switch does not listen yet", "wait until it has started"));
        }
        let usable =
            |state| state == ServerState::Up || (status.panic && state == ServerState::Ejected);
        if !self.books().roster.watches().any(|watch| usable(watch.standing.state)) {
            return Err(("no server is up", "look at /v1/servers: it says why each is down"));
        }
        Ok(())
    }

    /// Whether connections that could be handed over are, to one server at least, and by programs
    /// that are where they are to be. They are answered
    /// in any case, by the relay.
    ///
    /// # Errors
    /// What is the matter with all of them.
    pub fn hands_over(&self) -> Result<(), String> {
        let Some(view) = self.switch.status().oneway else { return Ok(()) };
        if let Some(missing) = view.interfaces.iter().find_map(|one| one.sentence()) {
            return Err(missing);
        }
        let (0, 1..) = view.taking() else { return Ok(()) };
        let each = view
            .servers
            .iter()
            .filter_map(|one| Some(format!("{}: {}", one.server, one.doubt.as_ref()?.sentence)));
        let each: Vec<String> = each.take(NAMES_MAX).collect();
        Err(format!("no server takes connections over, all are relayed: {}", each.join("; ")))
    }

    /// The switch.
    pub fn switch(&self) -> &dyn Switch {
        self.switch.as_ref()
    }

    /// Looks after the servers until the future is dropped: probes, ejections, slow starts.
    pub async fn run(&self) {
        rounds::run(self).await;
    }

    /// Tells the switch and the log what has changed since the last time.
    fn tell(&self, roster: &mut Roster, events: &mut Events) {
        let now = self.now();
        for change in roster.changes(now) {
            self.switch.set_state(&change.server, change.state);
            events.push(change.event);
        }
        for (server, warmth) in roster.warmths(now) {
            self.switch.set_warmth(&server, warmth);
        }
    }

    fn unknown(&self, server: &str) -> Refusal {
        let mut names: Vec<_> = self.switch.servers().into_iter().map(|view| view.name).collect();
        names.sort();
        names.truncate(NAMES_MAX);
        Refusal::Unknown(format!("no server is called '{server}'; there are: {}", names.join(", ")))
    }

    fn now(&self) -> policy::Instant {
        policy::Instant::ZERO.plus(self.began.elapsed())
    }

    /// Whoever panicked with the books open, health checks go on.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the books, then logs what happened meanwhile.
    fn close(&self, mut books: MutexGuard<'_, Books>) {
        let lines = books.events.take_lines();
        drop(books);
        lines.iter().for_each(|line| (self.log)(line));
    }
}

/// Names that an error lists at most.
const NAMES_MAX: usize = 20;

fn left() -> Standing {
    Standing {
        state: ServerState::Left,
        why: "removed from the configuration; finishes what it has".to_owned(),
        since_unix_ms: 0,
        check: None,
    }
}

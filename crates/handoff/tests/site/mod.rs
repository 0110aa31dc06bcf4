//! What the tests on a bed have in common: a front-end and servers with their programs attached,
//! and a thread that answers the questions.

// Helpers are no tests in the eyes of clippy, and no test file uses all of them.
#![allow(dead_code, clippy::unwrap_used)]

pub mod client;

use client::Client;
use handoff::{Back, Delivery, Front, Limits, Memo, Question, Repeat, Row, Site, State, Verdict};
use std::net::{SocketAddr, TcpListener};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use testbed::{File, Host, Plan, TestBed, Variant};

/// How long anything may take before a test has failed.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A site whose connections are handed over. Dropping it takes everything down.
pub struct OneWay {
    asked: Option<Asked>,
    pub front: Arc<Front>,
    pub backs: Vec<Back>,
    pub bed: TestBed,
}

pub use testbed::possible as is_possible;

/// What all hosts of a bed agree on.
pub fn site(variant: Variant) -> Site {
    Site { key: *b"sixteen secrets!", port: 7117, routed: variant == Variant::Routed, mtu: 1500 }
}

impl OneWay {
    /// Brings a site up whose questions `decide` answers.
    pub fn up(
        plan: &Plan,
        delivery: Delivery,
        decide: impl Fn(&Question) -> Verdict + Send + 'static,
    ) -> Self {
        let bed = TestBed::up(plan).unwrap();
        let front = Arc::new(open_front(&bed, delivery));
        let backs = (1..=plan.servers).map(|number| open_back(&bed, number, delivery)).collect();
        let asked = Asked::begin(Arc::clone(&front), decide);
        Self { asked: Some(asked), front, backs, bed }
    }

    /// A counter of the front-end.
    pub fn count(&self, name: &str) -> u64 {
        let counters = self.front.counters();
        counters.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// A counter of all servers together.
    pub fn count_back(&self, name: &str) -> u64 {
        let of = |back: &Back| back.counters().iter().find(|(known, _)| *known == name).unwrap().1;
        self.backs.iter().map(of).sum()
    }

    /// All counters that are not zero, for messages.
    pub fn counts(&self) -> String {
        let some = |counters: Vec<(&str, u64)>| {
            let some = counters.into_iter().filter(|(_, count)| *count > 0);
            some.map(|(name, count)| format!("{name}={count}")).collect::<Vec<_>>().join(" ")
        };
        let mut text = format!("front: {}", some(self.front.counters()));
        for (number, back) in (1..).zip(&self.backs) {
            text += &format!("\nserver{number}: {}", some(back.counters()));
        }
        text
    }

    /// Gives the kernel every answer to repeat, so that nobody is asked.
    pub fn remember_all(&self) {
        let plan = self.bed.plan();
        for file in &plan.files {
            for slot in 0..plan.servers {
                let what = Repeat::Server { slot, load_max: u64::MAX, until_ns: u64::MAX };
                let memo = Memo { what, epoch: 1, target: 0, class: 0 };
                let key = self.front.key(&client::get(&file.path, slot + 1)).unwrap();
                self.front.remember(key, &memo).unwrap();
            }
        }
    }

    /// A file of all servers.
    pub fn file(&self, path: &str) -> &File {
        self.bed.plan().files.iter().find(|file| file.path == path).unwrap()
    }

    /// Who listens at an address of a machine.
    pub fn listener(&self, host: Host, at: SocketAddr) -> TcpListener {
        self.bed.enter(host, || TcpListener::bind(at)).unwrap().unwrap()
    }

    /// Has the first server's connections accepted by a listener of ours.
    pub fn own_server(&self, vip: SocketAddr) -> TcpListener {
        let listener = self.listener(Host::Server(1), SocketAddr::new(vip.ip(), 8080));
        self.backs[0].listen(vip, Some(Delivery::Multi), 8080, 8080).unwrap();
        listener
    }

    /// The sum of a counter of a machine's kernel over the lines of `netstat`, such as
    /// `ListenOverflows`.
    pub fn netstat(&self, host: Host, name: &str) -> u64 {
        let read = || std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
        let text = self.bed.enter(host, read).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let pairs = lines.chunks(2).flat_map(|pair| {
            pair[0].split(' ').zip(pair[1].split(' ')).filter(|(known, _)| *known == name)
        });
        pairs.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
    }

    /// Runs `work` among the clients; when it panics, what was counted is told.
    pub fn client<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let work = || panic::catch_unwind(AssertUnwindSafe(work));
        self.bed.enter(Host::Client, work).unwrap().unwrap_or_else(|why| {
            eprintln!("{}\n{}", self.counts(), self.table());
            panic::resume_unwind(why)
        })
    }

    /// Connections in the front-end's table, a few of them.
    fn table(&self) -> String {
        let flows = self.front.list(20);
        flows.iter().map(|flow| format!("{flow:?}\n")).collect()
    }

    /// Connections that the books count now.
    pub fn open(&self) -> u64 {
        let slots = 0..self.bed.plan().servers;
        slots.map(|slot| self.front.books().book(slot).open).sum()
    }

    /// After all clients have closed: every book is empty, and was opened as often as connections
    /// were given to servers; once looked through, the table is empty too.
    pub fn assert_settled(&self) {
        let empty = || {
            // Of a client that shut its own half only silence says that it has gone.
            self.front.sweep(Duration::from_secs(3600), usize::MAX);
            let slots = 0..self.bed.plan().servers;
            slots.into_iter().all(|slot| self.front.books().book(slot).open == 0)
        };
        let settled = becomes(PATIENCE, empty);
        let slots = 0..self.bed.plan().servers;
        let books: Vec<_> = slots.map(|slot| self.front.books().book(slot)).collect();
        let told = || format!("{books:?}\n{}\n{}", self.counts(), self.table());
        assert!(settled, "{}", told());
        let begun: u64 = books.iter().map(|book| book.begun).sum();
        assert_eq!(begun, self.count("handed_over") + self.count("moved"), "{}", told());
        assert!(self.front.list(usize::MAX).iter().all(|flow| !flow.open), "{}", told());
        let gone = || {
            self.front.sweep(Duration::ZERO, usize::MAX);
            self.front.list(1).is_empty()
        };
        assert!(becomes(PATIENCE, gone), "{}", told());
    }
}

impl Drop for OneWay {
    fn drop(&mut self) {
        self.asked = None;
    }
}

/// Opens the front-end's side, and attaches it, as a daemon does when it starts.
pub fn open_front(bed: &TestBed, delivery: Delivery) -> Front {
    let plan = bed.plan();
    let row = |number| Row {
        address: (bed.server(number).v4, 80).into(),
        name: number.into(),
        state: State::Up,
        agent_port: 0,
    };
    let open = || {
        let site = site(plan.variant);
        let front = Front::open(&site, &Limits::default(), &bed.pins(Host::Front)).unwrap();
        for vip in bed.vip().at(80) {
            front.listen(vip, Some(delivery)).unwrap();
        }
        for number in 1..=plan.servers {
            front.set_row(number - 1, Some(&row(number))).unwrap();
        }
        front.books().set_epoch(1);
        front.attach(bed.interface()).unwrap();
        front
    };
    bed.enter(Host::Front, open).unwrap()
}

/// Opens a server's side, and attaches it, as an agent does when it starts.
pub fn open_back(bed: &TestBed, number: u16, delivery: Delivery) -> Back {
    let host = Host::Server(number);
    let open = || {
        let back = Back::open(&site(bed.plan().variant), &bed.pins(host)).unwrap();
        for vip in bed.vip().at(80) {
            back.listen(vip, Some(delivery), 80, 80).unwrap();
        }
        back.attach(bed.interface()).unwrap();
        back
    };
    bed.enter(host, open).unwrap()
}

/// A thread that answers questions while this lives.
pub struct Asked {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Asked {
    pub fn begin(
        front: Arc<Front>,
        decide: impl Fn(&Question) -> Verdict + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let answer = move || {
            while !told.load(Ordering::Relaxed) {
                if let Some(question) = front.question(Duration::from_millis(20)).unwrap() {
                    front.answer(&question, decide(&question)).unwrap();
                }
            }
        };
        Self { thread: Some(std::thread::spawn(answer)), stop }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// Who answers: `?s2` means the second server; everything else is for the relay.
pub fn by_query(question: &Question) -> Verdict {
    let payload = question.payload();
    let line = payload.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let number = line.split("?s").nth(1).and_then(|rest| rest[..1].parse::<u16>().ok());
    number.map_or(Verdict::Relay, |number| Verdict::Server(number - 1))
}

/// Runs `work` at a site of two servers that are asked for by their numbers: among neighbours and
/// behind a router, by IPv4 and by IPv6; then all must be closed.
pub fn everywhere(work: impl Fn(&OneWay, SocketAddr)) {
    if !is_possible() {
        return;
    }
    for variant in [Variant::Bridge, Variant::Routed] {
        let one_way = OneWay::up(&Plan::new(2).wired(variant), Delivery::Multi, by_query);
        for vip in one_way.bed.vip().at(80) {
            work(&one_way, vip);
        }
        one_way.assert_settled();
    }
}

/// The next connection that a listener gets.
pub fn accept(listener: &TcpListener) -> Client {
    listener.set_nonblocking(true).unwrap();
    let mut accepted = None;
    let came = becomes(PATIENCE, || {
        accepted = listener.accept().ok();
        accepted.is_some()
    });
    assert!(came, "nobody connects to {listener:?}");
    let (stream, _) = accepted.unwrap();
    stream.set_nonblocking(false).unwrap();
    Client::over(stream).unwrap()
}

/// Waits until something holds, and says whether it did within the limit.
pub fn becomes(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !holds() {
        if Instant::now() > end {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    true
}

/// How many times as much there is to do: with BATON_ONEWAY_LONG the tests take their time.
pub fn times() -> u32 {
    if std::env::var_os("BATON_ONEWAY_LONG").is_some() { 10 } else { 1 }
}

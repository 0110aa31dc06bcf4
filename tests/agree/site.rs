//! A switch with emulated servers, and what happens to them while clients ask.

use crate::clients::{CLIENTS, REQUESTS, client};
use baton::config::Config;
use baton::demo::{Cast, Origins};
use baton::serve::Service;
use control::Switch;
use policy::tape::Tape;
use policy::{Dice, Report, State};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Real seconds for each second of the model: fast servers, but not so fast that none has two
/// requests at a time.
const TIME_SCALE: f64 = 0.05;
/// Servers that live as long as the test. One more fails, one goes and one joins.
const STEADY: usize = 4;
/// Events of a tape: some times what happens.
const EVENTS_MAX: usize = 100_000;
/// What happens in the course of a tape, at equal distances: the tape begins with the first.
const HAPPENINGS: usize = 12;
/// Requests that are asked for after the tape has begun, at least.
pub const TAPED_MIN: usize = REQUESTS - REQUESTS / HAPPENINGS - CLIENTS;
/// Replies between two reports of servers.
const REPORT_EVERY: usize = 10;

/// The servers that live as long as the test.
pub struct Site {
    steady: Origins,
    faulty: Faulty,
}

impl Site {
    pub fn new() -> Self {
        Self { steady: origins(STEADY), faulty: Faulty::start() }
    }

    fn config(&self, policy: &str, params: &str, others: &[(&str, SocketAddr)]) -> Config {
        let mut text = format!(
            "workers = 4\n[listen.web]\naddress = \"127.0.0.1:0\"\n[health]\nkind = \"off\"\n\
             [policy]\nname = \"{policy}\"\nseed = 42\n{params}\n[admin]\nsocket = \"off\"\n\
             [log]\nlevel = \"error\"\n[ejection]\nfailures = 3\ntime = \"50ms\"\n\
             [slow_start]\ntime = \"200ms\"\n[queue]\nmax_inflight = 3\nlength = 2\n\
             [retry]\nbudget = \"100%\"\n"
        );
        for class in ["static", "light", "cpu", "disk"] {
            text += &format!("[[rule]]\npath_prefix = \"/{class}/\"\nclass = \"{class}\"\n");
        }
        for (at, address) in self.steady.addresses.iter().enumerate() {
            text += &format!("[server.steady-{at}]\naddress = \"{address}\"\ncapacity = 8\n");
        }
        for (name, address) in others.iter().chain(&[("faulty", self.faulty.address)]) {
            text += &format!("[server.{name}]\naddress = \"{address}\"\n");
        }
        Config::parse("agree", &text, &|_| None).unwrap().config
    }
}

fn origins(servers: usize) -> Origins {
    let (cache_bytes, sizes) = (1 << 20, Arc::default());
    Origins::start(Cast { servers, cache_bytes, time_scale: TIME_SCALE, sizes }).unwrap()
}

/// What a live switch was told and answered while clients asked and servers came and went.
pub fn taped(site: &Site, policy: &str, params: &str) -> Tape {
    let mortal = origins(1);
    let mortal_address = mortal.addresses[0];
    let service =
        Service::start(site.config(policy, params, &[("mortal", mortal_address)]), "agree")
            .unwrap();
    let (_, address) = service.listening().pop().unwrap();
    // Whoever is that far ahead waits: what happens is to happen in the middle of requests.
    let (replied, replies) = sync_channel(2);
    let mut mortal = Some(mortal);
    std::thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let replied = replied.clone();
            scope.spawn(move || client(address, seed as u64, &replied));
        }
        drop(replied);
        let (mut count, mut good) = (0, 0);
        let mut dice = Dice::new(7);
        for status in replies {
            count += 1;
            good += usize::from(status == 200);
            if count % REPORT_EVERY == 0 {
                report(&service, &mut dice);
            }
            if count % (REQUESTS / HAPPENINGS) == 0 {
                happen(
                    site,
                    &service,
                    (policy, params),
                    count / (REQUESTS / HAPPENINGS),
                    &mut mortal,
                );
            }
        }
        assert_eq!(count, REQUESTS, "each client has had all its replies");
        assert!(good > REQUESTS / 2, "{policy}: {good} of {REQUESTS} were served");
    });
    let tape = service.glass().shared().ask.tape().unwrap();
    service.stop(&AtomicBool::new(true));
    tape
}

/// The next thing that happens. The first is that the tape begins, with clients in the middle of
/// their requests.
fn happen(
    site: &Site,
    service: &Service,
    (policy, params): (&str, &str),
    number: usize,
    mortal: &mut Option<Origins>,
) {
    let glass = service.glass();
    match number {
        1 => {
            let choice = &glass.config().policy;
            let ask = &glass.shared().ask;
            ask.record(choice.entry, &choice.params, choice.seed, EVENTS_MAX);
        }
        2 => glass.set_state("steady-0", State::Down),
        3 => glass.set_state("steady-1", State::Draining),
        4 => glass.set_state("steady-0", State::Up),
        5 => {
            assert_eq!(glass.set_weight("steady-2", 5).unwrap(), 1);
            glass.set_warmth("steady-0", 100);
        }
        // Connections to it are refused from here on.
        6 => drop(mortal.take()),
        7 => glass.set_state("steady-1", State::Up),
        8 => {
            // One leaves, with work under way perhaps, and one joins: it may get the slot.
            let another = ("another", site.steady.addresses[0]);
            service.reload(site.config(policy, params, &[another])).unwrap();
        }
        9 => glass.set_state("another", State::Ejected),
        10 => (0..STEADY).for_each(|at| glass.set_state(&format!("steady-{at}"), State::Draining)),
        11 => (0..STEADY).for_each(|at| glass.set_state(&format!("steady-{at}"), State::Up)),
        _ => {}
    }
}

/// Servers say how they are: nothing that is true, for the policies believe it.
fn report(service: &Service, dice: &mut Dice) {
    let shared = service.glass().shared();
    let ids: Vec<_> =
        shared.ask.books().desk().cluster().servers().map(|server| server.id).collect();
    for id in ids {
        let report = Report {
            at: shared.clock.now(),
            cpu: dice.unit(),
            disk: dice.unit(),
            disk_queue: dice.below(6) as u32,
            active: dice.below(9) as u32,
            latency: Duration::from_micros(dice.below(20_000) as u64),
        };
        shared.ask.report(id, report);
    }
}

/// A server that answers 503, closes without a word, or does its part, in turn.
struct Faulty {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Faulty {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            for (number, stream) in listener.incoming().enumerate() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                // Whoever connected and left is nobody to serve.
                let _gone = stream.map(|stream| misbehave(stream, number));
            }
        };
        Self { address, stop, thread: Some(std::thread::spawn(serve)) }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn misbehave(stream: TcpStream, number: usize) -> Option<()> {
    let mut peer = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        if peer.read_line(&mut line).ok()? == 0 {
            return None;
        }
    }
    let status = match number % 3 {
        0 => "503 Service Unavailable",
        1 => return None,
        _ => "200 OK",
    };
    let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    peer.get_mut().write_all(reply.as_bytes()).ok()
}

//! Method: answers and failures at made-up times; then agents on ports of the kernel's choice.

use super::*;
use crate::config::Config;
use policy::{Cluster, Desk};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::sync_channel;
use testbed::Port;

const PATIENCE: Duration = Duration::from_secs(20);

fn gather(config: &Config) -> Arc<Gather> {
    let desk = Desk::new(config.policy.build(), Cluster::new(0.5), 1);
    let live = distributor::Live {
        version: 0,
        settings: distributor::Settings::default(),
        rules: Arc::clone(&config.rules),
        policy: config.policy.entry.name.into(),
        routes: Vec::new(),
        backends: Vec::new(),
    };
    let mut gather = Gather::new(Arc::new(Shared::new(live, desk, 1)));
    // Others may have the processors for a while.
    Arc::get_mut(&mut gather).unwrap().first = PATIENCE;
    gather
}

fn config(agents: &[String]) -> Config {
    let mut text = "[listen.web]\naddress = \":0\"\n[agents]\nperiod = \"100ms\"\n\
                    [policy]\nname = \"lard\"\nmetric = \"utilisation\"\n"
        .to_owned();
    for (number, agent) in (1..).zip(agents) {
        text += &format!("[server.s{number}]\naddress = \"127.0.0.1:{number}\"\n");
        text += &format!("agent = \"{agent}\"\n");
    }
    Config::parse("site", &text, &|_| None).unwrap().config
}

/// Puts the servers of a configuration into the table.
fn join(gather: &Gather, config: &Config) {
    let shared = &gather.shared;
    let join = |edit: &mut policy::Edit<'_>| -> Vec<_> {
        let join = |one: &crate::config::ready::Server| {
            edit.join(one.spec(), policy::State::Up, Instant::ZERO).unwrap()
        };
        config.servers.iter().map(join).collect()
    };
    let ids = shared.ask.change(join);
    let backend = |(server, id): (&crate::config::ready::Server, &ServerId)| {
        Some(Arc::new(Backend::new(*id, &server.name, server.resolve().unwrap(), 1)))
    };
    let old = shared.live.load_full();
    shared.live.store(Arc::new(distributor::Live {
        version: 1,
        settings: old.settings.clone(),
        rules: Arc::clone(&old.rules),
        policy: old.policy.clone(),
        routes: Vec::new(),
        backends: config.servers.iter().zip(&ids).map(backend).collect(),
    }));
}

#[test]
fn a_report_that_is_not_renewed_expires_once() {
    let gather = gather(&config(&["h:1".to_owned()]));
    let id = ServerId(0);
    gather.set([(id, "s1".to_owned(), "h:1".to_owned())], Duration::from_secs(1));
    let note = |answer: Result<LoadReport, String>, second: u64| {
        let report = gather.note(id, "h:1", &answer, Instant(second * 1_000_000_000));
        report.unwrap().map(|report| report.cpu)
    };
    let busy = LoadReport { period_s: 1.0, cpu_busy: Some(0.5), ..LoadReport::default() };
    let silent = || Err("silent".to_owned());
    assert_eq!(note(silent(), 0), None, "there is nothing to take back");
    assert_eq!(note(Ok(busy.clone()), 1), Some(0.5));
    assert_eq!(note(silent(), 4), None, "it is still believed");
    assert_eq!(note(silent(), 5), Some(0.0));
    assert_eq!(note(silent(), 6), None, "that was said already");
    assert_eq!(note(Ok(busy), 7), Some(0.5));
    let view = gather.view().remove(0);
    assert_eq!((view.answers, view.failures, view.fault), (2, 4, None));
}

#[test]
fn an_answer_of_an_agent_that_is_gone_is_not_heard() {
    let gather = gather(&config(&["h:1".to_owned()]));
    gather.set([(ServerId(0), "s1".to_owned(), "h:1".to_owned())], Duration::from_secs(1));
    gather.set([(ServerId(0), "s1".to_owned(), "h:2".to_owned())], Duration::from_secs(1));
    let late = Ok(LoadReport { period_s: 1.0, ..LoadReport::default() });
    assert!(gather.note(ServerId(0), "h:1", &late, Instant::ZERO).is_none());
}

/// What an agent says, as often as it is asked; the path of each question.
fn agent(text: &'static str) -> (String, Receiver<String>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let (asked, questions) = sync_channel(100);
    std::thread::spawn(move || {
        for stream in socket.incoming() {
            let (mut stream, mut question) = (stream.unwrap(), vec![0; 1000]);
            let length = stream.read(&mut question).unwrap();
            let line = String::from_utf8_lossy(&question[..length]).into_owned();
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            // Whoever hangs up has heard enough.
            let _gone = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{text}");
            if asked.send(path).is_err() {
                return;
            }
        }
    });
    (address, questions)
}

struct Heard(std::sync::mpsc::SyncSender<(ServerId, Option<f64>)>);

impl Ear for Heard {
    fn heard(&self, server: ServerId, report: &LoadReport) -> bool {
        let _full = self.0.try_send((server, report.cpu_busy));
        // Which server is doubted here.
        report.cpu_busy != Some(0.5)
    }

    fn silent(&self, server: ServerId, _: &str) {
        let _full = self.0.try_send((server, None));
    }

    fn owned(&self, _: ServerId, _: Owned) {}
}

/// An agent that answers /load, and holds every other question for ever. How often it was asked for
/// its load, and how often for its connections.
fn holds_lists(text: &'static str) -> (String, Receiver<bool>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let (asked, questions) = sync_channel(1000);
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in socket.incoming() {
            let (mut stream, mut question) = (stream.unwrap(), vec![0; 1000]);
            let length = stream.read(&mut question).unwrap();
            let is_load = question[..length].starts_with(b"GET /load");
            if is_load {
                let _gone = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{text}");
            } else {
                held.push(stream);
            }
            if asked.send(is_load).is_err() {
                return;
            }
        }
    });
    (address, questions)
}

#[test]
fn a_list_that_does_not_come_holds_up_no_report_and_not_the_end() {
    let (address, questions) = holds_lists("{\"period_s\": 1.0, \"cpu_busy\": 0.75}");
    let config = config(&[address]);
    let gather = gather(&config);
    join(&gather, &config);
    let (sender, _heard) = sync_channel(1);
    gather.tell(Arc::new(Heard(sender)));
    gather.apply(&config).unwrap();
    gather.first_asked();
    assert!(questions.recv_timeout(PATIENCE).unwrap(), "the first question is for the load");
    let asked = || std::iter::from_fn(|| questions.recv_timeout(PATIENCE).ok());
    assert!(asked().any(|is_load| !is_load), "in its turn it is asked for its connections");
    let loads = asked().take(10).filter(|is_load| *is_load).count();
    assert_eq!(loads, 10, "one list at a time, and loads go on meanwhile");
    let began = std::time::Instant::now();
    gather.stop();
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn who_is_doubted_or_silent_is_asked_again_soon_whatever_the_period() {
    let (doubted, doubted_asked) = agent("{\"period_s\": 1.0, \"cpu_busy\": 0.5}");
    let (well, well_asked) = agent("{\"period_s\": 1.0, \"cpu_busy\": 0.25}");
    let config = Config { agent_period: Duration::from_secs(3600), ..config(&[doubted, well]) };
    let gather = gather(&config);
    join(&gather, &config);
    let (sender, heard) = sync_channel(100);
    gather.tell(Arc::new(Heard(sender)));
    gather.apply(&config).unwrap();
    for _ in 0..3 {
        doubted_asked.recv_timeout(PATIENCE).expect("an hour is too long");
    }
    gather.stop();
    assert_eq!(well_asked.try_iter().count(), 1, "of this one all is known");
    drop(heard);
}

#[test]
fn the_policy_hears_every_server_period_by_period_and_so_does_whoever_listens() {
    let (busy, busy_asked) = agent("{\"period_s\": 1.0, \"cpu_busy\": 0.75}");
    let (idle, idle_asked) = agent("{\"period_s\": 1.0, \"cpu_busy\": 0.25}");
    let dead = Port::kept().unwrap().for_ever().to_string();
    let config = config(&[busy, format!("{idle}/.origin"), dead]);
    let gather = gather(&config);
    join(&gather, &config);
    let (sender, heard) = sync_channel(100);
    gather.tell(Arc::new(Heard(sender)));
    gather.apply(&config).unwrap();
    gather.first_asked();
    let utilisation = |id: u16| {
        let books = gather.shared.ask.books();
        let report = books.desk().cluster().server(ServerId(id)).unwrap().report;
        report.map(|report| report.utilisation())
    };
    assert_eq!([0, 1, 2].map(utilisation), [Some(0.75), Some(0.25), None]);
    for _ in 0..3 {
        let path = idle_asked.recv_timeout(PATIENCE).unwrap();
        let path = path.strip_prefix("/.origin").expect("it is asked below its path").to_owned();
        for path in [path, busy_asked.recv_timeout(PATIENCE).unwrap()] {
            assert!(path == "/load" || path.starts_with("/flows?"), "{path}");
        }
    }
    let mut three: Vec<_> = (0..3).map(|_| heard.recv_timeout(PATIENCE).unwrap()).collect();
    three.sort_by_key(|(id, _)| id.0);
    let wanted = [(ServerId(0), Some(0.75)), (ServerId(1), Some(0.25)), (ServerId(2), None)];
    assert_eq!(three, wanted);
    gather.stop();
}

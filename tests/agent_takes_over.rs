//! Agents beside real servers: connections are handed over there, and live on without them.
//!
//! Method: a site in network name spaces, with nginx on the servers and a front-end in this
//! process that answers every question itself; agents are processes, killed in the middle of a
//! connection that goes from server to server with each request. Without root it says so.

#![cfg(feature = "oneway")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use agent::{FlowsPage, LoadReport};
use handoff::{Delivery, Front, Limits, Question, Row, Site, State, Verdict};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testbed::{Host, Plan, TestBed};

const PATIENCE: Duration = Duration::from_secs(10);
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const PORT: u16 = 7118;
/// Times that each server takes the connection over: twice in each of three rounds, also in the
/// one that no agent sees, for the next finds the tables as they are.
const ADOPTED: u64 = 6;

/// Brings up the front-end's programs.
fn front(bed: &TestBed, vip: SocketAddr, servers: u16) -> Front {
    let key = u128::from_str_radix(KEY, 16).unwrap().to_be_bytes();
    let site = Site { key, port: handoff::PORT_DEFAULT, routed: false, mtu: 1500 };
    let front = Front::open(&site, &Limits::default(), &bed.pins(Host::Front)).unwrap();
    front.listen(vip, Some(Delivery::Multi)).unwrap();
    for number in 1..=servers {
        let address = (bed.server(number).v4, 80).into();
        let row = Row { address, name: number.into(), state: State::Up, agent_port: 0 };
        front.set_row(number - 1, Some(&row)).unwrap();
    }
    front.books().set_epoch(1);
    front.attach(bed.interface()).unwrap();
    front
}

/// `/1500?s2`: the second server.
fn by_query(question: &Question) -> Verdict {
    let text = String::from_utf8_lossy(question.payload()).into_owned();
    let digit = text.split("?s").nth(1).and_then(|rest| rest.get(..1)?.parse::<u16>().ok());
    digit.map_or(Verdict::Relay, |number| Verdict::Server(number - 1))
}

/// An agent in a server's name space; killed when dropped.
struct Running(Child);

impl Running {
    fn start(bed: &TestBed, number: u16, vip: SocketAddr, key: &std::path::Path) -> Self {
        let host = Host::Server(number);
        let mut command = bed.command(host, env!("CARGO_BIN_EXE_baton"));
        command.args(["agent", "--interface", bed.interface(), "--vip", &vip.to_string()]);
        command.args(["--server", &format!("{}:80", bed.server(number).v4)]);
        command.args(["--listen", &format!("127.0.0.1:{PORT}"), "--key-file"]).arg(key);
        command.arg("--pin").arg(bed.pins(host)).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let (mut said, mut line) = (String::new(), String::new());
        while !line.contains("listens on") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the agent has ended: {said}");
            said.push_str(&line);
        }
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// What the agent of a server says, once a reading has all that happened: it reads every second.
fn ask(bed: &TestBed, number: u16) -> (LoadReport, FlowsPage) {
    let asking = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let address = format!("127.0.0.1:{PORT}");
            let reading = async {
                loop {
                    let load = agent::client::fetch_load(&address, PATIENCE).await.unwrap();
                    if load.kernel["adopted"] >= ADOPTED {
                        return load;
                    }
                    tokio::task::yield_now().await;
                }
            };
            let load = tokio::time::timeout(PATIENCE, reading).await.unwrap();
            (load, agent::client::fetch_flows(&address, None, PATIENCE).await.unwrap())
        })
    };
    bed.enter(Host::Server(number), asking).unwrap()
}

/// Asks a server for a file by way of the front-end, and says who answered.
fn get(stream: &mut TcpStream, path: &str, number: u16) -> String {
    let request = format!("GET {path}?s{number} HTTP/1.1\r\nHost: bed\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let mut body = vec![0; field("Content-Length: ").parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    assert!(testbed::content::verify(path, 0, &body));
    field("X-Served-By: ").to_owned()
}

#[test]
fn a_connection_goes_from_server_to_server_while_the_agents_are_killed_and_come_back() {
    if !testbed::possible() {
        return; // It has said why.
    }
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    let plan = Plan::new(2);
    let path = plan.files[1].path.clone();
    let bed = TestBed::up(&plan).unwrap();
    let vip = SocketAddr::from((bed.vip().v4, 80));
    let front = bed.enter(Host::Front, || front(&bed, vip, 2)).unwrap();
    let start = || [1, 2].map(|number| Running::start(&bed, number, vip, &key));
    let agents = start();

    let stop = AtomicBool::new(false);
    let answer = || {
        while !stop.load(Ordering::Relaxed) {
            if let Some(question) = front.question(Duration::from_millis(20)).unwrap() {
                front.answer(&question, by_query(&question)).unwrap();
            }
        }
    };
    let work = || {
        let connect = || TcpStream::connect_timeout(&vip, PATIENCE).unwrap();
        let mut stream = bed.enter(Host::Client, connect).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut turns = || {
            for number in [1, 2, 1, 2] {
                assert_eq!(get(&mut stream, &path, number), format!("server{number}"));
            }
        };
        turns();
        drop(agents);
        turns();
        let _agents = start();
        turns();
        [1, 2].map(|number| ask(&bed, number))
    };
    let found = std::thread::scope(|scope| {
        scope.spawn(answer);
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        found
    });
    let found = found.unwrap_or_else(|_| panic!("{:?}", front.counters()));
    for (load, _) in &found {
        assert_eq!(load.kernel["adopted"], ADOPTED, "{load:?}");
        assert!(load.healthy, "{load:?}");
    }
    let owned: Vec<usize> = found.iter().map(|(_, page)| page.flows.len()).collect();
    assert_eq!(owned, [0, 1], "the last to be asked has it");
}

//! Method: an agent on a port of the kernel's choice, before a host that was made up, asked by the
//! client that the switch has.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod made_up;

use agent::client::{fetch_flows, fetch_load};
use agent::doctor::{Role, Site};
use agent::host::{Address, Connection, Host, Link, Listener, Route};
use agent::{Agent, Flow, Forwarding, Kernel, LoadReport, Peer, Relay, Settings, TakesOver};
use made_up::MadeUp;
use policy::Instant;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use testbed::Port;

const PATIENCE: Duration = Duration::from_secs(10);

/// Whether what stands in the way of hand-overs is there; it comes when it was asked about once.
static IN_THE_WAY: AtomicBool = AtomicBool::new(false);

/// Counts how often it was asked; every second time it cannot be read.
#[derive(Default)]
struct Counting(AtomicU64);

impl Kernel for Counting {
    fn counters(&self) -> io::Result<Vec<(String, u64)>> {
        let times = self.0.fetch_add(1, Ordering::Relaxed);
        if times % 2 == 1 {
            Err(io::ErrorKind::NotFound.into())
        } else {
            Ok(vec![("taken".to_owned(), times)])
        }
    }

    fn takes_over(&self) -> Option<TakesOver> {
        let detached = IN_THE_WAY.load(Ordering::Relaxed);
        let detached_from = if detached { vec!["eth0".to_owned()] } else { Vec::new() };
        Some(TakesOver { port: 7117, attached: !detached, detached_from, ..TakesOver::default() })
    }
}

/// What the doctor looks at again: the clients' address.
fn watched() -> Site {
    let vips = vec!["192.0.2.100".parse().unwrap()];
    Site { role: Some(Role::Server), vips, ..Site::default() }
}

/// Has fetched once from another server.
struct Fetched;

impl Relay for Fetched {
    fn forwarding(&self) -> Forwarding {
        let peer =
            Peer { server: "web2".to_owned(), requests: 1, bytes_from: 70, ..Peer::default() };
        let requests = [("told".to_owned(), 1)].into();
        Forwarding { connections: 2, requests, peers: vec![peer] }
    }
}

fn host() -> MadeUp {
    let mut host = MadeUp::default().listener("0.0.0.0:80", 2, 511);
    host.file("/proc/uptime", "100.0 0.0\n").file("/proc/stat", "cpu  100 0 0 300 0 0 0 0 0 0\n");
    host.file("/proc/diskstats", "8 0 sda 0 0 0 0 0 0 0 0 2 1000 5000\n");
    for number in 0..5 {
        let client = SocketAddr::new([198, 51, 100, 7].into(), 4000 + number);
        for vip in ["192.0.2.100:80", "192.0.2.11:80"] {
            host.connections.push(Connection { local: vip.parse().unwrap(), client, state: 1 });
        }
    }
    host
}

/// Runs `ask` against an agent that reports of `served`.
fn with_agent<T>(served: SocketAddr, host: Arc<dyn Host>, ask: impl AsyncFnOnce(String) -> T) -> T {
    let settings = Settings {
        server: "web1".to_owned(),
        served,
        vips: vec!["192.0.2.100:80".parse().unwrap()],
        period: Duration::from_millis(5),
        watched: Some(watched()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let anywhere = TcpListener::bind("127.0.0.1:0").unwrap();
        let agent = Agent::start(anywhere, settings, host, Arc::new(Counting::default())).unwrap();
        let agent = agent.with_relay(Arc::new(Fetched));
        let address = agent.address().unwrap().to_string();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = agent.serve(async {
            let _asked = stopped.await;
        });
        let asking = async {
            let answer = ask(address).await;
            stop.send(()).unwrap();
            answer
        };
        let (served, answer) = tokio::join!(serving, asking);
        served.unwrap();
        answer
    })
}

/// Asks until the answer is as wanted.
async fn until(address: &str, mut wanted: impl FnMut(&LoadReport) -> bool) -> LoadReport {
    let asking = async {
        loop {
            let report = fetch_load(address, PATIENCE).await.unwrap();
            if wanted(&report) {
                return report;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("the agent comes to say so")
}

/// A host of which a file says something else with each reading.
struct Living {
    rest: MadeUp,
    readings: AtomicU64,
    /// What a file says at a reading, by number; `None` as it always was.
    says: fn(&str, u64) -> Option<String>,
}

/// Two seconds pass with each reading; in these the processors are busy for a quarter of the time,
/// and the disk for half of it, with three requests on average.
fn busy(path: &str, reading: u64) -> Option<String> {
    Some(match path {
        "/proc/uptime" => format!("{} 0\n", reading * 2),
        "/proc/stat" => format!("cpu  {} 0 0 {} 0 0 0 0 0 0\n", reading * 50, reading * 150),
        "/proc/diskstats" => {
            format!("8 0 sda 0 0 0 0 0 0 0 0 2 {} {}\n", reading * 1000, reading * 6000)
        }
        _ => return None,
    })
}

impl Host for Living {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        // Read first, and once in each reading.
        let begins = u64::from(path == "/proc/uptime");
        let reading = self.readings.fetch_add(begins, Ordering::Relaxed) + begins;
        match (self.says)(path, reading) {
            Some(text) => Ok(text.into_bytes()),
            None => self.rest.read(path),
        }
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.rest.write(path, text)
    }

    fn links(&self) -> io::Result<Vec<Link>> {
        self.rest.links()
    }

    fn addresses(&self) -> io::Result<Vec<Address>> {
        self.rest.addresses()
    }

    fn routes(&self) -> io::Result<Vec<Route>> {
        self.rest.routes()
    }

    fn listeners(&self, port: u16) -> io::Result<Vec<Listener>> {
        self.rest.listeners(port)
    }

    fn connections(&self, port: u16, each: &mut dyn FnMut(Connection)) -> io::Result<()> {
        self.rest.connections(port, each)
    }
}

#[test]
fn a_load_travels_from_the_kernels_texts_to_what_a_policy_is_told() {
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let served = web.local_addr().unwrap();
    let rest = MadeUp::default().listener(&served.to_string(), 2, 511);
    let host = Arc::new(Living { rest, readings: AtomicU64::new(0), says: busy });
    let report = with_agent(served, host, async |address| {
        // The kernel's program cannot be asked every second time.
        let failed =
            |report: &LoadReport| report.unread.iter().any(|what| what.contains("counters"));
        until(&address, |report| report.period_s > 0.0 && failed(report)).await
    });
    assert_eq!((report.server.as_str(), report.healthy), ("web1", true), "{report:?}");
    assert_eq!((report.period_s, report.cpu_busy, report.disk_busy), (2.0, Some(0.25), Some(0.5)));
    assert_eq!((report.accept_queue, report.accept_backlog), (Some(2), Some(511)));
    // What could not be read is named, and the rest is there all the same.
    assert!(report.unread.iter().any(|what| what.contains("/proc/loadavg")), "{report:?}");
    let told = report.report(Instant(7)).unwrap();
    assert_eq!((told.at, told.cpu, told.disk, told.disk_queue), (Instant(7), 0.25, 0.5, 3));
}

/// A host whose settings somebody changes while the agent runs.
fn changed(path: &str, _reading: u64) -> Option<String> {
    let in_the_way = IN_THE_WAY.load(Ordering::Relaxed);
    (in_the_way && path == "/proc/sys/net/ipv4/tcp_syncookies").then(|| "0\n".to_owned())
}

#[test]
fn a_report_says_what_is_taken_over_now_and_what_stands_in_the_way_of_it() {
    let gone = Port::kept().unwrap().for_ever();
    let rest = made_up::well().link(1, "lo", 65_536).address("192.0.2.100/32", 1);
    let host = Arc::new(Living { rest, readings: AtomicU64::new(0), says: changed });
    with_agent(gone, host, async |address| {
        let first = fetch_load(&address, PATIENCE).await.unwrap();
        let takes_over = first.takes_over.unwrap();
        assert_eq!((takes_over.attached, takes_over.port), (true, 7117));
        assert_eq!(first.faults, [], "nothing is wrong yet");
        IN_THE_WAY.store(true, Ordering::Relaxed);
        let later = until(&address, |report| !report.faults.is_empty()).await;
        let [fault] = &later.faults[..] else { panic!("{:?}", later.faults) };
        assert_eq!((fault.check.as_str(), fault.stops), ("syncookies", true));
        assert!(fault.evidence.contains("tcp_syncookies is 0") && fault.remedy.contains("on"));
        let takes_over =
            |report: &LoadReport| report.takes_over.clone().is_some_and(|one| !one.attached);
        let later = until(&address, takes_over).await;
        assert_eq!(later.takes_over.unwrap().detached_from, ["eth0"]);
        let page = get(&address, "/metrics").await;
        assert!(page.contains("\nbaton_agent_attached 0.0\n"), "{page}");
        assert!(page.contains("\nbaton_agent_faults 1.0\n"), "{page}");
    });
}

#[test]
fn an_agent_below_a_path_is_asked_there() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("{}/.origin/", socket.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = socket.accept().unwrap();
        let mut question = vec![0; 1000];
        let length = stream.read(&mut question).unwrap();
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n{\"cpu_busy\": 0.5}").unwrap();
        String::from_utf8_lossy(&question[..length]).into_owned()
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(fetch_load(&address, PATIENCE)).unwrap();
    assert_eq!((report.cpu_busy, report.takes_over), (Some(0.5), None));
    let question = asked.join().unwrap();
    assert!(question.starts_with("GET /.origin/load HTTP/1.0\r\n"), "{question}");
}

#[test]
fn one_reading_makes_no_report() {
    let gone = Port::kept().unwrap().for_ever();
    let report = with_agent(gone, Arc::new(host()), async |address| {
        // This host's clock stands still.
        fetch_load(&address, PATIENCE).await.unwrap()
    });
    assert_eq!(
        (report.period_s, report.uptime_s, report.report(Instant(7))),
        (0.0, Some(100.0), None)
    );
}

#[test]
fn a_report_becomes_what_policies_read() {
    let report = LoadReport {
        period_s: 1.0,
        cpu_busy: Some(0.25),
        disk_busy: Some(7.0),
        disk_queue: Some(2.6),
        established: Some(9),
        ..LoadReport::default()
    };
    let told = report.report(Instant(7)).unwrap();
    assert_eq!((told.at, told.cpu, told.disk), (Instant(7), 0.25, 1.0));
    assert_eq!((told.disk_queue, told.active), (3, 9));
    let odd = LoadReport { disk_queue: Some(f64::NAN), cpu_busy: Some(-1.0), ..report };
    let told = odd.report(Instant(7)).unwrap();
    assert_eq!((told.cpu, told.disk_queue), (0.0, 0));
    let huge = LoadReport { disk_queue: Some(1e300), ..odd };
    assert_eq!(huge.report(Instant(7)).unwrap().disk_queue, u32::MAX);
}

#[test]
fn a_server_that_accepts_nothing_is_not_healthy_and_says_why() {
    let gone = Port::kept().unwrap().for_ever();
    let (report, health) = with_agent(gone, Arc::new(host()), async |address| {
        (fetch_load(&address, PATIENCE).await.unwrap(), get(&address, "/health").await)
    });
    assert!(!report.healthy && report.health.contains("refused"), "{report:?}");
    assert!(health.starts_with("HTTP/1.0 503") && health.contains("refused"), "{health}");
}

#[test]
fn connections_come_in_pages_in_order_and_only_those_of_clients() {
    let gone = Port::kept().unwrap().for_ever();
    with_agent(gone, Arc::new(host()), async |address| {
        let all = fetch_flows(&address, None, PATIENCE).await.unwrap();
        assert_eq!((all.flows.len(), all.more), (5, false), "not those of 192.0.2.11: {all:?}");
        let ports: Vec<u16> = all.flows.iter().map(|flow| flow.client.port()).collect();
        assert_eq!(ports, [4000, 4001, 4002, 4003, 4004]);
        let rest = fetch_flows(&address, Some(all.flows[2]), PATIENCE).await.unwrap();
        assert_eq!(rest.flows, all.flows[3..]);
        let two = get(&address, "/flows?n=2").await;
        assert!(two.contains("\"more\":true") && two.contains(":4001") && !two.contains(":4002"));
        for wrong in ["/flows?n=x", "/flows?m=1", "/flows?client=127.0.0.1:1"] {
            let answer = get(&address, wrong).await;
            assert!(answer.starts_with("HTTP/1.0 400") && answer.contains("remedy"), "{answer}");
        }
    });
}

#[test]
fn ipv6_connections_are_asked_for_page_by_page_too() {
    let gone = Port::kept().unwrap().for_ever();
    let last = Flow {
        client: "[2001:db8::7]:4711".parse().unwrap(),
        vip: "[2001:db8::1]:80".parse().unwrap(),
    };
    with_agent(gone, Arc::new(host()), async |address| {
        let page = fetch_flows(&address, Some(last), PATIENCE).await.unwrap();
        assert_eq!((page.flows.len(), page.more), (0, false), "IPv4 sorts before");
    });
}

#[test]
fn metrics_have_a_line_for_what_was_read_and_none_for_what_was_not() {
    let gone = Port::kept().unwrap().for_ever();
    with_agent(gone, Arc::new(host()), async |address| {
        let asking = async {
            loop {
                // Every second reading has no counters of the kernel.
                let page = get(&address, "/metrics").await;
                if page.contains("baton_agent_kernel_total{what=\"taken\"}") {
                    return page;
                }
            }
        };
        let page = tokio::time::timeout(PATIENCE, asking).await.unwrap();
        assert!(page.contains("\nbaton_agent_healthy 0") && page.contains("openmetrics-text"));
        assert!(page.contains("\nbaton_agent_connections 10"), "{page}");
        for line in [
            "relay_connections 2.0",
            "relay_requests_total{how=\"told\"} 1",
            "peer_received_bytes_total{server=\"web2\"} 70",
        ] {
            assert!(page.contains(&format!("\nbaton_agent_{line}\n")), "{line}: {page}");
        }
        let peers = fetch_load(&address, PATIENCE).await.unwrap().forwarding.unwrap().peers;
        assert_eq!((peers[0].server.as_str(), peers[0].requests), ("web2", 1));
        assert!(!page.contains("load_1m") && page.ends_with("# EOF\n"), "{page}");
        let nothing = get(&address, "/else").await;
        assert!(nothing.starts_with("HTTP/1.0 404") && nothing.contains("/load"));
    });
}

async fn get(address: &str, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let question = format!("GET {path} HTTP/1.0\r\nHost: a\r\n\r\n");
    stream.write_all(question.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[test]
fn a_report_of_another_version_is_understood() {
    let report: LoadReport = serde_json::from_str("{\"server\":\"a\",\"novel\":[1]}").unwrap();
    assert_eq!((report.server.as_str(), report.healthy), ("a", false));
}

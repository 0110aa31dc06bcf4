//! Servers' reports reach the policy whatever the delivery: here the listener is a plain relay.
//!
//! Method: the real program with two servers and two agents scripted here. Each agent says what it
//! is told to say, and LARD by utilisation gives what is new to the server that says it is idle.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use control::Client as Admin;
use control::view::Status;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// Answers each question on a port of its own with what `body` says then; its address.
fn answer(body: impl Fn(&str) -> String + Send + 'static) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in socket.incoming() {
            let (mut stream, mut question) = (stream.unwrap(), [0; 2000]);
            let length = stream.read(&mut question).unwrap_or(0);
            let question = String::from_utf8_lossy(&question[..length]).into_owned();
            let body = body(question.split(' ').nth(1).unwrap_or(""));
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}", body.len());
            // Whoever hangs up has heard enough.
            let _gone = write!(stream, "{head}\r\n\r\n{body}");
        }
    });
    address
}

/// An agent that says how busy its processor is, in percent, below a path of its own.
fn agent(busy: &Arc<AtomicU32>) -> String {
    let busy = Arc::clone(busy);
    let address = answer(move |path| {
        assert_eq!(path, "/.origin/load");
        let share = f64::from(busy.load(Ordering::Relaxed)) / 100.0;
        format!("{{\"period_s\": 1.0, \"cpu_busy\": {share}}}")
    });
    format!("{address}/.origin")
}

/// The switch; killed at the end.
struct Switch {
    child: Child,
    folder: tempfile::TempDir,
    address: String,
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Switch {
    fn start(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("baton.toml");
        std::fs::write(&path, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.arg("run").arg("-c").arg(path).arg("--admin").arg(folder.path().join("admin.sock"));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let address = loop {
            let line = lines.next().and_then(Result::ok);
            let line = line.unwrap_or_else(|| panic!("it has ended: {said}"));
            if let Some((_, address)) = line.split_once("web listens on ") {
                break address.trim().to_owned();
            }
            said += &(line + "\n");
        };
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, folder, address }
    }

    fn status(&self) -> Status {
        let admin = Admin::Unix(self.folder.path().join("admin.sock"));
        serde_json::from_value(admin.get("/v1/status").unwrap()).unwrap()
    }

    /// Waits until the agents are as wanted.
    fn until(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        let end = Instant::now() + PATIENCE;
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < end, "it never came to be: {:?}", status.agents);
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Who answers a request for a path.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.rsplit("\r\n\r\n").next().unwrap().to_owned()
    }
}

#[test]
fn a_relays_policy_goes_by_what_servers_report_each_period() {
    let busy: [Arc<AtomicU32>; 2] = [Arc::new(AtomicU32::new(90)), Arc::new(AtomicU32::new(10))];
    let servers = ["one", "two"].map(|name| answer(move |_| name.to_owned()));
    let mut text = "workers = 1\n[listen.web]\naddress = \"127.0.0.1:0\"\n[agents]\n\
                    period = \"1s\"\n[health]\nkind = \"off\"\n[policy]\nname = \"lard\"\n\
                    metric = \"utilisation\"\n[slow_start]\ntime = \"off\"\n"
        .to_owned();
    for ((server, name), busy) in servers.iter().zip(["one", "two"]).zip(&busy) {
        let agent = agent(busy);
        text += &format!("[server.{name}]\naddress = \"{server}\"\nagent = \"{agent}\"\n");
    }
    let switch = Switch::start(&text);
    let shares = |status: &Status| status.agents.iter().map(|one| one.cpu_busy).collect::<Vec<_>>();
    let status = switch.until(|status| shares(status) == [Some(0.9), Some(0.1)]);
    let before: Vec<u64> = status.agents.iter().map(|agent| agent.answers).collect();
    let again = |(agent, before): (&control::view::AgentView, &u64)| agent.answers > before + 3;
    switch.until(|status| status.agents.iter().zip(&before).all(again));
    for turn in 0..4 {
        assert_eq!(switch.get(&format!("/a{turn}")), "two", "one is busy");
    }
    busy[0].store(5, Ordering::Relaxed);
    busy[1].store(95, Ordering::Relaxed);
    switch.until(|status| shares(status) == [Some(0.05), Some(0.95)]);
    for turn in 0..4 {
        assert_eq!(switch.get(&format!("/b{turn}")), "one", "now two is");
    }
}

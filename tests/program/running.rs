//! A switch in a process of its own.

use crate::peer::{Peer, STUCK};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub struct Baton {
    child: Child,
    said: Receiver<String>,
    folder: tempfile::TempDir,
    /// Where the first listener is.
    pub address: SocketAddr,
}

/// The program's command, to be run to its end.
pub fn baton(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baton")).args(args).output().unwrap()
}

impl Baton {
    /// A switch with this configuration and an admin socket of its own.
    pub fn run(config: &str) -> Self {
        Self::run_by(config, Command::new(env!("CARGO_BIN_EXE_baton")))
    }

    /// The same, started by `command`, which gets the program's arguments.
    pub fn run_by(config: &str, mut command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("baton.toml"), config).unwrap();
        command.arg("run").arg("-c").arg(folder.path().join("baton.toml"));
        command.arg("--admin").arg(folder.path().join("admin.sock"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (tell, said) = channel();
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut baton = Self { child, said, folder, address: nowhere };
        let lines = BufReader::new(baton.child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).all(|line| tell.send(line).is_ok()));
        let line = baton.hears("baton: web listens on ");
        baton.address = line.rsplit(' ').next().unwrap().parse().unwrap();
        baton
    }

    /// The next line of standard error with `part` in it.
    pub fn hears(&self, part: &str) -> String {
        let end = Instant::now() + STUCK;
        let mut before = String::new();
        loop {
            match self.said.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(part) => return line,
                Ok(line) => before += &format!("{line}\n"),
                Err(_) => panic!("it never said {part:?}, but:\n{before}"),
            }
        }
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Has it read another configuration; returns what it says of it.
    pub fn reload(&self, config: &str, part: &str) -> String {
        std::fs::write(self.path("baton.toml"), config).unwrap();
        self.signal(Signal::HUP);
        self.hears(part)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Runs a command that asks it.
    pub fn ask(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.args(args).arg("--admin").arg(self.path("admin.sock")).output().unwrap()
    }

    /// The text that a command prints.
    pub fn answer(&self, args: &[&str]) -> String {
        let output = self.ask(args);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// `baton status --json`.
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.answer(&["status", "--json"])).unwrap()
    }

    /// The page of metrics, without the head that it comes with.
    pub fn metrics(&self) -> String {
        let mut socket = std::os::unix::net::UnixStream::connect(self.path("admin.sock")).unwrap();
        let ask = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        std::io::Write::write_all(&mut socket, ask.as_bytes()).unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// The value of a metric; its labels, if it has any, belong to the name.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.metrics();
        let value = |line: &str| {
            let rest = line.strip_prefix(name)?;
            rest.strip_prefix("{}").unwrap_or(rest).strip_prefix(' ').map(str::to_owned)
        };
        let line = text.lines().find_map(value);
        line.unwrap_or_else(|| panic!("no {name} in:\n{text}")).trim().parse().unwrap()
    }

    pub fn client(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// Waits for the end of the process.
    pub fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("it ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// What it wrote to standard output, once it has ended.
    pub fn output(&mut self) -> String {
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Baton {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Waits until `holds`, and fails when it does not within a generous time.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + STUCK;
    while !holds() {
        assert!(Instant::now() < end, "it never came true that {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A configuration: one listener, these servers, and whatever else.
pub fn config(servers: &[(&str, SocketAddr)], rest: &str) -> String {
    let mut text = "workers = 2\n[listen.web]\naddress = \"127.0.0.1:0\"\n".to_owned();
    for (name, address) in servers {
        text += &format!("[server.{name}]\naddress = \"{address}\"\n");
    }
    text + rest
}

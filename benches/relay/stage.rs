//! The programs under test and the server behind them, each on a port that the kernel gave.

use crate::cases::Case;
use crate::measure::child::{Child, GLANCE, WITH_US};
use crate::measure::{Variant, fill, haproxy, text};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The CPU of the program under test, and of nothing else.
pub const CPU_PROXY: usize = 0;
/// The CPU of the server and of the load.
pub const CPU_OTHERS: usize = 1;
/// How long a program may take until it answers.
const START: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// A program that can be put between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    HaProxy,
    Nginx,
    Baton,
    /// Our own relay that only moves bytes ([`crate::floor`]).
    Floor,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::HaProxy => "haproxy",
            Self::Nginx => "nginx",
            Self::Baton => "baton",
            Self::Floor => "floor",
        }
    }

    /// Name and text of its configuration, with places to fill.
    fn template(self) -> (&'static str, &'static str) {
        match self {
            Self::HaProxy => ("haproxy.cfg", haproxy::TEMPLATE),
            Self::Nginx => ("nginx.conf", include_str!("nginx.conf")),
            Self::Baton => ("baton.toml", include_str!("baton.toml")),
            Self::Floor => ("floor", ""),
        }
    }
}

/// A program that runs and answers at `address`.
pub struct Proxy {
    pub program: Program,
    pub variant: &'static Variant,
    pub child: Child,
    pub address: SocketAddr,
}

/// The server's files and everybody's configurations, in a directory that ends with this.
pub struct Stage {
    dir: tempfile::TempDir,
    baton: PathBuf,
    origin: SocketAddr,
    _server: Child,
}

impl Stage {
    /// Starts the server: nginx with one file for each case.
    pub fn build(cases: &[&Case], baton: PathBuf) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("bench-relay-").tempdir()?;
        fs::create_dir(dir.path().join("files"))?;
        for case in cases {
            fs::write(dir.path().join("files").join(case.name), content(case.bytes))?;
        }
        let origin = free()?;
        let values = [("ORIGIN", &*origin.port().to_string()), ("DIR", &text(dir.path()))];
        let file = dir.path().join("origin.conf");
        fs::write(&file, fill(include_str!("origin.conf"), &values)?)?;
        let command = ["nginx", "-e", "stderr", "-p", &text(dir.path()), "-c", &text(&file)];
        let mut server = start("origin", CPU_OTHERS, dir.path(), &command)?;
        for case in cases {
            await_answer(&mut server, origin, case)?;
        }
        Ok(Self { dir, baton, origin, _server: server })
    }

    /// Where files may be written that nobody wants afterwards.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Starts a program, and sees it give the case's whole file, unchanged.
    pub fn enter(&self, program: Program, variant: &'static Variant, case: &Case) -> Result<Proxy> {
        let address = free()?;
        let (file, template) = program.template();
        let dir = text(self.dir.path());
        let (port, origin) = (address.port().to_string(), self.origin.port().to_string());
        let (here, there) = (address.to_string(), self.origin.to_string());
        let mut values = vec![("PORT", &*port), ("ORIGIN", &*origin), ("DIR", &*dir)];
        values.extend([("BIND", &*here), ("SERVER", &*there)]);
        values.extend(variant.values);
        let name = format!("{}-{port}", program.name());
        let path = self.dir.path().join(format!("{port}-{file}"));
        fs::write(&path, fill(template, &values)?)?;
        let (path, baton) = (text(&path), text(&self.baton));
        let floor = text(&std::env::current_exe()?);
        let command = match program {
            Program::HaProxy => vec!["haproxy", "-db", "-f", &path],
            Program::Nginx => vec!["nginx", "-e", "stderr", "-p", &dir, "-c", &path],
            Program::Baton => vec![&*baton, "run", "-c", &path],
            Program::Floor => vec![&*floor, "--floor", &here, &there, variant.label],
        };
        let mut child = start(&name, CPU_PROXY, self.dir.path(), &command)?;
        await_answer(&mut child, address, case)?;
        Ok(Proxy { program, variant, child, address })
    }
}

/// A port that was free a moment ago: HAProxy and nginx cannot say which one the kernel gave them.
fn free() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?)
}

/// Starts a program on one CPU.
pub fn start(name: &str, cpu: usize, dir: &Path, program: &[&str]) -> Result<Child> {
    let mut around = Command::new(WITH_US[0]);
    around.args(&WITH_US[1..]).args(["taskset", "--cpu-list", &cpu.to_string()]);
    Child::start(name, dir, around, program)
}

/// Bytes that differ wherever a relay could swap or repeat a part.
fn content(bytes: usize) -> Vec<u8> {
    (0u32..).flat_map(|number| format!("{number:07}\n").into_bytes()).take(bytes).collect()
}

fn await_answer(child: &mut Child, address: SocketAddr, case: &Case) -> Result<()> {
    let begin = Instant::now();
    loop {
        child.must_run()?;
        match TcpStream::connect(address) {
            Ok(stream) => {
                return check(stream, case)
                    .with_context(|| format!("{} gave a wrong answer", child.name));
            }
            Err(_) if begin.elapsed() < START => thread::sleep(GLANCE),
            Err(error) => bail!("{} does not listen: {error}\n{}", child.name, child.said()),
        }
    }
}

/// One request: status 200, the right length, and the right bytes.
fn check(mut stream: TcpStream, case: &Case) -> Result<()> {
    stream.set_read_timeout(Some(ANSWER))?;
    let host = stream.peer_addr()?;
    write!(stream, "GET /{} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", case.name)?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply)?;
    let end = reply.windows(4).position(|four| four == b"\r\n\r\n").context("it has no head")?;
    let head = String::from_utf8_lossy(&reply[..end]).to_ascii_lowercase();
    ensure!(head.starts_with("http/1.1 200 "), "it began with:\n{head}");
    let length = format!("\r\ncontent-length: {}", case.bytes);
    ensure!(head.contains(&length), "it has another length:\n{head}");
    ensure!(reply[end + 4..] == content(case.bytes), "its body differs from the file");
    Ok(())
}

//! Servers that answer with little effort.

use std::error::Error;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testbed::Port;

/// What is answered, in bytes.
pub const BODY_BYTES: usize = 1500;

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server on its CPU, gone when we are.
pub struct Server {
    process: Child,
    address: SocketAddr,
    /// Name and path of what it answers.
    replies: &'static [(&'static str, &'static str)],
}

/// One thing that a server answers.
pub struct Served<'a> {
    server: &'a Server,
    pub name: &'static str,
    pub address: SocketAddr,
    pub path: &'static str,
}

impl Server {
    /// A file that is kept open, and a text of the configuration.
    pub fn nginx(dir: &Path, cpu: usize) -> Result<Self, Box<dyn Error>> {
        let port = Port::kept()?;
        let address = port.address();
        let body = "x".repeat(BODY_BYTES);
        fs::write(dir.join("file"), &body)?;
        let (conf, at) = (dir.join("nginx.conf"), dir.display());
        fs::write(
            &conf,
            format!(
                "daemon off; master_process off; pid {at}/pid; error_log {at}/nginx.log;\n\
                 events {{ worker_connections 4096; }}\n\
                 http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;\n\
                 open_file_cache max=10; sendfile on; tcp_nopush on;\n\
                 server {{ listen {address}; root {at};\n\
                 location = /text {{ return 200 {body}; }} }} }}\n"
            ),
        )?;
        let replies = &[("nginx, an open file", "/file"), ("nginx, return", "/text")];
        let words = ["nginx".to_owned(), "-p".to_owned(), at.to_string(), "-c".to_owned()];
        Self::start(&[&words[..], &[conf.display().to_string()]].concat(), cpu, address, replies)
    }

    /// A text that is read once.
    pub fn haproxy(dir: &Path, cpu: usize) -> Result<Self, Box<dyn Error>> {
        let port = Port::kept()?;
        let address = port.address();
        let (conf, at) = (dir.join("haproxy.cfg"), dir.display());
        fs::write(
            &conf,
            format!(
                "global\n nbthread 1\n maxconn 4096\ndefaults\n mode http\n timeout client 60s\n \
                 timeout http-keep-alive 60s\n timeout connect 1s\n timeout server 1s\nfrontend \
                 web\n bind {address}\n http-request return status 200 content-type text/plain \
                 file {at}/file\n"
            ),
        )?;
        let replies = &[("HAProxy, http-request return", "/text")];
        let words = ["haproxy".to_owned(), "-f".to_owned(), conf.display().to_string()];
        Self::start(&words, cpu, address, replies)
    }

    fn start(
        words: &[String],
        cpu: usize,
        address: SocketAddr,
        replies: &'static [(&'static str, &'static str)],
    ) -> Result<Self, Box<dyn Error>> {
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "taskset", "-c", &cpu.to_string()])
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let server = Self { process, address, replies };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if began.elapsed() > PATIENCE {
                return Err(format!("it does not listen: {}", words.join(" ")).into());
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub fn served(&self) -> impl Iterator<Item = Served<'_>> {
        let address = self.address;
        self.replies.iter().map(move |&(name, path)| Served { server: self, name, address, path })
    }
}

impl Served<'_> {
    /// CPU time of the server so far, in microseconds: the scheduler's own count.
    pub fn cpu_us(&self) -> Result<f64, Box<dyn Error>> {
        let tasks = format!("/proc/{}/task", self.server.process.id());
        let mut sum_ns = 0.0;
        for task in fs::read_dir(tasks)? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let first = text.split_whitespace().next().ok_or("schedstat says nothing")?;
            sum_ns += first.parse::<f64>()?;
        }
        Ok(sum_ns / 1e3)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is as good; and it must be reaped either way.
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

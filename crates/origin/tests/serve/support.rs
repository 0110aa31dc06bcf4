//! An origin on a thread of its own, and a blocking client that shares no code with it but the
//! content function.

use origin::{Config, Origin};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// No answer takes longer, or the test fails.
pub const LIMIT: Duration = Duration::from_secs(10);

/// A running origin; it is shut down, and its end waited for, when this is dropped.
pub struct Running {
    pub addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts one.
    pub fn start(config: Config) -> Self {
        Self::serve(Origin::bind(config).unwrap())
    }

    /// Lets one answer that listens already.
    pub fn serve(origin: Origin) -> Self {
        let addr = origin.addr();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            let shutdown = async { stopped.await.unwrap_or(()) };
            runtime.unwrap().block_on(origin.serve(shutdown)).unwrap();
        });
        Self { addr, stop: Some(stop), thread: Some(thread) }
    }

    /// Begins its shutdown.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).unwrap_or(());
        }
    }

    /// Waits until it is gone.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// A connection to it.
    pub fn client(&self) -> Client {
        Client::new(self.addr)
    }

    /// One GET on a connection of its own.
    pub fn get(&self, path: &str) -> Response {
        self.client().get(path)
    }

    /// Its status.
    pub fn status(&self) -> Value {
        self.json("/.origin/status")
    }

    /// What one of its own paths says.
    pub fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.get(path).body).unwrap()
    }

    /// Waits until its status fits.
    pub fn wait(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_at("/.origin/status", what, fits)
    }

    /// Waits until what one of its own paths says fits.
    pub fn wait_at(&self, path: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let status = self.json(path);
            if fits(&status) {
                return status;
            }
            assert!(start.elapsed() < LIMIT, "{what} did not come: {status}");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if !std::thread::panicking() {
            self.join();
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// Fields with lower-case names.
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str())
    }
}

/// A connection.
pub struct Client {
    pub stream: TcpStream,
    held: Vec<u8>,
}

impl Client {
    pub fn new(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, held: Vec::new() }
    }

    pub fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        self.response("GET").unwrap()
    }

    /// The next answer, or why there is none.
    pub fn response(&mut self, method: &str) -> Result<Response, String> {
        let end = loop {
            if let Some(end) = self.held.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.more()?;
        };
        let head: Vec<u8> = self.held.drain(..end).collect();
        let head = String::from_utf8(head).map_err(|error| error.to_string())?;
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().unwrap_or("");
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| format!("no status line: {line}"))?;
        let field = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        let fields = lines.map(field).collect();
        let mut response = Response { status, fields, body: Vec::new() };
        if method == "HEAD" || status < 200 {
            return Ok(response);
        }
        response.body = match response.field("content-length") {
            Some(length) => self.exactly(length.parse().unwrap())?,
            None => self.chunks()?,
        };
        Ok(response)
    }

    /// Whether the other side has closed, cleanly or not, and sent nothing more.
    pub fn is_closed(&mut self) -> bool {
        assert!(self.held.is_empty(), "{:?}", self.held);
        match self.stream.read(&mut [0]) {
            Ok(bytes) => bytes == 0,
            // That was the patience of this side.
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }

    fn chunks(&mut self) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                if let Some(end) = self.held.windows(2).position(|window| window == b"\r\n") {
                    break end;
                }
                self.more()?;
            };
            let line = String::from_utf8(self.exactly(end + 2)?).unwrap();
            let bytes = usize::from_str_radix(line.trim_end(), 16).unwrap();
            let mut chunk = self.exactly(bytes + 2)?;
            assert_eq!(chunk.split_off(bytes), b"\r\n");
            if bytes == 0 {
                return Ok(body);
            }
            body.append(&mut chunk);
        }
    }

    fn exactly(&mut self, bytes: usize) -> Result<Vec<u8>, String> {
        while self.held.len() < bytes {
            self.more()?;
        }
        Ok(self.held.drain(..bytes).collect())
    }

    fn more(&mut self) -> Result<(), String> {
        let mut buffer = [0; 65536];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(format!("closed after {} bytes", self.held.len())),
            Ok(bytes) => {
                self.held.extend_from_slice(&buffer[..bytes]);
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

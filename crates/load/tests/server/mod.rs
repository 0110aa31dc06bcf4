//! A server for tests: threads on 127.0.0.1 that answer as a test tells them to.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What came in.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Which connection it came on, from 0.
    pub connection: usize,
    /// Which request of that connection it is, from 0.
    pub place: usize,
    /// The head, with its blank line.
    pub head: String,
}

/// What to do.
pub enum Answer {
    /// Send these bytes and read on.
    Send(Vec<u8>),
    /// Send these bytes and close.
    Close(Vec<u8>),
    /// Send nothing and wait for the client to leave.
    Silence,
}

pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub fn start(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
        // Ends with the test's process.
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().flatten().enumerate() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, connection, &log, &*answer));
            }
        });
        Self { address, seen }
    }

    pub fn heads(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test thread panics with it").clone()
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    log: &Mutex<Vec<Seen>>,
    answer: &dyn Fn(&Seen) -> Answer,
) {
    let (mut held, mut chunk, mut place) = (Vec::new(), [0; 4096], 0);
    loop {
        while let Some(end) = held.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = held.drain(..end + 4).collect();
            let head = String::from_utf8(head).expect("clients send ASCII");
            let seen = Seen { connection, place, head };
            place += 1;
            log.lock().expect("no test thread panics with it").push(seen.clone());
            match answer(&seen) {
                Answer::Send(bytes) => drop(stream.write_all(&bytes)),
                Answer::Close(bytes) => {
                    // Read what is still there, or the kernel sends a reset in place of the end.
                    let _ = stream.write_all(&bytes);
                    let _ = stream.shutdown(Shutdown::Write);
                    while matches!(stream.read(&mut chunk), Ok(1..)) {}
                    return;
                }
                Answer::Silence => {}
            }
        }
        match stream.read(&mut chunk) {
            Ok(count @ 1..) => held.extend_from_slice(&chunk[..count]),
            _ => return,
        }
    }
}

/// A reply with Content-Length.
pub fn whole(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

//! Clients on threads of their own: persistent connections, a few favourite targets, and no
//! patience for anything but the next request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Clients at once.
pub const CLIENTS: usize = 10;
/// What each asks for.
pub const REQUESTS_EACH: usize = 100;
/// What all ask for.
pub const REQUESTS: usize = CLIENTS * REQUESTS_EACH;
/// Requests of a connection.
const SESSION: usize = 12;
/// How long a reply may take.
const STUCK: Duration = Duration::from_secs(30);

/// Asks, and says the status of each reply; 0 where the connection broke.
pub fn client(address: SocketAddr, seed: u64, replies: &SyncSender<u16>) {
    let mut dice = policy::Dice::new(seed);
    let mut connection: Option<BufReader<TcpStream>> = None;
    for number in 0..REQUESTS_EACH {
        if number % SESSION == 0 {
            connection = None;
        }
        let mut peer = connection.take().unwrap_or_else(|| connect(address));
        // Rank about Zipf: some targets are everybody's.
        let target = 40_f64.powf(dice.unit()) as usize;
        let class = ["static", "light", "cpu", "disk"][target % 4];
        let head = format!("GET /{class}/{target} HTTP/1.1\r\nHost: agree.test\r\n\r\n");
        let status = peer.get_mut().write_all(head.as_bytes()).ok().and_then(|()| reply(&mut peer));
        // The driver has gone only if the test has failed.
        let _unheard = replies.send(status.map_or(0, |(status, _)| status));
        if let Some((_, true)) = status {
            connection = Some(peer);
        }
    }
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(STUCK)).unwrap();
    BufReader::new(stream)
}

/// The status of a reply, and whether the connection stays.
fn reply(peer: &mut BufReader<TcpStream>) -> Option<(u16, bool)> {
    let mut line = String::new();
    peer.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let (mut length, mut stays) = (0_u64, true);
    loop {
        line.clear();
        peer.read_line(&mut line).ok()?;
        let field = line.trim_end().to_ascii_lowercase();
        match field.split_once(": ") {
            None => break,
            Some(("content-length", bytes)) => length = bytes.parse().ok()?,
            Some(("connection", "close")) => stays = false,
            Some(_) => {}
        }
    }
    let mut body = vec![0; usize::try_from(length).ok()?];
    peer.read_exact(&mut body).ok()?;
    Some((status, stays))
}

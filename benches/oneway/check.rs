//! Before anything is measured: are the bytes right, and who sends them?

use crate::client::head;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use testbed::content::verify;

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks for these paths over one connection, or each over its own, and compares every byte of the
/// replies with what the files have. The names of the servers that answered.
pub fn ask(address: SocketAddr, paths: &[&str], bytes: usize, close: bool) -> Result<Vec<String>> {
    let connect = || -> Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    };
    let mut stream = connect()?;
    let mut servers = Vec::new();
    for (turn, path) in paths.iter().enumerate() {
        if close && turn > 0 {
            stream = connect()?;
        }
        stream.get_mut().write_all(&head(path, close))?;
        let server = reply(&mut stream, path, bytes);
        servers.push(server.with_context(|| format!("request {turn} of a connection, {path}"))?);
    }
    Ok(servers)
}

/// Reads a reply to its end.
fn reply(stream: &mut impl BufRead, path: &str, bytes: usize) -> Result<String> {
    let (mut server, mut length) = (None, None);
    let mut line = String::new();
    stream.read_line(&mut line)?;
    ensure!(line.starts_with("HTTP/1.1 200 "), "it is answered with {line:?}");
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = Some(value.trim().parse::<usize>()?),
            "x-served-by" => server = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    ensure!(line == "\r\n", "its head ends with {line:?}");
    ensure!(length == Some(bytes), "its length is {length:?}, not {bytes}");
    let mut body = vec![0; bytes];
    stream.read_exact(&mut body)?;
    let file = path.split('?').next().unwrap_or(path);
    ensure!(verify(file, 0, &body), "its bytes are not those of the file");
    server.context("nobody says who answered")
}

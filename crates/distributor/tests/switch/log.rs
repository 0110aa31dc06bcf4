//! Promise: a line of the access log says what was sent, and nothing a client sends can make it
//! say something else.

use crate::server::{Server, ok};
use crate::stage::{Stage, eventually};
use distributor::AccessFormat;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// What the log wrote.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// The first `count` lines, once they are there.
    fn wait(&self, count: usize) -> Vec<String> {
        let read = || String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        eventually("the lines are written", || read().matches('\n').count() >= count);
        read().lines().map(str::to_owned).collect()
    }
}

fn logging(format: AccessFormat, server: &Server) -> (Stage, Lines) {
    let stage = Stage::with(&[server.address], |setup| {
        setup.settings.access = Some(format);
        setup.settings.forwarding.trust = true;
    });
    let lines = Lines::default();
    stage.shared.journal.log_to(Some(Box::new(lines.clone()))).unwrap();
    (stage, lines)
}

/// Asks for a reply of five bytes, for its head alone, and for nothing that can be read.
fn ask_three_ways(stage: &Stage) -> usize {
    let mut client = stage.client();
    assert_eq!(client.get("/").text(), "12345");
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply_to("HEAD").status, 200);
    client.send("?\r\n\r\n");
    client.reply().body.len()
}

fn five_bytes() -> Server {
    Server::answering(|asked| match asked.head.starts_with("HEAD ") {
        true => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_vec(),
        false => ok("12345"),
    })
}

#[test]
fn the_size_of_the_common_log_format_is_the_body_s() {
    let server = five_bytes();
    let (stage, lines) = logging(AccessFormat::Combined, &server);
    let refusal = ask_three_ways(&stage);
    let lines = lines.wait(3);
    for (line, size) in lines.iter().zip(["200 5", "200 0", &format!("400 {refusal}")]) {
        assert!(line.contains(&format!("\" {size} \"")), "{size}: {line}");
    }
}

#[test]
fn json_has_the_body_s_size_and_that_of_all_that_was_sent() {
    let server = five_bytes();
    let (stage, lines) = logging(AccessFormat::Json, &server);
    let refusal = ask_three_ways(&stage) as u64;
    for (line, body) in lines.wait(3).iter().zip([5, 0, refusal]) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["bytes"], body, "{line}");
        assert!(line["bytes_out"].as_u64().unwrap() > body + 20, "head and body: {line}");
    }
}

#[test]
fn an_identifier_from_outside_cannot_add_to_a_line() {
    let server = five_bytes();
    let (stage, lines) = logging(AccessFormat::Combined, &server);
    let mut client = stage.client();
    let ids = ["1 term=SD server=evil", "1\tevil", "\"evil", "\\evil", "evil\u{e9}", "fine-1/2=3"];
    for id in ids {
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: {id}\r\n\r\n"));
        assert_eq!(client.reply().status, 200);
    }
    let lines = lines.wait(ids.len());
    assert!(lines.last().unwrap().ends_with(" id=fine-1/2=3"), "{lines:?}");
    assert!(!lines.concat().contains("evil"), "{lines:?}");
    assert_eq!(server.seen().concat().matches("evil").count(), 0, "nor is it passed on");
}

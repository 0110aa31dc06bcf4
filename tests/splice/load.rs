//! Promise: whoever does not read costs a bounded amount of memory, and loses nothing.

use crate::peer::STUCK;
use crate::site::{Site, content, origin, say_until_stuck, server};
use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Long without a byte: nothing more fits anywhere.
const STILL: Duration = Duration::from_secs(3);

/// What a switch may hold of one way, with the sockets of all four ends: the backlog, the switch's
/// receive buffer and the largest send buffers (`tcp_wmem`) of switch and sender, and what the
/// receiver that does not read has room for.
const HELD_MAX: usize = 32 << 20;

#[test]
fn a_slow_reader_gets_all_of_it_and_the_switch_holds_little() {
    const ALL: usize = 96 << 20;
    let (tell, told) = channel();
    let eager = server(move |mut peer| {
        peer.head().unwrap();
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {ALL}\r\n\r\n"));
        let mut stream = peer.stream().try_clone().unwrap();
        let said = say_until_stuck(&mut stream, ALL, STILL);
        tell.send(said).unwrap();
        for from in (said..ALL).step_by(1 << 20) {
            stream.write_all(&content(from, (ALL - from).min(1 << 20))).unwrap();
        }
    });
    let Some(site) = Site::before(&[eager], "") else { return };
    let mut client = site.client();
    assert!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    let said = told.recv_timeout(STUCK).unwrap();
    println!("a client that does not read: its server could say {said} bytes");
    assert!((1 << 20..HELD_MAX).contains(&said), "{said} bytes are held");
    client.head().unwrap();
    for from in (0..ALL).step_by(1 << 20) {
        let piece = client.take((ALL - from).min(1 << 20));
        assert!(piece == content(from, piece.len()), "from {from} on it is as it was said");
    }
}

#[test]
fn a_server_that_reads_late_gets_all_of_a_large_body() {
    const ALL: usize = 64 << 20;
    let (tell, told) = channel();
    let (begin, begun) = channel();
    let begun = std::sync::Mutex::new(begun);
    let late = server(move |mut peer| {
        peer.head().unwrap();
        begun.lock().unwrap().recv_timeout(STUCK).unwrap();
        for from in (0..ALL).step_by(1 << 20) {
            let piece = peer.take(1 << 20);
            assert!(piece == content(from, piece.len()), "from {from} on it is as it was said");
        }
        tell.send(()).unwrap();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let Some(site) = Site::before(&[late], "") else { return };
    let mut client = site.client();
    assert!(client.send(format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {ALL}\r\n\r\n")));
    let mut stream = client.stream().try_clone().unwrap();
    let said = say_until_stuck(&mut stream, ALL, STILL);
    println!("a server that does not read: its client could say {said} bytes");
    assert!((1 << 20..HELD_MAX).contains(&said), "{said} bytes are held");
    begin.send(()).unwrap();
    for from in (said..ALL).step_by(1 << 20) {
        stream.write_all(&content(from, (ALL - from).min(1 << 20))).unwrap();
    }
    told.recv_timeout(STUCK).unwrap();
    assert_eq!(client.reply().status, 200);
}

#[test]
fn segments_of_one_byte_to_a_server_that_does_not_read_are_bounded_too() {
    let (begin, begun) = channel();
    let begun = std::sync::Mutex::new(begun);
    let late = server(move |mut peer| {
        peer.head().unwrap();
        begun.lock().unwrap().recv_timeout(STUCK).unwrap();
        assert!(peer.take(50_000) == content(0, 50_000));
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let Some(site) = Site::before(&[late], "") else { return };
    let mut client = site.client();
    assert!(client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n"));
    assert!(client.send_slowly(content(0, 50_000)));
    begin.send(()).unwrap();
    assert_eq!(client.reply().status, 200);
}

#[test]
fn neither_side_reading_is_cut_before_it_costs_much() {
    // It answers, and reads no more once its answers are stuck.
    let Some(site) = Site::before(&[origin()], "") else { return };
    let client = site.client();
    let mut stream = client.stream().try_clone().unwrap();
    let request = "GET /300000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(5000);
    stream.set_write_timeout(Some(STILL)).unwrap();
    let mut said = 0;
    while said < 64 << 20 {
        match stream.write(request.as_bytes()) {
            Ok(count) => said += count,
            Err(_) => break,
        }
    }
    println!("neither side reads: the client could say {said} bytes");
    assert!(said < HELD_MAX, "{said} bytes are held");
}

#[test]
fn a_reader_that_is_slow_and_goes_away_takes_the_server_along() {
    let (tell, told) = channel();
    let eager = server(move |mut peer| {
        peer.head().unwrap();
        let mut stream = peer.stream().try_clone().unwrap();
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").unwrap();
        tell.send(say_until_stuck(&mut stream, 96 << 20, STILL)).unwrap();
        // The end or a reset, as the kernel likes; that it comes at all is what matters.
        let _reset = stream.read(&mut [0; 1]);
        tell.send(0).unwrap();
    });
    let Some(site) = Site::before(&[eager], "") else { return };
    let mut client = site.client();
    assert!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert!(told.recv_timeout(STUCK).unwrap() < HELD_MAX);
    client.reset();
    told.recv_timeout(STUCK).unwrap();
    drop(site.stop());
}

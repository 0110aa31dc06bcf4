//! Method: whoever answers where an agent is expected, scripted here, is asked by the client that
//! the switch has.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use agent::client::{Fault, fetch_load};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;
use testbed::Port;

const PATIENCE: Duration = Duration::from_secs(10);

/// Something that answers one question with these bytes; it is no agent.
fn impostor(answer: &'static [u8]) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = socket.accept().unwrap();
        let _question = stream.read(&mut [0; 1000]).unwrap();
        stream.write_all(answer).unwrap();
    });
    address
}

#[test]
fn whatever_answers_that_is_no_agent_is_a_fault_with_a_sentence() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ask = |address: &str| runtime.block_on(fetch_load(address, PATIENCE)).unwrap_err();
    assert!(matches!(ask(&impostor(b"HTTP/1.1 500 Oh\r\n\r\n")), Fault::Status(500)));
    for garbled in [
        b"".as_slice(),
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.",
        b"HTTP/1.1 2x0 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n{\"server\": 5}",
        b"HTTP/1.1 200 OK\r\n\r\n{\"period_s\": 1",
    ] {
        let fault = ask(&impostor(garbled));
        assert!(matches!(fault, Fault::Garbled(_)), "{garbled:?}: {fault}");
    }
    let gone = Port::kept().unwrap().for_ever().to_string();
    assert!(matches!(ask(&gone), Fault::Unreachable(_)));
}

#[test]
fn an_agent_that_is_silent_is_waited_for_no_longer_than_said() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let short = Duration::from_millis(20);
    let fault = runtime.block_on(fetch_load(&address, short)).unwrap_err();
    assert!(matches!(fault, Fault::TimedOut(_)), "{fault}");
}

//! Servers that answer wrongly or not at all, and a system that has no room left.

use crate::ends;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

/// Answers every request with this, and closes.
pub(super) fn server_of(reply: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            // It goes on with the next client, whatever this one does.
            let _gone = stream.read(&mut head).and_then(|_| stream.write_all(reply.as_bytes()));
        }
    });
    format!("http://{address}")
}

#[test]
fn what_is_compared_must_be_there_at_all() {
    let cases = [
        ("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", "by status"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "by size"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "by short-body"),
    ];
    for (reply, part) in cases {
        let url = format!("{}/static/bytes/10/a", server_of(reply));
        let args = [&url, "--clients", "1", "--duration", "2s", "--warm-up", "0s", "-q"];
        let (wrote, _) = ends(&[&args[..], &["--verify"]].concat(), 1);
        assert!(wrote.contains(part), "{part}: {wrote}");
    }
}

#[test]
fn who_hangs_is_in_the_figures() {
    // It takes connections, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hangs", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("a.csv");
    let args = [&url, "--clients", "3", "--duration", "300ms", "--warm-up", "0s", "-q"];
    let (wrote, _) = ends(&[&args[..], &["--csv", csv.to_str().unwrap()]].concat(), 3);
    for part in ["Nothing was answered. 3 requests cut off", "/hangs) had waited", "3 cut off:"] {
        assert!(wrote.contains(part), "{part}: {wrote}");
    }
    let csv = fs::read_to_string(csv).unwrap();
    assert!(csv.lines().last().unwrap().contains(",3,0.300,"), "{csv}");
}

#[test]
fn users_for_whom_there_are_no_descriptors_are_refused_at_once() {
    let program = env!("CARGO_BIN_EXE_baton");
    let script = format!("ulimit -n 100; exec {program} load http://127.0.0.1:1 --clients 500");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("500 users with 6 connections each need 3,000 open files"), "{said}");
}

#[test]
fn a_server_with_other_bytes_is_caught() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nwrongbytes";
    let url = format!("{}/static/bytes/10/a", server_of(reply));
    let args = [url.as_str(), "--clients", "1", "--duration", "3s", "--warm-up", "0s", "-q"];
    ends(&args, 0);
    let (wrote, said) = ends(&[&args[..], &["--verify"]].concat(), 1);
    assert!(wrote.contains("by content\n"), "{wrote}");
    assert!(said.contains("not what should be there"), "{said}");
}

/// Answers that the connection is over, and then does not close it.
fn server_that_stays() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            // It goes on with the next client, whatever this one does.
            let _gone = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(reply));
            held.push(stream);
        }
    });
    format!("http://{address}/a")
}

#[test]
fn a_run_without_descriptors_says_so_ends_and_goes_on_when_there_are_some() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("a.csv");
    // Connections that wait for the server's close stay open for a second: a few dozen are soon
    // all that the process may have.
    let program = env!("CARGO_BIN_EXE_baton");
    let output = Command::new("timeout")
        .args(["30", "sh", "-c", "ulimit -n 40; exec \"$@\"", "sh", program, "load"])
        .args([&server_that_stays(), "--clients", "1", "--duration", "3s", "--warm-up", "0s"])
        .arg("-q")
        .arg("--csv")
        .arg(&csv)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let wrote = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{wrote}\n{said}");
    assert!(wrote.contains(" by client\n") && wrote.contains("raise `ulimit -n`"), "{wrote}");
    assert_eq!(wrote.matches("\nfailed: ").count(), 1, "there is no other cause: {wrote}");
    let text = wrote.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("bottleneck: ") && text.contains("no descriptor, port"), "{wrote}");
    let csv = fs::read_to_string(csv).unwrap();
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let wanted = ["requests", "failed", "failed_client"];
    let counts: Vec<[u64; 3]> =
        rows.map(|row| wanted.map(|name| row[place(name)].parse().unwrap())).collect();
    assert_eq!(counts.len(), 3, "{csv}");
    // Others may have the processors for one of the three.
    let goes_on = counts.iter().filter(|[requests, failed, _]| *requests > 0 && *failed > 0);
    assert!(goes_on.count() >= 2, "it goes on as connections are closed: {csv}");
    for [_, failed, by_client] in counts {
        assert_eq!(failed, by_client, "each second has its causes: {csv}");
        assert!(failed <= 110, "it does not spin: {csv}");
    }
}

#[test]
fn users_of_an_open_loop_for_whom_there_are_no_descriptors_are_turned_away_and_counted() {
    // It takes connections, and says nothing: nobody who came leaves.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hangs", listener.local_addr().unwrap());
    let program = env!("CARGO_BIN_EXE_baton");
    let output = Command::new("timeout")
        .args(["30", "sh", "-c", "ulimit -n 40; exec \"$@\"", "sh", program, "load", &url])
        .args(["--rate", "200", "--arrivals", "constant", "--duration", "500ms", "--warm-up", "0s"])
        .args(["-q", "--json"])
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (came, waiting) = (found["sessions"].as_u64().unwrap(), found["cut_off"].as_u64().unwrap());
    let turned_away = found["client"]["turned_away"].as_u64().unwrap();
    assert_eq!((came, found["failed"].as_u64()), (waiting + turned_away, Some(0)), "{found}");
    assert!((1..40).contains(&waiting) && turned_away > 0, "{found}");
}

//! Method: more connections than there are places, none of which brings a request, and then
//! an operator.

// A panic is how a test says no.
#![allow(clippy::unwrap_used)]

mod fake;

use control::{Admin, Bind, Control, Supervisor, Token};
use fake::Fake;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

const TOKEN: &str = "correct-horse-battery";
/// Less than the time that idle connections are given, more than a busy machine needs.
const LIMIT: Duration = Duration::from_secs(15);

fn operator_after(strangers: impl Fn(&mut TcpStream) + Send + 'static) {
    let local = "127.0.0.1:0".parse().unwrap();
    let admin = Admin::bind(&Bind::Tcp(local, Token::new(TOKEN).unwrap())).unwrap();
    let admin = admin.with_request_max(Duration::from_secs(1));
    let address = admin.address().unwrap();
    let supervisor = Supervisor::with_log(Arc::new(Fake::new(&["a"])), Box::new(|_| ()));
    let control = Control::start(supervisor, vec![admin]).unwrap();
    let mut crowd: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    crowd.iter_mut().for_each(strangers);
    let mut operator = TcpStream::connect(address).unwrap();
    operator.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!("GET /healthz HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    operator.write_all(head.as_bytes()).unwrap();
    let mut reply = String::new();
    operator.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.0 200"), "{reply}");
    control.stop();
}

#[test]
fn those_who_say_nothing_do_not_keep_the_operator_out() {
    operator_after(|_| ());
}

#[test]
fn nor_those_who_never_finish_what_they_say() {
    operator_after(|stream| stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap());
}

#[test]
fn nor_those_who_have_no_token_and_stay() {
    operator_after(|stream| stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap());
}

//! Method: frames are sent over a link that is made bad, and those that arrive are counted or
//! compared; what is drawn at random is given five standard deviations.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use site::{PATIENCE, get, up};
use std::io::ErrorKind::ConnectionRefused;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testbed::{Adversity, Both, Host, Plan, TestBed, Variant, content};

/// Room for all datagrams of a test, in bytes, so that none is lost but on the link.
const BUFFER_BYTES: usize = 32 << 20;

/// Returns when the client has the front-end's Ethernet address: until then it would hold few
/// datagrams back, and lose others.
fn know_each_other(bed: &TestBed, front: IpAddr) {
    let knock = || TcpStream::connect_timeout(&SocketAddr::new(front, 1), PATIENCE);
    assert_eq!(bed.enter(Host::Client, knock).unwrap().unwrap_err().kind(), ConnectionRefused);
}

/// Numbers of the datagrams that arrive at the front-end of as many as the client sends.
fn arrived(bed: &TestBed, to: SocketAddr, datagrams: u32) -> Vec<u32> {
    let any = SocketAddr::new(to.ip(), 0);
    let receiver = bed.enter(Host::Front, || UdpSocket::bind(any)).unwrap().unwrap();
    set_socket_recv_buffer_size_force(&receiver, BUFFER_BYTES).unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let to = receiver.local_addr().unwrap();
    know_each_other(bed, to.ip());
    let send = || {
        let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
        for number in 0..datagrams {
            socket.send_to(&number.to_le_bytes(), to).unwrap();
        }
        // Until one of them arrives: there is always a last one.
        for _ in 0..100 {
            socket.send_to(&u32::MAX.to_le_bytes(), to).unwrap();
        }
    };
    bed.enter(Host::Client, send).unwrap();
    let mut numbers = Vec::new();
    loop {
        let mut bytes = [0; 4];
        receiver.recv(&mut bytes).unwrap();
        match u32::from_le_bytes(bytes) {
            u32::MAX => return numbers,
            number => numbers.push(number),
        }
    }
}

#[test]
fn a_link_loses_the_share_that_it_is_told_to_lose() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let wire = bed.wire(Host::Client).unwrap();
    for to in bed.front().at(0) {
        assert_eq!(arrived(&bed, to, 4000).len(), 4000, "a wire loses nothing by itself");
        wire.set(Adversity { loss: 0.05, seed: 7, ..Adversity::default() }).unwrap();
        let lost = 4000 - arrived(&bed, to, 4000).len();
        assert!(lost.abs_diff(200) < 70, "{lost} of 4000");
        wire.set(Adversity::default()).unwrap();
    }
    let [towards, from] = wire.counts();
    assert_eq!((towards.refused, from.refused), (0, 0));
}

#[test]
fn a_link_doubles_and_reorders_what_it_is_told_to_in_one_direction() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let wire = bed.wire(Host::Client).unwrap();
    let to = bed.front().at(0)[0];
    let bad = Adversity { duplicate: 0.2, reorder: 0.1, seed: 7, ..Adversity::default() };
    wire.set_each(bad, Adversity::default()).unwrap();
    assert_eq!(arrived(&bed, to, 4000), (0..4000).collect::<Vec<_>>());
    wire.set_each(Adversity::default(), bad).unwrap();
    let mut numbers = arrived(&bed, to, 4000);
    let earlier = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(earlier > 200, "{earlier} came too late");
    assert!(numbers.len().abs_diff(4800) < 130, "{} came", numbers.len());
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4000);
}

#[test]
fn every_byte_comes_over_a_bad_link_and_after_it_over_a_good_one() {
    let Some(bed) = up(&Plan::new(1).wired(Variant::Routed)) else { return };
    let whole = |path: &str, at: Both| {
        for address in at.each() {
            let reply = get(&bed, address, path).unwrap();
            assert!(reply.head.starts_with("HTTP/1.1 200 "), "{}", reply.head);
            assert!(content::verify(path, 0, &reply.body), "{path} from {address}");
        }
    };
    let at = bed.server(1);
    let (near, far) = (bed.wire(Host::Client).unwrap(), bed.wire(Host::Server(1)).unwrap());
    // Super-segments of the servers are cut into frames on the way, or this would not arrive.
    whole("/10m", at);
    let bad = Adversity { loss: 0.01, duplicate: 0.2, reorder: 0.05, ..Adversity::default() };
    near.set(Adversity { seed: 1, ..bad }).unwrap();
    far.set(Adversity { seed: 2, ..bad }).unwrap();
    whole("/128k", at);
    assert!(near.counts().iter().all(|way| way.frames > 100 && way.duplicated > 0));
    drop((near, far));
    whole("/1m", at);
    // A link can be taken again.
    let again = bed.wire(Host::Client).unwrap();
    whole("/1m", at);
    assert!(again.counts().iter().all(|way| way.frames > 100 && way.refused == 0));
}

#[test]
fn a_link_delays_by_what_it_is_told() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let delay = Duration::from_millis(20);
    let wire = bed.wire(Host::Server(1)).unwrap();
    let to = bed.server(1).at(80)[0];
    let connect = || {
        let began = Instant::now();
        bed.enter(Host::Client, || TcpStream::connect_timeout(&to, PATIENCE)).unwrap().unwrap();
        began.elapsed()
    };
    // The first one asks for Ethernet addresses too, and any may find the machine busy.
    let connect = || (0..5).map(|_| connect()).min().unwrap();
    wire.set_each(Adversity { delay, ..Adversity::default() }, Adversity::default()).unwrap();
    let one_way = connect();
    wire.set(Adversity { delay, ..Adversity::default() }).unwrap();
    let both_ways = connect();
    assert!(one_way >= delay && one_way < 2 * delay, "{one_way:?}");
    assert!(both_ways >= 2 * delay, "{both_ways:?}");
}

#[test]
fn a_link_whose_holder_is_killed_is_dead_until_it_is_taken_again() {
    /// Set in the process that is to be killed: the bed whose link it takes.
    const HOLDER: &str = "BATON_TESTBED_HOLDER";
    if let Ok(name) = std::env::var(HOLDER) {
        let _wire = TestBed::find(&name).unwrap().wire(Host::Client).unwrap();
        println!("\nheld");
        return std::io::stdin().read_line(&mut String::new()).map(drop).unwrap();
    }
    let Some(bed) = up(&Plan::new(1)) else { return };
    let this = std::thread::current().name().unwrap().to_owned();
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &this, "--nocapture"])
        .env(HOLDER, &bed.plan().name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "held"));
    let at = bed.server(1).at(80)[0];
    let connect = |patience| move || TcpStream::connect_timeout(&at, patience);
    bed.enter(Host::Client, connect(PATIENCE)).unwrap().unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    let brief = Duration::from_millis(300);
    assert!(bed.enter(Host::Client, connect(brief)).unwrap().is_err());
    drop(bed.wire(Host::Client).unwrap());
    get(&bed, at.ip(), "/1500").unwrap();
}

#[test]
fn a_link_is_taken_once_and_only_where_there_is_one() {
    let Some(bed) = up(&Plan::new(1)) else { return };
    let wire = bed.wire(Host::Front).unwrap();
    assert!(bed.wire(Host::Front).is_err());
    assert!(wire.set(Adversity { loss: 5.0, ..Adversity::default() }).is_err());
    get(&bed, bed.server(1).each()[0], "/0").unwrap();
    for host in [Host::Server(2), Host::Router, Host::Wire] {
        assert!(bed.wire(host).is_err(), "{host}");
    }
}

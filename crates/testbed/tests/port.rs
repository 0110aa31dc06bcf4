//! Promise: a port that is kept refuses connections, goes to nobody who asks for any port, and may
//! be listened on by whoever names it.

mod site;

use site::is_possible;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use testbed::Port;

#[test]
fn it_refuses_until_somebody_listens_and_again_afterwards() {
    let port = Port::kept().unwrap();
    let refused = || TcpStream::connect(port.address()).unwrap_err().kind();
    assert_eq!(refused(), ErrorKind::ConnectionRefused);
    let listener = TcpListener::bind(port.address()).unwrap();
    TcpStream::connect(port.address()).unwrap();
    drop(listener);
    assert_eq!(refused(), ErrorKind::ConnectionRefused);
    // Two listeners are still one too many.
    let _first = TcpListener::bind(port.address()).unwrap();
    assert_eq!(TcpListener::bind(port.address()).unwrap_err().kind(), ErrorKind::AddrInUse);
}

#[test]
fn kept_for_ever_it_refuses_without_its_keeper() {
    let address = Port::kept().unwrap().for_ever();
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

/// Set in the process that has a network of its own, with few ports.
const FEW: &str = "BATON_TEST_FEW_PORTS";

#[test]
fn nobody_who_asks_for_any_port_is_given_it() {
    if std::env::var_os(FEW).is_none() {
        return in_a_network_with_ten_ports();
    }
    let port = Port::kept().unwrap();
    let listeners: Vec<_> = (0..10).map_while(|_| TcpListener::bind("127.0.0.1:0").ok()).collect();
    assert_eq!(listeners.len(), 9);
    assert!(listeners.iter().all(|listener| listener.local_addr().unwrap() != port.address()));
}

/// Runs that test once more; the network ends with its process.
fn in_a_network_with_ten_ports() {
    if !is_possible() {
        return;
    }
    let script = "ip link set lo up && echo 50000 50009 >/proc/sys/net/ipv4/ip_local_port_range \
                  && exec \"$@\"";
    let mut alone = Command::new("unshare");
    alone.args(["--net", "sh", "-c", script, "sh"]);
    alone.arg(std::env::current_exe().expect("a test has a file"));
    alone.args(["--exact", "nobody_who_asks_for_any_port_is_given_it"]).env(FEW, "1");
    let output = alone.output().expect("unshare is of util-linux");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

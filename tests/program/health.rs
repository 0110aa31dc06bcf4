//! Promise: the operator sees which servers take requests and why the others do not, can take one
//! out and put it back, and can ask what would become of a request without changing anything.

use crate::running::{Baton, config, eventually};
use crate::server::{Server, ok};
use serde_json::Value;

const QUIET: &str = "[health]\nkind = \"off\"\n[slow_start]\ntime = \"off\"\n";

fn standing(switch: &Baton, name: &str) -> (String, String) {
    let status = switch.status();
    let all = status["servers"].as_array().unwrap();
    let server = all.iter().find(|server| server["name"] == name).unwrap();
    let text = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("why"))
}

#[test]
fn a_server_that_is_no_http_server_is_down_and_the_reason_is_shown() {
    let ssh = Server::scripted(|peer, _| {
        peer.send("SSH-2.0-OpenSSH_9.2p1\r\n");
        peer.rest();
    });
    let good = Server::saying("good");
    let servers = [("ssh", ssh.address), ("good", good.address), ("gone", Server::nowhere())];
    let rest = "[health]\ninterval = \"50ms\"\nfall = 2\n[slow_start]\ntime = \"off\"\n";
    let switch = Baton::run(&config(&servers, rest));
    eventually("both are down", || {
        standing(&switch, "ssh").0 == "down" && standing(&switch, "gone").0 == "down"
    });
    let (_, why) = standing(&switch, "ssh");
    assert!(why.contains("HTTP"), "{why}");
    assert!(standing(&switch, "gone").1.contains("refused"), "{:?}", standing(&switch, "gone"));
    let table = switch.answer(&["status"]);
    assert!(table.contains(&why), "{table}");
    for _ in 0..10 {
        assert_eq!(switch.client().get("/").text(), "good");
    }
    assert_eq!(standing(&switch, "good").0, "up");
}

#[test]
fn a_server_that_comes_up_gets_requests() {
    let address = testbed::Port::kept().unwrap().for_ever();
    let rest = "[health]\ninterval = \"30ms\"\nfall = 1\nrise = 1\n[slow_start]\ntime = \"off\"\n";
    let switch = Baton::run(&config(&[("late", address)], rest));
    eventually("it is down", || standing(&switch, "late").0 == "down");
    let reply = switch.client().get("/");
    assert_eq!((reply.status, reply.field("retry-after").as_deref()), (503, Some("1")));
    let listener = std::net::TcpListener::bind(address).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut peer = crate::peer::Peer::over(stream);
                while peer.head().is_some() && peer.send(ok("back")) {}
            });
        }
    });
    eventually("it is up", || standing(&switch, "late").0 == "up");
    assert_eq!(switch.client().get("/").text(), "back");
}

#[test]
fn a_server_that_fails_requests_is_ejected_and_comes_back() {
    let (tell, told) = std::sync::mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let bad = Server::scripted(move |peer, _| {
        peer.head();
        let _ = tell.lock().unwrap().send(());
        peer.reset_on_close();
    });
    let good = Server::saying("good");
    let servers = [("bad", bad.address), ("good", good.address)];
    let rest = format!(
        "{QUIET}[policy]\nname = \"round-robin\"\n[ejection]\nfailures = 3\ntime = \"500ms\"\n\
         panic = \"0%\"\n"
    );
    let switch = Baton::run(&config(&servers, &rest));
    let mut client = switch.client();
    let mut why = String::new();
    eventually("it is ejected", || {
        assert_eq!(client.get("/").text(), "good", "nobody notices");
        let (state, its_why) = standing(&switch, "bad");
        why = its_why;
        state == "ejected"
    });
    assert!(why.contains("failed"), "{why}");
    while told.try_recv().is_ok() {}
    eventually("it gets requests again", || {
        assert_eq!(client.get("/").text(), "good");
        told.try_recv().is_ok()
    });
}

#[test]
fn a_drained_server_finishes_what_it_has_and_gets_nothing_new() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let (gone, first) = (std::sync::Mutex::new(gone), std::sync::Once::new());
    let a = Server::answering(move |asked| {
        if asked.path() == "/slow" {
            first.call_once(|| gone.lock().unwrap().recv().unwrap());
        }
        ok("a")
    });
    let b = Server::saying("b");
    let servers = [("a", a.address), ("b", b.address)];
    let rest = format!("{QUIET}[policy]\nname = \"round-robin\"\n");
    let switch = Baton::run(&config(&servers, &rest));
    let mut slow = switch.client();
    // The rotation meets a within two requests.
    while a.seen().is_empty() {
        slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
        eventually("one of them has it", || !a.seen().is_empty() || !b.seen().is_empty());
        if a.seen().is_empty() {
            assert_eq!(slow.reply().text(), "b");
        }
    }
    assert!(switch.answer(&["drain", "a"]).contains("finishes what it has"));
    assert_eq!(standing(&switch, "a").0, "draining");
    for _ in 0..6 {
        assert_eq!(switch.client().get("/").text(), "b");
    }
    go.send(()).unwrap();
    assert_eq!(slow.reply().text(), "a");
    assert!(switch.answer(&["undrain", "a"]).contains("again"));
    eventually("a gets requests again", || switch.client().get("/").text() == "a");
    let unknown = switch.ask(&["drain", "nobody"]);
    let text = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(!unknown.status.success() && text.contains("nobody"), "{text}");
}

#[test]
fn explain_says_what_would_happen_and_changes_nothing() {
    let (a, b) = (Server::saying("a"), Server::saying("b"));
    let rest = format!(
        "{QUIET}[policy]\nname = \"lard\"\n\
         [[rule]]\npath_suffix = [\".php\"]\nclass = \"cpu\"\ntarget = \"host+path\"\n"
    );
    let switch = Baton::run(&config(&[("a", a.address), ("b", b.address)], &rest));
    let ask = |url: &str| -> Value {
        serde_json::from_str(&switch.answer(&["explain", "--json", url])).unwrap()
    };
    let before = switch.status();
    let first = ask("http://www.example.com/x.php?id=7");
    assert_eq!(first["rule"], "rule-1");
    assert_eq!(first["class"], "cpu");
    assert_eq!(first["target"], "host+path");
    assert_eq!(first["target_text"], "www.example.com/x.php");
    assert_eq!(first["policy"], "lard");
    assert_eq!(first["reason"], "first-seen");
    assert_eq!(first["candidates"].as_array().unwrap().len(), 2);
    assert_eq!(ask("http://www.example.com/x.php?id=8"), first, "asking maps nothing");
    let plain = ask("/y");
    assert_eq!((&plain["rule"], &plain["class"]), (&Value::Null, &Value::from("static")));
    assert_eq!(switch.status()["status"]["requests"], before["status"]["requests"]);
    // And it is what happens: the real request goes where it said, and stays there.
    let mut client = switch.client();
    client.send("GET /x.php HTTP/1.1\r\nHost: www.example.com\r\n\r\n");
    assert_eq!(client.reply().text(), first["server"]);
    let then = ask("http://www.example.com/x.php");
    assert_eq!((&then["server"], &then["reason"]), (&first["server"], &Value::from("affinity")));
    let text = switch.answer(&["explain", "http://www.example.com/x.php"]);
    for part in ["rule-1", "cpu", "www.example.com/x.php\n", "host+path", "affinity"] {
        assert!(text.contains(part), "{part:?} is in:\n{text}");
    }
}

#[test]
fn explain_and_status_name_who_is_left_out_and_what_is_refused_is_exit_code_1() {
    let (a, b) = (Server::saying("a"), Server::saying("b"));
    let switch = Baton::run(&config(&[("a", a.address), ("b", b.address)], QUIET));
    switch.answer(&["drain", "b"]);
    let text = switch.answer(&["explain", "http://h/x"]);
    assert!(text.contains("\n* a "), "{text}");
    let line = text.lines().find(|line| line.starts_with("- b ")).unwrap_or_default();
    assert!(line.contains("draining: the operator"), "{text}");
    let table = switch.answer(&["status"]);
    assert!(table.contains(&b.address.to_string()), "{table}");
    for refused in [["drain", "c"], ["explain", "ftp://h/"]] {
        let output = switch.ask(&refused);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
    }
}

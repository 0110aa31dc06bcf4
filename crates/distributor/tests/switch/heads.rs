//! Promise: what ends at this hop ends here, what a server must know of the client is added, and
//! nothing that a client says of itself is believed unless the operator says so.

use crate::peer::field;
use crate::server::Server;
use crate::stage::Stage;
use distributor::counters::Cause;

fn sent(stage: &Stage, server: &Server, request: &str) -> String {
    let mut client = stage.client();
    client.send(request);
    assert_eq!(client.reply().status, 200);
    server.seen().last().unwrap().clone()
}

#[test]
fn fields_of_one_hop_end_here_both_ways() {
    let server = Server::answering(|_| {
        b"HTTP/1.1 200 OK\r\nConnection: X-Private, keep-alive\r\nX-Private: 1\r\n\
          Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nX-Public: 2\r\n\
          Content-Length: 0\r\n\r\n"
            .to_vec()
    });
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: X-Mine, keep-alive\r\nX-Mine: 1\r\n\
         Keep-Alive: 5\r\nProxy-Authorization: x\r\nProxy: evil\r\nTE: gzip\r\nX-Kept: 2\r\n\r\n",
    );
    let reply = client.reply();
    for gone in ["x-private", "keep-alive", "proxy-authenticate", "connection"] {
        assert_eq!(reply.field(gone), None, "{gone}");
    }
    assert_eq!(reply.field("x-public").as_deref(), Some("2"));
    let head = server.seen().remove(0);
    for gone in ["x-mine", "keep-alive", "proxy-authorization", "proxy", "te", "connection"] {
        assert_eq!(field(&head, gone), None, "{gone}");
    }
    assert_eq!(field(&head, "x-kept").as_deref(), Some("2"));
}

#[test]
fn the_server_learns_who_asked_and_both_learn_the_way() {
    let server = Server::saying("x");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    client.send(
        "GET /p?q HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: 6.6.6.6\r\n\
         X-Forwarded-Host: evil\r\nX-Request-Id: theirs\r\nVia: 1.0 first\r\n\r\n",
    );
    let reply = client.reply();
    let head = server.seen().remove(0);
    assert!(head.starts_with("GET /p?q HTTP/1.1\r\n"), "{head}");
    assert_eq!(field(&head, "host").as_deref(), Some("a.example"));
    assert_eq!(field(&head, "x-forwarded-for").as_deref(), Some("127.0.0.1"));
    assert_eq!(field(&head, "x-forwarded-proto").as_deref(), Some("http"));
    assert_eq!(field(&head, "x-forwarded-host").as_deref(), Some("a.example"));
    assert!(head.contains("Via: 1.0 first\r\n") && head.contains("Via: 1.1 baton\r\n"), "{head}");
    assert_eq!(reply.field("via").as_deref(), Some("1.1 baton"));
    let id = field(&head, "x-request-id").unwrap();
    assert_eq!(id.len(), 16);
    assert_eq!(reply.field("x-request-id"), Some(id), "the same to both");
    assert_eq!(head.matches("equest-").count(), 1, "the client's is gone: {head}");
}

#[test]
fn a_proxy_that_is_trusted_is_continued() {
    let server = Server::saying("x");
    let stage = Stage::with(&[server.address], |setup| setup.settings.forwarding.trust = true);
    let head = sent(
        &stage,
        &server,
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.1.1.1\r\nX-Forwarded-Proto: https\r\n\
         X-Request-Id: theirs\r\n\r\n",
    );
    assert_eq!(field(&head, "x-forwarded-for").as_deref(), Some("10.1.1.1, 127.0.0.1"));
    assert_eq!(field(&head, "x-forwarded-proto").as_deref(), Some("https"));
    assert_eq!(field(&head, "x-request-id").as_deref(), Some("theirs"));
}

#[test]
fn a_stranger_says_nothing_of_itself_whatever_we_add() {
    let families = [(false, false), (true, false), (false, true), (true, true)];
    for (x_forwarded, forwarded) in families {
        let server = Server::saying("x");
        let stage = Stage::with(&[server.address], |setup| {
            let forwarding = &mut setup.settings.forwarding;
            (forwarding.x_forwarded, forwarding.forwarded) = (x_forwarded, forwarded);
        });
        let head = sent(
            &stage,
            &server,
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: evil\r\nX-Forwarded-Proto: evil\r\n\
             X-Forwarded-Host: evil\r\nForwarded: for=evil\r\nForwarded: host=evil\r\n\r\n",
        );
        assert!(!head.contains("evil"), "{x_forwarded} {forwarded}: {head}");
        for name in ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"] {
            assert_eq!(field(&head, name).is_some(), x_forwarded, "{forwarded}: {head}");
        }
        let told = field(&head, "forwarded");
        let element = "for=127.0.0.1;host=\"a\";proto=http";
        assert_eq!(told.as_deref(), forwarded.then_some(element), "{x_forwarded}: {head}");
    }
}

#[test]
fn a_reply_without_a_date_gets_one_and_a_server_s_own_stays() {
    let now = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let dated = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                 Content-Length: 0\r\n\r\n";
    let server = Server::answering(move |asked| match asked.path() {
        "/dated" => dated.into(),
        _ => crate::server::ok(""),
    });
    let stage = Stage::before(&[server.address]);
    let alone = Stage::before(&[]);
    let from = now() - 2;
    let mut refused = stage.client();
    refused.send("GET / HTTP/1.1\r\n\r\n");
    let replies = [(200, stage.get("/")), (503, alone.get("/")), (400, refused.reply())];
    let valid: Vec<String> = (from..=now())
        .map(|second| String::from_utf8(wire::http::date::format(second).into()).unwrap())
        .collect();
    for (status, reply) in replies {
        assert_eq!(reply.status, status);
        let date = reply.field("date").unwrap_or_else(|| panic!("no date: {}", reply.head));
        assert!(valid.contains(&date), "{date} is not among {valid:?}");
    }
    let theirs = stage.get("/dated");
    assert_eq!(theirs.head.matches("Date: ").count(), 1);
    assert_eq!(theirs.field("date").as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
}

#[test]
fn options_go_no_further_than_max_forwards_says() {
    let server = Server::saying("x");
    let stage = Stage::before(&[server.address]);
    let mut client = stage.client();
    for (hops, onward) in [("2", Some("1")), ("1", Some("0")), ("0", None)] {
        let heads = server.seen().len();
        client.send(format!("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: {hops}\r\n\r\n"));
        assert_eq!(client.reply().status, 200, "{hops}");
        let seen = server.seen();
        let came = seen.get(heads).and_then(|head| field(head, "max-forwards"));
        assert_eq!(came.as_deref(), onward, "{hops}");
    }
    let head = sent(&stage, &server, "GET / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
    assert_eq!(field(&head, "max-forwards").as_deref(), Some("0"), "only OPTIONS and TRACE count");
    stage.settle();
}

#[test]
fn a_request_that_passed_this_switch_before_goes_no_further() {
    let server = Server::saying("x");
    let stage = Stage::before(&[server.address]);
    for via in ["1.1 baton", "1.0 fred, 1.1\tBATON (Baton/1)", "HTTP/1.1 a\r\nVia: 2 b , 1.1 baton"]
    {
        let mut client = stage.client();
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nVia: {via}\r\n\r\n"));
        let reply = client.reply();
        assert_eq!(reply.status, 508, "{via}");
        assert!(reply.text().contains("leads back"), "{}", reply.text());
        assert_eq!(client.get("/").status, 200, "the client may go on asking");
    }
    assert_eq!(stage.ends(Cause::Loop), 3);
    let others = ["1.1 baton-2", "1.1 baton:80", "baton", "1.1 a (baton)", "1.1", ",", ""];
    for via in others {
        let head =
            sent(&stage, &server, &format!("GET / HTTP/1.1\r\nHost: a\r\nVia: {via}\r\n\r\n"));
        assert!(head.contains("\r\nVia: 1.1 baton\r\n"), "{head}");
    }
    stage.settle();
}

#[test]
fn the_host_of_an_absolute_target_counts() {
    let server = Server::saying("x");
    let stage = Stage::before(&[server.address]);
    let head =
        sent(&stage, &server, "GET http://b.example:81/p?q HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert!(head.starts_with("GET /p?q HTTP/1.1\r\n"), "{head}");
    assert_eq!(field(&head, "host").as_deref(), Some("b.example:81"));
    assert_eq!(head.matches("Host: ").count(), 2, "Host and X-Forwarded-Host: {head}");
}

#[test]
fn what_the_operator_does_not_want_to_be_sent_is_not() {
    let server = Server::saying("x");
    let stage = Stage::with(&[server.address], |setup| {
        let forwarding = &mut setup.settings.forwarding;
        forwarding.via = "".into();
        forwarding.x_forwarded = false;
        forwarding.request_id = false;
    });
    let head = sent(&stage, &server, "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n");
    assert_eq!(head, "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n");
}

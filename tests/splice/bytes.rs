//! Promise: every byte arrives, once and in order, whatever the framing.

use crate::peer::{End, Peer};
use crate::site::{Site, ask, content, origin, server};
use std::net::Shutdown;

const SIZES: [usize; 9] = [0, 1, 1459, 1500, 65_536, 300_000, 1 << 20, 4_000_000, 10 << 20];

#[test]
fn replies_of_every_size_come_whole_over_one_connection_by_one_decision() {
    let Some(site) = Site::before(&[origin(), origin()], "") else { return };
    let mut client = site.client();
    for size in SIZES.into_iter().chain(SIZES) {
        ask(&mut client, size);
    }
    let said: usize = SIZES.iter().sum();
    drop(client);
    let lines = site.stop();
    assert_eq!(lines.len(), 1, "one decision, one line: {lines:?}");
    let line = &lines[0];
    assert_eq!((&line["delivery"], &line["term"]), (&"splice".into(), &"-T".into()), "{line}");
    assert!(line["bytes_out"].as_u64().unwrap() > 2 * said as u64, "{line}");
    assert!(line["bytes_in"].as_u64().unwrap() > 18 * 35, "{line}");
    assert!(line["status"].is_null(), "what it answered was not seen: {line}");
}

#[test]
fn a_thousand_small_requests_go_over_one_connection() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let mut client = site.client();
    (0..1000).for_each(|at| ask(&mut client, at % 3000));
}

#[test]
fn a_hundred_connections_at_once_do_not_mix() {
    let Some(site) = Site::before(&[origin(), origin()], "") else { return };
    std::thread::scope(|scope| {
        for number in 0..100 {
            let mut client = site.client();
            scope
                .spawn(move || (0..10).for_each(|at| ask(&mut client, number * 997 + at * 20_011)));
        }
    });
}

#[test]
fn a_body_of_a_megabyte_reaches_the_server_and_comes_back() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let body = content(7, 1 << 20);
    let mut client = site.client();
    for _ in 0..5 {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
        assert!(client.send(head) && client.send(&body));
        assert!(client.reply().body == body, "it came back as it was");
        ask(&mut client, 10);
    }
}

#[test]
fn a_body_that_is_under_way_with_its_head_is_not_lost_between_switch_and_kernel() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    for size in [100, 10_000, 70_000, 200_000, 900_000] {
        let body = content(3, size);
        let mut request =
            format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n").into_bytes();
        request.extend_from_slice(&body);
        let mut client = site.client();
        assert!(client.send(request));
        assert!(client.reply().body == body, "{size} bytes came back");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let mut client = site.client();
    let sizes = [5, 70_000, 0, 300_000, 17];
    let one = |size: &usize| format!("GET /{size} HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.send(sizes.iter().map(one).collect::<String>()));
    for size in sizes {
        assert!(client.reply().body == content(0, size));
    }
}

#[test]
fn a_client_that_waits_for_100_gets_it_before_its_body_goes() {
    let careful = server(|mut peer| {
        peer.head().unwrap();
        assert!(peer.send("HTTP/1.1 100 Continue\r\n\r\n"));
        let body = peer.take(5);
        assert!(peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") && peer.send(body));
    });
    let Some(site) = Site::before(&[careful], "") else { return };
    let mut client = site.client();
    let head = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    assert!(client.send(head));
    assert_eq!(client.reply().status, 100);
    assert!(client.send("hello"));
    assert_eq!(client.reply().text(), "hello");
}

#[test]
fn a_reply_that_its_servers_end_delimits_comes_whole_also_to_http_1_0() {
    let until_close = server(|mut peer| {
        peer.head().unwrap();
        peer.send("HTTP/1.0 200 OK\r\n\r\n");
        peer.send(content(0, 3_000_000));
    });
    let Some(site) = Site::before(&[until_close], "") else { return };
    let mut client = site.client();
    assert!(client.send("GET / HTTP/1.0\r\n\r\n"));
    assert!(client.reply().body == content(0, 3_000_000));
}

#[test]
fn a_server_may_answer_before_the_request_is_whole() {
    let hasty = server(|mut peer| {
        peer.head().unwrap();
        assert!(peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"));
        assert_eq!(peer.take(1 << 20), content(0, 1 << 20));
        assert!(peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    });
    let Some(site) = Site::before(&[hasty], "") else { return };
    let mut client = site.client();
    assert!(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n"));
    assert_eq!(client.reply().text(), "no");
    assert!(client.send(content(0, 1 << 20)));
    assert_eq!(client.reply().text(), "ok");
}

#[test]
fn the_end_of_one_side_reaches_the_other_which_goes_on() {
    // It answers only when it has seen the end, and then says more than fits anywhere.
    let patient = server(|mut peer| {
        peer.head().unwrap();
        assert!(peer.send("HTTP/1.1 100 Continue\r\n\r\n"));
        let (rest, end) = peer.rest();
        assert_eq!((rest.len(), end), (100_000, End::Closed));
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n");
        peer.send(content(0, 8_000_000));
        peer.stream().shutdown(Shutdown::Write).unwrap();
        assert_eq!(peer.rest().1, End::Closed);
    });
    let Some(site) = Site::before(&[patient], "") else { return };
    let mut client: Peer = site.client();
    assert!(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"));
    assert_eq!(client.reply().status, 100);
    assert!(client.send(content(0, 100_000)));
    client.half_close();
    assert!(client.reply().body == content(0, 8_000_000));
    assert_eq!(client.rest(), (Vec::new(), End::Closed));
}

#[test]
fn a_client_that_has_ended_before_its_server_is_found_is_relayed_and_that_is_said() {
    let Some(site) = Site::before(&[origin()], "") else { return };
    let mut client = site.client();
    assert!(client.send("GET /70000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    client.half_close();
    assert!(client.reply().body == content(0, 70_000));
    let lines = site.stop();
    // The end may come while they are joined, or behind that; then it is spliced.
    let line = &lines[0];
    let spliced = line["delivery"] == "splice" && line["local"].is_null();
    assert!(spliced || line["local"] == "ended-ahead" || line["local"] == "not-joined", "{line}");
}

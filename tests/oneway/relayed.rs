//! Promise: what cannot be handed over is relayed, without the client noticing, and the reason is
//! counted and logged.

use crate::client::get;
use crate::on;
use crate::site::{Setup, Site, files, until};
use serde_json::Value;

/// A ClientHello of TLS 1.2, as far as anybody looks at it.
const HELLO: &[u8] =
    b"\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03baton baton baton baton baton ba\
                       \x00\x00\x04\x00\x2f\x00\x35\x01\x00";

/// The lines of the access log, as soon as there are as many.
fn log(site: &Site, count: usize) -> Vec<Value> {
    until(|| {
        let text = std::fs::read_to_string(site.folder.path().join("access.log")).unwrap();
        let lines: Vec<_> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        if lines.len() >= count { Ok(lines) } else { Err(text) }
    })
}

#[test]
fn what_cannot_be_handed_over_is_relayed_and_the_reason_is_counted_and_logged() {
    let more = "[[rule]]\npath_prefix = \"/f3\"\ndelivery = \"relay\"\n\
                [log]\naccess = \"json\"\npath = \"FOLDER/access.log\"\n";
    let setup = Setup { more: more.to_owned(), ..Setup::new("multi-handoff", "name = \"lard\"") };
    on(setup, |site| {
        let files = files();
        let local = |why: &str| format!("baton_oneway_local_total{{reason=\"{why}\"}}");

        let mut ruled = site.client();
        ruled.fetch(&files[3]);
        assert_eq!(site.metric(&local("rule-says-relay")), 1.0);
        site.client().fetch(&files[3]);
        assert_eq!(site.oneway(|_| true).counted("asked"), 1, "the kernel has been told");
        assert_eq!(site.metric(&local("rule-says-relay")), 2.0);

        let mut split = site.client();
        let (begin, end) = (&get(&files[2].path)[..9], &get(&files[2].path)[9..]);
        split.send(begin);
        site.oneway(|view| view.counted("local_split_head") == 1);
        split.send(end);
        split.reply().unwrap().is(&files[2]);
        assert_eq!(site.metric(&local("split-head")), 1.0);

        let mut piped = site.client();
        piped.send(get(&files[1].path) + &get(&files[2].path));
        piped.reply().unwrap().is(&files[1]);
        piped.reply().unwrap().is(&files[2]);
        assert_eq!(site.metric(&local("pipelined")), 1.0);

        let mut tls = site.client();
        tls.send(HELLO);
        let refused = tls.reply().unwrap();
        assert!(refused.0.starts_with("HTTP/1.1 400 "), "the relay says what is wrong");
        assert_eq!(site.metric(&local("not-http")), 1.0);

        let mut moving = site.client();
        moving.fetch(&files[4]);
        moving.fetch(&files[3]);
        assert_eq!(site.metric(&local("rule-says-relay")), 3.0, "also in the middle");

        let lines = log(site, 8);
        let relayed: Vec<_> = lines.iter().filter(|line| line["delivery"] == "relay").collect();
        assert_eq!(relayed.len(), 7, "{lines:#?}");
        let reason = |line: &&Value| line["local"].as_str().unwrap().to_owned();
        let mut reasons: Vec<_> = relayed.iter().map(reason).collect();
        reasons.sort();
        let both = ["pipelined"; 2];
        let rule = ["rule-says-relay"; 3];
        let logged = [&["not-http"], &both[..], &rule, &["split-head"]].concat();
        assert_eq!(reasons, logged, "{lines:#?}");
        for line in relayed {
            assert_eq!(line["client"], site.bed.client().v4.to_string(), "{line}");
        }
        drop((ruled, split, piped, tls, moving));
        site.is_at_rest();
    });
}

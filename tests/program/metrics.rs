//! Promise: what an operator reads in the metrics is what happened, and what the document says
//! there is.

use crate::running::{Baton, config};
use crate::server::Server;
use std::collections::{BTreeMap, BTreeSet};

const RULE: &str = "[health]\nkind = \"off\"\n[[rule]]\npath = \"/x\"\nclass = \"cpu\"\n";

#[test]
fn durations_are_told_apart_by_what_was_answered_and_in_which_protocol() {
    let server = Server::answering(|asked| match asked.head.contains(" /x ") {
        true => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        false => crate::server::ok("found"),
    });
    let switch = Baton::run(&config(&[("a", server.address)], RULE));
    let count = |route: &str, class: &str, protocol: &str| {
        switch.metric(&format!(
            "baton_request_duration_seconds_count{{listener=\"web\",route=\"{route}\",\
             code_class=\"{class}\",protocol=\"{protocol}\"}}"
        ))
    };
    assert_eq!(count("rule-1", "2xx", "http/1.1"), 0.0, "a rate needs a value before the first");
    let mut client = switch.client();
    assert_eq!(client.get("/").status, 200);
    assert_eq!(client.get("/x").status, 404);
    let mut old = switch.client();
    old.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    assert_eq!(old.reply().status, 200);
    crate::running::eventually("all are counted", || {
        switch.metric("baton_requests_inflight") == 0.0
    });
    assert_eq!(count("", "2xx", "http/1.1"), 1.0);
    assert_eq!(count("rule-1", "4xx", "http/1.1"), 1.0);
    assert_eq!(count("", "2xx", "http/1.0"), 1.0);
    assert_eq!(count("rule-1", "2xx", "http/1.1"), 0.0);
}

#[test]
fn the_document_lists_every_metric_with_its_labels() {
    let server = Server::saying("hello");
    let switch = Baton::run(&config(&[("a", server.address)], RULE));
    assert_eq!(switch.client().get("/x").status, 200);
    crate::running::eventually("it is counted", || switch.metric("baton_requests_inflight") == 0.0);
    assert_eq!(documented(), printed(&switch.metrics()));
}

type Labels = BTreeMap<String, BTreeSet<String>>;

/// Names and labels in the document's table of metrics.
fn documented() -> Labels {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operating.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("\n## Metrics\n").unwrap();
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut all = Labels::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        // Labels that differ between the names of one row stand in the same order.
        let labels: Vec<&str> = cells[2].split(';').collect();
        for (at, name) in quoted(cells[1]).into_iter().enumerate() {
            let own = labels.get(at).or(labels.first()).unwrap();
            all.insert(format!("baton_{name}"), quoted(own).into_iter().collect());
        }
    }
    all
}

/// Names and labels of what was printed; a histogram by the name of its family.
fn printed(page: &str) -> Labels {
    let mut all = Labels::new();
    let mut histogram = "";
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            histogram = family.strip_suffix(" histogram").unwrap_or("");
        }
        if line.starts_with('#') {
            continue;
        }
        let (sample, _) = line.rsplit_once(' ').unwrap();
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let name = if histogram.is_empty() { name } else { histogram };
        let of = labels.trim_end_matches('}').split("\",").filter_map(|pair| pair.split_once('='));
        let own = of.map(|(label, _)| label.to_owned()).filter(|label| label != "le");
        all.entry(name.to_owned()).or_default().extend(own);
    }
    all
}

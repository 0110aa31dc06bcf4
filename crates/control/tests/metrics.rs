//! Method: a strict reader of OpenMetrics text, written from the specification and knowing nothing
//! of the encoder, reads the page of a fake switch; then the figures are compared.

// A panic is how a test says no.
#![allow(clippy::unwrap_used)]

mod fake;

use control::{Supervisor, metrics};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A metric family as the reader understood it.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    unit: Option<String>,
    help: Option<String>,
    /// Sample name and labels, with the value.
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

/// Reads a page or says which line breaks which rule.
fn read(page: &str) -> Result<BTreeMap<String, Family>, String> {
    let body = page.strip_suffix("# EOF\n").ok_or("the page ends with # EOF and a line feed")?;
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in body.lines() {
        let wrong = |rule: &str| format!("{rule}: {line}");
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (Some(keyword), Some(name), Some(text)) =
                (words.next(), words.next(), words.next())
            else {
                return Err(wrong("a comment has a keyword, a name and a text"));
            };
            if name != current && families.contains_key(name) {
                return Err(wrong("a family's lines stay together"));
            }
            current = name.to_owned();
            let family = families.entry(current.clone()).or_default();
            if !family.samples.is_empty() {
                return Err(wrong("what describes a family comes before its samples"));
            }
            match keyword {
                "TYPE" if family.kind.is_empty() => family.kind = text.to_owned(),
                "UNIT" if family.unit.is_none() => family.unit = Some(text.to_owned()),
                "HELP" if family.help.is_none() => family.help = Some(text.to_owned()),
                _ => return Err(wrong("one TYPE, one UNIT, one HELP and nothing else")),
            }
        } else {
            let (name, labels, value) = sample(line).map_err(|rule| wrong(&rule))?;
            let family = families.get_mut(&current).ok_or_else(|| wrong("no family yet"))?;
            let suffixes: &[&str] = match family.kind.as_str() {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                "info" => &["_info"],
                "gauge" => &[""],
                _ => return Err(wrong("the type is known")),
            };
            if !suffixes.iter().any(|suffix| name == format!("{current}{suffix}")) {
                return Err(wrong("the name is the family's with the suffix of its type"));
            }
            family.samples.push((name, labels, value));
        }
    }
    families.iter().try_for_each(|(name, family)| check(name, family))?;
    Ok(families)
}

/// Reads `name{label="value",...} number`.
fn sample(line: &str) -> Result<(String, BTreeMap<String, String>, f64), String> {
    let name_end = line.find(['{', ' ']).ok_or("a sample has a name and a value")?;
    let name = &line[..name_end];
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err("a name is of letters, digits and _".into());
    }
    let mut labels = BTreeMap::new();
    let mut rest = &line[name_end..];
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").ok_or("label=\"value\"")?;
            let (value, after) = label_value(after)?;
            if labels.insert(label.to_owned(), value).is_some() {
                return Err("a label occurs once".into());
            }
            rest = match after.strip_prefix(',') {
                Some(more) if !more.starts_with('}') => more,
                None if after.starts_with('}') => after,
                _ => return Err("labels are separated by one comma".into()),
            };
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').ok_or("one space before the value")?;
    let value = value.parse().map_err(|_| "the value is a number")?;
    Ok((name.to_owned(), labels, value))
}

fn label_value(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((index, char)) = chars.next() {
        match char {
            '"' => return Ok((value, &text[index + 1..])),
            '\\' => match chars.next().map(|(_, escaped)| escaped) {
                Some('n') => value.push('\n'),
                Some(escaped @ ('\\' | '"')) => value.push(escaped),
                _ => return Err("only \\n, \\\\ and \\\" are escapes".into()),
            },
            _ => value.push(char),
        }
    }
    Err("a label's value ends with a quotation mark".into())
}

/// What must hold of a whole family.
fn check(name: &str, family: &Family) -> Result<(), String> {
    let wrong = |rule: &str| Err(format!("{rule}: {name} {family:?}"));
    if family.kind.is_empty() || family.help.as_ref().is_none_or(String::is_empty) {
        return wrong("every family has a type and says what it means");
    }
    if family.unit.as_ref().is_some_and(|unit| !name.ends_with(&format!("_{unit}"))) {
        return wrong("the unit is the end of the name");
    }
    if family.kind != "info"
        && ["total", "count", "sum", "bucket"].iter().any(|s| name.ends_with(s))
    {
        return wrong("a family's name has no reserved suffix");
    }
    let mut seen = BTreeSet::new();
    for (sample, labels, value) in &family.samples {
        if !seen.insert((sample, labels)) {
            return wrong("no sample occurs twice");
        }
        let counts = family.kind == "counter" || family.kind == "histogram";
        if counts && (*value < 0.0 || value.is_nan()) {
            return wrong("what is counted is not negative");
        }
    }
    let label_names = |labels: &BTreeMap<String, String>| {
        labels.keys().filter(|label| *label != "le").cloned().collect::<Vec<_>>()
    };
    let shapes: BTreeSet<_> = family.samples.iter().map(|(_, l, _)| label_names(l)).collect();
    if shapes.len() > 1 {
        return wrong("all samples of a family have the same labels");
    }
    if family.kind == "histogram" { histogram(name, family) } else { Ok(()) }
}

/// What must hold of each histogram: bounds rise, counts never fall, the last is the count.
fn histogram(name: &str, family: &Family) -> Result<(), String> {
    let mut by_labels: BTreeMap<_, Vec<(f64, f64)>> = BTreeMap::new();
    for (sample, labels, value) in &family.samples {
        if sample.ends_with("_bucket") {
            let mut labels = labels.clone();
            let le = labels.remove("le").ok_or(format!("{name}: a bucket has le"))?;
            let le = if le == "+Inf" { f64::INFINITY } else { le.parse().map_err(|_| "le")? };
            by_labels.entry(labels).or_default().push((le, *value));
        }
    }
    for (labels, buckets) in by_labels {
        let wrong = |rule: &str| Err(format!("{rule}: {name} {labels:?} {buckets:?}"));
        if !buckets.is_sorted_by(|a, b| a.0 < b.0) || !buckets.is_sorted_by(|a, b| a.1 <= b.1) {
            return wrong("bounds rise and counts never fall");
        }
        let value = |suffix: &str| {
            let whole = format!("{name}{suffix}");
            let found = family.samples.iter().find(|(n, l, _)| *n == whole && *l == labels);
            found.map(|(_, _, value)| *value)
        };
        if buckets.last().copied() != value("_count").map(|count| (f64::INFINITY, count)) {
            return wrong("the last bucket is +Inf and holds the count");
        }
        if value("_sum").is_none() {
            return wrong("there is a sum");
        }
    }
    Ok(())
}

fn page() -> String {
    let switch = Arc::new(fake::Fake::new(&["a", "odd \"name\"\\\n"]));
    metrics::page(&Supervisor::with_log(switch, Box::new(|_| ())))
}

#[test]
fn every_metric_that_was_promised_is_there_with_its_type_and_unit() {
    let families = read(&page()).unwrap();
    for (name, kind, unit) in [
        ("baton_requests", "counter", None),
        ("baton_request_duration_seconds", "histogram", Some("seconds")),
        ("baton_server_request_duration_seconds", "histogram", Some("seconds")),
        ("baton_server_ttfb_seconds", "histogram", Some("seconds")),
        ("baton_decisions", "counter", None),
        ("baton_expected_cache_hits", "counter", None),
        ("baton_expected_cache_misses", "counter", None),
        ("baton_locality_given_up", "counter", None),
        ("baton_targets", "gauge", None),
        ("baton_replicated_targets", "gauge", None),
        ("baton_server_inflight", "gauge", None),
        ("baton_server_queue", "gauge", None),
        ("baton_server_weight", "gauge", None),
        ("baton_server_up", "gauge", None),
        ("baton_server_slow_start_ratio", "gauge", Some("ratio")),
        ("baton_load_imbalance_ratio", "gauge", Some("ratio")),
        ("baton_class_requests", "counter", None),
        ("baton_relay_bytes", "counter", Some("bytes")),
        ("baton_retries", "counter", None),
        ("baton_retries_refused", "counter", None),
        ("baton_rejects", "counter", None),
        ("baton_requests_ended", "counter", None),
        ("baton_server_connections", "counter", None),
        ("baton_accept_failures", "counter", None),
        ("baton_log_lines_dropped", "counter", None),
        ("baton_spliced_bytes", "counter", Some("bytes")),
        ("baton_config_reloads", "counter", None),
        ("baton_config_last_reload_success", "gauge", None),
        ("baton_config_hash", "info", None),
        ("baton_build", "info", None),
        ("baton_streams_closed_by_reload", "counter", None),
        ("baton_connections", "gauge", None),
        ("baton_connections_accepted", "counter", None),
    ] {
        let family = families.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!((family.kind.as_str(), family.unit.as_deref()), (kind, unit), "{name}");
        assert!(!family.samples.is_empty(), "{name} has no sample");
    }
}

#[test]
fn figures_and_labels_arrive_as_they_were_counted() {
    let families = read(&page()).unwrap();
    let value = |family: &str, sample: &str, labels: &[(&str, &str)]| {
        let labels: BTreeMap<_, _> =
            labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut samples = families[family].samples.iter();
        let found = samples.find(|(name, own, _)| name == sample && *own == labels);
        found.unwrap_or_else(|| panic!("{sample} {labels:?} is missing")).2
    };
    let one = |sample: &str, labels: &[(&str, &str)]| {
        let family = sample.strip_suffix("_total").unwrap_or(sample);
        value(family, sample, labels)
    };
    let route = |route, method, code| {
        one(
            "baton_requests_total",
            &[("listener", "main"), ("route", route), ("method", method), ("code", code)],
        )
    };
    assert_eq!(route("images", "GET", "200"), 900_000.0);
    assert_eq!(route("", "GET", "none"), 7.0);
    assert_eq!(one("baton_relay_bytes_total", &[("direction", "out")]), (1u64 << 40) as f64);
    assert_eq!(one("baton_requests_ended_total", &[("cause", "PR")]), 3.0);
    assert_eq!(one("baton_retries_refused_total", &[]), 5.0);
    assert_eq!(one("baton_server_connections_total", &[("kind", "opened")]), 900.0);
    assert_eq!(one("baton_server_connections_total", &[("kind", "reused")]), 1_189_100.0);
    assert_eq!(one("baton_spliced_bytes_total", &[]), (1u64 << 39) as f64);
    assert_eq!(one("baton_accept_failures_total", &[]), 2.0);
    assert_eq!(one("baton_log_lines_dropped_total", &[]), 17.0);
    assert_eq!(one("baton_config_reloads_total", &[("result", "failure")]), 1.0);
    assert_eq!(one("baton_server_slow_start_ratio", &[("server", "a")]), 1.0);
    assert_eq!(one("baton_oneway_handed_over_total", &[]), 20.0);
    assert_eq!(one("baton_oneway_drops_total", &[("reason", "forged")]), 1.0);
    assert_eq!(one("baton_oneway_local_total", &[("reason", "split-head")]), 3.0);
    assert_eq!(one("baton_oneway_flows", &[("server", "a")]), 3.0, "at both addresses");
    assert_eq!(one("baton_agent_failures_total", &[("server", "a")]), 2.0);
    let odd = [("server", "odd \"name\"\\\n")];
    assert_eq!(one("baton_server_inflight", &odd), 21.0);
    let family = "baton_server_ttfb_seconds";
    let histogram = fake::histogram(1);
    let count = value(family, "baton_server_ttfb_seconds_count", &odd);
    assert_eq!(count, histogram.count() as f64);
    assert_eq!(value(family, "baton_server_ttfb_seconds_sum", &odd), histogram.sum_s());
}

#[test]
fn the_document_lists_what_one_way_delivery_adds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("\n## One way\n").unwrap();
    let families = read(&page()).unwrap();
    let ours = families.iter().filter_map(|(name, family)| {
        let own = name.strip_prefix("baton_")?;
        let total = if family.kind == "counter" { "_total" } else { "" };
        (own.starts_with("oneway_") || own.starts_with("agent_")).then(|| format!("`{own}{total}`"))
    });
    let missing: Vec<_> = ours.filter(|name| !section.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_reader_of_this_test_refuses_pages_that_break_the_rules() {
    for (page, rule) in [
        ("# HELP a b\n# TYPE a gauge\na 1\n", "ends with # EOF"),
        ("# TYPE a gauge\na 1\n# EOF\n", "says what it means"),
        ("# HELP a b\n# TYPE a counter\na 1\n# EOF\n", "suffix of its type"),
        ("# HELP a b\n# TYPE a gauge\na{x=\"1\"} 1\na{x=\"1\"} 2\n# EOF\n", "twice"),
        ("# HELP a b\n# TYPE a gauge\na{x=\"1\"} 1\na{y=\"1\"} 2\n# EOF\n", "same labels"),
        ("# HELP a b\n# TYPE a gauge\na{x=\"\\q\"} 1\n# EOF\n", "escapes"),
        ("# HELP a b\n# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n", "end of the name"),
        (
            "# HELP a b\n# TYPE a histogram\na_sum 1\na_count 3\n\
             a_bucket{le=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 1\n# EOF\n",
            "never fall",
        ),
        (
            "# HELP a b\n# TYPE a histogram\na_sum 1\na_count 3\na_bucket{le=\"+Inf\"} 1\n# EOF\n",
            "holds the count",
        ),
    ] {
        let error = read(page).unwrap_err();
        assert!(error.contains(rule), "{error}");
    }
}

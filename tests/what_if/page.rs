//! The report: one page, well-formed, that asks nobody for anything.

use super::{Format, done, file, folder, log};
use std::fs;

#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let folder = folder();
    let path = file(&folder, "a.log", log(Format::Json));
    let page = folder.path().join("report.html");
    let html = page.to_str().unwrap();
    let args = [&path, "--servers", "2,4", "--cache", "400KiB,1MiB", "--html", html, "--live"];
    let (out, _) = done(&args);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"), "{}", &page[..60]);
    for outside in ["http://", "https://", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(outside), "{outside} would be asked for");
    }
    for part in [
        "Advice",
        "Over the size of the cache",
        "Why servers were chosen",
        "Beside what the log itself measured",
        "/t/0",
        "<svg",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_nested(&page);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" Capacity: ±"), "{out}");
    let row = page.split("<td class=\"left\">wrr</td>").nth(1).unwrap();
    let capacity = row.split("</td>").nth(1).unwrap();
    assert!(capacity.contains(" ±"), "its interval is beside a capacity: {capacity}");
}

/// Every element that is opened is closed, in order.
fn assert_nested(page: &str) {
    let void = ["!DOCTYPE", "meta"];
    let mut open: Vec<&str> = Vec::new();
    let body =
        page.split("<style>").next().unwrap().to_owned() + page.split("</style>").nth(1).unwrap();
    let body: &str = Box::leak(body.into_boxed_str());
    for tag in body.split('<').skip(1) {
        let tag = &tag[..tag.find('>').unwrap()];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !void.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

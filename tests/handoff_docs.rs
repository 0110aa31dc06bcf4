//! Method: docs/handoff.md and docs/tools/handoff.lua are read beside the sources that they
//! describe, and each number, name and bound is compared. The dissector is also run, where there is
//! a tshark, over frames laid out as the header says.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

#[path = "handoff_docs/frames.rs"]
mod frames;
#[path = "handoff_docs/header.rs"]
mod header;

use frames::{Frame, Inner, capture};
use header::{Field, defined, envelope, numbers};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

const DOCUMENT: &str = "docs/handoff.md";
const DISSECTOR: &str = "docs/tools/handoff.lua";

fn read(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the table whose head begins with these cells.
fn table(head: &[&str]) -> Vec<Vec<String>> {
    let text = read(DOCUMENT);
    let cells = |line: &str| -> Vec<String> {
        let inside = line.trim().trim_start_matches('|').trim_end_matches('|');
        inside.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let mut lines = text.lines().skip_while(|line| {
        let found = cells(line);
        !line.starts_with('|') || found.len() < head.len() || found[..head.len()] != *head
    });
    assert!(lines.next().is_some(), "there is a table with {head:?}");
    lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect()
}

fn number(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

#[test]
fn the_envelope_is_listed_as_the_header_has_it() {
    let rows = table(&["offset", "bytes", "field"]);
    let listed: Vec<Field> = rows
        .iter()
        .map(|row| Field { offset: number(&row[0]), bytes: number(&row[1]), name: row[2].clone() })
        .collect();
    assert_eq!(listed, envelope());
}

/// Offset and length of each cell of the drawing, by the columns in which it stands.
fn drawn() -> Vec<Field> {
    let text = read(DOCUMENT);
    let rows = text.lines().skip_while(|line| !line.starts_with("  0 1 2 3 4 5 6 7 8 9 0 1"));
    let rows: Vec<&str> = rows.skip(1).take_while(|line| !line.starts_with("```")).collect();
    let words = rows.iter().filter(|line| line.starts_with(" |")).enumerate();
    let mut fields = Vec::new();
    for (word, line) in words {
        let mut bit = 0;
        for cell in line.trim().trim_matches('|').split('|') {
            // A bit has two columns; the last one's second is the border.
            let bits = (cell.len() as u64).div_ceil(2);
            let offset = word as u64 * 4 + bit / 8;
            fields.push(Field { offset, bytes: bits / 8, name: cell.trim().to_owned() });
            bit += bits;
        }
        assert_eq!(bit, 32, "{line}");
    }
    fields
}

#[test]
fn the_envelope_is_drawn_as_the_header_has_it() {
    assert_eq!(drawn(), envelope());
}

#[test]
fn the_outer_headers_and_what_they_leave_are_counted_right() {
    let bytes: u64 = envelope().iter().map(|field| field.bytes).sum();
    let outer = table(&["outer", "IP", "UDP", "envelope"]);
    for row in &outer {
        let parts: Vec<u64> = row[1..].iter().map(|cell| number(cell)).collect();
        let ip = if row[0] == "IPv4" { 20 } else { 40 };
        assert_eq!(parts, [ip, 8, bytes, ip + 8 + bytes], "{row:?}");
    }
    assert_eq!(outer.len(), 2);
    let source = read("crates/handoff/src/front.rs");
    let larger = 40 + 8 + bytes;
    assert!(source.contains(&format!("const ENVELOPE_BYTES: u16 = {larger};")));
    for row in table(&["MTU", "MSS over IPv4"]) {
        let mtu = number(&row[0]);
        assert_eq!(number(&row[1]), mtu - larger - 40, "{row:?}");
        assert_eq!(number(&row[2]), mtu - larger - 60, "{row:?}");
    }
}

#[test]
fn kinds_flags_phases_and_states_are_those_of_the_header() {
    let kinds: BTreeMap<String, u64> =
        table(&["kind", "name"]).iter().map(|row| (row[1].clone(), number(&row[0]))).collect();
    assert_eq!(kinds, numbers("kind", "KIND_"));
    let flags = table(&["flag", "name"]);
    let header = read("crates/handoff/bpf/handoff.h");
    let defined_flags = header.lines().filter(|line| line.starts_with("#define OPT_")).count();
    assert_eq!(flags.len(), defined_flags);
    for row in &flags {
        assert_eq!(defined(&format!("OPT_{}", row[1])), number(&row[0]), "{row:?}");
    }
    let phases: Vec<String> = table(&["phase", "means"]).iter().map(|r| r[0].clone()).collect();
    let mut known = Vec::from_iter(numbers("phase", "PHASE_"));
    known.sort_by_key(|(_, number)| *number);
    assert_eq!(phases, known.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    let text = read(DOCUMENT);
    for (of, prefix) in [("server_state", "SERVER_"), ("flow_state", "FLOW_")] {
        for state in numbers(of, prefix).keys() {
            assert!(text.contains(state.as_str()), "{of} {state} is described");
        }
    }
}

#[test]
fn every_counter_has_its_line_and_there_is_none_besides() {
    let rows = table(&["name", "where", "counts"]);
    let mut named: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let mut known = header::counters();
    known.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, known);
    let [front, back] = ["front", "back"].map(header::counted_by);
    for row in &rows {
        assert!(row[2].len() > 10, "{row:?} says nothing");
        let [by_front, by_back] = [&front, &back].map(|by| by.contains(&row[0]));
        let place = match (by_front, by_back) {
            (true, true) => "both",
            (true, false) => "front",
            (false, true) => "back",
            (false, false) => panic!("nobody counts {}", row[0]),
        };
        assert_eq!(row[1], place, "{}", row[0]);
    }
}

#[test]
fn counters_named_in_passing_exist() {
    let text = read(DOCUMENT);
    let known = header::counters();
    let families = ["local_", "reset_", "adopt", "stayed_", "handed_", "released", "unknown_"];
    let spans = text.split('`').skip(1).step_by(2);
    let like_one = |span: &&str| families.iter().any(|family| span.starts_with(family));
    let mut seen = 0;
    for span in spans.filter(like_one).filter(|span| !span.contains(' ')) {
        let is_field = header::structs_have(span);
        assert!(is_field || known.iter().any(|name| name == span), "there is no counter {span}");
        seen += 1;
    }
    assert!(seen > 20, "counters are named where things go wrong: {seen}");
}

#[test]
fn bounds_are_those_of_the_sources() {
    for row in table(&["name", "value", "of what"]) {
        assert_eq!(defined(&row[0]), number(&row[1]), "{}", row[0]);
    }
}

#[test]
fn the_cookie_has_the_bits_that_are_listed() {
    let mut above = 32;
    for row in table(&["bits", "what"]) {
        let (high, low) = row[0].split_once('-').unwrap_or((&row[0], &row[0]));
        assert_eq!(number(high) + 1, above, "{row:?}");
        above = number(low);
    }
    assert_eq!(above, 0);
    let source = read("crates/handoff/bpf/cookie.h");
    for part in ["0xfffffc00", "(step & 3) << 8", "mss_code(o->mss) << 5", "1 << 4"] {
        assert!(source.contains(part), "{part}: the bits are other ones");
    }
    let sizes: Vec<String> = source
        .lines()
        .filter_map(|line| line.trim().split_once(": return ")?.1.strip_suffix(';'))
        .map(str::to_owned)
        .collect();
    assert_eq!(sizes.len(), 8);
    let row = table(&["bits", "what"])[2][1].clone();
    assert!(sizes.iter().all(|size| row.contains(size.as_str())), "{sizes:?} in {row}");
}

#[test]
fn the_port_is_the_one_that_is_used_when_nothing_is_said() {
    let source = read("crates/handoff/src/lib.rs");
    let port = source.split("PORT_DEFAULT: u16 = ").nth(1).unwrap().split(';').next().unwrap();
    let document = read(DOCUMENT);
    assert!(document.contains(&format!("destination port {port}")));
    assert!(document.contains(&format!("udp port {port}")));
    assert!(read(DISSECTOR).contains(&format!("local PORT = {port}\n")));
    assert!(read("docs/configuration.md").contains(&format!("| `{port}` | The UDP port")));
}

#[test]
fn the_dissector_has_the_layout_of_the_header() {
    let script = read(DISSECTOR);
    let body = script.split("local LAYOUT = {\n").nth(1).unwrap().split("\n}").next().unwrap();
    let found: Vec<String> = body.lines().map(|line| line.trim().to_owned()).collect();
    let fields = envelope();
    let one = |f: &Field| format!("{} = {{ {}, {} }},", f.name, f.offset, f.bytes);
    let (seal, others) = (&fields[fields.len() - 2..], &fields[..fields.len() - 2]);
    let mut wanted: Vec<String> = others.iter().map(one).collect();
    wanted.push(format!("mac = {{ {}, 8 }},", seal[0].offset));
    assert_eq!(found, wanted);
    let bytes: u64 = fields.iter().map(|field| field.bytes).sum();
    assert!(script.contains(&format!("local BYTES = {bytes}\n")));
    assert!(script.contains(&format!("local MAGIC = {:#x}\n", defined("ENVELOPE_MAGIC"))));
    assert!(script.contains(&format!("local VERSION = {}\n", defined("ENVELOPE_VERSION"))));
    for (name, number) in numbers("kind", "KIND_") {
        assert!(script.contains(&format!("[{number}] = \"{name}\",")), "{name}");
    }
}

/// What tshark shows of frames: these fields, one line for each frame. `None`: it is not there.
fn shown(frames: &[Frame], fields: &[&str], options: &[&str]) -> Option<Vec<Vec<String>>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capture.pcap");
    fs::write(&file, capture(frames)).unwrap();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(DISSECTOR);
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-n");
    command.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=|"]).args(options);
    for field in fields {
        command.args(["-e", field]);
    }
    let Ok(output) = command.env("HOME", folder.path()).output() else {
        // Not a macro, whose output is shown of failed tests alone.
        let text = b"SKIPPED the dissector is not run: no tshark (apt install tshark)\n";
        let _unseen = std::io::stderr().write_all(text);
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("Lua:"), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}

#[test]
fn tshark_shows_every_field_and_the_packet_inside() {
    let both = [Inner::V4, Inner::V6];
    let frames: Vec<Frame> = numbers("kind", "KIND_")
        .into_values()
        .flat_map(|kind| both.map(|outer| (kind, outer)))
        .flat_map(|(kind, outer)| both.map(|inner| Frame::new(kind, outer, inner)))
        .collect();
    let fields = [
        "baton.kind",
        "baton.seq",
        "baton.connection",
        "baton.mss",
        "baton.wscale",
        "baton.flags.sack",
        "baton.flags.track",
        "baton.flags.agent",
        "baton.server",
        "baton.mac",
        "baton.marked",
        "baton.offset",
        "http.request.uri",
    ];
    // All frames have the same segment in them.
    let options = ["-o", "tcp.analyze_sequence_numbers:FALSE"];
    let Some(lines) = shown(&frames, &fields, &options) else { return };
    assert_eq!(lines.len(), frames.len());
    for (line, frame) in lines.iter().zip(&frames) {
        let kind = frame.value("kind").to_string();
        let mac = format!("{:#018x}", frame.value("mac_high") << 32 | frame.value("mac_low"));
        let server = format!("{:#010x}", frame.value("server"));
        let wanted = [
            &kind, "1000042", "1000000", "1460", "10", "1", "0", "1", &server, &mac, "1", "42",
            "/page",
        ];
        assert_eq!(line[..], wanted, "{frame:?}");
    }
}

#[test]
fn tshark_says_what_is_no_envelope_and_which_part_of_a_segment_is_not_meant() {
    let usual = || Frame::new(1, Inner::V4, Inner::V4);
    let cases = [
        (usual().with("magic", 7), ["", "1", ""]),
        (usual().with("version", 2), ["", "1", ""]),
        (usual().with("seq", 1_000_000), ["0", "", "1"]),
        (usual().with("kind", 9), ["1", "", ""]),
    ];
    let frames: Vec<Frame> = cases.iter().map(|(frame, _)| frame.clone()).collect();
    let fields = ["baton.marked", "baton.malformed", "baton.late"];
    let Some(lines) = shown(&frames, &fields, &[]) else { return };
    for (line, (frame, wanted)) in lines.iter().zip(&cases) {
        assert_eq!(line[..], wanted[..], "{frame:?}");
    }
    let elsewhere = [usual().at_port(7118)];
    let kind = |options: &[&str]| shown(&elsewhere, &["baton.kind"], options).unwrap();
    assert_eq!(kind(&[]), [[""]]);
    assert_eq!(kind(&["-o", "baton.port:7118"]), [["1"]]);
}

//! The program and user space know a request again by the same key, whatever its head looks like:
//! heads made by chance, with a seed, many of them hostile.

use crate::chance::Chance;
use crate::stage::{DROPPED, REDIRECTED, SINGLE, Stage};
use handoff::Repeat;

pub const HEADS: usize = 4000;

/// What the program looks at.
const SCAN_MAX: usize = 2048;

/// Pieces that heads are made of, and the ends of lines.
const METHODS: &[&[u8]] =
    &[b"GET ", b"POST ", b"HEAD ", b"PUT ", b"OPTIONS ", b"DELETE ", b"PATCH "];
const FIELDS: &[&[u8]] = &[
    b"Host: bed",
    b"host:bed",
    b"HOST:\t bed\t",
    b"Host: @AZ[`az{.Bed.EXAMPLE\xc1\xda",
    b"Host:",
    b"Host",
    b"Hosts: no",
    b"Host : no",
    b"Content-Length: 12",
    b"content-length:0",
    b"Content-Length: x",
    b"CONTENT-LENGTH:99999999999",
    b"Transfer-Encoding: chunked",
    b"transferring: x",
    b"Accept: */*",
    b"X",
    b":",
    b"Content\rLength: 1",
    b"\tfolded",
    b"Host:a\0b",
    b"Host: \r\r",
    b"Host:      bed      ",
];
const ENDS: &[&[u8]] = &[b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r\r\n", b"\n\r"];

fn head(chance: &mut Chance) -> Vec<u8> {
    let mut head = chance.of(METHODS).to_vec();
    for _ in 0..chance.below(40) {
        head.push(if chance.one_in(8) { chance.byte() } else { b'a' + chance.byte() % 26 });
    }
    head.extend(chance.of(&[&b" HTTP/1.1"[..], b" HTTP/1.0", b"", b" "]));
    head.extend(chance.of(ENDS));
    for _ in 0..chance.below(8) {
        head.extend(chance.of(FIELDS));
        head.extend(chance.of(ENDS));
    }
    if chance.one_in(6) {
        // Close to as much as is looked at.
        let bytes = (SCAN_MAX - 12 + chance.below(24)).saturating_sub(head.len());
        head.extend(vec![b'y'; bytes]);
    }
    head.extend(b"\r\n\r\n");
    head.extend(vec![b'z'; if chance.one_in(4) { chance.below(100) } else { 0 }]);
    for _ in 0..if chance.one_in(3) { chance.below(6) } else { 0 } {
        let at = 4 + chance.below(head.len() - 4);
        head[at] = *chance.of(&[&b'\n', &b'\r', &b' ', &b':', &0, &0xff]);
    }
    if chance.one_in(10) {
        head.truncate(4 + chance.below(head.len() - 4));
    }
    head
}

/// Whether a head ends in what the program looks at.
fn is_whole(head: &[u8]) -> bool {
    let seen = &head[..head.len().min(SCAN_MAX)];
    let mut lines = seen.split_inclusive(|byte| *byte == b'\n');
    lines.any(|line| line == b"\n" || line == b"\r\n")
}

pub fn agree(t: &Stage<'_>) {
    let mut chance = Chance(0xba70);
    let mut seen = [0; 4];
    for number in 0..HEADS {
        let head = head(&mut chance);
        let text = head.escape_ascii();
        let first = t.connected(SINGLE).says(&head);
        let key = t.front.key(&head);
        let before = t.sees(&first);
        if !is_whole(&head) {
            seen[0] += 1;
            assert_eq!(key, None, "head {number}: {text}");
            assert_eq!(before.tried.verdict, DROPPED, "head {number}: {text}");
            assert_eq!(before.counted, ["local_split_head", "local_refused"], "{text}");
            continue;
        }
        assert_eq!(before.tried.verdict, REDIRECTED, "head {number}: {text}");
        assert_eq!(before.counted, ["asked"], "head {number}: {text}");
        // More than one Host: nobody may know it again.
        let Some(key) = key else {
            seen[1] += 1;
            continue;
        };
        seen[2] += 1;
        t.learns(&head, 1, Repeat::Server { slot: 0, load_max: u64::MAX, until_ns: u64::MAX });
        // Another connection: this one's first segment is held.
        let after = t.sees(&t.connected(SINGLE).says(&head));
        let lower = head.to_ascii_lowercase();
        let tells_length = |name: &[u8]| lower.windows(name.len()).any(|at| at == name);
        if after.counted == ["asked"] {
            // Where a body ends is not for the program to say.
            assert!(tells_length(b"transfer") || tells_length(b"content"), "{text}");
        } else {
            assert_eq!(after.counted, ["handed_over", "repeated"], "head {number}: {text}");
            seen[3] += 1;
        }
        t.front.forget(key);
    }
    // Each kind was there, or nothing was shown.
    assert!(seen.iter().all(|count| *count > HEADS / 50), "{seen:?}");
}

//! Reads the tables of cases: paragraphs of a title and indented lines of bytes.

use std::path::Path;

/// One paragraph.
pub struct Case {
    /// Its first line.
    pub title: String,
    /// The others, with their escapes resolved.
    pub lines: Vec<Vec<u8>>,
}

/// All cases of a table, of which there are at least `count_min`.
pub fn read(table: &str, count_min: usize) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(table);
    let text = std::fs::read_to_string(path).expect("the tables are committed");
    let cases: Vec<Case> = text
        .split("\n\n")
        .filter(|paragraph| !paragraph.starts_with('#'))
        .map(|paragraph| {
            let mut lines = paragraph.lines();
            let title = lines.next().expect("a paragraph has a title").to_string();
            let bytes =
                |line: &str| unescaped(line.strip_prefix("    ").expect("an indented line"));
            Case { title, lines: lines.map(bytes).collect() }
        })
        .collect();
    assert!(cases.len() >= count_min, "{} cases in {table}", cases.len());
    cases
}

/// `|` is CR LF; a backslash begins a byte's escape.
fn unescaped(line: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = line.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'|' => out.extend_from_slice(b"\r\n"),
            b'\\' => out.push(match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'0') => 0,
                Some(b'\\') => b'\\',
                Some(b'x') => {
                    let digits: String = rest.by_ref().take(2).map(char::from).collect();
                    u8::from_str_radix(&digits, 16).expect("two hexadecimal digits")
                }
                other => panic!("unknown escape {other:?} in {line}"),
            }),
            other => out.push(other),
        }
    }
    out
}

/// Bytes as the tables show them.
pub fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace("\\r\\n", "|").replace("\\\"", "\"")
}

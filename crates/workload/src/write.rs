//! Records as lines again.

use crate::Record;
use crate::civil::{DAY_MS, date, month_name};
use std::fmt::Write as _;

/// Appends the line of a record in the Common Log Format, with its end, to `out`. What the format
/// has no place for, such as the site and the times of servers, is lost.
pub fn clf_line(out: &mut String, record: &Record<'_>) {
    let Record { at, client, method, url, status, bytes, .. } = record;
    let (days, in_day_ms) = (at.local_ms.div_euclid(DAY_MS), at.local_ms.rem_euclid(DAY_MS));
    let (year, month, day) = date(days);
    let (month, second) = (month_name(month), in_day_ms / 1000);
    let (sign, ahead) = (if at.ahead_s < 0 { '-' } else { '+' }, at.ahead_s.unsigned_abs() / 60);
    // A blank or nothing at all would shift every column behind it.
    let client = client.split_ascii_whitespace().next().unwrap_or("-");
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{client} - - [{day:02}/{month}/{year:04}:{:02}:{:02}:{:02} {sign}{:02}{:02}] \
         \"{method} {url} HTTP/1.1\" {status} {bytes}",
        second / 3600,
        second / 60 % 60,
        second % 60,
        ahead / 60,
        ahead % 60,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stamp, format, read};

    #[test]
    fn a_line_reads_back_as_the_record_it_was() {
        let record = Record {
            at: Stamp { local_ms: 1_456_012_845_000, ahead_s: -5 * 3600 },
            client: "10.0.0.9".into(),
            method: "GET".into(),
            url: "/a?b=%22c%22".into(),
            status: 206,
            bytes: 187,
            ..Record::default()
        };
        let mut line = String::new();
        clf_line(&mut line, &record);
        let expected = "10.0.0.9 - - [21/Feb/2016:00:00:45 -0500] \
                        \"GET /a?b=%22c%22 HTTP/1.1\" 206 187\n";
        assert_eq!(line, expected);
        let clf = format("common").expect("it is in the list");
        let mut found = Vec::new();
        read(clf, line.as_bytes(), |record| found.push(record.clone().into_owned())).unwrap();
        assert_eq!(found, [record]);
    }

    #[test]
    fn a_client_without_a_name_leaves_no_gap() {
        let mut line = String::new();
        clf_line(&mut line, &Record { method: "GET".into(), ..Record::default() });
        assert!(line.starts_with("- - - [01/Jan/1970:00:00:00 +0000] \"GET "), "{line}");
    }
}

//! The date a message carries, `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate, RFC 9110, 5.6.7).
//!
//! Days to years and months by the method of H. Hinnant, *chrono-Compatible Low-Level Date
//! Algorithms* (years that begin in March).

/// Bytes of a date.
pub const DATE_BYTES: usize = 29;

/// The date of a time given in seconds since 1970-01-01 00:00 UTC. Callers format once a second.
/// Years beyond 9999 are not expressible and come out as 9999's last second.
pub fn format(unix_seconds: u64) -> [u8; DATE_BYTES] {
    const LAST: u64 = 253_402_300_799;
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    const WEEKDAYS: &[u8; 21] = b"ThuFriSatSunMonTueWed";
    let seconds = unix_seconds.min(LAST);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let mut out = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    let weekday = (days % 7) as usize * 3;
    out[..3].copy_from_slice(&WEEKDAYS[weekday..weekday + 3]);
    two_digits(&mut out[5..7], day);
    out[8..11].copy_from_slice(&MONTHS[month as usize * 3..month as usize * 3 + 3]);
    two_digits(&mut out[12..14], year / 100);
    two_digits(&mut out[14..16], year % 100);
    two_digits(&mut out[17..19], second / 3600);
    two_digits(&mut out[20..22], second / 60 % 60);
    two_digits(&mut out[23..25], second % 60);
    out
}

/// The same as RFC 3339 has it, with milliseconds: `1994-11-06T08:49:37.000Z`. For logs that people
/// read.
pub fn rfc3339(unix_ms: u64) -> String {
    const LAST_MS: u64 = 253_402_300_799_999;
    let ms = unix_ms.min(LAST_MS);
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        month + 1,
        second / 3600,
        second / 60 % 60,
        second % 60,
        ms % 1000
    )
}

/// Year, month from 0 and day of the month from 1, of a day counted from 1970-01-01. The Gregorian
/// calendar repeats every 400 years (146,097 days); counting years from March puts the leap day
/// last.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468; // from 0000-03-01
    let shifted = days + DAYS_TO_1970;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12;
    (era * 400 + year_of_era + u64::from(month < 2), month, day)
}

fn two_digits(out: &mut [u8], value: u64) {
    out[0] = b'0' + (value / 10 % 10) as u8;
    out[1] = b'0' + (value % 10) as u8;
}

#[cfg(test)]
mod tests {
    use super::{format, rfc3339};

    #[test]
    fn dates_known_from_elsewhere_come_out_as_they_are_written_there() {
        let cases: [(u64, &[u8; 29]); 6] = [
            (0, b"Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, b"Sun, 06 Nov 1994 08:49:37 GMT"), // RFC 9110's example
            (951_782_400, b"Tue, 29 Feb 2000 00:00:00 GMT"), // a leap day of a leap century
            (4_107_542_399, b"Sun, 28 Feb 2100 23:59:59 GMT"), // before no leap day
            (4_107_542_400, b"Mon, 01 Mar 2100 00:00:00 GMT"),
            (u64::MAX, b"Fri, 31 Dec 9999 23:59:59 GMT"),
        ];
        for (seconds, date) in cases {
            assert_eq!(format(seconds).escape_ascii().to_string(), date.escape_ascii().to_string());
        }
    }

    #[test]
    fn the_same_times_for_people() {
        assert_eq!(rfc3339(784_111_777_012), "1994-11-06T08:49:37.012Z");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59.999Z");
    }
}

//! Dates as logs write them, turned into numbers.
//!
//! The days of the proleptic Gregorian calendar since 1 January 1970, after Howard Hinnant's
//! "chrono-compatible low-level date algorithms": years begin in March, so that the leap day is the
//! last and months need no table.

/// Milliseconds in a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Days from 1970-01-01 to the given date; `month` is 1 to 12.
pub(crate) const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date so many days from 1970-01-01: year, month (1 to 12) and day.
pub(crate) const fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

/// The name ("Jan") of a month, 1 to 12.
pub(crate) fn month_name(month: i64) -> &'static str {
    let name = usize::try_from(month - 1).ok().and_then(|at| MONTHS.get(at));
    name.and_then(|name| std::str::from_utf8(name).ok()).unwrap_or("???")
}

/// The month called `name` ("Jan"), 1 to 12.
pub(crate) fn month(name: &[u8]) -> Option<i64> {
    (1..).zip(MONTHS).find(|(_, known)| *known == name).map(|(number, _)| number)
}

/// A decimal number that is all of `digits` and at most `max`.
pub(crate) fn number(digits: &[u8], max: u64) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    (value <= max).then_some(value)
}

/// Milliseconds since midnight of `HH:MM:SS`; a leap second counts as the second before it.
pub(crate) fn time_of_day(text: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = *text else { return None };
    let hours = number(&[h1, h2], 23)?;
    let minutes = number(&[m1, m2], 59)?;
    let seconds = number(&[s1, s2], 60)?.min(59);
    i64::try_from(((hours * 60 + minutes) * 60 + seconds) * 1000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(1969, 12, 31), -1);
        assert_eq!(days(1995, 8, 29), 9371);
        assert_eq!(days(2016, 3, 1) - days(2016, 2, 28), 2, "2016 is a leap year");
        assert_eq!(days(2100, 3, 1) - days(2100, 2, 28), 1, "2100 is none");
    }

    #[test]
    fn a_date_is_that_of_its_days() {
        for at in (-800_000..800_000).step_by(37) {
            let (year, month, day) = date(at);
            assert_eq!(days(year, month, day), at);
            assert!((1..=12).contains(&month) && (1..=31).contains(&day));
        }
        assert_eq!(date(days(2016, 2, 29)), (2016, 2, 29));
        assert_eq!(month_name(2), "Feb");
    }

    #[test]
    fn times_out_of_range_are_refused() {
        assert_eq!(time_of_day(b"23:59:59"), Some(DAY_MS - 1000));
        assert_eq!(time_of_day(b"23:59:60"), Some(DAY_MS - 1000));
        for wrong in [&b"24:00:00"[..], b"00:60:00", b"0:00:00", b"00:00:0x", b""] {
            assert_eq!(time_of_day(wrong), None);
        }
    }
}

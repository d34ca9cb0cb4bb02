//! Dates and times in values and questions, as spans of seconds since 1970.

use std::sync::LazyLock;

use regex::{Captures, Regex};

const DAY: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The seconds from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

/// The form of a date in a value: `2023-05-01`, `2023-05-01T10:00:00Z`, `2023/5/1`, `May 1 2023`,
/// `1 May 2023`, `1-May-23`, `5/1/2023`.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"(?i-u)^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?:",
        r"(?P<y1>\d{4})[-/](?P<m1>\d\d?)(?:[-/](?P<d1>\d\d?))?",
        r"|(?P<w2>[a-z]{3,9})\.? (?P<d2>\d\d?),? (?P<y2>\d{4})",
        r"|(?P<d3>\d\d?)[ -](?P<w3>[a-z]{3,9})[ -](?P<y3>\d{4}|\d\d)",
        r"|(?P<m4>\d\d?)/(?P<d4>\d\d?)/(?P<y4>\d{4})",
        r")(?:[T ,]+(?P<h>\d\d?):(?P<mi>\d\d)(?::(?P<s>\d\d))?(?:\.\d+)?)?(?: ?Z|(?P<o>[+-]\d\d:?\d\d))?(?:$|[ ,(])",
    );
    Regex::new(pattern).expect("invariant: the pattern is valid")
});

/// Returns the second at which the date or time that a text begins with starts.
pub(super) fn moment(text: &str) -> Option<i64> {
    const LONGEST: usize = 40;
    let text = text.trim();
    // Most texts are no dates, which is cheap to see.
    if text.len() > LONGEST || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let found = VALUE.captures(text)?;
    let number = |name: &str| found.name(name)?.as_str().parse::<i64>().ok();
    let any = |names: [&str; 4]| names.into_iter().find_map(number);
    let month = any(["m1", "m1", "m4", "m4"]).or_else(|| month(&found, "w2"));
    let month = month.or_else(|| self::month(&found, "w3"))?;
    let year = any(["y1", "y2", "y3", "y4"])?;
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        year => year,
    };
    let day = any(["d1", "d2", "d3", "d4"]).unwrap_or(1);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let clock = |name: &str| number(name).unwrap_or(0);
    let offset = found.name("o").map_or(0, |offset| {
        let digits: String = offset
            .as_str()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let digits: i64 = digits.parse().unwrap_or(0);
        let seconds = (digits / 100 * 60 + digits % 100) * 60;
        if offset.as_str().starts_with('-') {
            -seconds
        } else {
            seconds
        }
    });
    let seconds = clock("h") * 3600 + clock("mi") * 60 + clock("s");
    Some(days(year, month, day) * DAY + seconds - offset)
}

fn month(found: &Captures<'_>, name: &str) -> Option<i64> {
    let word = found.name(name)?.as_str();
    month_of(word)
}

/// Returns the number of the month that a word names.
pub(super) fn month_of(word: &str) -> Option<i64> {
    let word = word.to_ascii_lowercase();
    let months = (1..).zip(MONTHS);
    let mut named = months.filter(|(_, month)| word.starts_with(month));
    named.next().map(|(number, _)| number)
}

/// Returns the days from 1970-01-01 to a date (Howard Hinnant's `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns year, month and day of a second since 1970.
pub(super) fn civil(second: i64) -> (i64, i64, i64) {
    let days = second.div_euclid(DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// A unit of the calendar by which records are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Month,
    Year,
}

impl Unit {
    /// Returns what follows the name of a column that is grouped so.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Day => " by day",
            Self::Month => " by month",
            Self::Year => " by year",
        }
    }
}

/// Returns the day, month or year of a second since 1970: `2023-05-01`, `2023-05`, `2023`.
pub(super) fn label(second: i64, unit: Unit) -> String {
    let (year, month, day) = civil(second);
    match unit {
        Unit::Day => format!("{year:04}-{month:02}-{day:02}"),
        Unit::Month => format!("{year:04}-{month:02}"),
        Unit::Year => format!("{year:04}"),
    }
}

/// A date in a question.
pub(super) const ASKED: &str = concat!(
    r"(?:\d{4}-\d\d-\d\d|\d{4}-\d\d\b|\d{4}/\d\d?/\d\d?",
    r"|(?:\d\d?(?:st|nd|rd|th)? (?:of )?)?(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.? (?:\d\d?(?:st|nd|rd|th)?,? )?(?:of )?\d{4}",
    r"|month \d\d? of \d{4}|(?:19|20)\d0s|(?:1[89]|20)\d\d)",
);

/// Reads a date of a question, which matches [`ASKED`], as the day, month, year or decade that it
/// names.
pub(super) fn span(text: &str) -> Option<Span> {
    static NUMBERS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\d+").expect("invariant: the pattern is valid"));
    let numbers: Vec<i64> = NUMBERS
        .find_iter(text)
        .filter_map(|number| number.as_str().parse().ok())
        .collect();
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    let named = words.find_map(|word| (word.len() >= 3).then(|| month_of(word)).flatten());
    let (year, month, day) = match (&numbers[..], named) {
        (&[year], None) if lower.ends_with('s') => {
            return Some(Span {
                start: days(year, 1, 1) * DAY,
                end: days(year + 10, 1, 1) * DAY,
            });
        }
        (&[year], month) => (year, month, None),
        (&[day, year], Some(month)) | (&[year, month, day], None) => (year, Some(month), Some(day)),
        (&[month, year], None) if month <= 12 => (year, Some(month), None),
        (&[year, month], None) => (year, Some(month), None),
        _ => return None,
    };
    let is_date = month.is_none_or(|month| (1..=12).contains(&month))
        && day.is_none_or(|day| (1..=31).contains(&day));
    if !is_date {
        return None;
    }
    let start = days(year, month.unwrap_or(1), day.unwrap_or(1)) * DAY;
    let end = match (month, day) {
        (_, Some(_)) => start + DAY,
        (Some(12) | None, None) => days(year + 1, 1, 1) * DAY,
        (Some(month), None) => days(year, month + 1, 1) * DAY,
    };
    Some(Span { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_values() {
        let cases = [
            ("1970-01-01", Some(0)),
            ("2024-09-23T16:17:33.133000+00:00", Some(1_727_108_253)),
            ("2024-09-23T18:17:33+02:00", Some(1_727_108_253)),
            ("2024-09-23 16:17:33Z", Some(1_727_108_253)),
            ("Sep 23 2024", Some(1_727_049_600)),
            ("23 September 2024", Some(1_727_049_600)),
            ("23-Sep-24", Some(1_727_049_600)),
            ("9/23/2024", Some(1_727_049_600)),
            ("2024-02", Some(1_706_745_600)),
            ("Mon, 23 Sep 2024 16:17:33 GMT", Some(1_727_108_253)),
            ("2024-13-01", None),
            ("1.2.3", None),
            ("2024", None),
            ("12 monkeys 1995", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(moment(text), want, "{text}");
        }
    }

    #[test]
    fn dates_in_questions() {
        let whole = Regex::new(&format!("(?i)^{ASKED}$")).unwrap();
        let cases = [
            ("2023", "2023-01-01", "2023-12-31"),
            ("the 1990s", "1990-01-01", "1999-12-31"),
            ("2023-12", "2023-12-01", "2023-12-31"),
            ("February 2024", "2024-02-01", "2024-02-29"),
            ("5th of May 2023", "2023-05-05", "2023-05-05"),
            ("May 5, 2023", "2023-05-05", "2023-05-05"),
            ("month 03 of 2026", "2026-03-01", "2026-03-31"),
            ("2023-05-31", "2023-05-31", "2023-05-31"),
        ];
        for (text, first, last) in cases {
            let text = text.trim_start_matches("the ");
            assert!(whole.is_match(text), "{text}");
            let span = span(text).unwrap();
            let shown = [span.start, span.end - 1].map(|second| label(second, Unit::Day));
            assert_eq!(shown, [first, last], "{text}");
        }
        assert_eq!(span("2023-13"), None);
    }
}

//! Reads dates: `after 2023-05`, `in March 2026`, `between 1990 and 1995`.

use std::borrow::Cow;

use super::load::Collection;
use super::moment::{self, Span, Unit, label, month_of, span};
use super::pattern::{DIGIT, Pattern};
use super::reader::{ColumnKind, Reader};
use super::test::{Comparison, Test};

pub(super) static DATED: Pattern = Pattern::new(&[&[DIGIT]], || {
    let pattern = format!(
        concat!(
            r#"(?i)(?:(?P<sign>>=|<=|≥|≤|>|<|!?==?)\s*["'`]?|\b(?P<word>on or after|on or before|not before|no later than|later than|newer than|more recent than|younger than"#,
            r#"|earlier than|older than|prior to|as of|after|since|starting|before|until|till|up to|by|from|in|during|on|dated|of|for|within|between)\s+["'`]?)?"#,
            r#"(?:the |year |years |day |date )*\b(?P<one>{date})(?:\s*(?:and|to|through|until|-|–|\.{{2,3}})\s*["'`]?(?P<other>{date}))?"#,
            r#"(?P<or>\s+(?:or|and) (?:later|after|newer|onwards?|earlier|before|older))?(?:[^\w.:-]|[.:-](?:\s|$)|$)"#,
        ),
        date = moment::ASKED,
    );
    pattern.into()
});

/// A day of a month, or a month alone behind a preposition.
pub(super) static DAY: Pattern = Pattern::new(
    &[&[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]],
    || {
        let months = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
        format!(
            r"(?i)\b(?:{months} \d\d?(?:st|nd|rd|th)?|\d\d?(?:st|nd|rd|th)? (?:of )?{months}|(?:in|during|since|until|before|after) {months})\b"
        )
        .into()
    },
);

/// Returns the question with the year behind each day or month that has none, if all dates of the
/// records are of one year.
pub(super) fn with_year<'q>(
    question: &'q str,
    collection: &Collection<'_>,
    kinds: &[ColumnKind],
) -> Cow<'q, str> {
    let found: Vec<usize> = DAY.find_iter(question).map(|found| found.end()).collect();
    let is_told = |end: &usize| {
        let behind = question[*end..].trim_start_matches([' ', ',', '.']);
        behind.starts_with(|c: char| c.is_ascii_digit()) || behind.starts_with("of ")
    };
    if found.is_empty() || found.iter().any(is_told) {
        return question.into();
    }
    let dated: Vec<usize> = (0..kinds.len()).filter(|&at| kinds[at].is_dated).collect();
    let records = collection.records.iter();
    let cells = records.flat_map(|record| dated.iter().filter_map(|&column| record.get(column)));
    let mut years = cells.filter_map(|cell| Some(label(cell.moment()?, Unit::Year)));
    let Some(year) = years
        .next()
        .filter(|first| years.all(|year| year == *first))
    else {
        return question.into();
    };
    let mut told = question.to_owned();
    for end in found.into_iter().rev() {
        told.insert_str(end, &format!(" {year}"));
    }
    told.into()
}

/// A year between words.
pub(super) static YEAR: Pattern = Pattern::new(&[&[DIGIT]], || {
    r"(?:^|[\w,] )((?:19|20)\d\d)(?:[ ?,.]|$)".into()
});

impl Reader<'_, '_> {
    /// `after 2023-05`, `in March 2026`, `between 1990 and 1995`.
    pub(super) fn dates(&mut self) {
        for found in DATED.captures_iter(self.question) {
            let (Some(whole), Some(one)) = (found.get(0), found.name("one")) else {
                continue;
            };
            let Some(first) = span(one.as_str()) else {
                continue;
            };
            let last = found.name("other").and_then(|other| span(other.as_str()));
            let word = found
                .name("word")
                .map_or("", |word| word.as_str())
                .to_lowercase();
            let or = found.name("or").map_or("", |or| or.as_str()).to_lowercase();
            let is_year = one.len() == 4;
            let sign = found.name("sign").map_or("", |sign| sign.as_str());
            // `votes > 2000` is about no year.
            if is_year && !sign.is_empty() && !self.is_date_named(one.start()) {
                continue;
            }
            // A number of four digits alone need not be a year.
            let tells = !["", "of", "for", "by", "on", "up to"].contains(&&*word);
            let tells = tells || !sign.is_empty();
            if self.is_taken(whole.start(), whole.end()) || is_year && last.is_none() && !tells {
                continue;
            }
            let word = match sign {
                "" => &*word,
                ">=" | "≥" => "since",
                "<=" | "≤" => "until",
                ">" => "after",
                "<" => "before",
                _ => "on",
            };
            let (start, end) = bounds(word, &or, first, last);
            let Some(column) = self.date_column(one.start(), is_year) else {
                self.years(one.start(), whole.end(), (start, end));
                continue;
            };
            let is_negated = self
                .words
                .iter()
                .position(|one| one.start >= whole.start())
                .is_some_and(|at| self.is_denied(at))
                || sign.starts_with('!');
            self.add(column, Test::Within(start, end), is_negated);
            self.take(whole.start(), whole.end());
        }
        self.any_year();
    }

    /// `in December`, `on 25 December`: a month or day of any year.
    fn any_year(&mut self) {
        for found in DAY.find_iter(self.question) {
            let lower = found.as_str().to_lowercase();
            let is_bound = ["since ", "until ", "before ", "after "]
                .iter()
                .any(|bound| lower.starts_with(bound));
            let mut words = lower.split(|c: char| !c.is_alphanumeric());
            let month = words.clone().find_map(month_of);
            let day = words.find_map(|word| {
                let digits = word.trim_end_matches(char::is_alphabetic);
                digits
                    .parse::<i64>()
                    .ok()
                    .filter(|day| (1..=31).contains(day))
            });
            let (Some(month), false) = (month, is_bound) else {
                continue;
            };
            let test = Test::Calendar(month, day);
            let column = self.date_column(found.start(), false);
            let column = column.filter(|&column| self.share(column, |cell| test.holds(cell)) > 0.0);
            if let Some(column) = column.filter(|_| !self.is_taken(found.start(), found.end())) {
                self.condition(column, test);
                self.take(found.start(), found.end());
            }
        }
    }

    /// `2010 months`: a year without a word that says so, if some records are of that year.
    pub(super) fn bare_years(&mut self) {
        let Some(year) = YEAR.captures(self.question).and_then(|found| found.get(1)) else {
            return;
        };
        let before = self
            .words_before(year.start(), 1)
            .next()
            .unwrap_or_default();
        let is_compared = ["than", "over", "above", "below", "under", "least", "most"];
        if self.is_taken(year.start(), year.end()) || is_compared.contains(&before) {
            return;
        }
        let span = span(year.as_str());
        let column = self.date_column(year.start(), true);
        let (Some(span), Some(column)) = (span, column) else {
            return;
        };
        let test = Test::Within(span.start, span.end);
        let share = self.share(column, |cell| test.holds(cell));
        if share > 0.0 && share < 1.0 {
            self.add_weak(column, test, false);
            self.take(year.start(), year.end());
        }
    }

    /// Adds the condition on a column of years that a span of years means.
    fn years(&mut self, start: usize, end: usize, span: (i64, i64)) {
        let is_year = |column: &usize| {
            self.is_numeric(*column) && self.columns[*column].iter().any(|stem| stem == "year")
        };
        let Some(column) = (0..self.columns.len()).find(is_year) else {
            return;
        };
        let year = |second| label(second, Unit::Year).parse().unwrap_or(0.0);
        if span.0 > i64::MIN {
            self.condition(column, Test::Number(Comparison::AtLeast, year(span.0)));
        }
        if span.1 < i64::MAX {
            self.condition(column, Test::Number(Comparison::AtMost, year(span.1 - 1)));
        }
        self.take(start, end);
    }

    /// Whether the words just before byte `at` name a column of dates, and no other column better.
    fn is_date_named(&self, at: usize) -> bool {
        const NEAR: usize = 24;
        let best = self.best_column(at, |column| {
            self.kinds[column].is_dated || self.is_numeric(column)
        });
        best.is_some_and(|column| {
            self.kinds[column].is_dated && self.naming(column, at, NEAR) > 0.0
        })
    }

    /// The column of dates that the words near byte `at` name best, or else the first one. A year
    /// belongs to a column of numbers if that is named and no column of dates is.
    fn date_column(&self, at: usize, is_year: bool) -> Option<usize> {
        const NEAR: usize = 40;
        let is_dated = |column: usize| self.kinds[column].is_dated;
        let best = self.best_column(at, is_dated);
        let named = best.map_or(0.0, |column| self.naming(column, at, NEAR));
        if is_year {
            let year = self.question.get(at..at + 4);
            let year: Option<f64> = year.and_then(|year| year.parse().ok());
            let numeric = |column: usize| {
                self.is_numeric(column)
                    && !is_dated(column)
                    && year.is_none_or(|year| self.reaches(column, year))
            };
            let numeric = self.best_column(at, numeric);
            if numeric.is_some_and(|column| self.naming(column, at, NEAR) > named) {
                return None;
            }
        }
        best.or_else(|| (0..self.columns.len()).find(|&column| is_dated(column)))
    }
}

/// Returns the first second that is meant and the one behind the last.
fn bounds(word: &str, or: &str, first: Span, last: Option<Span>) -> (i64, i64) {
    let is = |words: &[&str]| words.iter().any(|one| or.ends_with(one));
    if let Some(last) = last {
        return (first.start, last.end.max(first.end));
    }
    if is(&["later", "after", "newer", "onward", "onwards"]) {
        return (first.start, i64::MAX);
    }
    if is(&["earlier", "before", "older"]) {
        return (i64::MIN, first.end);
    }
    match word {
        "after" | "later than" | "newer than" | "more recent than" | "younger than" => {
            (first.end, i64::MAX)
        }
        "since" | "starting" | "on or after" | "not before" | "as of" => (first.start, i64::MAX),
        "before" | "earlier than" | "older than" | "prior to" => (i64::MIN, first.start),
        "until" | "till" | "up to" | "by" | "on or before" | "no later than" => {
            (i64::MIN, first.end)
        }
        _ => (first.start, first.end),
    }
}

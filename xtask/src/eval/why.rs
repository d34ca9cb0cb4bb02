//! Classes of missed questions, which tell nothing of a question or a page: how the page's reading of
//! the question differs from that of another wording that was answered, and how much is shown.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

use super::cases::{Case, Check, Half};
use super::judge::Page;

/// Counts misses by set, kind, half and class.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    counts: BTreeMap<(String, Half, Class), usize>,
}

/// Why a page misses: how the question was read, and how many of the wanted strings are shown.
type Class = (String, &'static str);

impl Reasons {
    /// Adds the misses of a case. `pages` has the page of each wording, `wide` the same with a far
    /// larger budget.
    pub(crate) fn add(
        &mut self,
        set: &str,
        case: &Case,
        check: &Check,
        pages: &[String],
        wide: &[String],
    ) {
        let answers = |text: &String| {
            let page = Page::new(text);
            page.score(&check.wanted, check.compare, check.measure) >= 1.0
        };
        let answered = pages.iter().find(|text| answers(text));
        let answered = answered.map(|text| Reading::of(text));
        for (text, wide) in pages.iter().zip(wide).filter(|(text, _)| !answers(text)) {
            let reading = Reading::of(text);
            let how = match &answered {
                Some(answered) => reading.difference(answered),
                None => format!("no wording answered; {}", reading.kind()),
            };
            let page = Page::new(text);
            let shown = check.wanted.iter();
            let shown = shown.filter(|forms| page.shows(forms, check.compare));
            let shown = match (answers(wide), shown.count()) {
                (true, _) => "a larger page shows all",
                (false, 0) => "none",
                (false, _) => "some",
            };
            let row = format!("{set} | {}", check.what);
            let count = self.counts.entry((row, case.half, (how, shown)));
            *count.or_default() += 1;
        }
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> String {
        let mut table = String::from(
            "| set | what is measured | half | reading | shown | misses |\n|---|---|---|---|---|---:|\n",
        );
        for ((row, half, (how, shown)), count) in &self.counts {
            let half = half.name();
            let _ = writeln!(table, "| {row} | {half} | {how} | {shown} | {count} |");
        }
        table
    }
}

/// How a page says that the question was read.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    has_table: bool,
    has_perhaps: bool,
    list: String,
    conditions: String,
    /// What is ordered by, grouped by or summed up, and which end comes first.
    result: String,
    end: String,
}

impl Reading {
    /// Reads the first line of the table of a page.
    fn of(page: &str) -> Self {
        static HEAD: LazyLock<Regex> = LazyLock::new(|| {
            let pattern = r"(?m)^\d+ of \d+ (?P<list>records|in \S+)(?: \(without [^)]*\))?(?: have (?P<conditions>[^;\n]*?))?(?:; (?P<result>[^\n]*?))?:?$";
            Regex::new(pattern).expect("invariant: the pattern compiles")
        });
        let has_perhaps = page.lines().any(|line| line.starts_with("Perhaps "));
        let Some(head) = HEAD.captures(page) else {
            return Self {
                has_perhaps,
                ..Self::default()
            };
        };
        let part = |name| head.name(name).map_or("", |part| part.as_str());
        let result = part("result");
        let ends = ["largest", "smallest", "most frequent", "least frequent"];
        let end = ends.iter().find(|end| result.contains(**end));
        let end = end.map_or("", |end| end);
        let number = |c: char| c.is_ascii_digit() || c == '.';
        Self {
            has_table: true,
            has_perhaps,
            list: part("list").to_owned(),
            conditions: part("conditions").to_owned(),
            result: result.replace(end, "").replace(number, ""),
            end: end.to_owned(),
        }
    }

    /// Says what kind of reading it is.
    fn kind(&self) -> String {
        match (self.has_table, self.has_perhaps) {
            (false, false) => return "no table".to_owned(),
            (false, true) => return "guesses only".to_owned(),
            (true, _) => {}
        }
        let result = match &*self.end {
            "" if self.result.is_empty() => "no order",
            "" => "figures",
            "largest" | "smallest" => "an order",
            _ => "groups",
        };
        let conditions = match &*self.conditions {
            "" => "no condition",
            conditions if conditions.contains(", ") => "conditions",
            _ => "a condition",
        };
        format!("{conditions}, {result}")
    }

    /// Says how it differs from the reading of another wording.
    fn difference(&self, other: &Self) -> String {
        if !self.has_table || !other.has_table {
            let (one, other) = (self.kind(), other.kind());
            return format!("{one}; in an answered wording {other}");
        }
        let parts = [
            ("list", self.list != other.list),
            ("end", self.end != other.end),
            ("result column", self.result != other.result),
        ];
        let mut parts: Vec<String> = parts
            .iter()
            .filter(|(_, differs)| *differs)
            .map(|(name, _)| format!("other {name}"))
            .collect();
        let count = |conditions: &str| match conditions {
            "" => 0,
            conditions => conditions.matches(", ").count() + 1,
        };
        let counts = (count(&self.conditions), count(&other.conditions));
        match counts.0.cmp(&counts.1) {
            std::cmp::Ordering::Less => parts.push("conditions not read".to_owned()),
            std::cmp::Ordering::Greater => parts.push("too many conditions".to_owned()),
            std::cmp::Ordering::Equal if self.conditions != other.conditions => {
                parts.push("other conditions".to_owned());
            }
            std::cmp::Ordering::Equal => {}
        }
        match parts.is_empty() {
            true => format!("same as in an answered wording ({})", self.kind()),
            false => format!("{} ({} of {})", parts.join(", "), self.kind(), other.kind()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_classified_without_its_words() {
        let cases = [
            ("1:nothing", "no table"),
            ("Perhaps by x: a 1", "guesses only"),
            (
                "3 of 9 in .[] have a = b, c > 1:\nx",
                "conditions, no order",
            ),
            (
                "9 of 9 records; largest size first:\nx",
                "no condition, an order",
            ),
            (
                "4 of 9 in .[] have a = b; 3 different c, most frequent first:",
                "a condition, groups",
            ),
            (
                "9 of 9 records; 9 values of c: sum 3:",
                "no condition, figures",
            ),
        ];
        for (page, kind) in cases {
            assert_eq!(Reading::of(page).kind(), kind, "{page}");
        }
    }

    #[test]
    fn readings_differ_in_lists_conditions_and_results() {
        let one = Reading::of("9 of 9 in .a[]; largest size first:");
        let cases = [
            (
                "9 of 9 in .a[]; largest size first:",
                "same as in an answered wording (no condition, an order)",
            ),
            (
                "9 of 9 in .a[]; smallest size first:",
                "other end (no condition, an order of no condition, an order)",
            ),
            (
                "2 of 9 in .a[] have x = y; largest age first:",
                "other result column, too many conditions (a condition, an order of no condition, an order)",
            ),
            (
                "3 of 3 in .b[]; largest size first:",
                "other list (no condition, an order of no condition, an order)",
            ),
            (
                "1:text",
                "no table; in an answered wording no condition, an order",
            ),
        ];
        for (page, expected) in cases {
            assert_eq!(Reading::of(page).difference(&one), expected, "{page}");
        }
    }
}

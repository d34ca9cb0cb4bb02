//! Reads comparisons: `more than 5`, `between 3 and 4`, `newer than 1.2.3`.

use regex::Captures;
use spillgate_text::is_year;

use super::cell::Cell;
use super::flags::BRACKETED;
use super::pattern::{DIGIT, Pattern};
use super::quantity::{bytes as bytes_of, quantity, seconds};
use super::reader::Reader;
use super::table::rounded;
use super::terms::{Word, alike, is_superlative, superlatives, superlatives_of};
use super::test::{Comparison, Test};
use super::version::Version;
use crate::words::is_stop_word;

/// A number or version of a question, and what it is multiplied by.
const NUMBER: &str = r"[$€£]?(?P<n>-?[0-9][0-9,]*(?:\.[0-9]+)*(?:e[0-9]+)?(?:-(?:alpha|beta|rc|pre|dev)[0-9a-z_.]*)?)(?:(?P<k>k|m)\b|\s?(?P<u>thousand|million|billion|bn|[kmg]i?b|(?:kilo|mega|giga)bytes?|%|(?:ms|millis(?:econds?)?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|[km]?g|[ckm]m)\b)?(?:\b|\s|$))";

const LARGER: &str = "more|greater|higher|larger|bigger|longer|stronger|deeper|better|later|newer|heavier|faster|taller|wider|further|farther|costlier";
const SMALLER: &str = "less|fewer|lower|smaller|shorter|cheaper|earlier|older|lighter|weaker|slower|shallower|younger|worse";

/// Texts of which one stands before a number, or more often begins a word there.
const BEFORE_WORDS: &[&str] = &[
    "least",
    "less",
    "fewer",
    "below",
    "minimum",
    "starting at",
    "from",
    ">",
    "≥",
    "most",
    "more than",
    "above",
    "over",
    "maximum",
    "up to",
    "<",
    "≤",
    "than",
    "exceed",
    "beyond",
    "after",
    "excess",
    " of",
    "under",
    "beneath",
    "before",
    "prior",
    "exactly",
    "equal",
    "precisely",
    "=",
];

/// Whether a word compares: `below`.
pub(super) fn compares(word: &str) -> bool {
    let adjectives = LARGER.split('|').chain(SMALLER.split('|'));
    adjectives
        .chain(BEFORE_WORDS.iter().copied())
        .any(|one| one == word)
}

/// A number that stands alone.
pub(super) static ALONE: Pattern = Pattern::new(&[&[DIGIT]], || format!(r"(?i)\b{NUMBER}").into());
/// Words before a number.
pub(super) static BEFORE: Pattern = Pattern::new(&[&[DIGIT], BEFORE_WORDS], || {
    let pattern = format!(
        concat!(
            r"(?i)(?:(?P<ge>\b(?:(?:{larger}) than or equal(?: to)?|at least|no less than|not less than|no fewer than|not below|a minimum of|minimum|starting at|from)|>=|≥)(?:\s+[a-z]+)?",
            r"|(?P<le>\b(?:(?:{smaller}) than or equal(?: to)?|at most|no more than|not more than|not above|not over|a maximum of|up to)|<=|≤)(?:\s+[a-z]+)?",
            r"|(?P<gt>\b(?:(?:{larger})(?:\s+[a-z]+)? than|over|above|exceed(?:s|ed|ing)?|beyond|after|in excess of|(?:north|east) of(?: [a-z]+)?)|>)",
            r"|(?P<lt>\b(?:(?:{smaller})(?:\s+[a-z]+)? than|under|below|beneath|before|prior to|(?:south|west) of(?: [a-z]+)?)|<)",
            r"|(?P<er>\b[a-z]{{3,}}er)(?:\s+[a-z]+)? than",
            r"|(?P<eq>\b(?:exactly|equals?|equal to|precisely)|==?))",
            r"\s*(?:version\s+|v|(?P<of>[a-z]+)\s+(?:of\s+)?)?{number}",
        ),
        larger = LARGER,
        smaller = SMALLER,
        number = NUMBER,
    );
    pattern.into()
});

/// Words behind a number.
pub(super) static BEHIND: Pattern = Pattern::new(&[&[DIGIT], &["+", "or", "and"]], || {
    let pattern = format!(
        concat!(
            r"(?i){number}(?:(?P<plus>\+)",
            r"|(?:\s*[a-z]+)?\s*(?:(?:or|and)\s+)(?:(?P<up>above|up|upwards?|over|{larger})",
            r"|(?P<down>below|under|down|{smaller}))\b)",
        ),
        larger = LARGER,
        smaller = SMALLER,
        number = NUMBER.replace("(?:\\b|\\s|$)", ""),
    );
    pattern.into()
});

/// A number of items, or a value that is told before its name: `with 0 labels`, `just 1 file`,
/// `has a 90 day notice`.
pub(super) static HAVING: Pattern = Pattern::new(
    &[&[DIGIT], &["has", "have", "having", "with", "just", "only"]],
    || {
        let pattern = format!(
            r"(?i)\b(?:has|have|having|with|just|only) (?:an? )?{NUMBER}[\s-]*(?P<name>[a-z]\w*)"
        );
        pattern.into()
    },
);

pub(super) static BETWEEN: Pattern = Pattern::new(&[&[DIGIT], &["between", "from"]], || {
    let number = |name: &str| {
        NUMBER
            .replace("(?P<n>", &format!("(?P<n{name}>"))
            .replace("(?P<k>", &format!("(?P<k{name}>"))
            .replace("(?P<u>", &format!("(?P<u{name}>"))
    };
    let pattern = format!(
        r"(?i)\b(?:between\s+{}\s*and\s+{}|from\s+{}\s*to\s+{})",
        number("1"),
        number("2"),
        number("3"),
        number("4"),
    );
    pattern.into()
});

/// A number of a question.
struct Asked<'q> {
    written: &'q str,
    value: f64,
    /// Bytes of a unit such as `MB`, or 1.
    unit: f64,
    /// The unit as it is written, such as `MB`.
    word: &'q str,
}

/// Words for units, and parts of the names of columns that they mean.
const UNITS: [(&str, &str); 9] = [
    ("degrees degree c f", "temp temperature"),
    (
        "ms milliseconds millisecond seconds second sec s minutes minute min mins hours hour h hrs days day",
        "duration elapsed latency took runtime uptime time ms seconds minutes hours days",
    ),
    ("years year", "age"),
    (
        "dollars dollar usd euros euro eur",
        "price cost amount budget fine fee value",
    ),
    (
        "bytes byte kb mb gb kib mib gib kilobytes megabytes gigabytes",
        "size bytes",
    ),
    (
        "km kilometers kilometres miles m meters metres",
        "distance depth length elevation height",
    ),
    ("kg lbs pounds grams g", "weight mass"),
    ("percent %", "percent pct percentage rate share"),
    ("times time", "count restarts retries attempts"),
];

impl<'q> Asked<'q> {
    /// Whether `m` behind the number stood for a million.
    fn is_million(&self) -> bool {
        self.word.eq_ignore_ascii_case("m")
    }

    /// Returns the number in the groups `n`, `k` and `u` with a suffix.
    fn new(found: &Captures<'q>, suffix: &str) -> Option<Self> {
        let group = |name: &str| found.name(&format!("{name}{suffix}"));
        let written = group("n")?.as_str().trim_end_matches([',', '.']);
        let plain = written.replace(',', "");
        // Of a version, the first two numbers are a value.
        let signs = plain.match_indices(['.', '-']).filter(|(at, _)| *at > 0);
        let end = signs.map(|(at, _)| at).nth(1);
        let value: f64 = plain[..end.unwrap_or(plain.len())].parse().ok()?;
        let word = group("k").or(group("u"));
        let word = word.map_or("", |word| word.as_str());
        let (times, unit) = match &*word.to_lowercase() {
            "k" | "thousand" => (1e3, 1.0),
            "m" | "million" => (1e6, 1.0),
            "billion" | "bn" => (1e9, 1.0),
            "kb" | "kib" | "kilobyte" | "kilobytes" => (1.0, 1024.0),
            "mb" | "mib" | "megabyte" | "megabytes" => (1.0, 1024.0 * 1024.0),
            "gb" | "gib" | "gigabyte" | "gigabytes" => (1.0, 1024.0 * 1024.0 * 1024.0),
            _ => (1.0, 1.0),
        };
        Some(Self {
            written,
            value: value * times,
            unit,
            word,
        })
    }
}

/// Returns how an adjective compares, as its superlative says: `hotter` asks for more.
fn larger_or_smaller(adjective: &str) -> Option<Comparison> {
    let adjective = adjective.to_lowercase();
    let superlative = format!("{}est", adjective.strip_suffix("er")?);
    let is_descending = superlatives(&superlative).first()?.is_descending;
    Some(match is_descending {
        true => Comparison::MoreThan,
        false => Comparison::LessThan,
    })
}

/// Returns the numbers of a question that no condition has read, each with the byte at which it
/// begins.
pub(super) fn unread_numbers(reader: &Reader<'_, '_>) -> impl Iterator<Item = (f64, usize)> {
    ALONE.captures_iter(reader.question).filter_map(|found| {
        let whole = found.get(0)?;
        let is_count = |at: usize| reader.is_count(at);
        let at = (reader.words.iter()).position(|word| word.start >= whole.start())?;
        let is_read = reader.is_taken(whole.start(), whole.end()) || is_count(at);
        let number = Asked::new(&found, "").filter(|_| !is_read)?;
        Some((number.value * number.unit, whole.start()))
    })
}

impl Reader<'_, '_> {
    /// `more than 5`, `8.2 or higher`, `between 3 and 4`, `newer than 1.2.3`.
    pub(super) fn comparisons(&mut self) {
        for found in BETWEEN.captures_iter(self.question) {
            let first = if found.name("n1").is_some() {
                ["1", "2"]
            } else {
                ["3", "4"]
            };
            let [low, high] = first.map(|suffix| Asked::new(&found, suffix));
            if let (Some(low), Some(high)) = (low, high) {
                let both = [(Comparison::AtLeast, &low), (Comparison::AtMost, &high)];
                self.compare(&both, &found);
            }
        }
        let mut from = 0;
        while let Some(found) = BEFORE
            .on(self.question)
            .and_then(|before| before.captures_at(self.question, from))
        {
            let whole = found.get(0).map_or(0..0, |whole| whole.range());
            from = whole.end;
            // `below magnitude 4.5`, but not `after May 4`.
            let names = |of: regex::Match<'_>| {
                let mut words = self.words.iter();
                let word = words.find(|word| word.start == of.start());
                word.is_some_and(|word| self.names_column(word))
            };
            if let Some(of) = found.name("of").filter(|of| !names(*of)) {
                // `minimum temperature below 0`
                from = of.start();
                continue;
            }
            let comparison = match () {
                () if found.name("ge").is_some() => Comparison::AtLeast,
                () if found.name("le").is_some() => Comparison::AtMost,
                () if found.name("gt").is_some() => Comparison::MoreThan,
                () if found.name("lt").is_some() => Comparison::LessThan,
                () => match found.name("er").map(|er| larger_or_smaller(er.as_str())) {
                    Some(Some(comparison)) => comparison,
                    Some(None) => continue,
                    None => Comparison::Equal,
                },
            };
            // `80% and up` stands behind the number.
            let end = whole.end;
            let goes_on = BEHIND.on(self.question).and_then(|behind| {
                let from = found.name("n").map_or(end, |n| n.start());
                behind.find_at(self.question, from)
            });
            let is_from = found[0].to_lowercase().starts_with("from");
            if is_from && goes_on.is_some_and(|next| next.start() <= end) {
                continue;
            }
            if let Some(number) = Asked::new(&found, "") {
                self.compare(&[(comparison, &number)], &found);
            }
        }
        for found in HAVING.captures_iter(self.question) {
            if let Some(number) = Asked::new(&found, "") {
                self.items(&number, &found);
            }
        }
        for found in BEHIND.captures_iter(self.question) {
            let comparison = match found.name("down") {
                Some(_) => Comparison::AtMost,
                None => Comparison::AtLeast,
            };
            if let Some(number) = Asked::new(&found, "") {
                self.compare(&[(comparison, &number)], &found);
            }
        }
    }

    /// `negative`, `positive`: the sign of a column with numbers of both signs.
    pub(super) fn signs(&mut self) {
        for at in 0..self.words.len() {
            let comparison = match &*self.words[at].lower {
                "positive" => Comparison::MoreThan,
                "negative" => Comparison::LessThan,
                _ => continue,
            };
            let below = Test::Number(Comparison::LessThan, 0.0);
            let has_both = |column: usize| {
                let share = self.share(column, |cell| below.holds(cell));
                self.is_numeric(column) && share > 0.0 && share < 1.0
            };
            let (start, end) = (self.words[at].start, self.words[at].end);
            let column = self.best_column(start, has_both);
            if let Some(column) = column.filter(|_| !self.taken[at]) {
                self.add_weak(column, Test::Number(comparison, 0.0), false);
                self.take(start, end);
            }
        }
    }

    /// `with 0 labels`: how many items the list has that the word behind a number names, or what is
    /// in its column. `only 3 files` tells how many are asked for if there is an order.
    fn items(&mut self, asked: &Asked<'_>, found: &Captures<'_>) {
        let (Some(whole), Some(name)) = (found.get(0), found.name("name")) else {
            return;
        };
        let next = self.words.iter().find(|word| word.start >= name.start());
        // `has 5 comments or more` compares.
        let goes_on = BEHIND.on(self.question).and_then(|behind| {
            let number = found.name("n")?.start();
            behind.find_at(self.question, number)
        });
        let goes_on = goes_on.is_some_and(|next| next.start() <= name.start());
        if goes_on || self.words.iter().any(|word| is_superlative(&word.lower)) {
            return;
        }
        let stems = |column: &usize| &self.columns[*column];
        let is_list = |column: &usize| {
            let is_count = self.has_lists(*column)
                || self.is_numeric(*column) && self.may_be_measured(*column);
            is_count
                && next.is_some_and(|next| stems(column).iter().any(|stem| alike(&next.stem, stem)))
        };
        let column = (0..self.columns.len()).find(is_list);
        if let Some(column) = column.filter(|_| !self.is_taken(whole.start(), whole.end())) {
            self.condition(column, Test::Number(Comparison::Equal, asked.value));
            self.take(whole.start(), whole.end());
        }
    }

    /// Adds conditions on the column that the words near a comparison name.
    fn compare(&mut self, asked: &[(Comparison, &Asked<'_>)], found: &Captures<'_>) {
        let Some(whole) = found.get(0) else { return };
        if self.is_taken(whole.start(), whole.end()) {
            return;
        }
        let is_version = |asked: &Asked<'_>| Version::new(asked.written).is_some();
        if let [(comparison, one)] = asked
            && one.word.is_empty()
            && let Some(number) = found.name("n")
            && self.times((whole.start(), number.end()), *comparison, one.value)
        {
            return;
        }
        if let [(comparison, one)] = asked
            && self.counted_before(whole.start(), *comparison, one.value)
        {
            self.take(whole.start(), whole.end());
            return;
        }
        let are_versions = asked.iter().all(|(_, asked)| is_version(asked));
        let has_parts = asked.iter().any(|(_, asked)| {
            asked.written.matches('.').count() > 1 || asked.written[1..].contains('-')
        });
        // No list has 3.5 items.
        let are_whole = asked.iter().all(|(_, asked)| asked.value.fract() == 0.0);
        let fit = |column: usize| {
            let kind = self.kinds[column];
            match has_parts {
                true => kind.is_version,
                false if self.collection.is_in_map(column) => false,
                false => {
                    kind.is_numeric && self.may_be_measured(column) && self.varies(column)
                        || kind.has_lists && are_whole
                        || kind.is_version && are_versions
                }
            }
        };
        let fit_columns: Vec<usize> = (0..self.columns.len()).filter(|&at| fit(at)).collect();
        let only = match fit_columns[..] {
            [only] => Some(only),
            _ => None,
        };
        let year = self.column_of_year(whole.start(), whole.end());
        // `American Indian (percamerindan)`
        let in_brackets = || {
            let mut names = BRACKETED.captures_iter(self.question);
            let column = names.find_map(|found| self.column_called(found.get(1)?.as_str()));
            column.filter(|&column| fit(column))
        };
        let best = year
            .or_else(in_brackets)
            .or_else(|| self.told_before(whole.start(), whole.as_str(), fit));
        let best = best.or_else(|| self.directly_behind(whole.start(), whole.end(), fit));
        let best = best.or_else(|| self.best_column(whole.start(), fit));
        if best.is_none()
            && let [(comparison, one)] = asked
            && let Some((column, stem)) = self.said_near(whole.start(), whole.end())
        {
            self.condition(column, Test::Said(stem, *comparison, one.value));
            self.take(whole.start(), whole.end());
            return;
        }
        let best = best
            .or_else(|| self.meant(whole.as_str(), &fit_columns))
            .or_else(|| self.meant_before(whole.start(), &fit_columns))
            .or_else(|| self.of_unit(found, asked, &fit_columns))
            .or(only);
        let best = best
            .or_else(|| self.column_of_number(asked[0].1.written))
            .or_else(|| self.around(asked[0].1.value, &fit_columns));
        // `Python 3.11 or newer` is the requirement `>=3.11`.
        if let [(Comparison::AtLeast, asked)] = asked
            && let Some((column, test)) = self.requirement(&format!(">={}", asked.written))
            && let test =
                Version::new(asked.written).map_or(test, |_| Test::Needs(asked.written.to_owned()))
            && (best.is_none() || self.named_just_before(column, whole.start()).is_some())
        {
            self.condition(column, test);
            self.take(whole.start(), whole.end());
            return;
        }
        let Some(column) = best else { return };
        for (comparison, asked) in asked {
            let comparison = match self.reversed(column, &whole.as_str().to_lowercase()) {
                Some(other) => other,
                None => *comparison,
            };
            let test = if self.kinds[column].is_version && is_version(asked) {
                Test::Version(comparison, asked.written.to_owned())
            } else {
                let number = self.in_unit(column, asked);
                self.decimal(column, asked, number);
                Test::Number(comparison, number)
            };
            let is_negated = self
                .words_before(whole.start(), 1)
                .any(|word| word == "not");
            self.add(column, test, is_negated);
        }
        self.take(whole.start(), whole.end());
    }

    /// Notes what a size is in thousands instead of 1,024s, if that differs.
    fn decimal(&mut self, column: usize, asked: &Asked<'_>, number: f64) {
        let unit = bytes_of(asked.word).filter(|_| asked.unit > 1.0 && number >= asked.unit);
        let other = unit.map(|unit| asked.value * unit);
        if let Some(other) = other.filter(|other| other.total_cmp(&number).is_ne()) {
            self.plan.decimal.push((column, number, other));
        }
    }

    /// The column that the word behind a number names, unless the words before the comparison end
    /// with the name of one: `books with fewer than 110 pages`, but `pages below 110 in books`.
    fn directly_behind(
        &self,
        start: usize,
        end: usize,
        fit: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let names = |word: &Word, column: usize| {
            fit(column) && (self.columns[column].iter()).any(|stem| alike(&word.stem, stem))
        };
        let any = |word: &Word| (0..self.columns.len()).any(|column| names(word, column));
        let behind = self.words.iter().find(|word| word.start >= end)?;
        let before = self.words.iter().rev().find(|word| word.end <= start);
        // A comparison that goes on has its name behind it: `10 or more pages`.
        if before.is_some_and(any) || is_stop_word(&behind.lower) {
            return None;
        }
        self.best_column(behind.start, |column| names(behind, column))
    }

    /// The column with the name of a year that the question tells outside of the comparison: `above 5.9
    /// in 2011`.
    fn column_of_year(&self, start: usize, end: usize) -> Option<usize> {
        let outside = |word: &&Word| word.end <= start || word.start >= end;
        let words = self.words.iter().filter(outside);
        let years = words.filter(|word| is_year(&word.lower));
        let column = |word: &Word| {
            let mut columns = self.collection.columns.iter();
            columns.position(|name| *name == word.lower)
        };
        let known = years.filter_map(|word| Some((word.start.abs_diff(start), column(word)?)));
        known.min().map(|(_, column)| column)
    }

    /// The column that an adjective means: `longer than` a duration.
    fn meant(&self, asked: &str, fit: &[usize]) -> Option<usize> {
        let adjective = asked.split_whitespace().next()?.to_lowercase();
        let superlative = format!("{}est", adjective.strip_suffix("er")?);
        superlatives(&superlative)
            .iter()
            .find_map(|sense| self.first_of(sense.means, fit))
    }

    /// The column that the word just before a comparison names: `lowest rating, votes > 20000`, `wind
    /// above 11 and minimum temperature below 0`. A list is meant only before a sign.
    fn told_before(&self, at: usize, found: &str, fit: impl Fn(usize) -> bool) -> Option<usize> {
        let is_sign = found.starts_with(['<', '>', '=', '≥', '≤']);
        let before = self.words.iter().rev().find(|word| word.end <= at)?;
        let is_next = self.question[before.end..at].trim().is_empty();
        let names = |column: usize| {
            fit(column)
                && (is_sign || !self.has_lists(column))
                && self.columns[column]
                    .iter()
                    .any(|stem| alike(&before.stem, stem))
        };
        self.best_column(at, names).filter(|_| is_next)
    }

    /// The column that an adjective shortly before byte `at` means: `strong events (5.0 and above)`.
    fn meant_before(&self, at: usize, fit: &[usize]) -> Option<usize> {
        const REACH: usize = 3;
        let senses = (self.words_before(at, REACH)).flat_map(superlatives_of);
        let mut means = senses
            .map(|sense| sense.means)
            .filter(|means| !means.is_empty());
        means.find_map(|means| self.first_of(means, fit))
    }

    /// The first of some columns whose name has one of the words that are meant.
    fn first_of(&self, means: &str, columns: &[usize]) -> Option<usize> {
        let is_meant = |column: usize| {
            let stems = &self.columns[column];
            let mut means = means.split_ascii_whitespace();
            means.any(|meant| stems.iter().any(|stem| alike(meant, stem)))
        };
        columns.iter().copied().find(|&column| is_meant(column))
    }

    /// The column that the unit behind a number means: `34 degrees`, `600 ms`.
    fn of_unit(
        &self,
        found: &Captures<'_>,
        asked: &[(Comparison, &Asked<'_>)],
        fit: &[usize],
    ) -> Option<usize> {
        let [(comparison, Asked { word: unit, .. }), ..] = asked else {
            return None;
        };
        let numbers = ["n", "n2", "n4"];
        let end = numbers.iter().find_map(|name| found.name(name))?.end();
        let behind = self.words.iter().find(|word| word.start >= end);
        let units = [
            &*unit.to_lowercase(),
            behind.map_or("", |word| &*word.lower),
        ];
        let is_unit = |names: &str| names.split(' ').any(|name| units.contains(&name));
        let mut known = UNITS.iter().filter(|(names, _)| is_unit(names));
        let column = known.find_map(|(_, means)| self.first_of(means, fit))?;
        // `below 0 degrees` is about the minimum.
        let is_below = matches!(comparison, Comparison::LessThan | Comparison::AtMost);
        let (one, other) = if is_below {
            ("max", "min")
        } else {
            ("min", "max")
        };
        let name = &self.collection.columns[column];
        let opposite = name.contains(one).then(|| name.replace(one, other));
        let opposite = opposite.and_then(|name| {
            let mut fit = fit.iter().copied();
            fit.find(|&column| self.collection.columns[column] == name)
        });
        Some(opposite.unwrap_or(column))
    }

    /// The only column whose values reach from below a number to above it.
    fn around(&self, number: f64, fit: &[usize]) -> Option<usize> {
        let is_around = |&column: &usize| self.reaches(column, number);
        let mut around = fit.iter().copied().filter(is_around);
        let first = around.next()?;
        around.next().is_none().then_some(first)
    }

    /// Whether the values of a column reach from below a number to above it.
    pub(super) fn reaches(&self, column: usize, number: f64) -> bool {
        let cells = (self.collection.records.iter()).filter_map(|record| record.get(column));
        let numbers = cells
            .filter(|cell| !cell.is_list())
            .filter_map(Cell::number);
        let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
            (low.min(one), high.max(one))
        });
        self.kinds[column].is_usual && low <= number && number <= high
    }

    /// `older than 30` asks for more of an age, but for less of a year; `slower than 30` for more of
    /// a duration, but for less of a speed.
    fn reversed(&self, column: usize, asked: &str) -> Option<Comparison> {
        let means = |names: &[&str]| {
            let mut stems = self.columns[column].iter();
            stems.any(|stem| names.contains(&&**stem))
        };
        let is_age = means(&["age"]);
        let is_time = means(&[
            "durat", "elaps", "latenc", "time", "took", "delay", "ms", "second",
        ]);
        match asked.split_whitespace().next()? {
            "older" if is_age => Some(Comparison::MoreThan),
            "younger" if is_age => Some(Comparison::LessThan),
            "slower" if is_time => Some(Comparison::MoreThan),
            "faster" if is_time => Some(Comparison::LessThan),
            _ => None,
        }
    }

    /// Returns how many seconds the unit of a column of times is: as its name says, or 1 if its
    /// values have units.
    fn unit_of_time(&self, column: usize) -> Option<f64> {
        const NAMES: [(&str, f64); 5] = [
            ("ms msec milli millisecond", 1e-3),
            ("s sec second", 1.0),
            ("min minut", 60.0),
            ("h hr hour", 3600.0),
            ("day", 86_400.0),
        ];
        let mut texts = self.collection.records.iter();
        let first = texts.find_map(|record| match record.get(column)? {
            Cell::Text(text) => Some(quantity(text).is_some()),
            _ => None,
        });
        let stems = &self.columns[column];
        let has = |names: &str| {
            let mut names = names.split(' ');
            names.any(|name| stems.iter().any(|stem| stem == name))
        };
        if first == Some(true) {
            return Some(1.0);
        }
        let named = NAMES.iter().find(|(names, _)| has(names)).map(|one| one.1);
        named.or_else(|| self.are_seconds(column).then_some(1.0))
    }

    /// Whether a column whose name tells no unit has durations in seconds: no milliseconds are so small
    /// and have so many digits.
    fn are_seconds(&self, column: usize) -> bool {
        const NAMES: [&str; 4] = ["durat", "elaps", "latenc", "runtim"];
        let is_time = self.columns[column]
            .iter()
            .any(|stem| NAMES.contains(&&**stem));
        let is_small = |cell: &Cell<'_>| {
            let number = cell.number();
            number.is_some_and(|number| number < 1.0 && number.fract() != 0.0)
        };
        is_time && self.share(column, is_small) > 0.5
    }

    /// Returns a number in the unit of a column. `10 MB` are bytes, unless the column's name has
    /// another unit or none of its values is so large; `2 minutes` are 120,000 in a column of
    /// milliseconds.
    fn in_unit(&self, column: usize, asked: &Asked<'_>) -> f64 {
        if let Some(seconds) = seconds(asked.word).filter(|_| !asked.is_million())
            && let Some(unit) = self.unit_of_time(column)
        {
            return rounded(asked.value * seconds / unit);
        }
        if let Some(factor) = self.metric(column, asked.word) {
            return rounded(asked.value * factor);
        }
        let bytes = asked.value * asked.unit;
        let has = |stem: &str| self.columns[column].iter().any(|one| one == stem);
        if asked.unit <= 1.0 {
            return bytes;
        }
        if has("kb") || has("kib") {
            return bytes / 1024.0;
        }
        if has("mb") || has("mib") {
            return bytes / 1024.0 / 1024.0;
        }
        let mut cells = (self.collection.records.iter()).filter_map(|record| record.get(column));
        let is_text = cells
            .next()
            .is_some_and(|cell| matches!(cell, Cell::Text(_)));
        if let Some(unit) = bytes_of(asked.word).filter(|_| is_text) {
            return asked.value * unit;
        }
        let reaches = |least: f64| {
            let is_large = |cell: &Cell<'_>| cell.number().is_some_and(|one| one >= least);
            self.share(column, is_large) > 0.0
        };
        // A column without a unit may be one of bytes or of thousands of them.
        let units = [bytes, bytes / 1024.0];
        let large = (units.into_iter()).find(|&least| least > asked.value && reaches(least));
        large.unwrap_or(asked.value)
    }

    /// Returns how many of a column's unit of mass or length, which its name tells, a unit is.
    fn metric(&self, column: usize, unit: &str) -> Option<f64> {
        const MASS: [(&str, f64); 3] = [("mg", 1e-3), ("g", 1.0), ("kg", 1e3)];
        const LENGTH: [(&str, f64); 4] = [("mm", 1e-3), ("cm", 1e-2), ("m", 1.0), ("km", 1e3)];
        let of_column = self.columns[column].last()?;
        let unit = unit.to_lowercase();
        let factor = |units: &[(&str, f64)]| {
            let size = |name: &str| units.iter().find(|one| one.0 == name).map(|one| one.1);
            Some(size(&unit)? / size(of_column)?)
        };
        // `5 m` may be five millions.
        let is_known = unit != "m";
        factor(&MASS)
            .or_else(|| factor(&LENGTH))
            .filter(|_| is_known)
    }

    /// The numeric column in which a number with a fraction occurs most often as it is written.
    fn column_of_number(&self, written: &str) -> Option<usize> {
        if !written.contains('.') {
            return None;
        }
        let times = |column: usize| {
            let records = self.collection.records.iter();
            let cells = records.filter_map(|record| record.get(column));
            let held = cells.filter(|cell| cell.is_number() && cell.any(|text| text == written));
            held.count()
        };
        let columns = (0..self.columns.len()).filter(|&column| self.is_numeric(column));
        let columns = columns.map(|column| (times(column), std::cmp::Reverse(column)));
        let best = columns.max()?;
        (best.0 > 0).then_some(best.1.0)
    }
}

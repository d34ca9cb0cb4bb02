//! Reads conditions that are written as in a program: `charset != "UTF-8"`, `name like "H%"`,
//! `capital == []`.

use regex::Captures;

use super::pattern::Pattern;
use super::reader::Reader;
use super::terms::squeezed;
use super::test::Test;
use crate::words::Stems;

/// What stands around a quoted text.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// A comparison with a sign.
pub(super) static SIGNED: Pattern = Pattern::new(&[&["=", "~", "<>", "≠"]], || {
    r#"(?i)(?P<name>\w[\w.$-]*)\s*(?:(?P<unlike>!==?|<>|≠|!~)|={1,3}~?|~)\s*(?P<value>"[^"]*"|'[^']*'|`[^`]*`|\[\s*\]|\{\s*\}|[^\s,;()"'`=<>~]+)"#.into()
});
/// A comparison of a part with a quoted text. Without a name, it is about the column before.
pub(super) static WORDED: Pattern = Pattern::new(
    &[
        &["like", "contain", "includ", "start", "begin", "end"],
        &["\"", "'", "`"],
    ],
    || {
        r#"(?i)(?P<unlike>\bnot\s+)?(?:\b(?P<name>\w[\w.$-]*)\s+)?(?P<not>\b(?:(?:(?:does|do|is)\s+)?not|doesn['’]t|isn['’]t)\s+)?\b(?:(?P<part>like|contain(?:s|ing)?|includ(?:es?|ing))|(?P<start>(?:start|begin)s?\s?with)|(?P<end>ends?\s?with))\s*\(?\s*(?P<value>"[^"]+"|'[^']+'|`[^`]+`)"#.into()
    },
);
/// A further value behind one: `or "b"`, `, or video/`.
pub(super) static FURTHER: Pattern = Pattern::new(&[&["or", "|", ","]], || {
    r#"(?i)^\s*(?:,\s*(?:or\s+)?|or\s+|\|\|?\s*)(?P<value>"[^"]*"|'[^']*'|`[^`]*`|[^\s"'`,?()|]+)"#
        .into()
});

/// Returns a text without its quotes.
pub(super) fn unquoted(text: &str) -> &str {
    text.trim_matches(QUOTES)
}

/// The part of a pattern such as `H%` or `*.so` that a value must have.
fn like(text: &str) -> Test {
    let is_any = ['%', '*'];
    let part = text.trim_matches(is_any);
    match (text.starts_with(is_any), text.ends_with(is_any)) {
        (false, true) => Test::Begins(vec![part.to_owned()]),
        (true, false) => Test::Suffix(part.to_owned()),
        _ => Test::Contains(part.to_owned()),
    }
}

/// What a value must have at its start, at its end or anywhere.
fn part_of(found: &Captures<'_>, text: &str) -> Test {
    match () {
        () if found.name("start").is_some() => Test::Begins(vec![text.to_owned()]),
        () if found.name("end").is_some() => Test::Suffix(text.to_owned()),
        () => like(text),
    }
}

impl Reader<'_, '_> {
    /// `charset != "UTF-8"`, `name like "H%" and contains "a"`.
    pub(super) fn expressions(&mut self) {
        let question = self.question;
        let signed = SIGNED.captures_iter(question).map(|found| (found, true));
        let worded = WORDED.captures_iter(question).map(|found| (found, false));
        let mut all: Vec<(Captures<'_>, bool)> = signed.chain(worded).collect();
        let span = |found: &Captures<'_>| found.get(0).map_or(0..0, |whole| whole.range());
        all.sort_by_key(|(found, _)| span(found).start);
        let mut last = None;
        for (found, is_signed) in all {
            let name = found.name("name").map_or("", |name| name.as_str());
            let before = last.filter(|_| !is_signed);
            let Some(column) = self.column_called(name).or(before) else {
                continue;
            };
            let Some(value) = found.name("value") else {
                continue;
            };
            let range = span(&found);
            let (test, is_flipped, end) = match is_signed {
                true => match self.compared(column, value.as_str(), range.end) {
                    Some(compared) => compared,
                    None => continue,
                },
                false => (part_of(&found, unquoted(value.as_str())), false, range.end),
            };
            if test != Test::Present && self.share(column, |cell| test.holds(cell)) <= 0.0 {
                continue;
            }
            let is_unlike = found.name("unlike").is_some() != found.name("not").is_some();
            self.add(column, test, is_unlike != is_flipped);
            self.take(range.start, end);
            self.spans_taken.push((range.start, end));
            last = Some(column);
        }
    }

    /// The column with this name, or with this last step of its name.
    pub(super) fn column_called(&self, name: &str) -> Option<usize> {
        let name = squeezed(name);
        let is_whole = |column: &String| squeezed(column) == name;
        let is_last = |column: &String| squeezed(column.rsplit('.').next().unwrap_or("")) == name;
        let columns = &self.collection.columns;
        let whole = columns.iter().position(is_whole);
        let last = || columns.iter().position(is_last);
        // `severity` for `issue_severity`, if no other column ends so.
        let stemmed = Stems::new().stem(&name);
        let ends = || {
            let is_end = |column: &usize| {
                let stems = &self.columns[*column];
                stems.len() > 1 && stems.last().is_some_and(|stem| *stem == stemmed)
            };
            let mut all = (0..columns.len()).filter(is_end);
            all.next().filter(|_| all.next().is_none())
        };
        whole
            .or_else(last)
            .or_else(ends)
            .filter(|_| !name.is_empty())
    }

    /// What a value behind a sign asks for, whether it must not hold, and where the last value ends;
    /// `None` for numbers, which are read as such.
    fn compared(&self, column: usize, value: &str, end: usize) -> Option<(Test, bool, usize)> {
        let is_quoted = value.starts_with(QUOTES);
        let text = match is_quoted {
            true => unquoted(value),
            false => value.trim_end_matches(['.', '?']),
        };
        let is_value = |text: &str| {
            let test = Test::Is(vec![text.to_owned()]);
            self.share(column, |cell| test.holds(cell)) > 0.0
        };
        let is_nothing = ["null", "none", "undefined", "nil"].contains(&&*text.to_lowercase());
        if text.is_empty() || text.starts_with(['[', '{']) || is_nothing && !is_value(text) {
            return Some((Test::Present, true, end));
        }
        match &*text.to_lowercase() {
            "true" => return Some((Test::True, false, end)),
            // Unlike `not compressible`, this does not hold for records without the flag.
            "false" if is_value("false") => {
                return Some((Test::Is(vec!["false".to_owned()]), false, end));
            }
            "false" => return Some((Test::True, true, end)),
            _ => {}
        }
        if !is_quoted && text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return None;
        }
        if !is_value(text) && text.contains(['%', '*']) {
            return Some((like(text), false, end));
        }
        let (mut texts, mut end) = (vec![text.to_owned()], end);
        while let Some(found) = FURTHER.captures(&self.question[end..])
            && let Some(value) = found.name("value")
            && is_value(unquoted(value.as_str()))
        {
            texts.push(unquoted(value.as_str()).to_owned());
            end += value.end();
        }
        Some((Test::Is(texts), false, end))
    }
}

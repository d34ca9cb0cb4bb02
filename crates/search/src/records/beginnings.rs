//! Reads beginnings and patterns: `starting with windows-`, `under /nutlink/`, `19.2.x`.

use super::expressions::{FURTHER, unquoted};
use super::pattern::Pattern;
use super::reader::Reader;
use super::test::Test;

pub(super) static BEGINNING: Pattern = Pattern::new(
    &[&[
        "start",
        "begin",
        "under",
        "below",
        "first letter",
        "first character",
        "initial letter",
        "initial character",
    ]],
    || {
        r#"(?i)\b(?:start(?:s|ing)?|begin(?:s|ning)?)\s+(?:with|by)\s+(?:an? |the )?(?:(?:letters?|prefix|word|string)\s+)?["'`]?([^\s"'`,?()]+)|\b(?:under|below|start(?:s|ing)|begin(?:s|ning))\s+(/[^\s?,]+|[\w.]+-)(?:[?.,]|\s|$)|\b(?:start(?:s|ing)|begin(?:s|ning))\s+((?-i:\p{Lu}\w+))|\b(?:first|initial) (?:letter|character)\s+(?:is\s+|of\s+|=\s*)?(?:an?\s+)?["'`]?(\w)\b|\b(\w)["'`]? as (?:the|its|their|an?)?\s?(?:first|initial) (?:letter|character)"#.into()
    },
);
/// `num*`, `/txs/...`, `19.2.x`.
pub(super) static PATTERN: Pattern = Pattern::new(&[&["*", "...", "…", ".x"]], || {
    r"(?:^|[\s(])([\w/.@-]*[\w/@-])(?:\*|\.\.\.|…|\.x\b)".into()
});

/// `ending in .so`, `*.so`.
pub(super) static ENDING: Pattern = Pattern::new(&[&["end", "*", "finish"]], || {
    r#"(?i)\b(?:end(?:s|ing)?|endswith|finish(?:es|ing)?)\s+(?:(?:with|in|on|by)\s+)?(?:an? |the )?["'`]([^"'`]+)["'`]|\b(?:end(?:s|ing)?|endswith|finish(?:es|ing)?)\s+(?:with|in|on|by)\s+(?:an? |the )?(?:(?P<mark>question|exclamation) mark|([^\s"'`,?()]+|[?!]))|\b(?:end(?:s|ing)?|finish(?:es|ing)?)\s+(?P<name>(?-i:\p{Lu}\w+))|(?:^|[\s("'`])\*([.\w-]+)(?:[\s"'`?,)]|$)"#.into()
});

/// `requires_python containing 3.11`, with the name of a column before it.
pub(super) static CONTAINING: Pattern = Pattern::new(&[&["contain", "includ", "mention"]], || {
    r#"(?i)(?P<name>[\w.-]+) (?:string |text |that )?(?:contain|include|including|mention)(?:s|ing)?\s+["'`]?(?P<part>[^\s"'`,?()]+)"#.into()
});
/// `with University in their name`, with the name of a column behind it.
pub(super) static WITHIN: Pattern = Pattern::new(&[&[" in "]], || {
    r#"(?i)\b(?:ha(?:s|ve|ving)|with|contain(?:s|ing)?|includ(?:es?|ing)|mention(?:s|ing)?)\s+(?:the (?:word|text|string) )?(?:"(?P<quoted>[^"]{1,40})"|["'`~]?(?P<part>(?-i:\p{Lu}[\w.-]*(?: \p{Lu}[\w.-]*){1,4})|[\w.-]+)["'`]?)(?: anywhere| somewhere)? in (?:it\b|(?:its|their|the|his|her)(?: own)? (?P<name>\w+))"#.into()
});

impl Reader<'_, '_> {
    /// `requires_python containing 3.11`.
    pub(super) fn containing(&mut self) {
        let found = CONTAINING.captures(self.question);
        let Some(found) = found.or_else(|| WITHIN.captures(self.question)) else {
            return;
        };
        let Some(part) = found.name("part").or(found.name("quoted")) else {
            return;
        };
        let Some(name) = found.name("name").filter(|_| !self.is_unnamed()) else {
            self.inside(part.as_str(), part.start());
            return;
        };
        let text = part.as_str().trim_end_matches('.');
        let word = |at: usize| self.words.iter().find(|word| word.start == at);
        let column = self.column_called(name.as_str());
        // `files contain a function` is not about the names of the files.
        let is_last = |column: &usize| {
            let stem = word(name.start()).map(|word| &word.stem);
            self.columns[*column].last() == stem
        };
        let column = column.or_else(|| match name.start() > part.start() {
            true => Some(self.named_by(&[word(name.start())?])?.0),
            false => (0..self.columns.len()).find(is_last),
        });
        let Some(column) = column else { return };
        if self.has_lists(column) && self.listed(column, part.start(), part.end()) {
            self.take(name.start().min(part.start()), name.end().max(part.end()));
            return;
        }
        // A word of its own, otherwise any part.
        let tests = [
            Test::Contains(text.to_owned()),
            Test::Inside(text.to_owned()),
        ];
        let is_held = |test: &Test| self.share(column, |cell| test.holds(cell)) > 0.0;
        if let Some(test) = tests.into_iter().find(is_held) {
            let at = self
                .words
                .iter()
                .position(|word| word.start >= part.start());
            let is_negated = at.is_some_and(|at| self.is_denied(at));
            self.add(column, test, is_negated);
            self.take(name.start().min(part.start()), name.end().max(part.end()));
        }
    }

    /// `states containing 7 or 8`: items of a list. Returns whether the text between two bytes is one.
    fn listed(&mut self, column: usize, start: usize, end: usize) -> bool {
        let is_item = |text: &str| {
            let test = Test::Is(vec![text.to_owned()]);
            self.share(column, |cell| test.holds(cell)) > 0.0
        };
        let text = self.question[start..end].trim_end_matches('.');
        if !is_item(text) {
            return false;
        }
        let (mut texts, mut end) = (vec![text.to_owned()], end);
        while let Some(found) = FURTHER.captures(&self.question[end..])
            && let Some(value) = found.name("value")
            && is_item(value.as_str())
        {
            texts.push(value.as_str().to_owned());
            end += value.end();
        }
        let at = self.words.iter().position(|word| word.start >= start);
        let is_negated = at.is_some_and(|at| self.is_denied(at));
        self.add(column, Test::Is(texts), is_negated);
        self.take(start, end);
        true
    }

    /// `a version with bpo in it`, `version contains bpo`: the column that is named, or any one if the
    /// table has no names of columns.
    fn inside(&mut self, part: &str, at: usize) {
        let test = Test::Inside(part.to_owned());
        let is_held = |column: usize| {
            !self.kinds[column].is_prose && self.share(column, |cell| test.holds(cell)) > 0.0
        };
        let column = match self.is_unnamed() {
            true => self.most_held(&test, at),
            false => self.best_column(at, is_held),
        };
        if let Some(column) = column {
            self.condition(column, test);
            self.take(at, at + part.len());
        }
    }

    /// `ending in .so`.
    pub(super) fn endings(&mut self) {
        let Some(found) = ENDING.captures(self.question) else {
            return;
        };
        let Some(part) = found.iter().skip(1).flatten().next() else {
            return;
        };
        let mark = found.name("mark").map(|mark| match mark.as_str() {
            "question" => "?",
            _ => "!",
        });
        let is_quoted = found.get(1).is_some();
        let text = match part.as_str() {
            sign @ ("?" | "!") => sign,
            quoted if is_quoted => quoted,
            text => text.trim_end_matches(['?', ',', ')']),
        };
        let text = mark.unwrap_or_else(|| match text.strip_suffix('.') {
            Some(rest) if !is_quoted => rest,
            _ => text,
        });
        // `which end in June` asks for a date.
        let is_end = is_quoted
            || found.name("name").is_some()
            || text.contains(|c: char| !c.is_alphanumeric())
            || found[0].contains("with");
        let test = Test::Suffix(text.to_owned());
        let best = self.most_held(&test, part.start());
        let start = found.get(0).map_or(0, |whole| whole.start());
        let at = self.words.iter().position(|word| word.start >= start);
        if let Some(column) = best.filter(|_| is_end && !self.is_taken(part.start(), part.end())) {
            let is_negated = at.is_some_and(|at| self.is_denied(at));
            self.add(column, test, is_negated);
            self.take(start, found.get(0).map_or(0, |whole| whole.end()));
        }
    }

    /// `starting with windows-`, `under /nutlink/`, `audio/* or video/*`.
    pub(super) fn beginnings(&mut self, pattern: &Pattern) {
        let mut known: Option<(usize, usize, Vec<String>)> = None;
        for found in pattern.captures_iter(self.question) {
            let Some(part) = found.iter().skip(1).flatten().next() else {
                continue;
            };
            let mut inside = self.words.iter().zip(&self.taken);
            if inside
                .any(|(word, &taken)| taken && word.start >= part.start() && word.end <= part.end())
            {
                continue;
            }
            let text = part.as_str().trim_end_matches(['?', '.', ',']);
            // `19.2.x` stands for `19.2.` and what follows.
            let text = match part.as_str().len() + 2 <= found[0].trim_start().len()
                && found[0].ends_with(['x'])
            {
                true => format!("{text}."),
                false => text.to_owned(),
            };
            let test = Test::Begins(vec![text.clone()]);
            let column = match &known {
                Some((column, ..)) => {
                    Some(*column).filter(|&one| self.share(one, |cell| test.holds(cell)) > 0.0)
                }
                None => self.most_held(&test, part.start()),
            };
            let Some(column) = column else { continue };
            let start = found.get(0).map_or(part.start(), |whole| whole.start());
            let (_, _, texts) = known.get_or_insert((column, start, Vec::new()));
            texts.push(text);
            let end = found.get(0).map_or(part.end(), |whole| whole.end());
            self.take(start.min(part.start()), end.max(part.end()));
            let further = self.further_beginnings(part.end(), column);
            texts.extend(further);
        }
        if let Some((column, start, texts)) = known {
            let at = self.words.iter().position(|word| word.start >= start);
            let is_negated = at.is_some_and(|at| self.is_denied(at));
            self.add(column, Test::Begins(texts), is_negated);
        }
    }

    /// Further beginnings behind byte `at`: `video/` of `starts with audio/ or video/`.
    fn further_beginnings(&mut self, at: usize, column: usize) -> Vec<String> {
        let mut texts = Vec::new();
        let mut end = at + usize::from(self.question[at..].starts_with(['"', '\'', '`']));
        while let Some(found) = FURTHER.captures(&self.question[end..])
            && let Some(part) = found.name("value")
        {
            let text = unquoted(part.as_str()).to_owned();
            let test = Test::Begins(vec![text.clone()]);
            // A plain word may be something else.
            let is_told = text.contains(|c: char| !c.is_alphanumeric())
                || text.starts_with(char::is_uppercase);
            if !is_told || self.share(column, |cell| test.holds(cell)) <= 0.0 {
                break;
            }
            self.take(end + part.start(), end + part.end());
            end += found.get(0).map_or(0, |whole| whole.end());
            texts.push(text);
        }
        texts
    }
}

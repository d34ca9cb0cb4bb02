//! Reads beginnings and patterns: `starting with windows-`, `under /nutlink/`, `19.2.x`.

use super::pattern::Pattern;
use super::reader::Reader;
use super::terms::squeezed;
use super::test::Test;

pub(super) static BEGINNING: Pattern = Pattern::new(
    &[&["start", "begin", "under", "below"]],
    || {
        r#"(?i)\b(?:start(?:s|ing)?|begin(?:s|ning)?)\s+(?:with|by)\s+(?:an? |the )?(?:(?:letters?|prefix|word|string)\s+)?["'`]?([^\s"'`,?()]+)|\b(?:under|below|start(?:s|ing)|begin(?:s|ning))\s+(/[^\s?,]+|[\w.]+-)(?:[?.,]|\s|$)"#.into()
    },
);
/// `num*`, `/txs/...`, `19.2.x`.
pub(super) static PATTERN: Pattern = Pattern::new(&[&["*", "...", "…", ".x"]], || {
    r"(?:^|[\s(])([\w/.@-]*[\w/@-])(?:\*|\.\.\.|…|\.x\b)".into()
});

/// `ending in .so`, `*.so`.
pub(super) static ENDING: Pattern = Pattern::new(&[&["end", "*"]], || {
    r#"(?i)\b(?:end(?:s|ing)?|endswith)\s+(?:with|in|on|by)\s+(?:an? |the )?["'`]?([^\s"'`,?()]+)|(?:^|[\s("'`])\*([.\w-]+)(?:[\s"'`?,)]|$)"#.into()
});

/// `requires_python containing 3.11`, with the name of a column before it.
pub(super) static CONTAINING: Pattern = Pattern::new(&[&["contain"]], || {
    r#"(?i)([\w.-]+) (?:that )?contain(?:s|ing)?\s+["'`]?([^\s"'`,?()]+)"#.into()
});

impl Reader<'_, '_> {
    /// `requires_python containing 3.11`.
    pub(super) fn containing(&mut self) {
        let Some(found) = CONTAINING.captures(self.question) else {
            return;
        };
        let (Some(name), Some(part)) = (found.get(1), found.get(2)) else {
            return;
        };
        let named = |column: &String| {
            let last = column.rsplit('.').next().unwrap_or_default();
            [column, last]
                .map(squeezed)
                .contains(&squeezed(name.as_str()))
        };
        let text = part.as_str().trim_end_matches('.');
        let test = Test::Contains(text.to_owned());
        let column = self.collection.columns.iter().position(named);
        let is_held = |column: &usize| self.share(*column, |cell| test.holds(cell)) > 0.0;
        if let Some(column) = column.filter(is_held) {
            self.condition(column, test);
            self.take(name.start(), part.end());
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
        let text = part.as_str().trim_end_matches(['?', ',', ')']);
        let text = text.strip_suffix('.').unwrap_or(text);
        // `which end in June` asks for a date.
        let is_end = text.contains(|c: char| !c.is_alphanumeric()) || found[0].contains("with");
        let test = Test::Suffix(text.to_owned());
        let best = self.most_held(&test, part.start());
        if let Some(column) = best.filter(|_| is_end && !self.is_taken(part.start(), part.end())) {
            self.condition(column, test);
            self.take(part.start(), part.end());
        }
    }

    /// `starting with windows-`, `under /nutlink/`.
    pub(super) fn beginnings(&mut self, pattern: &Pattern) {
        let Some(found) = pattern.captures(self.question) else {
            return;
        };
        let Some(part) = found.iter().skip(1).flatten().next() else {
            return;
        };
        let mut inside = self.words.iter().zip(&self.taken);
        if inside
            .any(|(word, &taken)| taken && word.start >= part.start() && word.end <= part.end())
        {
            return;
        }
        let text = part.as_str().trim_end_matches(['?', '.', ',']);
        // `19.2.x` stands for `19.2.` and what follows.
        let text = match part.as_str().len() + 2 <= found[0].trim_start().len()
            && found[0].ends_with(['x'])
        {
            true => format!("{text}."),
            false => text.to_owned(),
        };
        let test = Test::Begins(text);
        let best = self.most_held(&test, part.start());
        if let Some(column) = best {
            self.condition(column, test);
            self.take(part.start(), part.end());
        }
    }
}

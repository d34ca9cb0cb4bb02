//! Reads beginnings and patterns: `starting with windows-`, `under /nutlink/`, `19.2.x`.

use super::pattern::Pattern;
use super::reader::Reader;
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

impl Reader<'_, '_> {
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

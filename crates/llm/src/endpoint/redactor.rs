//! Shortens untrusted text to one line of bounded length, and removes keys from it.

use spillgate_untrusted::line;

use crate::Key;

/// Maximum length of an error message, in characters.
const MOST_CHARS: usize = 500;
/// Maximum length of a provider's id, in characters.
const MOST_ID_CHARS: usize = 100;
/// Length, in bytes, of the shortest secret that is searched for. Shorter strings occur by chance,
/// and no provider uses keys that short.
const SHORTEST_SECRET: usize = 6;

/// Length, in bytes, of the shortest key that is removed from a model's text. A shorter key could
/// be an ordinary word.
const SHORTEST_KEY: usize = 16;

/// Cleans text from a provider before anybody reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct Redactor {
    secrets: Vec<Key>,
    /// The secrets that are keys. The values of other headers need not be keys.
    keys: Vec<Key>,
}

impl Redactor {
    /// Returns a redactor that removes `secrets` from messages and ids.
    pub(super) fn without(secrets: impl IntoIterator<Item = Key>) -> Self {
        let mut secrets: Vec<Key> = secrets
            .into_iter()
            .filter(|secret| secret.reveal().len() >= SHORTEST_SECRET)
            .collect();
        // Longer secrets come first, because a shorter one may be a part of them.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.reveal().len()));
        Self {
            secrets,
            keys: Vec::new(),
        }
    }

    /// Returns the redactor with `keys`, which it removes from the text of a model. Keys shorter
    /// than [`SHORTEST_KEY`] are ignored.
    pub(super) fn and_keys(self, keys: impl IntoIterator<Item = Key>) -> Self {
        let keys = keys.into_iter();
        Self {
            keys: keys
                .filter(|key| key.reveal().len() >= SHORTEST_KEY)
                .collect(),
            ..self
        }
    }

    /// Returns a model's text without keys, otherwise unchanged. If a server repeated the request,
    /// a key would otherwise reach answers, traces and recordings.
    pub(super) fn without_keys(&self, text: String) -> String {
        let hide = |text: String, key: &Key| match text.contains(key.reveal()) {
            true => text.replace(key.reveal(), "[key]"),
            false => text,
        };
        self.keys.iter().fold(text, hide)
    }

    /// Returns a message on one line.
    pub(super) fn message(&self, text: &str) -> String {
        self.line(text, MOST_CHARS)
    }

    /// Returns an id from the provider on one line; `None` if it is empty.
    pub(super) fn id(&self, text: &str) -> Option<String> {
        Some(self.line(text, MOST_ID_CHARS)).filter(|id| !id.is_empty())
    }

    fn line(&self, text: &str, most: usize) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.reveal(), "[key]");
        }
        line(&text, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shown_on_one_line_without_a_key() {
        let words = Redactor::without([
            Key::new("sk-123456"),
            Key::new("sk-123456789"),
            Key::new("x"),
        ]);
        let cases = [
            ("a\n\tb  c\r\n", "a b c"),
            ("bell\u{7} \u{1b}[31mred", "bell⟨U+0007⟩ ⟨U+001B⟩[31mred"),
            ("\u{202e}evil\u{200b}", "⟨U+202E⟩evil⟨U+200B⟩"),
            ("key sk-123456789.", "key [key]."),
            ("Bearer sk-123456, sk-123456", "Bearer [key], [key]"),
            ("xx", "xx"),
            ("", ""),
        ];
        for (text, shown) in cases {
            assert_eq!(words.message(text), shown);
        }
        let words = words.and_keys([Key::new("sk-123456789"), Key::new("sk-0123456789abc")]);
        assert_eq!(
            words.without_keys("a\n sk-123456789 sk-0123456789abc".to_owned()),
            "a\n sk-123456789 [key]"
        );
        for long in ["é".repeat(10_000), "é ".repeat(10_000)] {
            let shown = words.message(&long);
            let length = shown.chars().count();
            assert!((MOST_CHARS - 1..=MOST_CHARS).contains(&length), "{shown}");
            assert!(shown.ends_with('…'));
        }
        let exact = "é".repeat(MOST_CHARS);
        assert_eq!(words.message(&exact), exact);
        assert_eq!(words.id(" \n"), None);
    }
}

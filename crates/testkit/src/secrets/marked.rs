//! A text with a mark on the part that is secret. The mark stays in place while the text is wrapped
//! and encoded.

/// The text `before`, `secret` and `after` together, of which `secret` must not be shown.
#[derive(Debug, Clone)]
pub(super) struct Marked {
    pub(super) before: String,
    pub(super) secret: String,
    pub(super) after: String,
}

impl Marked {
    /// Reads a text in which `[[` and `]]` stand around the secret. Without them all of it is
    /// secret.
    pub(super) fn read(text: &str) -> Self {
        let (before, rest) = text.split_once("[[").unwrap_or(("", text));
        let (secret, after) = rest.split_once("]]").unwrap_or((rest, ""));
        Self {
            before: before.to_owned(),
            secret: secret.to_owned(),
            after: after.to_owned(),
        }
    }

    /// Puts a text before and another behind all of it.
    pub(super) fn around(self, before: &str, after: &str) -> Self {
        Self {
            before: before.to_owned() + &self.before,
            after: self.after + after,
            ..self
        }
    }

    /// Puts a text directly before and another directly behind the secret.
    pub(super) fn hug(self, before: &str, after: &str) -> Self {
        Self {
            before: self.before + before,
            after: after.to_owned() + &self.after,
            ..self
        }
    }

    /// Encodes the text. `encode` must treat each character alone.
    pub(super) fn map(&self, encode: impl Fn(&str) -> String) -> Self {
        Self {
            before: encode(&self.before),
            secret: encode(&self.secret),
            after: encode(&self.after),
        }
    }

    /// Puts `prefix` at the start of every line.
    pub(super) fn prefixed(&self, prefix: &str) -> Self {
        self.map(|part| part.replace('\n', &format!("\n{prefix}")))
            .around(prefix, "")
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> String {
        [self.before.as_str(), &self.secret, &self.after].concat()
    }
}

//! The rules and the marks of a session, with which it keeps secrets out of texts.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, OnceLock};

use spillgate_artifact::ByteSource;

use crate::{Findings, Marks, RedactedSource, Rules, find, redact_str};

/// Finds secrets by a set of rules and shows a session's marks in their place.
#[derive(Debug)]
pub struct Redactor {
    rules: Rules,
    marks: Marks,
}

impl Redactor {
    /// Returns a redactor with its own marks.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            marks: Marks::new(),
        }
    }

    /// Returns the redactor with the built-in rules. All parts of a process share it and its marks.
    #[must_use]
    pub fn builtin() -> Arc<Self> {
        static BUILTIN: OnceLock<Arc<Redactor>> = OnceLock::new();
        let builtin = BUILTIN.get_or_init(|| Arc::new(Self::new(Rules::builtin())));
        Arc::clone(builtin)
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the identity of the rules: findings of other rules are out of date.
    #[must_use]
    pub fn rules_id(&self) -> String {
        format!("{:016x}", self.rules.fingerprint())
    }

    /// Finds the secrets in a text.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read.
    pub fn find(&self, text: &dyn ByteSource) -> io::Result<Findings> {
        find(&self.rules, text)
    }

    /// Returns a text with marks in place of the secrets `findings`.
    ///
    /// # Errors
    ///
    /// Fails as [`RedactedSource::new`] does.
    pub fn source(
        &self,
        text: Arc<dyn ByteSource>,
        findings: Arc<Findings>,
    ) -> io::Result<RedactedSource> {
        RedactedSource::new(text, findings, &self.marks)
    }

    /// Like [`text`](Self::text), for a text of one's own: without secrets it is returned as it is.
    #[must_use]
    pub fn owned(&self, text: String) -> String {
        let marked = match self.text(&text) {
            Cow::Owned(marked) => Some(marked),
            Cow::Borrowed(_) => None,
        };
        marked.unwrap_or(text)
    }

    /// Returns a short text with marks in place of secrets.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        redact_str(&self.rules, &self.marks, text)
    }
}

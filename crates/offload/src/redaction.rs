//! Keeps secrets out of what a model reads.
//!
//! A result's view is scanned when the result is stored. The spans of the secrets are stored with
//! the artifact, and each look-up opens a view with marks in their place. The stored bytes stay as
//! they came (docs/redaction.md).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use spillgate_artifact::{ByteSource, Handle, RawForm, SecretFacts};
use spillgate_lookup::{Artifact, StoredIndex};
use spillgate_redact::{Findings, MOST_FINDINGS, Redactor, WITHHELD};
use spillgate_text::LineIndex;

use crate::RetrieveError;
use crate::ledger::{Exit, LedgerEntry};
use crate::limits::Limits;
use crate::offloader::Offloader;
use crate::present::{Ends, TwoEnds};
use crate::sanitize::Sanitized;
use crate::stored_secrets::{StoredSecrets, found};

/// What happens to secrets in what a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redaction {
    /// Nothing: no result is scanned.
    Off,
    /// Marks stand in place of secrets in messages and look-ups. A result that fits passes
    /// unchanged.
    #[default]
    Mark,
    /// Like `Mark`; a result that fits but has secrets is stored, too, and its message has marks.
    All,
    /// A result with secrets is stored, but nothing of it is shown.
    Block,
}

impl Redaction {
    /// Returns whether results that fit are scanned, too.
    #[must_use]
    pub fn covers_small(self) -> bool {
        matches!(self, Self::All | Self::Block)
    }

    /// Returns what happens to the secrets of an artifact that another shares, or of an own one.
    pub(crate) fn of(self, is_shared: bool) -> Self {
        match self {
            // Its owner showed secrets to its own models only.
            Self::Off if is_shared => Self::Mark,
            redaction => redaction,
        }
    }
}

impl std::fmt::Display for Redaction {
    /// Formats the value as in the configuration.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Mark => "mark",
            Self::All => "all",
            Self::Block => "block",
        })
    }
}

/// The outcome of a scan of a view.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scanned {
    /// The facts for the manifest; `None` if there was no scan.
    pub(crate) facts: Option<Box<SecretFacts>>,
    /// The secrets; `None` if there are none.
    pub(crate) secrets: Option<Arc<Findings>>,
    /// The view with marks; `None` if there are no secrets.
    pub(crate) text: Option<Text>,
}

/// A text that can be read at any offset.
pub(crate) type Text = Arc<dyn ByteSource>;

/// Returns what is shown in place of a text that must not be shown.
pub(crate) fn withheld() -> Text {
    Arc::new(Bytes::from_static(WITHHELD.as_bytes()))
}

/// Numbers of secrets, by the id of the rule.
pub(crate) type Counts = BTreeMap<String, u64>;

/// Returns the number of secrets by rule. Of a text with too many secrets, only their least number is
/// known.
pub(crate) fn counts(findings: &Findings) -> Counts {
    if findings.is_too_many() {
        return BTreeMap::from([(TOO_MANY.to_owned(), MOST_FINDINGS as u64)]);
    }
    let counts = findings.counts().into_iter();
    counts.map(|(rule, n)| (rule.to_owned(), n)).collect()
}

/// Stands for a rule in the counts of a text with too many secrets to mark.
pub(crate) const TOO_MANY: &str = "more-than";

impl Scanned {
    /// Returns whether secrets were found, even if marks are stored in their place.
    pub(crate) fn has_secrets(&self) -> bool {
        let is_marked = |facts: &SecretFacts| !facts.removed.is_empty();
        self.secrets.is_some() || self.facts.as_deref().is_some_and(is_marked)
    }

    /// Returns the number of secrets in the view by rule, also of those that it leaves out.
    pub(crate) fn found(&self) -> Counts {
        let facts = self.facts.as_ref();
        facts.map(|facts| facts.found.clone()).unwrap_or_default()
    }

    /// Returns the text whose ends a message may show, if it is another one than that of the result.
    /// Nothing of a result is shown that could not be scanned.
    pub(crate) fn shown(scanned: Option<&Self>, limits: &Limits) -> Option<Text> {
        match scanned {
            None => Some(withheld()),
            Some(one) if limits.withholds() && one.has_secrets() => Some(withheld()),
            Some(one) => one.text.clone(),
        }
    }

    /// Returns the index to store with a view.
    pub(crate) fn index(self, lines: LineIndex) -> StoredIndex {
        StoredIndex {
            lines,
            secrets: self.secrets,
        }
    }
}

impl Offloader {
    /// Returns a copy that finds secrets by other rules.
    #[must_use]
    pub fn with_redactor(self, redactor: Arc<Redactor>) -> Self {
        let mut with = self;
        with.presenter.redactor = redactor;
        with
    }

    /// Returns what finds and marks secrets.
    #[must_use]
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.presenter.redactor
    }

    /// Returns what finds and marks secrets in texts that belong to no result, such as logs; `None`
    /// if redaction is off for all results.
    #[must_use]
    pub fn marks_texts(&self) -> Option<Arc<Redactor>> {
        self.policy.redacts().then(|| Arc::clone(self.redactor()))
    }

    /// Returns a text with marks in place of secrets, unless redaction is off for all results.
    #[must_use]
    pub fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.policy.redacts() {
            true => self.redactor().text(text),
            false => Cow::Borrowed(text),
        }
    }

    /// Scans a result's view, and the text that the view leaves out. Scans nothing if secrets are
    /// shown and stored as they are, or if the text is lost.
    pub(crate) fn scan(&self, sanitized: &Sanitized, limits: &Limits) -> io::Result<Scanned> {
        let is_off = limits.redaction == Redaction::Off;
        if is_off && limits.stored_secrets == StoredSecrets::AsIs {
            return Ok(Scanned::default());
        }
        let Some(view) = sanitized.view_source()? else {
            return Ok(Scanned::default());
        };
        let findings = self.redactor().find(&*view)?;
        let mut found = counts(&findings);
        if found.is_empty() && sanitized.leaves_out() {
            let text = sanitized.captured.text().map_err(io::Error::other)?;
            let left_out = text.map(|text| self.redactor().find(&*text)).transpose()?;
            found = left_out.as_ref().map(counts).unwrap_or_default();
        }
        let mut scanned = self.without_secrets();
        if !found.is_empty() {
            let findings = Arc::new(findings);
            scanned.secrets = Some(Arc::clone(&findings));
            scanned.text = Some(match findings.is_too_many() {
                true => withheld(),
                false => Arc::new(self.redactor().source(view, findings)?),
            });
        }
        if let Some(facts) = &mut scanned.facts {
            facts.found = found;
        }
        Ok(scanned)
    }

    /// Returns the outcome of a scan that found nothing.
    pub(crate) fn without_secrets(&self) -> Scanned {
        let facts = SecretFacts {
            rules: self.redactor().rules_id(),
            ..SecretFacts::default()
        };
        Scanned {
            facts: Some(Box::new(facts)),
            ..Scanned::default()
        }
    }

    /// Reads the beginning and the end of a result as its reader may see them.
    pub(crate) fn ends(&self, ends: &TwoEnds, limits: &Limits) -> Ends {
        let read = ends.read(limits);
        match limits.redaction {
            // What is left of a lost text was not scanned as a whole.
            _ if ends.is_lost() && limits.withholds() => Ends::Whole(WITHHELD.to_owned()),
            Redaction::Off => read,
            _ if ends.is_lost() => read.without_borders().map(|text| self.marked(text)),
            _ => read.map(|text| self.marked(text)),
        }
    }

    fn marked(&self, text: String) -> String {
        self.redactor().owned(text)
    }

    /// Returns whether the raw bytes of an artifact have secrets, so that only the user may see them.
    /// They are searched also in parts that belong to no view, such as a blob. Where redaction is
    /// off, nothing counts as a secret.
    pub fn raw_has_secrets(&self, handle: Handle) -> Result<bool, RetrieveError> {
        let artifact = match self.artifact(handle) {
            Ok(artifact) => artifact,
            Err(error) if error.hides_secrets() => return Ok(true),
            Err(error) => return Err(error),
        };
        let facts = &artifact.manifest().facts;
        let redaction = self.limits(&facts.origin).redaction;
        let is_off = redaction.of(artifact.is_shared()) == Redaction::Off;
        if artifact.is_redacted() || is_off || facts.form == RawForm::Plain {
            return Ok(artifact.is_redacted());
        }
        Ok(!self.redactor().find(artifact.raw())?.is_empty())
    }

    /// Returns an artifact as its readers may see it: with marks in place of secrets, unless
    /// redaction is off for its origin.
    ///
    /// # Errors
    ///
    /// Fails if the artifact has secrets and such results are blocked.
    pub(crate) fn guarded(&self, artifact: Artifact) -> Result<Artifact, RetrieveError> {
        let limits = self.policy.limits(&artifact.manifest().facts.origin);
        let artifact = redacted(artifact, limits.redaction, self.redactor())?;
        if let Some(findings) = artifact.newly_found().filter(|found| !found.is_empty()) {
            let manifest = artifact.manifest();
            self.ledger.record(LedgerEntry {
                server: manifest.facts.origin.server.clone(),
                tool: manifest.facts.origin.tool.clone(),
                handle: Some(manifest.handle),
                secrets: counts(findings),
                ..LedgerEntry::new(self.clock.now(), Exit::Searched)
            });
        }
        Ok(artifact)
    }
}

/// Returns an artifact as the mode `redaction` shows it. An artifact that another shares always has
/// marks.
pub(crate) fn redacted(
    artifact: Artifact,
    redaction: Redaction,
    redactor: &Arc<Redactor>,
) -> Result<Artifact, RetrieveError> {
    let redaction = redaction.of(artifact.is_shared());
    if redaction == Redaction::Off {
        return Ok(artifact);
    }
    let artifact = artifact.redacted(redactor)?;
    let has_secrets = artifact.is_redacted() || !found(&artifact.manifest().facts).is_empty();
    if redaction == Redaction::Block && has_secrets {
        return Err(RetrieveError::Blocked {
            handle: artifact.manifest().handle,
        });
    }
    Ok(artifact)
}

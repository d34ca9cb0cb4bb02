//! What is stored of a result with secrets: the bytes as they came, the bytes with marks in place
//! of the secrets, or nothing (docs/redaction.md, "What is stored").

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufReader};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use spillgate_artifact::{ByteSource, Facts, RawForm, ReadRange, Stats, TextPart};
use spillgate_redact::{Findings, RedactedSource};
use spillgate_store::{SpooledBytes, StoreError};

use crate::capture::{Captured, JsonResult, Raw, capture_json, capture_stream};
use crate::limits::Limits;
use crate::offloader::Offloader;
use crate::pending::{Measured, measure};
use crate::present::name_in_line;
use crate::redaction::{Counts, Scanned, TOO_MANY, counts};
use crate::sanitize::{Sanitized, sanitize, unreadable};

/// What is stored of a result with secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredSecrets {
    /// The bytes as they came.
    #[default]
    AsIs,
    /// The bytes with marks in place of the secrets; the original bytes are gone.
    Redacted,
    /// Nothing: the result is neither stored nor shown.
    Refused,
}

impl fmt::Display for StoredSecrets {
    /// Formats the value as in the configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsIs => "as-is",
            Self::Redacted => "redacted",
            Self::Refused => "refused",
        })
    }
}

/// Why a result is not stored.
#[derive(Debug, thiserror::Error)]
pub enum Unstored {
    /// The store failed.
    #[error(transparent)]
    Failed(#[from] StoreError),
    /// The result has secrets, and the user's settings do not allow storing them.
    #[error("the output has secrets ({}), and {}", told(found), match setting {
        StoredSecrets::Refused => "the user's setting `stored = \"refused\"` does not allow storing such an output",
        _ => "marks could not be put in place of all of them, as the user's setting `stored = \"redacted\"` demands",
    })]
    Secrets {
        /// The number of secrets, by the id of the rule.
        found: BTreeMap<String, u64>,
        /// The setting that does not allow it.
        setting: StoredSecrets,
    },
}

impl Unstored {
    /// Returns the number of the secrets because of which the result is not stored, by rule.
    pub(crate) fn found(&self) -> Counts {
        match self {
            Self::Failed(_) => Counts::new(),
            Self::Secrets { found, .. } => found.clone(),
        }
    }
}

/// Returns the message for a result that is not stored because of its secrets. It names rules and
/// counts, and no part of the result.
pub(crate) fn refused(tool: &str, stats: &Stats, why: &Unstored) -> String {
    format!(
        "[spillgate] {tool} returned {} bytes, {} lines ({}); nothing of it is stored or shown: {why}. \
         Ask for the part that has no secrets, or ask the user, who can change the setting.",
        stats.bytes,
        stats.lines,
        stats.kind,
        tool = name_in_line(tool),
    )
}

/// Formats numbers of secrets by rule.
pub(crate) fn told(found: &Counts) -> String {
    let found = found.iter().map(|(rule, n)| match rule.as_str() {
        TOO_MANY => format!("more than {n}"),
        rule => format!("{n} × {rule}"),
    });
    found.collect::<Vec<_>>().join(", ")
}

/// Returns the number of secrets in a result, by rule, whether they or marks are stored.
pub(crate) fn found(facts: &Facts) -> Counts {
    let secrets = facts.secrets.as_ref();
    let found = secrets.map(|secrets| match secrets.found.is_empty() {
        true => secrets.removed.clone(),
        false => secrets.found.clone(),
    });
    found.unwrap_or_default()
}

/// Returns how a message says that a result is stored: `stored whole`, or with how many marks.
pub(crate) fn stored_how(facts: &Facts) -> String {
    let removed = facts.secrets.as_ref().map(|secrets| &secrets.removed);
    match removed.map_or(0, |removed| removed.values().sum()) {
        0 => "stored whole".to_owned(),
        1 => "stored with 1 secret redacted".to_owned(),
        n => format!("stored with {n} secrets redacted"),
    }
}

impl Offloader {
    /// Returns what may be stored of a result in whose view a scan found `scanned`: the result
    /// itself, or the same with marks in place of its secrets.
    pub(crate) fn storable(
        &self,
        measured: Measured,
        scanned: Scanned,
        limits: &Limits,
    ) -> Result<(Measured, Scanned), Unstored> {
        if limits.stored_secrets == StoredSecrets::AsIs {
            return Ok((measured, scanned));
        }
        let sanitized = &measured.sanitized;
        let beside = self.beside(sanitized)?;
        let in_view = scanned.found();
        let found = match in_view.is_empty() {
            true => beside.as_ref().map(counts).unwrap_or_default(),
            false => in_view,
        };
        if found.is_empty() {
            return Ok((measured, scanned));
        }
        let refused = |found| Unstored::Secrets {
            found,
            setting: limits.stored_secrets,
        };
        if limits.stored_secrets == StoredSecrets::Refused {
            return Err(refused(found));
        }
        let view = match &scanned.text {
            Some(text) => Some(Arc::clone(text)),
            None => read(sanitized.view_source())?,
        };
        let in_place = self.with_marks(&sanitized.captured, beside)?;
        if let Some((captured, removed)) = in_place
            && let Some(stored) = self.clean(captured, removed, limits)?
        {
            return Ok(stored);
        }
        // The secrets show only in the readable text, or the bytes would no longer be JSON.
        if let Some(view) = view.filter(|_| !found.contains_key(TOO_MANY)) {
            let captured = self.copied(&sanitized.captured, &*view)?;
            if let Some(stored) = self.clean(captured, found.clone(), limits)? {
                return Ok(stored);
            }
        }
        Err(refused(found))
    }

    /// Returns what a scan finds in the raw bytes of a result whose text is a part of them. Other
    /// raw bytes have the same secrets as the view. `None` if they are not scanned.
    fn beside(&self, sanitized: &Sanitized) -> Result<Option<Findings>, StoreError> {
        let captured = &sanitized.captured;
        if !matches!(captured.form, RawForm::Parts(_)) {
            return Ok(None);
        }
        let raw = captured.raw_source()?;
        let found = raw.map(|raw| self.redactor().find(&*raw)).transpose();
        found.map_err(|error| unreadable(&error))
    }

    /// Returns a result with marks in place of the secrets in its raw bytes, and the number of marks
    /// by rule; `None` if the raw bytes show no secrets, or if they would no longer be JSON.
    fn with_marks(
        &self,
        captured: &Captured,
        findings: Option<Findings>,
    ) -> Result<Option<(Captured, Counts)>, StoreError> {
        let Some(raw) = captured.raw_source()? else {
            return Ok(None);
        };
        let findings = match findings {
            Some(findings) => findings,
            None => read(self.redactor().find(&*raw))?,
        };
        if findings.is_empty() || findings.is_too_many() {
            return Ok(None);
        }
        let removed = counts(&findings);
        let marked = read(self.redactor().source(raw, Arc::new(findings)))?;
        let RawForm::Parts(parts) = &captured.form else {
            return Ok(Some((self.copied(captured, &marked)?, removed)));
        };
        if !is_json(&marked) {
            return Ok(None);
        }
        let parts = parts.iter().map(|part| moved(part, &marked)).collect();
        let copied = self.copied(captured, &marked)?;
        let raw = match copied.raw {
            Raw::Memory(bytes) => JsonResult::from(bytes),
            Raw::Spooled(draft) => JsonResult::Spooled(SpooledBytes {
                kept: Ok(draft),
                bytes: copied.raw_bytes,
                sha256: copied.sha256.get().to_owned(),
            }),
            Raw::Lost { error, .. } => return Err(error),
        };
        let json = capture_json(copied.origin, captured.is_error, raw, parts);
        let json = Captured {
            ending: captured.ending,
            ..json
        };
        Ok(Some((json, removed)))
    }

    /// Captures a text in place of the bytes of a result.
    fn copied(&self, captured: &Captured, text: &dyn ByteSource) -> Result<Captured, StoreError> {
        let (origin, mut reader) = (captured.origin.clone(), ReadRange::whole(text));
        let copied = capture_stream(&*self.store, origin, &mut reader, &mut |_| {});
        let copied = read(copied)?;
        match copied.raw {
            Raw::Lost { error, .. } => Err(error),
            _ => Ok(Captured {
                is_error: captured.is_error,
                ending: captured.ending,
                ..copied
            }),
        }
    }

    /// Returns a result and its scan for storage; `None` if it still has secrets. `removed` is the
    /// number of marks in it by rule.
    fn clean(
        &self,
        captured: Captured,
        removed: Counts,
        limits: &Limits,
    ) -> Result<Option<(Measured, Scanned)>, StoreError> {
        let sanitized = sanitize(captured);
        let mut scanned = read(self.scan(&sanitized, limits))?;
        let beside = self.beside(&sanitized)?;
        if scanned.has_secrets() || beside.is_some_and(|beside| !beside.is_empty()) {
            return Ok(None);
        }
        scanned.text = read(sanitized.view_source())?;
        if let Some(facts) = &mut scanned.facts {
            facts.removed = removed;
        }
        let measured = measure(sanitized, Arc::clone(self.counter()));
        Ok(Some((measured, scanned)))
    }
}

/// Returns the error of the store for a text that cannot be read.
fn read<T>(from: io::Result<T>) -> Result<T, StoreError> {
    from.map_err(|error| unreadable(&error))
}

/// Returns where a part of a result is when the result has marks.
fn moved(part: &TextPart, marked: &RedactedSource) -> TextPart {
    TextPart {
        start: marked.to_redacted(part.start),
        end: marked.to_redacted_end(part.end),
        is_string: part.is_string,
    }
}

/// Returns whether a text is one JSON value.
fn is_json(text: &dyn ByteSource) -> bool {
    const BLOCK: usize = 64 << 10;
    let reader = BufReader::with_capacity(BLOCK, ReadRange::whole(text));
    serde_json::from_reader::<_, IgnoredAny>(reader).is_ok()
}

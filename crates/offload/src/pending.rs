//! A measured result that awaits its decision, and the decision whether it fits.
//!
//! An agent knows what else is in its conversation: a result within every limit may still not fit
//! there, and a result that fits alone may not fit together with others. So the result waits here
//! until its owner decides.

use std::cell::OnceCell;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use std::{panic, thread};

use spillgate_artifact::{Ending, Origin, ReadRange, Reason, Stats, Tokens};
use spillgate_store::{Draft, Part, StoreError};
use spillgate_text::{ScanFacts, TokenCounter, count_source, source_exceeds};

use crate::capture::Raw;
use crate::history::History;
use crate::limits::{LEAST_PREVIEW_TOKENS, Limits};
use crate::offloader::Offloader;
use crate::present::{TwoEnds, truncate};
use crate::redaction::{Redaction, Scanned};
use crate::sanitize::{Sanitized, unreadable};
use crate::stored_secrets::StoredSecrets;

/// Maximum bytes of a text returned whole: no conversation holds more.
const MOST_WHOLE: u64 = 16 << 20;

/// A result whose size is known. Tokens are counted on demand, so that a result with fewer bytes
/// than the limit has tokens never loads a tokenizer.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) sanitized: Sanitized,
    counter: Arc<dyn TokenCounter>,
    tokens: OnceCell<Tokens>,
}

/// Wraps a sanitized result; its tokens are counted on demand.
pub(crate) fn measure(sanitized: Sanitized, counter: Arc<dyn TokenCounter>) -> Measured {
    Measured {
        sanitized,
        counter,
        tokens: OnceCell::new(),
    }
}

impl Measured {
    /// Returns the tokens of the text: exact up to some megabytes, extrapolated beyond.
    pub(crate) fn tokens(&self) -> Tokens {
        *self.tokens.get_or_init(|| {
            let text = self.sanitized.captured.text();
            let counted = text.ok().flatten();
            let counted = counted.and_then(|text| count_source(&*self.counter, &*text).ok());
            self.or_estimated(counted)
        })
    }

    /// The size of lost text can only be estimated.
    fn or_estimated(&self, counted: Option<Tokens>) -> Tokens {
        let bytes = self.sanitized.captured.scan.bytes;
        counted.unwrap_or(Tokens::estimated(bytes.div_ceil(4)))
    }

    /// Runs `work`, and counts the tokens on another thread meanwhile if they are not known.
    pub(crate) fn counted_beside<T>(&self, work: impl FnOnce() -> T) -> T {
        let text = self.sanitized.captured.text();
        let text = text.ok().flatten().filter(|_| self.tokens.get().is_none());
        let Some(text) = text else { return work() };
        let counter = &*self.counter;
        thread::scope(|scope| {
            let counting = scope.spawn(|| count_source(counter, &*text).ok());
            let done = work();
            let counted = counting.join();
            let counted = counted.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            self.tokens.get_or_init(|| self.or_estimated(counted));
            done
        })
    }

    /// Returns whether the text costs more than `limit` tokens: exact, in a time that does not
    /// depend on its size.
    pub(crate) fn exceeds_tokens(&self, limit: u64) -> bool {
        let captured = &self.sanitized.captured;
        if captured.scan.bytes <= limit {
            return false;
        }
        // Text that cannot be read back is not shown whole.
        let Ok(Some(text)) = captured.text() else {
            return true;
        };
        source_exceeds(&*self.counter, &*text, limit).unwrap_or(true)
    }

    /// Returns the figures of the text.
    #[must_use]
    pub(crate) fn stats(&self) -> Stats {
        let scan = self.sanitized.captured.scan;
        Stats {
            bytes: scan.bytes,
            lines: scan.lines(),
            chars: scan.chars,
            tokens: self.tokens(),
            kind: self.sanitized.kind,
        }
    }

    /// Returns the SHA-256 of the raw bytes, in hex.
    #[must_use]
    pub(crate) fn sha256(&self) -> &str {
        self.sanitized.captured.sha256.get()
    }

    /// Returns whether the bytes were lost during capture.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.sanitized.captured.raw, Raw::Lost { .. })
    }
}

/// A measured result that awaits its decision.
pub struct PendingResult {
    pub(crate) offloader: Offloader,
    pub(crate) measured: Measured,
    pub(crate) limits: Limits,
    /// What a scan for secrets found; `None` before the scan.
    pub(crate) scanned: Option<Scanned>,
    /// Maximum bytes of its message as a JSON string.
    pub(crate) json_bytes: u64,
    /// Time spent so far.
    pub(crate) took: Duration,
    /// What the reader's session was shown; `None` if that is not known.
    pub(crate) history: Option<Arc<History>>,
}

impl fmt::Debug for PendingResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.measured.sanitized.captured.scan.bytes;
        f.debug_struct("PendingResult")
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

impl PendingResult {
    /// Tightens the limits of the message for a result that is stored for another reason than its
    /// size.
    pub(crate) fn tightened(mut self, reason: Reason) -> Self {
        if reason != Reason::SizeCap {
            let (limits, stats) = (self.limits.clone(), self.measured.stats());
            self.limits = limits.profile.strategy().tightened(limits.clone(), &stats);
        }
        self
    }

    /// Decides by the limits; also by the secrets, if results that fit are scanned, too.
    pub(crate) fn decide(&mut self, is_over: Option<bool>) -> Decision {
        let decision = decide(&self.measured, &self.limits, is_over);
        match decision {
            Decision::Inline { .. } if self.is_kept_for_secrets() => {
                Decision::Offload(Reason::Secrets)
            }
            decision => decision,
        }
    }

    /// Returns whether results that fit are scanned, too, and this one has secrets or cannot be
    /// scanned.
    fn is_kept_for_secrets(&mut self) -> bool {
        let is_clean = |scanned: &Scanned| !scanned.has_secrets();
        self.limits.redaction.covers_small() && !self.scanned().is_ok_and(is_clean)
    }

    /// Returns what a scan for secrets finds in the view. The scan runs once.
    pub(crate) fn scanned(&mut self) -> Result<&Scanned, StoreError> {
        if self.scanned.is_none() {
            let sanitized = &self.measured.sanitized;
            let scanned = self.offloader.scan(sanitized, &self.limits);
            self.scanned = Some(scanned.map_err(|error| unreadable(&error))?);
        }
        Ok(self.scanned.get_or_insert_default())
    }

    /// Returns where the result comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.measured.sanitized.captured.origin
    }

    /// Returns the figures of the text.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.measured.stats()
    }

    /// Sets the history of the session that is shown the result. If the session was shown a result
    /// with the same bytes or of the same call before, the message then says what differs.
    #[must_use]
    pub fn shown_in(self, history: Option<Arc<History>>) -> Self {
        Self { history, ..self }
    }

    /// Records how the command or the call ended.
    #[must_use]
    pub fn ended(mut self, ending: Ending) -> Self {
        self.measured.sanitized.captured.ending = Some(ending);
        self
    }

    /// Returns the bytes of the text.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.measured.sanitized.captured.scan.bytes
    }

    /// Returns whether the result must not be shown whole: it exceeds one of its limits, or it has
    /// secrets and such results are stored.
    #[must_use]
    pub fn is_over(&mut self) -> bool {
        is_oversized(&self.measured, &self.limits) || self.is_kept_for_secrets()
    }

    /// Returns whether the bytes of the result may be kept elsewhere, such as in a cache: they have
    /// no secrets, or secrets are stored as they came.
    #[must_use]
    pub fn may_be_kept(&mut self) -> bool {
        let is_clean = |scanned: &Scanned| !scanned.has_secrets();
        self.limits.stored_secrets == StoredSecrets::AsIs || self.scanned().is_ok_and(is_clean)
    }

    /// Returns the whole text; `None` if it is far too large for a conversation, or lost.
    #[must_use]
    pub fn whole(&self) -> Option<String> {
        let captured = &self.measured.sanitized.captured;
        let text = captured.text().ok()??;
        let bytes = (captured.scan.bytes <= MOST_WHOLE).then(|| text.bytes(0, u64::MAX))?;
        Some(String::from_utf8_lossy(&bytes.ok()?).into_owned())
    }

    /// Returns at most the first `bytes` bytes as text, with marks in place of secrets.
    #[must_use]
    pub fn beginning(&self, bytes: usize) -> Option<String> {
        // Reads more than wanted, because a character or a secret at the end may be cut.
        const MORE: u64 = 1 << 10;
        let most = (bytes as u64).saturating_add(MORE).min(self.bytes());
        let text = self.measured.sanitized.captured.text().ok()??;
        let read = text.bytes(0, most).ok()?;
        let read = String::from_utf8_lossy(&read).into_owned();
        let mut read = match self.limits.redaction {
            Redaction::Off => read,
            _ => self.offloader.redactor().owned(read),
        };
        read.truncate(read.floor_char_boundary(bytes));
        Some(read)
    }

    /// Estimates the tokens of the message that replaces the result if it is stored for lack of
    /// room. For a small result, the estimate is at least the size of the result. The tokens of the
    /// result are not counted for this.
    #[must_use]
    pub fn instead(&self) -> u64 {
        let sanitized = &self.measured.sanitized;
        let (scan, counter) = (&sanitized.captured.scan, &**self.offloader.counter());
        let strategy = self.limits.profile.strategy();
        strategy.cost(scan, sanitized.kind, &self.limits, counter)
    }

    /// Limits the message to `json_bytes` bytes as a JSON string. This applies only to profiles
    /// whose messages scale with the result; the texts of other profiles are fixed.
    #[must_use]
    pub fn shown_within(self, json_bytes: u64) -> Self {
        match self.limits.profile.is_budgeted() {
            true => Self { json_bytes, ..self },
            false => self,
        }
    }

    /// Records in the ledger that the result is shown unchanged.
    pub fn pass(&self) {
        self.offloader.ledger().inline(self.bytes());
    }

    /// Returns the text with its middle cut out within the byte limit, for callers that store
    /// nothing.
    #[must_use]
    pub fn cut(&self) -> String {
        let (sanitized, limits) = (&self.measured.sanitized, &self.limits);
        let scanned = self.offloader.scan(sanitized, limits);
        let redacted = Scanned::shown(scanned.as_ref().ok(), limits);
        let ends = redacted.map_or_else(|| TwoEnds::of(&sanitized.captured), TwoEnds::of_text);
        truncate(
            &self.offloader.ends(&ends, limits),
            limits,
            &**self.offloader.counter(),
        )
    }
}

/// What happens to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The result passes through unchanged.
    Inline {
        /// The result exceeds a limit, but the message that would replace it is not clearly
        /// smaller.
        never_worse: bool,
    },
    /// The result is stored for this reason, and a message is shown.
    Offload(Reason),
}

/// Decides about a result. `is_over` overrides the comparison with the limits if the stored text
/// does not matter. The decision is pure, without clock or randomness: the same result under the
/// same rules gets the same decision.
fn decide(measured: &Measured, limits: &Limits, is_over: Option<bool>) -> Decision {
    if measured.is_lost() {
        return Decision::Offload(Reason::SizeCap);
    }
    if !is_over.unwrap_or_else(|| is_oversized(measured, limits)) {
        return Decision::Inline { never_worse: false };
    }
    // The message may have at most half of the result's tokens, but it has a minimum size.
    if limits.profile.is_budgeted() && !measured.exceeds_tokens(2 * LEAST_PREVIEW_TOKENS) {
        return Decision::Inline { never_worse: true };
    }
    Decision::Offload(Reason::SizeCap)
}

/// Returns whether the result strictly exceeds any configured limit (docs/spec/behaviour.md,
/// "Deciding").
fn is_oversized(measured: &Measured, limits: &Limits) -> bool {
    let scan = measured.sanitized.captured.scan;
    is_over(limits, &scan, |limit| measured.exceeds_tokens(limit))
}

/// Returns whether a text with these figures exceeds a limit.
pub(crate) fn is_over(
    limits: &Limits,
    scan: &ScanFacts,
    exceeds_tokens: impl Fn(u64) -> bool,
) -> bool {
    let over = |limit: Option<u64>, size: u64| limit.is_some_and(|limit| size > limit);
    let strategy = limits.profile.strategy();
    let over_tokens = |limit| {
        let told = strategy.exceeds_tokens(scan, limit);
        told.unwrap_or_else(|| exceeds_tokens(limit))
    };
    over(limits.bytes, scan.bytes)
        || over(limits.lines, scan.lines())
        || over(limits.chars, scan.chars)
        || limits.tokens.is_some_and(over_tokens)
}

/// Proof that a result may be shown unchanged.
#[derive(Debug)]
pub struct Fits {
    pub(crate) pending: PendingResult,
    /// The result exceeds a limit, but the message that would replace it is not clearly smaller.
    pub(crate) never_worse: bool,
}

impl Fits {
    /// Returns where the result comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.pending.origin()
    }

    /// Returns the figures of the text.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.pending.stats()
    }

    /// Returns the SHA-256 of the raw bytes, in hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        self.pending.measured.sha256()
    }

    /// Returns whether the result exceeds a limit and is shown whole only because a preview would
    /// not be clearly smaller.
    #[must_use]
    pub fn is_never_worse(&self) -> bool {
        self.never_worse
    }

    /// Returns the draft with the raw bytes of a result that was too large for memory, so that it
    /// can be passed on.
    #[must_use]
    pub fn into_draft(self) -> Option<Box<dyn Draft>> {
        match self.pending.measured.sanitized.captured.raw {
            Raw::Spooled(draft) => Some(draft),
            Raw::Memory(_) | Raw::Lost { .. } => None,
        }
    }

    /// Writes the raw bytes, unchanged.
    pub fn write_raw(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.pending.measured.sanitized.captured.raw {
            Raw::Memory(bytes) => out.write_all(bytes),
            Raw::Spooled(draft) => {
                let raw = draft.read(Part::Raw).map_err(io::Error::other)?;
                io::copy(&mut ReadRange::whole(&*raw), out).map(drop)
            }
            Raw::Lost { .. } => Ok(()),
        }
    }
}

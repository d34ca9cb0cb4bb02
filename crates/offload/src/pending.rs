//! A captured and measured result that awaits its decision.
//!
//! An agent knows what else is in its conversation: a result within every limit may still not fit
//! there, and a result that fits alone may not fit together with others. So the result waits here
//! until its owner decides.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{Ending, Origin, ReadRange, Stats};
use spillgate_store::{Draft, Part};

use crate::aside::TwoEnds;
use crate::capture::Raw;
use crate::history::History;
use crate::limits::Limits;
use crate::measured::Measured;
use crate::offloader::Offloader;
use crate::policy::is_oversized;
use crate::present::truncate;
use crate::redaction::{Redaction, Scanned};
use crate::stored_secrets::StoredSecrets;

/// Maximum bytes of a text returned whole: no conversation holds more.
const MOST_WHOLE: u64 = 16 << 20;

/// A result whose size is known and that awaits its decision.
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

//! A result that was taken in and measured, and about which nothing is decided.
//!
//! An agent knows what else is in its conversation: a result that is within every
//! limit may still not fit there, and one that fitted may not when it is put together
//! with others. So a result waits here until its owner says what becomes of it.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use spillgate_artifact::{Origin, ReadRange, Stats};
use spillgate_store::{Draft, Part};

use crate::aside::TwoEnds;
use crate::capture::Raw;
use crate::limits::Limits;
use crate::measured::Measured;
use crate::offloader::Offloader;
use crate::policy::is_oversized;
use crate::present::truncate;

/// A text of more bytes than these is not given out whole: no conversation holds
/// it.
const MOST_WHOLE: u64 = 16 << 20;

/// A result whose size is known, and about which nothing is decided.
pub struct PendingResult {
    pub(crate) offloader: Offloader,
    pub(crate) measured: Measured,
    pub(crate) limits: Limits,
    /// Most bytes of its message as a JSON string.
    pub(crate) json_bytes: u64,
    /// What it took until here.
    pub(crate) took: Duration,
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
    /// Who made it.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.measured.sanitized.captured.origin
    }

    /// Its figures.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.measured.stats()
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.measured.sanitized.captured.scan.bytes
    }

    /// Whether it is over a limit that is set for it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        is_oversized(&self.measured, &self.limits)
    }

    /// All of it, readable; `None` for what is far too large for a conversation, or
    /// lost.
    #[must_use]
    pub fn whole(&self) -> Option<String> {
        let captured = &self.measured.sanitized.captured;
        let text = captured.text().ok()??;
        let bytes = (captured.scan.bytes <= MOST_WHOLE).then(|| text.bytes(0, u64::MAX))?;
        Some(String::from_utf8_lossy(&bytes.ok()?).into_owned())
    }

    /// The first bytes of it, readable: so many at most.
    #[must_use]
    pub fn beginning(&self, bytes: usize) -> Option<String> {
        // A character more than wanted: the last of what is read may be cut.
        let most = (bytes as u64).saturating_add(4).min(self.bytes());
        let text = self.measured.sanitized.captured.text().ok()??;
        let read = text.bytes(0, most).ok()?;
        let mut read = String::from_utf8_lossy(&read).into_owned();
        read.truncate(read.floor_char_boundary(bytes));
        Some(read)
    }

    /// Tokens, about, of what is shown instead if it is stored for want of room: of a
    /// small result no fewer than it has itself. Counts nothing of the result.
    #[must_use]
    pub fn instead(&self) -> u64 {
        let sanitized = &self.measured.sanitized;
        let (scan, counter) = (&sanitized.captured.scan, &**self.offloader.counter());
        let strategy = self.limits.profile.strategy();
        strategy.cost(scan, sanitized.kind, &self.limits, counter)
    }

    /// The same, whose message may have so many bytes as a JSON string where it is read,
    /// if its profile follows the result's size. Other profiles say exactly what they say.
    #[must_use]
    pub fn shown_within(self, json_bytes: u64) -> Self {
        match self.limits.profile.is_budgeted() {
            true => Self { json_bytes, ..self },
            false => self,
        }
    }

    /// Enters into the account that it is shown as it is.
    pub fn pass(&self) {
        self.offloader.ledger().inline(self.bytes());
    }

    /// With its middle cut out to the byte cap: what is shown where nothing is
    /// stored.
    #[must_use]
    pub fn cut(&self) -> String {
        let ends = TwoEnds::of(&self.measured.sanitized.captured).read(&self.limits);
        truncate(&ends, &self.limits, &**self.offloader.counter())
    }
}

/// Proof that a result may be shown as it is.
#[derive(Debug)]
pub struct Fits {
    pub(crate) pending: PendingResult,
    /// It is over a limit, but what could be shown instead is not clearly
    /// smaller.
    pub(crate) never_worse: bool,
}

impl Fits {
    /// Who made it.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.pending.origin()
    }

    /// Its figures.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.pending.stats()
    }

    /// SHA-256 of its raw bytes, in hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        self.pending.measured.sha256()
    }

    /// Whether it is over a limit and shown whole only because a preview would
    /// not be clearly smaller.
    #[must_use]
    pub fn is_never_worse(&self) -> bool {
        self.never_worse
    }

    /// The draft with the raw bytes of a result that was too large for the memory,
    /// so that it can be passed on.
    #[must_use]
    pub fn into_draft(self) -> Option<Box<dyn Draft>> {
        match self.pending.measured.sanitized.captured.raw {
            Raw::Spooled(draft) => Some(draft),
            Raw::Memory(_) | Raw::Lost { .. } => None,
        }
    }

    /// Writes the raw bytes, untouched.
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

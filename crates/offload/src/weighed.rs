//! What if somebody else decides?
//!
//! An agent knows what else is in its conversation: a result that is within every
//! limit may still not fit there (SPEC 2.3, `token_budget`), and one that fitted
//! may not when it is put together with others (`reserve_failed`). So a result is
//! weighed first, and stored when its owner says so.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Handle, Origin, Reason, Stats, TokenBudget, Tokens};
use spillgate_measure::{Scan, source_exceeds};

use crate::aside::TwoEnds;
use crate::capture::capture_stream;
use crate::measured::{Measured, measure};
use crate::pipeline::{Offloader, Outcome};
use crate::policy::{Limits, Plan, is_over, is_oversized};
use crate::present::{handle, truncate};
use crate::profile::{DEFAULT_SLICE_CHARS, Profile};
use crate::sanitize::sanitize;

/// A text of more bytes than these is not given out whole: no conversation holds
/// it.
const MOST_WHOLE: u64 = 16 << 20;

/// Bytes of a text looked at at a time.
const BLOCK: u64 = 256 << 10;

/// Tokens of the words after a slice: how much it is and how to get more.
const SLICE_WORDS: u64 = 60;

/// A result whose size is known, and about which nothing is decided.
pub struct Weighed {
    measured: Measured,
    limits: Limits,
}

impl fmt::Debug for Weighed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.measured.sanitized.captured.scan.bytes;
        f.debug_struct("Weighed")
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

impl Weighed {
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
    pub fn instead(&self, offloader: &Offloader) -> u64 {
        let scan = self.measured.sanitized.captured.scan;
        let estimated = scan.bytes.div_ceil(4);
        let limits = &self.limits;
        match limits.profile {
            Profile::Handle => {
                let stats = Stats {
                    bytes: scan.bytes,
                    lines: scan.lines(),
                    chars: scan.chars,
                    tokens: Tokens::estimated(estimated),
                    kind: self.measured.sanitized.kind,
                };
                offloader.counter().count(&handle(&stats, any_handle()))
            }
            Profile::Continuation => {
                let page = limits.chars.unwrap_or(DEFAULT_SLICE_CHARS);
                page.min(scan.chars.div_ceil(4)).div_ceil(4) + SLICE_WORDS
            }
            Profile::Truncate => limits.bytes.map_or(estimated, |most| most.div_ceil(4)),
            Profile::Preview | Profile::Funnel | Profile::Reject | Profile::Template(_) => {
                limits.preview.min(TokenBudget::new(estimated / 2)).get()
            }
        }
    }

    /// Stores it, whatever its size: [`Outcome::Offloaded`], or
    /// [`Outcome::NotStored`].
    #[must_use]
    pub fn keep(self, offloader: &Offloader, reason: Reason) -> Outcome {
        let begun = offloader.clock().now();
        let Self {
            measured,
            mut limits,
        } = self;
        if limits.profile == Profile::Continuation && reason != Reason::SizeCap {
            // It is within the size of a page: a page would be all of it again.
            let page = limits.chars.unwrap_or(DEFAULT_SLICE_CHARS);
            let part = measured.stats().chars.div_ceil(4).max(1);
            limits.chars = Some(page.min(part));
        }
        let outcome = offloader.offload(Plan {
            measured,
            reason,
            limits,
        });
        offloader.account(&outcome, begun);
        outcome
    }

    /// Enters into the account that it is shown as it is.
    pub fn pass(&self, offloader: &Offloader) {
        let bytes = self.measured.sanitized.captured.scan.bytes;
        offloader.ledger().inline(bytes);
    }

    /// With its middle cut out to the byte cap: what is shown where nothing is
    /// stored (wire.md, truncation).
    #[must_use]
    pub fn cut(&self, offloader: &Offloader) -> String {
        let ends = TwoEnds::of(&self.measured.sanitized.captured).read(&self.limits);
        truncate(&ends, &self.limits, &**offloader.counter())
    }
}

/// A handle for measure: its digits are as mixed as those of any other, so that it
/// costs as much.
fn any_handle() -> Handle {
    "session-7c9e6679-7425-40de-944b-e07fc1f90ae7/f47ac10b-58cc-4372-a567-0e02b2c3d479"
        .parse()
        .expect("invariant: it is a handle")
}

impl Offloader {
    /// Whether a text is within the limits; what cannot be read is not.
    #[must_use]
    pub fn admits(&self, limits: &Limits, text: &dyn ByteSource) -> bool {
        if limits.admit_any(text.len()) {
            return true;
        }
        let mut scan = Scan::default();
        let (mut at, mut buffer) = (0, Vec::new());
        while at < text.len() {
            let Ok(block) = text.window(at, at + BLOCK, &mut buffer) else {
                return false;
            };
            scan.feed(block);
            at += block.len() as u64;
        }
        let counter = &**self.counter();
        let exceeds = |limit| source_exceeds(counter, text, limit).unwrap_or(true);
        !is_over(limits, &scan.finish(), exceeds)
    }

    /// Takes in a result to its end and weighs it. An error is the stream's.
    pub fn weigh(
        &self,
        origin: Origin,
        is_error: bool,
        reader: &mut dyn Read,
    ) -> io::Result<Weighed> {
        let store = &**self.store();
        let mut captured = capture_stream(store, self.counter(), origin, reader, &mut |_| {})?;
        captured.is_error = is_error;
        let limits = self.limits(&captured.origin);
        Ok(Weighed {
            measured: measure(sanitize(captured), Arc::clone(self.counter())),
            limits,
        })
    }
}

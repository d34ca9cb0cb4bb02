//! Outlines a result while it is stored, and reads the ends of its text.
//!
//! For a megabyte, counting tokens, writing to disk and outlining each take about the same time.
//! The outline does not depend on the other steps, so it is made in parallel. The beginning and the
//! end of the text are read only for messages that show them.

use std::sync::Arc;
use std::{panic, thread};

use spillgate_artifact::{ByteSource, ContentKind, ViewFacts};
use spillgate_outline::{OutlineEntry, outline, outline_of_binary};
use spillgate_text::{Sanitizer, View};

use crate::capture::{Captured, Raw};
use crate::limits::Limits;
use crate::present::{DEFAULT_MAX_BYTES, Ends, LEAST_BYTES};
use crate::sanitize::Sanitized;

/// Minimum size, in bytes, for a second thread. Outlining a smaller result takes less time than
/// starting a thread.
const WORTH_A_THREAD: u64 = 64 << 10;

/// The pending outline of a captured result.
pub(crate) struct Outlining {
    view: View,
    /// The raw bytes, if they are not text.
    binary: Option<Arc<dyn ByteSource>>,
    facts: ViewFacts,
    kind: ContentKind,
    lines: u64,
}

impl Outlining {
    /// Prepares the outline; `None` if the message does not show one, if the result is too small,
    /// or if the text is lost.
    pub(crate) fn of(sanitized: &Sanitized, limits: &Limits) -> Option<Self> {
        let scan = &sanitized.captured.scan;
        let is_shown = limits.profile.strategy().shows_outline(limits);
        if !is_shown || scan.bytes < WORTH_A_THREAD {
            return None;
        }
        let view = sanitized.view_source().ok()??;
        let binary = match sanitized.kind {
            ContentKind::Binary => Some(sanitized.captured.text().ok()??),
            _ => None,
        };
        Some(Self {
            binary,
            view: View::new(view, sanitized.index.clone(), sanitized.layout),
            facts: sanitized.facts(),
            kind: sanitized.kind,
            lines: scan.lines(),
        })
    }

    /// Runs `store` on its own thread and makes the outline meanwhile. The outline is `None` if it
    /// could not be made; the caller then retries on the stored artifact.
    pub(crate) fn beside<T: Send>(
        self,
        store: impl FnOnce() -> T + Send,
    ) -> (T, Option<Vec<OutlineEntry>>) {
        thread::scope(|scope| {
            let storing = scope.spawn(store);
            let outlined = match &self.binary {
                Some(raw) => outline_of_binary(&**raw).ok(),
                None => outline(&self.view, &self.facts, self.kind, self.lines).ok(),
            };
            let stored = storing.join();
            let stored = stored.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            (stored, outlined)
        })
    }
}

/// Reads the beginning and the end of a result, even after the result was stored or lost.
pub(crate) struct TwoEnds {
    text: Option<Arc<dyn ByteSource>>,
    /// The first bytes that are left of a lost text.
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
}

impl TwoEnds {
    pub(crate) fn of(captured: &Captured) -> Self {
        let tail = match &captured.raw {
            Raw::Lost { tail, .. } => tail.clone(),
            _ => Vec::new(),
        };
        Self {
            text: captured.text().ok().flatten(),
            head: captured.head.clone(),
            tail,
            bytes: captured.scan.bytes,
        }
    }

    /// Prepares reading the ends of a text other than that of the result: its redacted view.
    pub(crate) fn of_text(text: Arc<dyn ByteSource>) -> Self {
        Self {
            bytes: text.len(),
            text: Some(text),
            head: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Returns whether the text is lost but for its ends.
    pub(crate) fn is_lost(&self) -> bool {
        self.text.is_none()
    }

    /// Reads, from each end, as many bytes as the byte limit. A text of up to twice the limit is
    /// read whole, so that the two parts cannot overlap.
    pub(crate) fn read(&self, limits: &Limits) -> Ends {
        let wanted = limits.bytes.unwrap_or(DEFAULT_MAX_BYTES).max(LEAST_BYTES);
        let Some(text) = &self.text else {
            return Ends::Apart {
                head: readable(&self.head),
                tail: readable(&self.tail),
                bytes: self.bytes,
            };
        };
        if self.bytes <= wanted.saturating_mul(2)
            && let Ok(whole) = text.bytes(0, self.bytes)
        {
            return Ends::Whole(readable(&whole));
        }
        let read = |start, end| readable(&text.bytes(start, end).unwrap_or_default());
        let from = self
            .bytes
            .saturating_sub(wanted)
            .max(wanted.min(self.bytes));
        Ends::Apart {
            head: read(0, wanted.min(self.bytes)),
            tail: read(from, self.bytes),
            bytes: self.bytes,
        }
    }
}

/// Returns raw bytes as text without control characters.
fn readable(raw: &[u8]) -> String {
    let (mut text, mut sanitizer) = (Vec::new(), Sanitizer::default());
    let written = sanitizer
        .feed(raw, &mut text)
        .and_then(|()| sanitizer.finish(&mut text));
    written.expect("invariant: writing to memory does not fail");
    String::from_utf8_lossy(&text).into_owned()
}

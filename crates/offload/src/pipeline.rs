//! The pipeline of a result, from its bytes to what a model sees.
//!
//! ```text
//! capture → sanitize → measure → decide → store → present → account
//! ```
//!
//! Each stage takes the type that the previous stage returns, so that no stage can be skipped. Only
//! this file names all stages. The entry is [`Offloader::submit`]; [`PendingResult::settle`]
//! finishes.

use std::io::{self, Read};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use std::{panic, thread};

use bytes::Bytes;
use spillgate_artifact::{
    ByteSource, ContentKind, Facts, Origin, Reason, Stats, TextPart, Tokens, ViewFacts, has_failed,
};
use spillgate_outline::{OutlineEntry, outline, outline_of_binary};
use spillgate_store::{ArtifactStore, Draft, Part, Receipt, StoreError};
use spillgate_text::View;

use crate::capture::{Captured, JsonResult, Raw, capture_json, capture_stream};
use crate::ledger::{Exit, LedgerEntry};
use crate::limits::Limits;
use crate::offloader::Offloader;
use crate::pending::{Decision, Fits, Measured, PendingResult, measure};
use crate::present::{Presentation, TwoEnds, not_stored};
use crate::redaction::Scanned;
use crate::sanitize::{Sanitized, sanitize, unreadable};
use crate::seen::Seen;
use crate::stored_secrets::{StoredSecrets, Unstored, found, refused};

/// The outcome for a result.
#[derive(Debug)]
pub enum Outcome {
    /// The result fits: show it unchanged.
    Inline(Box<Fits>),
    /// The result is stored, and a message is shown instead.
    Offloaded(Offloaded),
    /// The result does not fit and could not be stored. Its ends are shown with a notice that the
    /// rest is lost.
    NotStored(NotStored),
}

/// A stored result.
#[derive(Debug)]
pub struct Offloaded {
    /// The message shown instead.
    pub shown: Presentation,
    /// Proof of storage.
    pub receipt: Receipt,
}

/// A result that could not be stored.
#[derive(Debug)]
pub struct NotStored {
    /// Where the result comes from.
    pub origin: Origin,
    /// The message shown instead.
    pub shown: Presentation,
    /// The figures of the text.
    pub stats: Stats,
    /// SHA-256 of its raw bytes, in hexadecimal. `None` if it has secrets, because the hash can prove
    /// a guess.
    pub sha256: Option<String>,
    /// Why it is not stored.
    pub error: Unstored,
}

/// The basis of the decision about a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The limits. `is_over` overrides the comparison if the reader sees something other than the
    /// stored text.
    Limits {
        /// Whether the result exceeds a limit; `None` compares the stored text with the limits.
        is_over: Option<bool>,
    },
    /// Store the result, whatever its size.
    Store(Reason),
}

impl Offloader {
    /// Captures a JSON result whose text consists of `parts`, decoded and joined by newlines.
    #[must_use]
    pub fn capture_json(
        &self,
        origin: Origin,
        is_error: bool,
        raw: JsonResult,
        parts: Vec<TextPart>,
    ) -> Captured {
        capture_json(origin, is_error, raw, parts)
    }

    /// The entry of the pipeline: sanitizes and measures a result. `limits` are those of its origin
    /// ([`Offloader::limits`]); the caller resolves them once.
    #[must_use]
    pub fn submit(&self, captured: Captured, limits: Limits) -> PendingResult {
        let begun = self.clock.now();
        let measured = measure(sanitize(captured), Arc::clone(&self.presenter.counter));
        PendingResult {
            offloader: self.clone(),
            measured,
            limits,
            scanned: None,
            json_bytes: u64::MAX,
            took: begun.age_at(self.clock.now()),
            history: None,
        }
    }

    /// Runs [`submit`](Self::submit) on a stream, read to its end. Calls `progress` with the bytes
    /// so far. Errors are those of the stream.
    pub fn submit_stream(
        &self,
        origin: Origin,
        is_error: bool,
        reader: &mut dyn Read,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<PendingResult> {
        let limits = self.limits(&origin);
        let captured = capture_stream(&*self.store, origin, reader, progress)?;
        Ok(self.submit(
            Captured {
                is_error,
                ..captured
            },
            limits,
        ))
    }

    /// Reads a stream to its end and decides by its limits what to show.
    pub fn stream(
        &self,
        origin: Origin,
        reader: &mut dyn Read,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<Outcome> {
        let pending = self.submit_stream(origin, false, reader, progress)?;
        Ok(pending.settle(Choice::Limits { is_over: None }))
    }

    /// Stores the result as an artifact, with what a scan found in its view.
    fn put(
        &self,
        measured: Measured,
        scanned: Scanned,
        reason: Reason,
        limits: &Limits,
    ) -> Result<Receipt, Unstored> {
        let stats = measured.stats();
        let sanitized = measured.sanitized;
        let view = sanitized.facts();
        let mut captured = sanitized.captured;
        captured.origin.call_id = self.call_ids.name(&captured.origin, &*self.store);
        if limits.stored_secrets != StoredSecrets::AsIs {
            let arguments = captured.origin.arguments.take();
            captured.origin.arguments = arguments.map(|text| self.redactor().owned(text));
        }
        let created = self.clock.now();
        let own_view = sanitized.view.in_memory();
        let draft = match (sanitized.early, captured.raw) {
            (Some(early), _) => early.wait()?,
            (None, Raw::Memory(raw)) => written(&*self.store, &raw, own_view.as_deref())?,
            (None, Raw::Spooled(mut draft)) => {
                draft.complete(Part::Raw);
                completed(draft, own_view.as_deref())?
            }
            (None, Raw::Lost { error, .. }) => return Err(error.into()),
        };
        let mut facts = Facts {
            created,
            origin: captured.origin,
            mime: None,
            is_error: captured.is_error,
            ending: captured.ending,
            raw_bytes: captured.raw_bytes,
            sha256: captured.sha256.get().to_owned(),
            form: captured.form,
            stats,
            view,
            reason,
            first_slice: None,
            file_name: None,
            secrets: scanned.facts.clone(),
        };
        let strategy = limits.profile.strategy();
        strategy.note(&mut facts, limits);
        let call_id = facts.origin.call_id.clone();
        let index = scanned.index(sanitized.index).to_bytes();
        let receipt = draft.commit(facts, &index, strategy.handle_form())?;
        if let Some(call_id) = call_id {
            self.call_ids.note(call_id, receipt.handle());
        }
        Ok(receipt)
    }

    /// Records an outcome that took `took` to process.
    fn account(&self, outcome: &Outcome, took: Duration) {
        let now = self.clock.now();
        let entry = |origin: &Origin, stats: &Stats, shown: &Presentation, exit| LedgerEntry {
            server: origin.server.clone(),
            tool: origin.tool.clone(),
            tokens_in: stats.tokens,
            tokens_shown: Tokens::exact(shown.tokens()),
            bytes_in: stats.bytes,
            micros: micros(took),
            ..LedgerEntry::new(now, exit)
        };
        match outcome {
            Outcome::Inline(fits) => self.ledger.inline(fits.pending.bytes()),
            Outcome::Offloaded(Offloaded { shown, receipt }) => {
                let facts = &receipt.manifest().facts;
                self.ledger.record(LedgerEntry {
                    handle: Some(receipt.handle()),
                    secrets: found(facts),
                    ..entry(&facts.origin, &facts.stats, shown, Exit::Offloaded)
                });
            }
            Outcome::NotStored(lost) => {
                self.ledger.record(LedgerEntry {
                    secrets: lost.error.found(),
                    ..entry(&lost.origin, &lost.stats, &lost.shown, Exit::NotStored)
                });
            }
        }
    }
}

impl PendingResult {
    /// Decides, stores the result if necessary, renders its message, and records it in the ledger.
    #[must_use]
    pub fn settle(mut self, choice: Choice) -> Outcome {
        let (offloader, took) = (self.offloader.clone(), self.took);
        let begun = offloader.clock.now();
        let outcome = match choice {
            Choice::Limits { is_over } => match self.decide(is_over) {
                Decision::Inline { never_worse } => Outcome::Inline(Box::new(Fits {
                    pending: self,
                    never_worse,
                })),
                Decision::Offload(reason) => self.offload(reason),
            },
            Choice::Store(reason) => self.tightened(reason).offload(reason),
        };
        let now = offloader.clock.now();
        offloader.account(&outcome, took + begun.age_at(now));
        outcome
    }

    fn offload(self, reason: Reason) -> Outcome {
        let Self {
            offloader,
            mut measured,
            limits,
            json_bytes,
            history,
            scanned,
            ..
        } = self;
        let captured = &measured.sanitized.captured;
        let ends = TwoEnds::of(captured);
        let (origin, sha256) = (captured.origin.clone(), captured.sha256.clone());
        if limits.stored_secrets == StoredSecrets::AsIs {
            measured.sanitized.begin_store(&offloader.store);
        }
        let seen = match scanned {
            None => Seen::of(&offloader, &measured.sanitized, &limits),
            Some(_) => None,
        };
        let (made, seen) = match seen {
            Some(seen) => offloader.made_of_seen(measured, seen, reason, &limits),
            None => (offloader.made(measured, scanned, reason, &limits), None),
        };
        let Made {
            stored,
            stats,
            ends: redacted,
            mut outlined,
        } = made;
        let ends = redacted.unwrap_or(ends);
        let stored = stored.and_then(|receipt| {
            let bounds = (&limits, json_bytes);
            let is_preview = limits.profile.strategy().has_history();
            let earlier = history.as_ref().filter(|_| is_preview);
            let earlier = earlier.and_then(|history| history.earlier(receipt.manifest()));
            let mut present = |ends: &TwoEnds, seen: Option<&Seen>| {
                let made = (outlined.take(), seen);
                offloader.present(&receipt, ends, made, bounds, earlier)
            };
            let mut shown = present(&ends, seen.as_ref());
            if seen.is_some_and(|seen| seen.has_secrets()) {
                let handle = receipt.handle();
                let ends = offloader.ends_of(handle);
                let (ends, _) = ends.map_err(|error| error.of_stored(handle))?;
                shown = present(&ends, None);
            }
            let shown = shown?;
            if let Some(history) = history {
                history.note(receipt.manifest(), is_preview);
            }
            Ok(Offloaded { shown, receipt })
        });
        match stored {
            Ok(offloaded) => Outcome::Offloaded(offloaded),
            Err(error) => {
                let (tool, ends) = (&origin.tool, offloader.ends(&ends, &limits));
                let counter = &**offloader.counter();
                let bounds = (&limits, json_bytes);
                let text = match &error {
                    Unstored::Failed(error) => {
                        not_stored(tool, &stats, error, &ends, bounds, counter)
                    }
                    why @ Unstored::Secrets { .. } => refused(tool, &stats, why),
                };
                let is_failed = matches!(error, Unstored::Failed(_));
                Outcome::NotStored(NotStored {
                    origin,
                    shown: Presentation::of_format(text, counter),
                    stats,
                    sha256: is_failed.then(|| sha256.get().to_owned()),
                    error,
                })
            }
        }
    }
}

/// A result that was stored, and what its message is made from.
struct Made {
    stored: Result<Receipt, Unstored>,
    stats: Stats,
    /// The ends that the message may show, if they are not those of the captured text.
    ends: Option<TwoEnds>,
    outlined: Option<Vec<OutlineEntry>>,
}

impl Offloader {
    /// Scans and stores a result, and makes its outline meanwhile.
    fn made(
        &self,
        measured: Measured,
        scanned: Option<Scanned>,
        reason: Reason,
        limits: &Limits,
    ) -> Made {
        let outlining = Outlining::of(&measured.sanitized, limits);
        // The outline takes longest, so the scan and the store share the other thread. Tokens are
        // counted during the scan.
        let is_beside = outlining.is_some();
        let put = || {
            let scan = || self.scan(&measured.sanitized, limits);
            let scanned = match scanned {
                Some(scanned) => Ok(scanned),
                None if is_beside => measured.counted_beside(scan),
                None => scan(),
            };
            let mut redacted = Scanned::shown(scanned.as_ref().ok(), limits);
            let stats = measured.stats();
            let scanned = scanned.map_err(|error| Unstored::from(unreadable(&error)));
            let storable = scanned.and_then(|scanned| self.storable(measured, scanned, limits));
            if let Ok((_, scanned)) = &storable {
                redacted = Scanned::shown(Some(scanned), limits);
            }
            let stored = storable
                .and_then(|(measured, scanned)| self.put(measured, scanned, reason, limits));
            (stored, stats, redacted)
        };
        let ((stored, stats, redacted), outlined) = match outlining {
            Some(outlining) => outlining.beside(put),
            None => (put(), None),
        };
        // With secrets, the outline and the ends are made again from the redacted view.
        Made {
            stored,
            stats,
            outlined: outlined.filter(|_| redacted.is_none()),
            ends: redacted.map(TwoEnds::of_text),
        }
    }

    /// Stores a result whose outline is made and that is not searched as a whole.
    fn made_of_seen(
        &self,
        measured: Measured,
        mut seen: Seen,
        reason: Reason,
        limits: &Limits,
    ) -> (Made, Option<Seen>) {
        let stats = measured.stats();
        let made = Made {
            stored: self.put(measured, seen.scanned(self), reason, limits),
            stats,
            ends: Some(seen.ends()),
            outlined: seen.outlined.take(),
        };
        (made, Some(seen))
    }
}

/// Minimum size, in bytes, for another thread. Outlining or writing a smaller result takes less time
/// than starting a thread.
pub(crate) const WORTH_A_THREAD: u64 = 64 << 10;

/// The pending outline of a captured result. It is made while the result is stored: for a megabyte,
/// counting tokens, writing to disk and outlining each take about the same time, and the outline does
/// not depend on the other steps.
pub(crate) struct Outlining {
    view: View,
    /// The raw bytes, if they are not text.
    binary: Option<Arc<dyn ByteSource>>,
    facts: ViewFacts,
    kind: ContentKind,
    lines: u64,
    has_failed: bool,
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
            has_failed: has_failed(sanitized.captured.is_error, sanitized.captured.ending),
        })
    }

    /// Returns the same with another source of the same text.
    pub(crate) fn in_source(self, source: Arc<dyn ByteSource>) -> Self {
        Self {
            view: self.view.in_source(source),
            ..self
        }
    }

    /// Makes the outline; `None` if it could not be made.
    pub(crate) fn outlined(&self) -> Option<Vec<OutlineEntry>> {
        let made = match &self.binary {
            Some(raw) => outline_of_binary(&**raw),
            None => outline(
                &self.view,
                &self.facts,
                self.kind,
                self.lines,
                self.has_failed,
            ),
        };
        made.ok()
    }

    /// Runs `store` on its own thread and makes the outline meanwhile. The outline is `None` if it
    /// could not be made; the caller then retries on the stored artifact.
    fn beside<T: Send>(self, store: impl FnOnce() -> T + Send) -> (T, Option<Vec<OutlineEntry>>) {
        thread::scope(|scope| {
            let storing = scope.spawn(store);
            let outlined = self.outlined();
            let stored = storing.join();
            let stored = stored.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            (stored, outlined)
        })
    }
}

impl Fits {
    /// Stores a result whose text is shown because another part of it does not fit. The ledger
    /// entry counts its text as shown.
    pub fn store(mut self) -> Result<Receipt, Unstored> {
        let scanned = self.pending.scanned()?.clone();
        let PendingResult {
            offloader,
            measured,
            limits,
            took,
            ..
        } = self.pending;
        let begun = offloader.clock.now();
        let stats = measured.stats();
        let (measured, scanned) = offloader.storable(measured, scanned, &limits)?;
        let receipt = offloader.put(measured, scanned, Reason::SizeCap, &limits)?;
        let facts = &receipt.manifest().facts;
        let now = offloader.clock.now();
        offloader.ledger.record(LedgerEntry {
            server: facts.origin.server.clone(),
            tool: facts.origin.tool.clone(),
            handle: Some(receipt.handle()),
            tokens_in: stats.tokens,
            tokens_shown: stats.tokens,
            bytes_in: facts.raw_bytes,
            micros: micros(took + begun.age_at(now)),
            secrets: found(facts),
            ..LedgerEntry::new(now, Exit::Offloaded)
        });
        Ok(receipt)
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// What a thread returns that writes a draft.
type Written = Result<Box<dyn Draft>, StoreError>;

/// A draft that a thread of its own writes and begins to sync, while the result is scanned and outlined.
/// A sync takes about as long as the scan of a megabyte, and needs no processor.
#[derive(Debug)]
pub(crate) struct EarlyDraft(Option<JoinHandle<Written>>);

impl EarlyDraft {
    /// Starts to write; `None` if the system starts no thread.
    pub(crate) fn start(
        store: Arc<dyn ArtifactStore>,
        raw: Bytes,
        view: Option<Bytes>,
    ) -> Option<Self> {
        let work = move || written(&*store, &raw, view.as_deref());
        thread::Builder::new()
            .spawn(work)
            .ok()
            .map(|one| Self(Some(one)))
    }

    /// Waits until all bytes are written.
    pub(crate) fn wait(mut self) -> Written {
        let writing = self.0.take();
        let writing = writing.expect("invariant: only `wait` and `drop` take the thread");
        let written = writing.join();
        written.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    }
}

/// A draft that is not committed must be removed before the process may end.
impl Drop for EarlyDraft {
    fn drop(&mut self) {
        if let Some(writing) = self.0.take() {
            drop(writing.join());
        }
    }
}

/// Writes the bytes of a result and its view, if the view has other bytes, to a new draft.
fn written(store: &dyn ArtifactStore, raw: &[u8], view: Option<&[u8]>) -> Written {
    let mut draft = store.draft()?;
    draft.write(Part::Raw, raw)?;
    draft.complete(Part::Raw);
    completed(draft, view)
}

/// Writes the view to a draft that has all other bytes.
fn completed(mut draft: Box<dyn Draft>, view: Option<&[u8]>) -> Written {
    if let Some(view) = view {
        draft.write(Part::View, view)?;
    }
    draft.complete(Part::View);
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use spillgate_artifact::SystemClock;
    use spillgate_store::{FileStore, Lifetime};

    use super::*;

    #[test]
    fn a_draft_that_is_not_committed_leaves_no_file() {
        let base = tempfile::tempdir().unwrap();
        let clock = Arc::new(SystemClock);
        let store: Arc<dyn ArtifactStore> =
            Arc::new(FileStore::new(base.path(), Lifetime::Durable, clock));
        let (raw, view) = (Bytes::from(vec![b'x'; 1 << 20]), Bytes::from_static(b"y"));
        let start = || EarlyDraft::start(Arc::clone(&store), raw.clone(), Some(view.clone()));
        let draft = start().unwrap().wait().unwrap();
        assert_eq!(draft.read(Part::View).unwrap().bytes(0, 9).unwrap(), b"y");
        drop(draft);
        drop(start());
        drop(store);
        let left = std::fs::read_dir(base.path()).unwrap();
        assert_eq!(left.count(), 0);
    }
}

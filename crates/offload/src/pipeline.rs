//! The way of a result, from its bytes to what a model sees.
//!
//! ```text
//! intercept → sanitize → measure → decide → store → present → account
//! ```
//!
//! Each station takes the type that the one before it made, so none can be
//! skipped; this file is the only one that names them all.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{
    Clock, Facts, FileName, Handle, Interrupt, LOOKUP_TIMEOUT, Origin, Reason, Stats, TextPart,
    Timestamp, TokenBudget, Tokens,
};
use spillgate_lookup::{Artifact, LookupError, slice};
use spillgate_measure::TokenCounter;
use spillgate_outline::Line;
use spillgate_store::{ArtifactStore, Draft, Part, Receipt, StoreError};

use crate::RetrieveError;
use crate::aside::{Outlining, TwoEnds};
use crate::call_ids::CallIds;
use crate::capture::{Captured, Raw, capture_json, capture_stream};
use crate::capture_spooled::{SpooledRaw, capture_spooled};
use crate::ledger::{Exit, Ledger, LedgerEntry};
use crate::measured::{Measured, measure};
use crate::policy::{Decision, Fits, Limits, Plan, Policy, decide};
use crate::present::{
    Door, ObservationSummary, Presentation, Presenter, Preview, first, funnel, handle, not_stored,
    parts, preview, reject, reject_with_recovery, truncate,
};
use crate::profile::{DEFAULT_SLICE_CHARS, Profile};
use crate::sanitize::{ViewText, sanitize};

/// Results in, messages out: what every rim calls.
#[derive(Debug, Clone)]
pub struct Offloader {
    store: Arc<dyn ArtifactStore>,
    policy: Policy,
    presenter: Presenter,
    clock: Arc<dyn Clock>,
    ledger: Arc<dyn Ledger>,
    call_ids: Arc<CallIds>,
    /// What ends look-ups.
    interrupt: Interrupt,
    lookup_timeout: Duration,
}

/// What came of a result.
#[derive(Debug)]
pub enum Outcome {
    /// It fits: show it as it is.
    Inline(Fits),
    /// It is stored, and this is shown instead.
    Offloaded(Offloaded),
    /// It did not fit and could not be stored; its ends are shown, and that the
    /// rest is lost.
    NotStored(NotStored),
}

/// A result that was stored.
#[derive(Debug)]
pub struct Offloaded {
    /// What is shown.
    pub shown: Presentation,
    /// Proof that it is stored.
    pub receipt: Receipt,
}

/// A result that could not be stored.
#[derive(Debug)]
pub struct NotStored {
    /// Who made it.
    pub origin: Origin,
    /// What is shown.
    pub shown: Presentation,
    /// Its figures.
    pub stats: Stats,
    /// SHA-256 of its raw bytes, in hex.
    pub sha256: String,
    /// Why it could not be stored.
    pub error: StoreError,
}

impl Offloader {
    /// An offloader that stores in `store` by the rules of `policy`.
    #[must_use]
    pub fn new(
        store: Arc<dyn ArtifactStore>,
        policy: Policy,
        counter: Arc<dyn TokenCounter>,
        door: Door,
        clock: Arc<dyn Clock>,
        ledger: Arc<dyn Ledger>,
    ) -> Self {
        Self {
            store,
            policy,
            presenter: Presenter { counter, door },
            clock,
            ledger,
            call_ids: Arc::default(),
            interrupt: Interrupt::default(),
            lookup_timeout: LOOKUP_TIMEOUT,
        }
    }

    /// The same, which names results by short numbers where their callers give
    /// them no id (`continuation.short_ids`).
    #[must_use]
    pub fn with_short_ids(self, short: bool) -> Self {
        let call_ids = Arc::new(CallIds::new(short));
        Self { call_ids, ..self }
    }

    /// The same with another time that a look-up may take.
    #[must_use]
    pub fn with_lookup_timeout(self, lookup_timeout: Duration) -> Self {
        Self {
            lookup_timeout,
            ..self
        }
    }

    /// How long a look-up may take.
    #[must_use]
    pub fn lookup_timeout(&self) -> Duration {
        self.lookup_timeout
    }

    /// The same with another account.
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, ..self }
    }

    /// The rules that results are decided by.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The artifact that a caller means by the id of a call, a short id or a
    /// handle.
    #[must_use]
    pub fn by_call_id(&self, id: &str) -> Option<Handle> {
        let handle = id.parse().ok();
        let stored = handle.filter(|&handle| self.store.manifest(handle).is_ok());
        stored.or_else(|| self.call_ids.find(id, &*self.store))
    }

    /// The store that results go to.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ArtifactStore> {
        &self.store
    }

    /// What counts tokens.
    #[must_use]
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.presenter.counter
    }

    /// Where each result is entered.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// The present moment.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The limits for results of `origin`.
    #[must_use]
    pub fn limits(&self, origin: &Origin) -> Limits {
        self.policy.limits(origin)
    }

    /// Whether a binary block of any result of that server may become a link.
    #[must_use]
    pub fn makes_links(&self, server: &str) -> bool {
        self.policy.makes_links(server)
    }

    /// Takes in a stream to its end and says what to show. `progress` is told
    /// the bytes so far. An error is the stream's own.
    pub fn stream(
        &self,
        origin: Origin,
        reader: &mut dyn Read,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<Outcome> {
        let captured = capture_stream(&*self.store, self.counter(), origin, reader, progress)?;
        Ok(self.settle(captured, None))
    }

    /// Takes in a result that is JSON (`raw`) and whose text is `text`: the
    /// parts `parts` of it, decoded and joined by newlines. `is_over` says whether
    /// it is over its limits, where not the whole text counts.
    #[must_use]
    pub fn json_result(
        &self,
        origin: Origin,
        is_error: bool,
        raw: Vec<u8>,
        text: String,
        parts: Vec<TextPart>,
        is_over: Option<bool>,
    ) -> Outcome {
        self.settle(capture_json(origin, is_error, raw, parts, text), is_over)
    }

    /// Takes in a JSON result that is in a draft already, since it is too large
    /// for the memory; its text is the parts `parts` of it, decoded and joined by
    /// newlines. `is_over` is as in [`json_result`](Self::json_result).
    #[must_use]
    pub fn spooled_result(
        &self,
        origin: Origin,
        is_error: bool,
        raw: SpooledRaw,
        parts: Vec<TextPart>,
        is_over: Option<bool>,
    ) -> Outcome {
        let counter = self.counter();
        let captured = capture_spooled(counter, origin, is_error, raw, parts);
        self.settle(captured, is_over)
    }

    fn settle(&self, captured: Captured, is_over: Option<bool>) -> Outcome {
        let begun = self.clock.now();
        let limits = self.policy.limits(&captured.origin);
        let sanitized = sanitize(captured);
        let measured = measure(sanitized, Arc::clone(&self.presenter.counter));
        let outcome = match decide(measured, limits, is_over) {
            Decision::Inline(fits) => Outcome::Inline(fits),
            Decision::Offload(plan) => self.offload(plan),
        };
        self.account(&outcome, begun);
        outcome
    }

    pub(crate) fn offload(&self, plan: Plan) -> Outcome {
        let Plan {
            measured,
            reason,
            limits,
        } = plan;
        let stats = measured.stats();
        let captured = &measured.sanitized.captured;
        let ends = TwoEnds::of(captured);
        let (origin, sha256) = (captured.origin.clone(), captured.sha256.clone());
        // The one works on the text, the other mostly waits for the disk.
        let outlining = Outlining::of(&measured.sanitized, &stats, &limits);
        let put = || self.put(measured, &stats, reason, &limits);
        let (stored, outlined) = match outlining {
            Some(outlining) => outlining.beside(put),
            None => (put(), None),
        };
        let stored = stored.and_then(|receipt| {
            let shown = self.present(&receipt, &ends, outlined, &limits)?;
            Ok(Offloaded { shown, receipt })
        });
        match stored {
            Ok(offloaded) => Outcome::Offloaded(offloaded),
            Err(error) => {
                let counter = &*self.presenter.counter;
                let ends = ends.read(&limits);
                let text = not_stored(&origin.tool, &stats, &error, &ends, &limits, counter);
                Outcome::NotStored(NotStored {
                    origin,
                    shown: Presentation::bounded(text, counter),
                    stats,
                    sha256: sha256.get().to_owned(),
                    error,
                })
            }
        }
    }

    /// Store: makes the result an artifact.
    pub(crate) fn put(
        &self,
        measured: Measured,
        stats: &Stats,
        reason: Reason,
        limits: &Limits,
    ) -> Result<Receipt, StoreError> {
        let sanitized = measured.sanitized;
        let view = sanitized.facts();
        let mut captured = sanitized.captured;
        captured.origin.call_id = self.call_ids.name(&captured.origin, &*self.store);
        let created = self.clock.now();
        let mut draft = match captured.raw {
            Raw::Memory(bytes) => drafted(&*self.store, &bytes)?,
            Raw::Spooled(mut draft) => {
                draft.complete(Part::Raw);
                draft
            }
            Raw::Lost { error, .. } => return Err(error),
        };
        if let ViewText::Memory(bytes) = &sanitized.view {
            draft.write(Part::View, bytes)?;
        }
        draft.complete(Part::View);
        let sha256 = captured.sha256.get();
        let file_name = (limits.profile == Profile::Funnel)
            .then(|| FileName::of(&captured.origin.tool, created, sha256));
        let facts = Facts {
            created,
            origin: captured.origin,
            mime: None,
            is_error: captured.is_error,
            raw_bytes: captured.raw_bytes,
            sha256: sha256.to_owned(),
            form: captured.form,
            stats: stats.clone(),
            view,
            reason,
            first_slice: (limits.profile == Profile::Continuation).then(|| slice_chars(limits)),
            file_name,
        };
        let call_id = facts.origin.call_id.clone();
        let receipt = draft.commit(facts, &sanitized.index.to_bytes())?;
        if let Some(call_id) = call_id {
            self.call_ids.note(call_id, receipt.handle());
        }
        Ok(receipt)
    }

    /// Present: renders what is shown of a stored result.
    fn present(
        &self,
        receipt: &Receipt,
        ends: &TwoEnds,
        outlined: Option<Vec<Line>>,
        limits: &Limits,
    ) -> Result<Presentation, StoreError> {
        let facts = &receipt.manifest().facts;
        let counter = &*self.presenter.counter;
        let text = match limits.profile {
            Profile::Handle => handle(&facts.stats, receipt.handle()),
            Profile::Truncate => truncate(&ends.read(limits), limits, counter),
            Profile::Reject if !limits.detailed_recovery => {
                let ways = self.presenter.door.next(receipt.handle(), facts.stats.kind);
                reject(&facts.origin.tool, &facts.stats, limits, &ways)
            }
            _ => {
                let damaged = |error: String| StoreError::Damaged {
                    path: receipt.handle().to_string().into(),
                    what: error,
                };
                let artifact = Artifact::open(self.store.open(receipt.handle())?);
                let artifact = artifact.map_err(|error| damaged(error.to_string()))?;
                self.look_into(&artifact, outlined, limits)
                    .map_err(|error| damaged(error.to_string()))?
            }
        };
        Ok(Presentation::bounded(text, counter))
    }

    /// Renders what needs a look into the stored text.
    fn look_into(
        &self,
        artifact: &Artifact,
        outlined: Option<Vec<Line>>,
        limits: &Limits,
    ) -> Result<String, RetrieveError> {
        let manifest = artifact.manifest();
        let facts = &manifest.facts;
        if limits.profile == Profile::Continuation {
            let slice = slice(artifact, 0, slice_chars(limits))?;
            let handle = manifest.handle.to_string();
            let id = facts.origin.call_id.as_ref().unwrap_or(&handle);
            return Ok(first(&slice, id));
        }
        if limits.profile == Profile::Funnel {
            let summary = self.summary(artifact)?;
            return Ok(funnel(artifact, &summary)?);
        }
        let half = TokenBudget::new(facts.stats.tokens.count / 2);
        if limits.profile == Profile::Reject {
            let ways = self.presenter.door.next(manifest.handle, facts.stats.kind);
            let counter = &*self.presenter.counter;
            return Ok(reject_with_recovery(
                artifact, outlined, limits, &ways, half, counter,
            )?);
        }
        let budget = limits.preview.min(half);
        let subject = Preview {
            tool: &facts.origin.tool,
            handle: manifest.handle,
            stats: &facts.stats,
            is_error: facts.is_error,
            artifact,
            outlined,
        };
        if let Profile::Template(name) = &limits.profile {
            let parts = parts(&self.presenter, &subject, budget)?;
            let counter = &*self.presenter.counter;
            let templates = self.policy.templates();
            if let Some(text) = templates.render(name, manifest, parts, budget, counter) {
                return Ok(text);
            }
        }
        Ok(preview(&self.presenter, &subject, budget)?)
    }

    /// The receipt of seed 003's funnel for a stored artifact.
    pub fn summary(&self, artifact: &Artifact) -> Result<ObservationSummary, RetrieveError> {
        let manifest = artifact.manifest();
        let path = self.store.path(manifest);
        let saved_to = path.map_or_else(
            || manifest.handle.to_string(),
            |path| path.display().to_string(),
        );
        Ok(ObservationSummary::of(artifact, saved_to).map_err(LookupError::Io)?)
    }

    /// Enters an outcome that was worked on since `begun`.
    pub(crate) fn account(&self, outcome: &Outcome, begun: Timestamp) {
        let now = self.clock.now();
        let took = begun.age_at(now).as_micros();
        let entry = |origin: &Origin, stats: &Stats, shown: &Presentation, exit| LedgerEntry {
            server: origin.server.clone(),
            tool: origin.tool.clone(),
            tokens_in: stats.tokens,
            tokens_shown: Tokens::exact(shown.tokens()),
            bytes_in: stats.bytes,
            micros: u64::try_from(took).unwrap_or(u64::MAX),
            ..LedgerEntry::new(now, exit)
        };
        match outcome {
            Outcome::Inline(fits) => self
                .ledger
                .inline(fits.measured.sanitized.captured.scan.bytes),
            Outcome::Offloaded(Offloaded { shown, receipt }) => {
                let facts = &receipt.manifest().facts;
                self.ledger.record(LedgerEntry {
                    handle: Some(receipt.handle()),
                    ..entry(&facts.origin, &facts.stats, shown, Exit::Offloaded)
                });
            }
            Outcome::NotStored(lost) => {
                let entry = entry(&lost.origin, &lost.stats, &lost.shown, Exit::NotStored);
                self.ledger.record(entry);
            }
        }
    }

    /// The same, whose look-ups end when `wait` is cancelled, or when they take longer than
    /// they may from now on.
    #[must_use]
    pub fn within(&self, wait: &Interrupt) -> Self {
        Self {
            interrupt: wait.until_after(self.lookup_timeout),
            ..self.clone()
        }
    }

    /// Opens a stored artifact.
    pub fn artifact(&self, handle: Handle) -> Result<Artifact, RetrieveError> {
        self.artifact_until(handle, &self.interrupt)
    }

    /// Opens a stored artifact whose reads end when `interrupt` says so.
    pub fn artifact_until(
        &self,
        handle: Handle,
        interrupt: &Interrupt,
    ) -> Result<Artifact, RetrieveError> {
        Ok(Artifact::open_until(self.store.open(handle)?, interrupt)?)
    }
}

/// Characters of a slice in the `continuation` profile: the limit itself, as in
/// the seed.
fn slice_chars(limits: &Limits) -> u64 {
    limits.chars.unwrap_or(DEFAULT_SLICE_CHARS)
}

fn drafted(store: &dyn ArtifactStore, raw: &[u8]) -> Result<Box<dyn Draft>, StoreError> {
    let mut draft = store.draft()?;
    draft.write(Part::Raw, raw)?;
    draft.complete(Part::Raw);
    Ok(draft)
}

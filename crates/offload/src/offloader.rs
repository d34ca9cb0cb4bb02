//! The offloader: a store, rules and an account, behind which results become messages.

use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{ByteSource, Clock, Handle, Interrupt, LOOKUP_TIMEOUT, Origin};
use spillgate_lookup::Artifact;
use spillgate_store::ArtifactStore;
use spillgate_text::{Scan, TokenCounter, source_exceeds};

use crate::RetrieveError;
use crate::call_ids::CallIds;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::policy::{Policy, is_over};
use crate::present::{Audience, Presentation, Presenter};

/// Bytes of a text looked at at a time.
const BLOCK: u64 = 256 << 10;

/// Results in, messages out: what every rim calls.
#[derive(Debug, Clone)]
pub struct Offloader {
    pub(crate) store: Arc<dyn ArtifactStore>,
    pub(crate) policy: Policy,
    pub(crate) presenter: Presenter,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) call_ids: Arc<CallIds>,
    /// What ends look-ups.
    interrupt: Interrupt,
    lookup_timeout: Duration,
}

impl Offloader {
    /// An offloader that stores in `store` by the rules of `policy`.
    #[must_use]
    pub fn new(
        store: Arc<dyn ArtifactStore>,
        policy: Policy,
        counter: Arc<dyn TokenCounter>,
        audience: Audience,
        clock: Arc<dyn Clock>,
        ledger: Arc<dyn Ledger>,
    ) -> Self {
        Self {
            store,
            policy,
            presenter: Presenter { counter, audience },
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

    /// The same store and rules for another audience. Short ids are off in it
    /// ([`Offloader::with_short_ids`]).
    #[must_use]
    pub fn for_audience(&self, audience: Audience) -> Self {
        let counter = Arc::clone(self.counter());
        Self {
            presenter: Presenter { counter, audience },
            call_ids: Arc::default(),
            ..self.clone()
        }
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

    /// A text for a model whose maker has bounded it in another unit than tokens, such as an
    /// error of one line.
    #[must_use]
    pub fn presented(&self, text: String) -> Presentation {
        Presentation::of_format(text, &**self.counter())
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

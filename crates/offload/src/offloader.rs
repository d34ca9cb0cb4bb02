//! The offloader: turns results into messages, with a store, rules and a ledger.

use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{ByteSource, Clock, Handle, Interrupt, LOOKUP_TIMEOUT, Origin, SessionId};
use spillgate_lookup::Artifact;
use spillgate_redact::Redactor;
use spillgate_store::{ArtifactStore, StoreError};
use spillgate_text::{Scan, TokenCounter, source_exceeds};

use crate::RetrieveError;
use crate::call_ids::CallIds;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::pending::is_over;
use crate::policy::Policy;
use crate::present::{Audience, Presentation, Presenter};
use crate::seen::SEARCHED_WHOLE;

/// Bytes of a text scanned at a time.
const BLOCK: u64 = 256 << 10;

/// Turns results into messages. All front ends call it.
#[derive(Debug, Clone)]
pub struct Offloader {
    pub(crate) store: Arc<dyn ArtifactStore>,
    pub(crate) policy: Policy,
    pub(crate) presenter: Presenter,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) call_ids: Arc<CallIds>,
    /// Cancels lookups.
    interrupt: Interrupt,
    lookup_timeout: Duration,
    /// The path of the text inside a JSON document that lookups open.
    path: Option<Arc<str>>,
    /// Whether lookups show secrets.
    reveals: bool,
    /// Whether look-ups leave no trace in the store.
    peeks: bool,
    /// The most bytes of a text that is searched for secrets as a whole before it is stored.
    pub(crate) searched_whole: u64,
}

impl Offloader {
    /// Creates an offloader that stores in `store` by the rules of `policy`.
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
            presenter: Presenter {
                counter,
                audience,
                redactor: Redactor::builtin(),
            },
            clock,
            ledger,
            call_ids: Arc::default(),
            interrupt: Interrupt::default(),
            lookup_timeout: LOOKUP_TIMEOUT,
            path: None,
            reveals: false,
            peeks: false,
            searched_whole: SEARCHED_WHOLE,
        }
    }

    /// Returns a copy that searches only texts of up to `bytes` bytes for secrets as a whole, for
    /// tests.
    #[doc(hidden)]
    #[must_use]
    pub fn searching_whole(self, bytes: u64) -> Self {
        Self {
            searched_whole: bytes,
            ..self
        }
    }

    /// Returns a copy that names results by short numbers if their callers give no id
    /// (`continuation.short_ids`).
    #[must_use]
    pub fn with_short_ids(self, short: bool) -> Self {
        let call_ids = Arc::new(CallIds::new(short));
        Self { call_ids, ..self }
    }

    /// Returns a copy with the same store and rules for another audience. Short ids are off in it
    /// ([`Offloader::with_short_ids`]).
    #[must_use]
    pub fn for_audience(&self, audience: Audience) -> Self {
        let presenter = Presenter {
            audience,
            ..self.presenter.clone()
        };
        Self {
            presenter,
            call_ids: Arc::default(),
            ..self.clone()
        }
    }

    /// Returns a copy that stores and reads in another store, and names no results by short numbers.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn ArtifactStore>) -> Self {
        let call_ids = Arc::default();
        Self {
            store,
            call_ids,
            ..self
        }
    }

    /// Returns a copy that stores and reads for a client's session; `None` if its store does the same
    /// for all sessions.
    #[must_use]
    pub fn in_session(&self, session: SessionId) -> Option<Self> {
        let store = self.store.in_session(session)?;
        Some(Self {
            store,
            ..self.clone()
        })
    }

    /// Returns a copy with another timeout for lookups.
    #[must_use]
    pub fn with_lookup_timeout(self, lookup_timeout: Duration) -> Self {
        Self {
            lookup_timeout,
            ..self
        }
    }

    /// Returns the timeout of a lookup.
    #[must_use]
    pub fn lookup_timeout(&self) -> Duration {
        self.lookup_timeout
    }

    /// Returns a copy with another ledger.
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, ..self }
    }

    /// Returns the rules of the decisions.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the artifact for the id of a call, a short id or a handle; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the store does not tell, for example because a bucket cannot be reached.
    pub fn by_call_id(&self, id: &str) -> Result<Option<Handle>, StoreError> {
        if let Ok(handle) = id.parse() {
            match self.store.manifest(handle) {
                Ok(_) => return Ok(Some(handle)),
                Err(StoreError::Absent { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.call_ids.find(id, &*self.store)
    }

    /// Returns the store of the results.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ArtifactStore> {
        &self.store
    }

    /// Returns the token counter.
    #[must_use]
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.presenter.counter
    }

    /// Wraps a text for a model, with marks in place of secrets: an error, an answer. The caller must
    /// have limited the length of the text in another unit than tokens: an error, for example, has
    /// one line.
    #[must_use]
    pub fn presented(&self, text: String) -> Presentation {
        match self.marks_texts() {
            Some(redactor) => self.unchanged(redactor.owned(text)),
            None => self.unchanged(text),
        }
    }

    /// Wraps the text of a result that is shown as it is.
    #[must_use]
    pub fn unchanged(&self, text: String) -> Presentation {
        Presentation::of_format(text, &**self.counter())
    }

    /// Returns the ledger that records each result.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns the limits for results of `origin`.
    #[must_use]
    pub fn limits(&self, origin: &Origin) -> Limits {
        self.policy.limits(origin)
    }

    /// Returns the limits for results of `origin` that go to a client with this name.
    #[must_use]
    pub fn limits_for(&self, origin: &Origin, client: Option<&str>) -> Limits {
        self.policy.limits_for(origin, client)
    }

    /// Returns whether a binary block of any result of the server may become a link.
    #[must_use]
    pub fn makes_links(&self, server: &str) -> bool {
        self.policy.makes_links(server)
    }

    /// Returns whether a text is within the limits; `false` if it cannot be read.
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

    /// Returns a copy whose lookups end when `wait` is cancelled, or when the lookup timeout,
    /// counted from now, expires.
    #[must_use]
    pub fn within(&self, wait: &Interrupt) -> Self {
        Self {
            interrupt: wait.until_after(self.lookup_timeout),
            ..self.clone()
        }
    }

    /// Returns a copy whose lookups open the text of the string at `path` in an artifact, which must
    /// be a JSON document. Without a path they open the artifact itself.
    #[must_use]
    pub fn inside(&self, path: Option<&str>) -> Self {
        Self {
            path: path.map(Into::into),
            ..self.clone()
        }
    }

    /// Returns a copy whose lookups show secrets, for receivers that the user names.
    #[must_use]
    pub fn revealing(&self) -> Self {
        Self {
            reveals: true,
            ..self.clone()
        }
    }

    /// Returns a copy whose look-ups do not count as use of what they open, for a search through many
    /// outputs.
    #[must_use]
    pub fn peeking(&self) -> Self {
        Self {
            peeks: true,
            ..self.clone()
        }
    }

    /// Opens a stored artifact, with marks in place of its secrets unless redaction is off for its
    /// origin.
    pub fn artifact(&self, handle: Handle) -> Result<Artifact, RetrieveError> {
        self.artifact_until(handle, &self.interrupt)
    }

    /// Opens a stored artifact whose reads end when `interrupt` fires.
    pub fn artifact_until(
        &self,
        handle: Handle,
        interrupt: &Interrupt,
    ) -> Result<Artifact, RetrieveError> {
        let stored = match self.peeks {
            true => self.store.peek(handle)?,
            false => self.store.open(handle)?,
        };
        let artifact = Artifact::open_until(stored, interrupt)?;
        let artifact = match self.reveals && !artifact.is_shared() {
            true => artifact,
            false => self.guarded(artifact)?,
        };
        match &self.path {
            Some(path) => Ok(artifact.inside(path)?),
            None => Ok(artifact),
        }
    }
}

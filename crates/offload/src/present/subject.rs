//! The stored result that a message describes, opened only if the message reads it.

use std::cell::OnceCell;
use std::sync::Arc;

use spillgate_artifact::{ContentKind, Facts, Handle, Manifest, Reason, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::{Lead, OutlineEntry, outline, outline_of_binary};
use spillgate_redact::Redactor;
use spillgate_store::ArtifactStore;
use spillgate_text::TokenCounter;

use super::audience::Calls;
use super::{Audience, Bounds, Templates};
use crate::RetrieveError;
use crate::aside::TwoEnds;
use crate::history::Earlier;
use crate::limits::Limits;
use crate::redaction::redacted;

/// What rendering needs besides the result.
#[derive(Debug, Clone)]
pub(crate) struct Presenter {
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) audience: Audience,
    /// Finds and marks secrets.
    pub(crate) redactor: Arc<Redactor>,
}

/// A stored result and everything needed to make its message.
pub(crate) struct Subject<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) limits: &'a Limits,
    /// Maximum bytes of the message as a JSON string where it is read.
    pub(crate) json_bytes: u64,
    pub(crate) ends: &'a TwoEnds,
    /// The outline, if it was made while storing.
    pub(crate) outlined: Option<Vec<OutlineEntry>>,
    pub(crate) presenter: &'a Presenter,
    pub(crate) templates: &'a Templates,
    pub(crate) store: &'a dyn ArtifactStore,
    /// An earlier result that the reader was shown, if this one repeats it or its call.
    pub(crate) earlier: Option<Earlier>,
    /// The artifact, once it was opened.
    pub(crate) opened: OnceCell<Artifact>,
}

impl Subject<'_> {
    pub(crate) fn facts(&self) -> &Facts {
        &self.manifest.facts
    }

    pub(crate) fn counter(&self) -> &dyn TokenCounter {
        &*self.presenter.counter
    }

    /// Opens the artifact, once.
    pub(crate) fn artifact(&self) -> Result<&Artifact, RetrieveError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = self.open(self.manifest.handle)?;
        Ok(self.opened.get_or_init(|| opened))
    }

    /// Opens an artifact as the reader of the message may see it.
    pub(crate) fn open(&self, handle: Handle) -> Result<Artifact, RetrieveError> {
        let artifact = Artifact::open(self.store.open(handle)?)?;
        redacted(artifact, self.limits.redaction, &self.presenter.redactor)
    }

    /// Returns the outline of the text.
    pub(crate) fn outline(&self) -> Result<Vec<OutlineEntry>, RetrieveError> {
        if let Some(made) = &self.outlined {
            return Ok(made.clone());
        }
        let (artifact, facts) = (self.artifact()?, self.facts());
        let stats = &facts.stats;
        if stats.kind == ContentKind::Binary {
            return Ok(outline_of_binary(&*artifact.text()?)?);
        }
        Ok(outline(
            artifact.view(),
            &artifact.manifest().facts.view,
            stats.kind,
            stats.lines,
        )?)
    }

    /// Returns calls with the arguments of `leads`, and the names of the other calls.
    pub(crate) fn calls(&self, leads: &[Lead]) -> Calls {
        let audience = &self.presenter.audience;
        audience.calls(self.manifest.handle, self.facts().stats.kind, leads)
    }

    /// Returns the retrieval calls that the reader can make, the most useful first.
    pub(crate) fn ways(&self) -> Vec<String> {
        let kind = self.facts().stats.kind;
        self.presenter.audience.next(self.manifest.handle, kind)
    }

    /// Half of the result's own tokens: a message that costs more saves little. A result that is
    /// stored for its secrets alone may be shown whole.
    pub(crate) fn half(&self) -> TokenBudget {
        if self.facts().reason == Reason::Secrets {
            return self.limits.preview;
        }
        TokenBudget::new(self.facts().stats.tokens.count / 2)
    }

    /// The budget of a message that scales with the result's size.
    pub(crate) fn budget(&self) -> TokenBudget {
        self.limits.preview.min(self.half())
    }

    /// Returns bounds of `tokens` and the reader's byte limit.
    pub(crate) fn bounds(&self, tokens: TokenBudget) -> Bounds {
        Bounds {
            tokens,
            json_bytes: self.json_bytes,
        }
    }
}

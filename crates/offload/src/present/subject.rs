//! What a message is about: a stored result, opened only where the message looks into it.

use std::cell::OnceCell;
use std::sync::Arc;

use spillgate_artifact::{Facts, Manifest, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::{OutlineEntry, outline};
use spillgate_store::ArtifactStore;
use spillgate_text::TokenCounter;

use super::{Audience, Bounds, Templates};
use crate::RetrieveError;
use crate::aside::TwoEnds;
use crate::limits::Limits;

/// What renders messages needs to know beside the result.
#[derive(Debug, Clone)]
pub(crate) struct Presenter {
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) audience: Audience,
}

/// A stored result, and what its message is made by.
pub(crate) struct Subject<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) limits: &'a Limits,
    /// Most bytes of the message where it is read, as a JSON string.
    pub(crate) json_bytes: u64,
    pub(crate) ends: &'a TwoEnds,
    /// Its outline, where that is made already.
    pub(crate) outlined: Option<Vec<OutlineEntry>>,
    pub(crate) presenter: &'a Presenter,
    pub(crate) templates: &'a Templates,
    pub(crate) store: &'a dyn ArtifactStore,
    /// The artifact, once somebody looked into it.
    pub(crate) opened: OnceCell<Artifact>,
}

impl Subject<'_> {
    pub(crate) fn facts(&self) -> &Facts {
        &self.manifest.facts
    }

    pub(crate) fn counter(&self) -> &dyn TokenCounter {
        &*self.presenter.counter
    }

    /// The artifact, opened from the store.
    pub(crate) fn artifact(&self) -> Result<&Artifact, RetrieveError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = Artifact::open(self.store.open(self.manifest.handle)?)?;
        Ok(self.opened.get_or_init(|| opened))
    }

    /// The outline of its text.
    pub(crate) fn outline(&self) -> Result<Vec<OutlineEntry>, RetrieveError> {
        if let Some(made) = &self.outlined {
            return Ok(made.clone());
        }
        let (artifact, facts) = (self.artifact()?, self.facts());
        let stats = &facts.stats;
        Ok(outline(
            artifact.view(),
            &facts.view,
            stats.kind,
            stats.lines,
        )?)
    }

    /// The retrieval tools that its reader can call, the aptest first.
    pub(crate) fn ways(&self) -> Vec<String> {
        let kind = self.facts().stats.kind;
        self.presenter.audience.next(self.manifest.handle, kind)
    }

    /// Half of what the result itself costs: a message that costs more saves little.
    pub(crate) fn half(&self) -> TokenBudget {
        TokenBudget::new(self.facts().stats.tokens.count / 2)
    }

    /// What a message that follows the result's size may cost.
    pub(crate) fn budget(&self) -> TokenBudget {
        self.limits.preview.min(self.half())
    }

    /// The bounds of a message of `tokens`.
    pub(crate) fn bounds(&self, tokens: TokenBudget) -> Bounds {
        Bounds {
            tokens,
            json_bytes: self.json_bytes,
        }
    }
}

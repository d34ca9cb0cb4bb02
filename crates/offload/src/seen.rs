//! Searches very large results for secrets only where their preview reads them.
//!
//! A preview reads a part of a text with gigabytes. If no secret is in this part, the preview has
//! none, and the whole text is searched when a look-up needs it (docs/decisions/0037).

use std::sync::Arc;

use spillgate_lookup::Artifact;
use spillgate_outline::OutlineEntry;
use spillgate_redact::ClearSource;
use spillgate_store::Stored;

use crate::RetrieveError;
use crate::limits::Limits;
use crate::offloader::Offloader;
use crate::pipeline::Outlining;
use crate::present::{Profile, TwoEnds};
use crate::redaction::{Redaction, Scanned};
use crate::sanitize::Sanitized;
use crate::stored_secrets::StoredSecrets;

/// The most bytes of a text that is searched as a whole before it is stored: twice what an outline
/// reads. Of a larger text, most would be searched for nothing if nobody looks anything up.
pub(crate) const SEARCHED_WHOLE: u64 = 512 << 20;

/// The most bytes of a text that the first look-up searches: some seconds, so that it ends in time.
/// The search of a larger text would be cut off by the timeout of look-ups each time.
const SEARCHED_LATER: u64 = 8 << 30;

/// The text of a result, as far as its preview reads it, and its outline. The part that was read so
/// far has no secrets.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) text: Arc<ClearSource>,
    pub(crate) outlined: Option<Vec<OutlineEntry>>,
}

impl Seen {
    /// Makes the outline of a result that need not be searched as a whole; `None` if it must be, or
    /// if the outline has met secrets.
    pub(crate) fn of(
        offloader: &Offloader,
        sanitized: &Sanitized,
        limits: &Limits,
    ) -> Option<Self> {
        // Other modes and profiles ask before the message is made whether there are secrets. Of JSON
        // and of text that was cleaned, the message also has parts that are no bytes of the view.
        let facts = sanitized.facts();
        let is_large = facts.bytes > offloader.searched_whole && facts.bytes <= SEARCHED_LATER;
        let is_shown_anyway = limits.redaction == Redaction::Mark
            && limits.stored_secrets == StoredSecrets::AsIs
            && limits.profile == Profile::Preview;
        if !is_large || !is_shown_anyway || !facts.is_raw || !sanitized.is_plain() {
            return None;
        }
        let source = sanitized.view_source().ok()??;
        let text = Arc::new(ClearSource::new(source, Arc::clone(offloader.redactor())));
        let outlining = Outlining::of(sanitized, limits)?;
        let outlined = outlining.in_source(Arc::clone(&text) as _).outlined();
        let seen = Self { text, outlined };
        (!seen.has_secrets()).then_some(seen)
    }

    /// Returns whether a secret is in or near what was read.
    pub(crate) fn has_secrets(&self) -> bool {
        self.text.has_met_secrets()
    }

    /// Returns what the manifest says: nothing, unless the whole text was searched on the way.
    pub(crate) fn scanned(&self, offloader: &Offloader) -> Scanned {
        match self.text.is_all_clear() {
            true => offloader.without_secrets(),
            false => Scanned::default(),
        }
    }

    /// Returns the ends of the text.
    pub(crate) fn ends(&self) -> TwoEnds {
        TwoEnds::of_text(Arc::clone(&self.text) as _)
    }

    /// Opens the stored artifact so that only parts without secrets can be read.
    pub(crate) fn artifact(&self, stored: Stored) -> Result<Artifact, RetrieveError> {
        Ok(Artifact::open(Stored {
            raw: Arc::clone(&self.text) as _,
            view: Arc::clone(&self.text) as _,
            file: None,
            ..stored
        })?)
    }
}

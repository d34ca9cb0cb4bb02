//! Remembers the stored results of a session, so that it is not shown the same again and can search
//! them all.

use std::collections::VecDeque;

use parking_lot::Mutex;
use spillgate_artifact::{Handle, Manifest, Origin};

/// Maximum number of results that are remembered. A model's context seldom holds more messages.
const MOST: usize = 256;

/// The stored results that one session was shown messages for. A session that is not known to have
/// seen its earlier results, such as a stateless caller, has no history.
#[derive(Debug, Default)]
pub struct History(Mutex<VecDeque<Shown>>);

#[derive(Debug)]
struct Shown {
    handle: Handle,
    sha256: String,
    origin: Origin,
    /// Whether a later message may refer to the message that was shown.
    is_preview: bool,
}

/// An earlier result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// The earlier result has the same bytes.
    Same(Handle),
    /// The earlier result is the latest one of the same call.
    OfCall(Handle),
}

impl History {
    /// Returns the earlier result that the message for this one should name.
    pub(crate) fn earlier(&self, manifest: &Manifest) -> Option<Earlier> {
        let facts = &manifest.facts;
        let shown = self.0.lock();
        let latest = || shown.iter().rev().filter(|one| one.is_preview);
        let same = latest().find(|one| one.sha256 == facts.sha256);
        let of_call = || latest().find(|one| is_same_call(&one.origin, &facts.origin));
        same.map(|one| Earlier::Same(one.handle))
            .or_else(|| Some(Earlier::OfCall(of_call()?.handle)))
    }

    /// Returns the handles of the session's results, newest first.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        let shown = self.0.lock();
        shown.iter().rev().map(|one| one.handle).collect()
    }

    /// Records that the session was shown a message for this result. `is_preview` says whether a
    /// later message may refer to it.
    pub fn note(&self, manifest: &Manifest, is_preview: bool) {
        let mut shown = self.0.lock();
        if shown.len() == MOST {
            shown.pop_front();
        }
        shown.push_back(Shown {
            handle: manifest.handle,
            sha256: manifest.facts.sha256.clone(),
            origin: manifest.facts.origin.clone(),
            is_preview,
        });
    }
}

/// Returns whether two results are of the same tool with the same arguments.
fn is_same_call(one: &Origin, other: &Origin) -> bool {
    (&one.server, &one.tool, &one.arguments) == (&other.server, &other.tool, &other.arguments)
}

//! Remembers what a session was shown, so that it is not shown the same again.

use std::collections::VecDeque;

use parking_lot::Mutex;
use spillgate_artifact::{Handle, Manifest, Origin};

/// Maximum number of results that are remembered. A model's context seldom holds more previews.
const MOST: usize = 256;

/// The previews that one session was shown. A session that is not known to have seen its earlier
/// results, such as a stateless caller, has no history.
#[derive(Debug, Default)]
pub struct History(Mutex<VecDeque<Shown>>);

#[derive(Debug)]
struct Shown {
    handle: Handle,
    sha256: String,
    origin: Origin,
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
        let latest = || shown.iter().rev();
        let same = latest().find(|one| one.sha256 == facts.sha256);
        let of_call = || latest().find(|one| is_same_call(&one.origin, &facts.origin));
        same.map(|one| Earlier::Same(one.handle))
            .or_else(|| Some(Earlier::OfCall(of_call()?.handle)))
    }

    /// Records that the session was shown the preview of this result.
    pub(crate) fn note(&self, manifest: &Manifest) {
        let mut shown = self.0.lock();
        if shown.len() == MOST {
            shown.pop_front();
        }
        shown.push_back(Shown {
            handle: manifest.handle,
            sha256: manifest.facts.sha256.clone(),
            origin: manifest.facts.origin.clone(),
        });
    }
}

/// Returns whether two results are of the same tool with the same arguments.
fn is_same_call(one: &Origin, other: &Origin) -> bool {
    (&one.server, &one.tool, &one.arguments) == (&other.server, &other.tool, &other.arguments)
}

//! The record that remains of a removed artifact.

use std::fmt;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, Manifest, Timestamp};

/// Why an artifact is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// It was older than the age limit.
    Expired,
    /// The store was over its quota, and this artifact was the least recently used.
    Evicted,
    /// A user removed it.
    Removed,
}

/// Is told of each artifact that is removed from a store, by age and quota, too.
pub trait RemovalObserver: Send + Sync + fmt::Debug {
    /// An artifact was removed. `manifest` is `None` if it could not be read.
    fn removed(&self, handle: Handle, why: Gone, manifest: Option<&Manifest>);
}

/// The record that replaces a removed artifact. It lets a message for the dead handle say why the
/// artifact was removed and which call produces it again (docs/spec/texts.md, "Dead handles"). It
/// contains none of the artifact's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Why the artifact is gone.
    pub why: Gone,
    /// When it was removed.
    pub at: Timestamp,
    /// The tool whose call would produce it again.
    pub tool: String,
}

impl Tombstone {
    /// Creates a tombstone. Without a readable manifest the name of the tool is unknown.
    #[must_use]
    pub fn of(manifest: Option<&Manifest>, why: Gone, at: Timestamp) -> Self {
        let tool = manifest.map(|manifest| manifest.facts.origin.tool.clone());
        Self {
            why,
            at,
            tool: tool.unwrap_or_else(|| "its tool".to_owned()),
        }
    }
}

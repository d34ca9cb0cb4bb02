//! What is remembered of an artifact that is gone?

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Manifest, Timestamp};

/// Why an artifact is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// It was older than the age limit.
    Expired,
    /// The store was over its byte quota and it was used least recently.
    Evicted,
    /// Somebody removed it.
    Removed,
}

/// Left in the place of an artifact, so that a dead handle can say why it is
/// dead and which call makes it again (docs/spec/texts.md, "Dead handles"). Holds
/// nothing of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tombstone {
    pub(crate) why: Gone,
    pub(crate) at: Timestamp,
    pub(crate) tool: String,
}

impl Tombstone {
    /// Without a manifest that can be read nobody knows which tool it was.
    pub(crate) fn of(manifest: Option<&Manifest>, why: Gone, at: Timestamp) -> Self {
        let tool = manifest.map(|manifest| manifest.facts.origin.tool.clone());
        Self {
            why,
            at,
            tool: tool.unwrap_or_else(|| "its tool".to_owned()),
        }
    }
}

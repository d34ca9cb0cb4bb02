//! One stored output, under one name.

use std::sync::Arc;

use spillgate_lookup::Artifact;

/// A root in which there is one text only: a stored output's view.
#[derive(Debug, Clone)]
pub struct Pinned {
    /// The name that leads to it.
    pub name: String,
    /// The output.
    pub artifact: Arc<Artifact>,
}

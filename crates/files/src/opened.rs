//! What does a name lead to?

use std::sync::Arc;

use spillgate_lookup::Artifact;
use spillgate_view::View;

use crate::FileError;

/// Where names lead.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// The text that `name` leads to, as a model wrote it.
    fn open(&self, name: &str) -> Result<Opened, FileError>;
}

/// A text, ready to be looked into.
#[derive(Debug, Clone)]
pub struct Opened(Held);

#[derive(Debug, Clone)]
enum Held {
    Artifact(Arc<Artifact>),
    View(Arc<View>),
}

impl Opened {
    /// A stored output.
    #[must_use]
    pub fn artifact(artifact: Arc<Artifact>) -> Self {
        Self(Held::Artifact(artifact))
    }

    /// A text that is not stored.
    #[must_use]
    pub fn view(view: Arc<View>) -> Self {
        Self(Held::View(view))
    }

    /// Its lines.
    #[must_use]
    pub fn lines(&self) -> &View {
        match &self.0 {
            Held::Artifact(artifact) => artifact.view(),
            Held::View(view) => view,
        }
    }
}

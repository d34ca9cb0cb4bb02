//! Opens what a name leads to.

use spillgate_artifact::Interrupt;
use spillgate_lookup::Artifact;
use spillgate_text::View;

use crate::FileError;

/// Where names lead.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// The text that `name` leads to, as a model wrote it. `interrupt` ends opening it, and
    /// reading it.
    fn open(&self, name: &str, interrupt: &Interrupt) -> Result<OpenedFile, FileError>;
}

/// A text, ready to be looked into.
#[derive(Debug)]
pub struct OpenedFile(View);

impl OpenedFile {
    /// A stored output.
    #[must_use]
    pub fn artifact(artifact: &Artifact, interrupt: &Interrupt) -> Self {
        Self::view(artifact.view(), interrupt)
    }

    /// A text that is not stored.
    #[must_use]
    pub fn view(view: &View, interrupt: &Interrupt) -> Self {
        Self(view.until(interrupt))
    }

    /// Its lines.
    #[must_use]
    pub fn lines(&self) -> &View {
        &self.0
    }
}

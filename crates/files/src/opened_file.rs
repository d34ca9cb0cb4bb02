//! The interface through which the tools open texts.

use spillgate_artifact::Interrupt;
use spillgate_lookup::Artifact;
use spillgate_text::View;

use crate::FileError;

/// Opens texts by name.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// Opens the text called `name`, which is passed as the model wrote it. `interrupt` cancels the
    /// opening and all later reads.
    fn open(&self, name: &str, interrupt: &Interrupt) -> Result<OpenedFile, FileError>;
}

/// A text that is open for reading.
#[derive(Debug)]
pub struct OpenedFile(View);

impl OpenedFile {
    /// Opens a stored output.
    #[must_use]
    pub fn artifact(artifact: &Artifact, interrupt: &Interrupt) -> Self {
        Self::view(artifact.view(), interrupt)
    }

    /// Opens a text that is not stored.
    #[must_use]
    pub fn view(view: &View, interrupt: &Interrupt) -> Self {
        Self(view.until(interrupt))
    }

    /// The lines of the text.
    #[must_use]
    pub fn lines(&self) -> &View {
        &self.0
    }
}

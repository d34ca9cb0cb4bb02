//! Gives access to a single stored output under one name.

use std::sync::Arc;

use spillgate_artifact::Interrupt;
use spillgate_lookup::Artifact;

use crate::name::checked;
use crate::{FileError, Files, OpenedFile};

/// A root with a single text: the view of a stored output.
///
/// The text can be opened under the output's name and under its handle. The last path component of
/// either is enough, because models shorten long names. A leading `./` is ignored. Any other name
/// is refused, even if the store has an output of that name.
#[derive(Debug, Clone)]
pub struct PinnedFile {
    /// The name of the output.
    pub name: String,
    /// The output.
    pub artifact: Arc<Artifact>,
}

impl Files for PinnedFile {
    fn open(&self, name: &str, interrupt: &Interrupt) -> Result<OpenedFile, FileError> {
        let handle = self.artifact.manifest().handle.to_string();
        let asked = checked(name)?.trim();
        let asked = asked.strip_prefix("./").unwrap_or(asked);
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let is_it = [&last(&self.name), &self.name, &last(&handle), &handle]
            .into_iter()
            .any(|known| known == asked);
        match is_it {
            true => Ok(OpenedFile::artifact(&self.artifact, interrupt)),
            false => Err(FileError::Absent(name.to_owned())),
        }
    }
}

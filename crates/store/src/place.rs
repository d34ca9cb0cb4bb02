//! The directories of a store on disk, and the names of the files in them.

use std::fmt;
use std::path::{Path, PathBuf};

use spillgate_artifact::{FileId, Handle, SessionId, Word};

use crate::StoreError;
use crate::open::{make_directory, make_in_base};

/// The possible lengths of a file's name without its suffix: 14 for a [`Word`], 36 for a UUID.
const STEMS: [usize; 2] = [14, 36];

/// A directory for artifacts in the base directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArtifactDirectory {
    /// The drafts of one run of a producer, and its artifacts that have a long handle.
    Session(SessionId),
    /// The artifacts whose word begins with this letter.
    Letter(char),
}

impl ArtifactDirectory {
    /// Returns the directory in which an artifact is stored.
    pub(crate) fn of(handle: Handle) -> Self {
        match handle {
            Handle::Long { session, .. } => Self::Session(session),
            Handle::Short(word) => Self::Letter(word.first()),
        }
    }

    /// Parses the name of a directory; `None` if the store does not use the name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match *name.as_bytes() {
            [letter @ b'a'..=b'z'] => Some(Self::Letter(char::from(letter))),
            _ => name.parse().ok().map(Self::Session),
        }
    }

    /// Returns the handle of the artifact whose file names in this directory begin with `stem`.
    pub(crate) fn handle(self, stem: &str) -> Option<Handle> {
        match self {
            Self::Session(session) => {
                let file = stem.parse().ok()?;
                Some(Handle::Long { session, file })
            }
            Self::Letter(letter) => {
                let word: Word = stem.parse().ok()?;
                (word.first() == letter).then_some(Handle::Short(word))
            }
        }
    }
}

impl fmt::Display for ArtifactDirectory {
    /// Writes the name of the directory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => session.fmt(f),
            Self::Letter(letter) => letter.fmt(f),
        }
    }
}

/// Returns the name of an artifact's view, with which the names of its other files begin.
pub(crate) fn stem(handle: Handle) -> String {
    match handle {
        Handle::Long { file, .. } => file.to_string(),
        Handle::Short(word) => word.to_string(),
    }
}

/// Returns the beginning of a file's name that [`stem`] made; `None` if the store did not create
/// the file.
pub(crate) fn stem_in(name: &str) -> Option<&str> {
    let mut stems = STEMS.iter().filter_map(|&length| name.get(..length));
    stems.find(|stem| stem.parse::<FileId>().is_ok() || stem.parse::<Word>().is_ok())
}

/// The base directory of a store.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) path: PathBuf,
    /// Whether to create the base if it does not exist.
    pub(crate) is_made: bool,
}

impl Base {
    /// Returns the path of a directory for artifacts, whether it exists or not.
    pub(crate) fn join(&self, place: ArtifactDirectory) -> PathBuf {
        self.path.join(place.to_string())
    }

    /// Creates the base or a directory in it if it does not exist. Creates the base only if
    /// `is_made`.
    pub(crate) fn make(&self, directory: &Path) -> Result<(), StoreError> {
        match self.is_made {
            true => make_directory(directory),
            false if directory == self.path => Ok(()),
            false => make_in_base(directory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_handle() {
        let long = Handle::Long {
            session: SessionId::random(),
            file: FileId::random(),
        };
        for handle in [Handle::Short(Word::random()), long] {
            let place = ArtifactDirectory::of(handle);
            assert_eq!(ArtifactDirectory::parse(&place.to_string()), Some(place));
            let stem = stem(handle);
            assert_eq!(place.handle(&stem), Some(handle));
            for suffix in ["", ".json", ".gone-x"] {
                assert_eq!(stem_in(&format!("{stem}{suffix}")), Some(&*stem));
            }
        }
        for name in ["", "A", "ab", "é", "ledger.ndjson", "session-x", "."] {
            assert_eq!(ArtifactDirectory::parse(name), None, "{name}");
        }
        for name in ["", "tool_20260101_000000_abcdef12.txt", "kqvbnrtzaewm.json"] {
            assert_eq!(stem_in(name), None, "{name}");
        }
        assert_eq!(
            ArtifactDirectory::Letter('a').handle("kqvbnrtzaewmxo"),
            None
        );
    }
}

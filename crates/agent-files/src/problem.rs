//! Problems in a file, with their places.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use spillgate_config::Position;

/// One thing that is wrong with a file or an option: the caller's to mend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileError {
    /// The file; none for an option of the command line.
    pub file: Option<PathBuf>,
    /// Where in it, if it is somewhere.
    pub place: Option<Position>,
    /// The key, with dots between the tables that it is in; empty where the whole
    /// file is meant.
    pub key: String,
    /// What is wrong. No value that came from a variable is in it.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
}

impl FileError {
    /// What is wrong with a whole file.
    pub fn whole(file: &Path, what: impl Into<String>) -> Self {
        Self {
            file: Some(file.to_owned()),
            place: None,
            key: String::new(),
            what: what.into(),
            hint: None,
        }
    }

    /// The same, at a place.
    #[must_use]
    pub fn at(self, place: Position) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// The same, of a key.
    #[must_use]
    pub fn of(self, key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            ..self
        }
    }

    /// The same, with advice.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl std::error::Error for FileError {}

impl fmt::Display for FileError {
    /// `FILE:LINE:COLUMN: KEY: WHAT; HINT`, as far as each is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}", file.display())?,
            None => f.write_str("command line")?,
        }
        if let Some(Position { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong, in the order in which it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Problems(pub Vec<FileError>);

impl Problems {
    /// `value`, if nothing is wrong.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Self> {
        match self.0.is_empty() {
            true => Ok(value),
            false => Err(self),
        }
    }

    /// What is there of `result`; what is wrong with it is noted.
    pub(crate) fn take<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        result.map_err(|more| self.0.extend(more.0)).ok()
    }

    /// In the order of the files, and of the places in each.
    pub(crate) fn sort(&mut self) {
        let mut files: Vec<Option<PathBuf>> = Vec::new();
        for error in &self.0 {
            if !files.contains(&error.file) {
                files.push(error.file.clone());
            }
        }
        self.0.sort_by_key(|error| {
            let file = files.iter().position(|file| *file == error.file);
            (file, error.place)
        });
    }

    pub(crate) fn add(&mut self, error: FileError) {
        self.0.push(error);
    }
}

impl From<FileError> for Problems {
    fn from(error: FileError) -> Self {
        Self(vec![error])
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    /// A line for each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{error}")?;
        }
        Ok(())
    }
}

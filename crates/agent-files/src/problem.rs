//! Errors in agent files, with their positions.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use spillgate_config::Position;

/// One error in a file or an option, for the user to fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileError {
    /// The file; `None` for a command line option.
    pub file: Option<PathBuf>,
    /// The position in the file, if known.
    pub place: Option<Position>,
    /// The key, with dots between nested tables; empty for the whole file.
    pub key: String,
    /// The error. Contains no value of a variable.
    pub what: String,
    /// Advice.
    pub hint: Option<String>,
}

impl FileError {
    /// Creates an error for a whole file.
    pub fn whole(file: &Path, what: impl Into<String>) -> Self {
        Self {
            file: Some(file.to_owned()),
            place: None,
            key: String::new(),
            what: what.into(),
            hint: None,
        }
    }

    /// Sets the position.
    #[must_use]
    pub fn at(self, place: Position) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// Sets the key.
    #[must_use]
    pub fn of(self, key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            ..self
        }
    }

    /// Sets the advice.
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
    /// Formats `FILE:LINE:COLUMN: KEY: WHAT; HINT`, without the unknown parts.
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

/// All errors, in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Problems(pub Vec<FileError>);

impl Problems {
    /// Returns `value` if there are no errors.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Self> {
        match self.0.is_empty() {
            true => Ok(value),
            false => Err(self),
        }
    }

    /// Returns the value of `result`, or adds its errors to these.
    pub(crate) fn take<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        result.map_err(|more| self.0.extend(more.0)).ok()
    }

    /// Sorts by file, in order of first occurrence, and by position.
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
    /// Formats one line per error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{error}")?;
        }
        Ok(())
    }
}

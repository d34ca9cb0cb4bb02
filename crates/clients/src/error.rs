//! Errors of a client's configuration.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A client's configuration could not be read or written. Nothing was changed,
/// unless the variant says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientsError {
    /// The file is not what its name says.
    #[error("{}:{line}: {message}", file.display())]
    Malformed {
        /// Which file.
        file: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What the parser said.
        message: String,
    },
    /// The file has a form that cannot be edited without changing more of it.
    #[error("{}: {what}; it cannot be edited without changing more of it", file.display())]
    Form {
        /// Which file.
        file: PathBuf,
        /// What is in the way.
        what: String,
    },
    /// Somebody wrote the file while we looked at it.
    #[error("{} was changed by someone else meanwhile; nothing was written", file.display())]
    Changed {
        /// Which file.
        file: PathBuf,
    },
    /// A server was named that is in none of the files.
    #[error("no server is called {name:?} there; known are: {}", if known.is_empty() { "none" } else { known })]
    NoServer {
        /// What was asked for.
        name: String,
        /// The servers that are there.
        known: String,
    },
    /// The operating system refused.
    #[error("{}: {doing}: {error}", file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What it said.
        error: io::Error,
    },
    /// A record of what was wrapped is damaged.
    #[error("{}: the record of what was wrapped is damaged: {message}", file.display())]
    Record {
        /// The record's file.
        file: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl ClientsError {
    /// A word that scripts can go by.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "malformed",
            Self::Form { .. } => "form",
            Self::Changed { .. } => "changed_meanwhile",
            Self::NoServer { .. } => "no_server",
            Self::Io { .. } => "io",
            Self::Record { .. } => "record",
        }
    }

    /// What to do about it.
    pub fn fix(&self) -> String {
        match self {
            Self::Malformed { file, line, .. } => {
                format!("correct line {line} of {}, then try again", file.display())
            }
            Self::Form { file, .. } => {
                format!("edit {} by hand: docs/clients.md says how", file.display())
            }
            Self::Changed { .. } => "close the client, then try again".to_owned(),
            Self::NoServer { .. } => "name one of these, or look in another --scope".to_owned(),
            Self::Io { file, .. } => format!(
                "make {} and its directory readable and writable for you",
                file.display()
            ),
            Self::Record { file, .. } => {
                format!("look at {}; its backup lies beside it", file.display())
            }
        }
    }
}

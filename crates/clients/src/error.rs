//! The errors of reading and writing a client's configuration.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A client's configuration could not be read or written. No file was changed, unless the variant
/// says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientsError {
    /// The file does not parse as the syntax of its extension.
    #[error("{}:{line}: {message}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The message of the parser.
        message: String,
    },
    /// The file cannot be edited without changing unrelated parts of it.
    #[error("{}: {what}; the file cannot be edited without changing unrelated parts of it", file.display())]
    Form {
        /// The file.
        file: PathBuf,
        /// The obstacle.
        what: String,
    },
    /// Another process changed the file after it was read.
    #[error("{} was changed by another program in the meantime; nothing was written. Run the command again", file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// None of the files has a server of that name.
    #[error("the files contain no server {name:?}; known servers: {}", if known.is_empty() { "none" } else { known })]
    NoServer {
        /// The requested name.
        name: String,
        /// The known servers.
        known: String,
    },
    /// An operation of the operating system failed.
    #[error("{}: {doing}: {error}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The operation.
        doing: &'static str,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A record of wrapped entries is damaged.
    #[error("{}: the record of the wrapped servers is damaged: {message}", file.display())]
    Record {
        /// The record's file.
        file: PathBuf,
        /// The damage.
        message: String,
    },
}

impl ClientsError {
    /// Returns a stable word for scripts.
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

    /// Returns advice to the user.
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
                format!(
                    "look at {}; its backup is in the same directory",
                    file.display()
                )
            }
        }
    }
}

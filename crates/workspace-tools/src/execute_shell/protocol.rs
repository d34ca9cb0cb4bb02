//! The protocol between us and a command's supervisor.
//!
//! The request is the first line of the supervisor's standard input, which stays open after it.
//! When it closes, the supervisor learns that no one waits any more, even if we were killed.
//! The supervisor's reports are lines on its standard error, which no command inherits.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::sandbox::Network;

/// The command to run. Not `Debug`: variables may be secrets.
#[derive(Serialize, Deserialize)]
pub(crate) struct Request {
    /// The arguments that make the program a supervisor.
    pub(crate) supervisor: Vec<OsString>,
    /// The shell's program.
    pub(crate) shell: PathBuf,
    /// The command line for the shell.
    pub(crate) command: String,
    /// All variables of the command's environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The limits of the command. With `None` it may do what we may.
    pub(crate) confinement: Option<Confinement>,
}

/// What a command may reach.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Confinement {
    /// Directories and files that may be read and executed.
    pub(crate) readable: Vec<PathBuf>,
    /// Directories that may also be written.
    pub(crate) writable: Vec<PathBuf>,
    /// Network access.
    pub(crate) network: Network,
}

/// A report of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// A process exists that becomes the shell and leads this process group.
    Started {
        /// The group's id.
        group: i32,
    },
    /// The shell was not started.
    Refused {
        /// The reason.
        why: String,
    },
    /// The shell has ended.
    Ended {
        /// How it ended.
        fate: ExitOutcome,
        /// Whether processes that it started are still running.
        background: bool,
    },
    /// Everything was ended except some processes that the system did not let end.
    Left {
        /// How many.
        processes: u64,
    },
}

/// How a shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExitOutcome {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

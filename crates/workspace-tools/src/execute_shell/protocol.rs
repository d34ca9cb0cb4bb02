//! The messages between us and a command's supervisor.
//!
//! The request is the first line of its standard input, which stays open after it:
//! that it ends is how the supervisor learns that nobody waits any more, even if we
//! were killed. Its reports are lines on its standard error, which no command inherits.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::sandbox::Network;

/// What is to run. Not `Debug`: variables may be secrets.
#[derive(Serialize, Deserialize)]
pub(crate) struct Request {
    /// The arguments that make the program a supervisor.
    pub(crate) supervisor: Vec<OsString>,
    /// The shell's program.
    pub(crate) shell: PathBuf,
    /// What it runs.
    pub(crate) command: String,
    /// All variables of its environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What it is confined to; none and it may do what we may.
    pub(crate) confinement: Option<Confinement>,
}

/// What a command may reach.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Confinement {
    /// Directories and files that may be read and run.
    pub(crate) readable: Vec<PathBuf>,
    /// Directories that may be written, too.
    pub(crate) writable: Vec<PathBuf>,
    /// The network.
    pub(crate) network: Network,
}

/// What the supervisor reports.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// There is a process that becomes the shell and leads this process group.
    Started {
        /// The group's id.
        group: i32,
    },
    /// It was not started.
    Refused {
        /// Why not.
        why: String,
    },
    /// It has ended.
    Ended {
        /// How.
        fate: ExitOutcome,
        /// Whether something that it started runs on.
        background: bool,
    },
    /// Everything was ended but so many processes, which the system did not let end.
    Left {
        /// Processes.
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

//! The protocol between us and a command's supervisor.
//!
//! The request is the first line of the supervisor's standard input, which then stays open. When it
//! closes, the supervisor knows that the caller no longer waits, even if our process was killed.
//! The supervisor's reports are lines on its standard error, which no command inherits.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::sandbox::Network;

/// The command to run. Not `Debug`: variables may be secrets.
#[derive(Serialize, Deserialize)]
pub(crate) struct Request {
    /// The arguments with which this executable runs as a supervisor.
    pub(crate) supervisor: Vec<OsString>,
    /// The shell's program.
    pub(crate) shell: PathBuf,
    /// The command line for the shell.
    pub(crate) command: String,
    /// All variables of the command's environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What the command may access. With `None` it has all rights of our process.
    pub(crate) confinement: Option<Confinement>,
}

/// The files and the network that a command may access.
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
    /// The process that becomes the shell has started. It leads this process group.
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
        /// How the shell ended.
        fate: ExitOutcome,
        /// Whether processes that it started are still running.
        background: bool,
    },
    /// All processes were stopped, except for some that the system did not allow us to stop.
    Left {
        /// The number of processes that still run.
        processes: u64,
    },
}

/// How a shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExitOutcome {
    /// The shell exited with this code.
    Code(i32),
    /// This signal ended the shell.
    Signal(i32),
}

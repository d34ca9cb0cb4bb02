//! The program that watches what a command starts.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program that calls [`shell_child_main`](crate::shell_child_main) and ends with what
/// that gives. Without one a command is ended by its process group only: what leaves
/// that outlives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// The program, most often the one that runs.
    pub program: PathBuf,
    /// The arguments that make it a supervisor.
    pub arguments: Vec<OsString>,
}

//! The program that supervises commands.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program that calls [`shell_child_main`](crate::shell_child_main) and exits with the code
/// that it returns. Without a supervisor, a command is ended by its process group only, and
/// processes that leave the group outlive it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// The program, most often the running one.
    pub program: PathBuf,
    /// The arguments that make it a supervisor.
    pub arguments: Vec<OsString>,
}

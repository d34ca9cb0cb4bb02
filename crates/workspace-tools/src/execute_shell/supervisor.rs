//! The configuration of the program that supervises commands.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program that calls [`shell_child_main`](crate::shell_child_main) and exits with the code that
/// this function returns. Without a supervisor, only the process group of a command is ended, and
/// processes that leave the group continue to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// The program; usually the one that is running now.
    pub program: PathBuf,
    /// The arguments that make the program a supervisor.
    pub arguments: Vec<OsString>,
}

//! `spillgate __shell`: the supervisor process of one command.

use std::ffi::OsString;

/// The argument that makes this program the supervisor of one command. It is not a command: nobody
/// types it, and it must start before any of our threads and signal handlers.
pub(crate) const CHILD: &str = "__shell";

/// Runs as the supervisor. The request comes on standard input, because every user of the machine
/// can read arguments.
pub(crate) fn child(arguments: impl Iterator<Item = OsString>) -> u8 {
    spillgate_workspace_tools::shell_child_main(arguments)
}

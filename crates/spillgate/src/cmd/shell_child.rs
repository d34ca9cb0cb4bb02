//! `spillgate __shell`: the process that supervises one command of the tool `execute_shell`.

use std::ffi::OsString;

/// The argument that makes this program the supervisor of one command. It is not a command for
/// users, and it must be handled before any thread or signal handler of ours starts.
pub(crate) const CHILD: &str = "__shell";

/// Runs as the supervisor. The request comes on standard input and not in the arguments, which
/// every user of the machine can read.
pub(crate) fn child(arguments: impl Iterator<Item = OsString>) -> u8 {
    spillgate_workspace_tools::shell_child_main(arguments)
}

//! `spillgate __shell`: how does this program keep an eye on a command?

use std::ffi::OsString;

/// The argument that makes this program the supervisor of one command. It is no command:
/// nobody types it, and it has to begin before any thread and any handler of ours.
pub(crate) const CHILD: &str = "__shell";

/// The request is in standard input: arguments every user of the machine can read.
pub(crate) fn child(arguments: impl Iterator<Item = OsString>) -> u8 {
    spillgate_workspace_tools::shell_child_main(arguments)
}

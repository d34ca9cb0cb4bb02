//! Tools that cannot overflow (docs/guarded-tools.md).
//!
//! `read_file`, `execute_shell`, `grep_content`, `glob_files`, `web_fetch` and
//! `web_search` know the size of what they give before they give it, where it can be
//! known, and while it comes otherwise. What is too much is refused with numbers and
//! with what to do instead; there is never a part of something that passes for the
//! whole. [`WorkspaceTools`] has all six, below one [`Workspace`].

mod definition;
mod execute_shell;
mod glob_files;
mod grep_content;
mod read_file;
mod recovery;
mod rules;
mod save;
mod tool_result;
mod walk;
mod web_fetch;
mod web_search;
mod workspace;
mod workspace_tools;

pub use definition::Definition;
pub use execute_shell::{Environment, Network, Sandbox, Supervisor, shell_child_main};
pub use rules::{MAX_TOKENS, OnOverflow, Rules, ShellRules, Writable};
pub use tool_result::{Body, OversizedOutput, ToolResult};
pub use workspace::{PathError, PathKind, Workspace};
pub use workspace_tools::{TOOLS, WorkspaceTools};

//! Tools whose answers have a bounded size (docs/guarded-tools.md).
//!
//! `read_file`, `execute_shell`, `grep_content`, `glob_files`, `web_fetch` and `web_search` check
//! the size of an answer before they produce it if the size is known, and otherwise while they
//! produce it. A tool refuses an answer that is too large, with figures and with advice on what to
//! do instead. It never presents a part of an answer as the whole. [`WorkspaceTools`] provides all
//! six tools for one [`Workspace`].

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

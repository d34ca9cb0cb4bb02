//! MCP servers of our own, on standard input and output.
//!
//! [`serve_files`] serves `Read` and `Grep` below a directory: the tools of an extraction's
//! read-grep child, for any MCP client. [`serve_guarded`] serves the workspace tools, whose
//! answers have a bounded size. [`serve_lookups`] serves only the tools that look into stored
//! outputs.

mod fs;
mod guarded;
mod lookups;
mod stdio;

pub use fs::serve_files;
pub use guarded::{LookupTools, offloaded, serve_guarded};
pub use lookups::serve_lookups;
pub use stdio::ToolsError;

//! MCP servers of this project, on standard input and output.
//!
//! [`serve_files`] serves `Read` and `Grep` below a directory to any MCP client; extractions use
//! the same two tools internally. [`serve_guarded`] serves the workspace tools, whose answers have
//! a bounded size. [`serve_lookups`] serves only the tools that read stored outputs.

mod fs;
mod guarded;
mod lookups;
mod stdio;

pub use fs::serve_files;
pub use guarded::{LookupTools, offloaded, serve_guarded};
pub use lookups::serve_lookups;
pub use stdio::ToolsError;

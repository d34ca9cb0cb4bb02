//! MCP servers of this project, on standard input and output.
//!
//! [`serve_files`] serves `Read` and `Grep` below a directory to any MCP client; extractions use
//! the same two tools internally. [`serve_guarded`] serves the workspace tools, whose answers have
//! a bounded size; both come with the feature `guarded`. [`serve_lookups`] serves only the tools that read stored outputs.

#[cfg(feature = "guarded")]
mod fs;
#[cfg(feature = "guarded")]
mod guarded;
mod lookups;
mod stdio;

#[cfg(feature = "guarded")]
pub use fs::serve_files;
#[cfg(feature = "guarded")]
pub use guarded::{offloaded, serve_guarded};
pub use lookups::{LookupTools, serve_lookups};
pub use stdio::ToolsError;

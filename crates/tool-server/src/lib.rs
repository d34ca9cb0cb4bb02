//! MCP servers of our own, on standard input and output.
//!
//! [`serve_files`] is `Read` and `Grep` below a directory: what the read-grep child of an
//! extraction has, for any MCP client. [`serve_guarded`] is the guarded tools, which
//! cannot overflow; [`serve_lookups`] is those that look into what is stored, alone.

mod fs;
mod guarded;
mod lookups;
mod stdio;

pub use fs::serve_files;
pub use guarded::{LookupTools, offloaded, serve_guarded};
pub use lookups::serve_lookups;
pub use stdio::ToolsError;

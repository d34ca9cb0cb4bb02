//! MCP servers of our own, on standard input and output.
//!
//! [`serve_files`] is `Read` and `Grep` below a directory: what the read-grep child of
//! seed 001 has, for any MCP client. [`serve_guarded`] is the tools of seed 004, which
//! cannot overflow.

mod fs;
mod guarded;
mod stdio;

pub use fs::serve_files;
pub use guarded::{Offloading, offloaded, serve_guarded};
pub use stdio::ToolsError;

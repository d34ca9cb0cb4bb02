//! MCP servers of our own.
//!
//! [`serve_stdio`] is `Read` and `Grep` below a directory, on standard input and
//! output: what the read-grep child of seed 001 has, for any MCP client.

mod fs;

pub use fs::{ToolsError, serve_stdio};

//! MCP servers of our own.

//! Logging in at MCP servers with OAuth, and keeping the tokens.

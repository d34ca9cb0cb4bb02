//! The tools by which a model looks into what was stored.
//!
//! Every server that replaces results by messages offers them: the gateway, and the
//! guarded tools where they offload. [`Tools`] answers calls with MCP results as JSON;
//! [`definitions`] is what clients are told of them, at most 500 tokens.

mod arguments;
pub mod audience;
mod definitions;
#[cfg(test)]
mod fixture;
mod tools;

pub use definitions::{
    CONTINUE, Extraction, GREP, NAMES, QUERY, READ, SEARCH, TOOL_OUTPUT, definitions, listed,
};
pub use tools::{PREFIX, RETRIEVAL_MARK, RetrievalTools, error_text, handle_of, result_of};

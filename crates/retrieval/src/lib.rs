//! The tools with which a model reads stored results.
//!
//! Every server that replaces results with messages offers these tools: the gateway, and the
//! guarded tools if they offload. [`RetrievalTools`] answers calls with MCP results as JSON.
//! [`definitions`] returns the definitions for clients, in at most 500 tokens. [`Account`] adds up what
//! the ledger records of results and look-ups.

mod account;
mod arguments;
pub mod audience;
mod definitions;
#[cfg(test)]
mod fixture;
mod tools;

pub use account::{Account, Extractions, LookedUp, Sums, ToolList};
pub use arguments::MOST_PAGE_TOKENS;
pub use definitions::{
    CONTINUE, Extraction, GREP, NAMES, QUERY, READ, SEARCH, TOOL_OUTPUT, definitions, listed,
};
pub use tools::{
    MATCHES, NoAnswer, PREFIX, RETRIEVAL_MARK, RetrievalTools, error_text, handle_of, result_of,
};

//! Texts for results that are too large (docs/spec/texts.md, "Reject profile").
//!
//! The `reject` profile uses them, and tools that refuse by themselves.

/// Bytes that the reject design counts as one token. Only these messages, the profile's decision
/// and the guarded tools use it.
const BYTES_PER_TOKEN: u64 = 4;

/// Returns the reject design's estimate of a text's tokens: `floor(bytes / 4)`.
#[must_use]
pub fn estimated_tokens(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN
}

/// What is too large, with its estimated tokens and what to do instead. The text follows `Error: `.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A file, or a page of one.
    #[error(
        "File content (~{tokens} tokens) exceeds maximum allowed tokens ({limit}). \
         Please use offset and limit parameters to read specific portions of the file, \
         or use grep_content to search for specific content."
    )]
    File {
        /// Estimated tokens.
        tokens: u64,
        /// Allowed tokens.
        limit: u64,
    },
    /// The output of a command.
    #[error(
        "Command output (~{tokens} tokens) exceeds maximum allowed. \
         Please pipe output through head/tail/grep, \
         or redirect to a file and read specific portions."
    )]
    Command {
        /// Estimated tokens.
        tokens: u64,
    },
    /// The matches of a search.
    #[error(
        "Search returned ~{tokens} tokens of matches. \
         Please use a more specific pattern or limit results with max_results parameter."
    )]
    Search {
        /// Estimated tokens.
        tokens: u64,
    },
    /// A page of the web.
    #[error(
        "Page content (~{tokens} tokens) exceeds maximum allowed tokens ({limit}). \
         Please use save_to parameter to save content to a file, \
         then use grep_content to search it."
    )]
    Page {
        /// Estimated tokens.
        tokens: u64,
        /// Allowed tokens.
        limit: u64,
    },
    /// A list of files.
    #[error(
        "File list (~{tokens} tokens) exceeds maximum allowed tokens ({limit}). \
         Please use a more specific pattern."
    )]
    FileList {
        /// Estimated tokens.
        tokens: u64,
        /// Allowed tokens.
        limit: u64,
    },
    /// The number of files in a list.
    #[error(
        "File list ({files} files) exceeds maximum allowed files ({limit}). \
         Please use a more specific pattern or limit results with max_results parameter."
    )]
    FileCount {
        /// Files found.
        files: u64,
        /// Files allowed.
        limit: u64,
    },
}

//! The errors for results that are too large (docs/spec/texts.md, "Reject profile").
//!
//! The `reject` profile and tools that refuse on their own share these texts.

/// Bytes per token in the design of the `reject` profile. Only these messages, the decision of this
/// profile and the workspace tools estimate tokens in this way.
const BYTES_PER_TOKEN: u64 = 4;

/// Estimates the tokens of a text as in the design of the `reject` profile: `floor(bytes / 4)`.
#[must_use]
pub fn estimated_tokens(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN
}

/// A refusal. Its text names the estimated tokens and says what to do instead; it follows
/// `Error: `.
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
    /// A web page.
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

//! Settings of an extraction.

use serde::{Deserialize, Serialize};

/// Settings of an extraction (docs/configuration.md; docs/spec/behaviour.md, "Extraction").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractionSettings {
    /// Number of chunks up to which `auto` has every chunk read.
    #[serde(alias = "maxChunks")]
    pub max_chunks: u64,
    /// Most chunks that are read, whatever is requested; the answer says what was left out.
    #[serde(alias = "maxChunksHard")]
    pub max_chunks_hard: u64,
    /// Percent of a chunk that the next one repeats, 0 to 50; none in JSON and tables.
    #[serde(alias = "overlapPercent")]
    pub overlap_percent: u64,
    /// Average bytes of a raw line above which grepping makes no sense.
    #[serde(alias = "avgLineBytesThreshold")]
    pub avg_line_bytes_threshold: u64,
    /// Most tokens of a chunk; 0 means as many as the model takes.
    #[serde(alias = "chunkTokens")]
    pub chunk_tokens: u64,
    /// Chunks that are read in parallel.
    pub parallel: u64,
    /// Stops reading once a chunk has a verified answer.
    #[serde(alias = "earlyStop")]
    pub early_stop: bool,
    /// Tokens of a model's answer; at most twice as many are passed on.
    #[serde(alias = "answerTokens")]
    pub answer_tokens: u64,
    /// Tokens of passages (`search`).
    #[serde(alias = "passageTokens")]
    pub passage_tokens: u64,
    /// Tokens of the two ends (`truncate`): some 10,000 bytes, which every client passes on whole.
    #[serde(alias = "truncateTokens")]
    pub truncate_tokens: u64,
    /// Most requests to the model of the read-grep child.
    #[serde(alias = "maxTurns")]
    pub max_turns: u32,
    /// Most calls that it may make in one reply.
    #[serde(alias = "maxToolCallsPerTurn")]
    pub max_tool_calls_per_turn: u32,
    /// Tokens of one result of its tools.
    #[serde(alias = "toolTokens")]
    pub tool_tokens: u64,
    /// Most bytes of an answer that is passed on, without the lines around it; `None` means no
    /// limit. Not a key in files: [`within`](Self::within) sets it.
    #[serde(skip)]
    pub most_bytes: Option<u64>,
}

impl Default for ExtractionSettings {
    fn default() -> Self {
        Self {
            max_chunks: 1,
            max_chunks_hard: 64,
            overlap_percent: 10,
            avg_line_bytes_threshold: 1000,
            chunk_tokens: 0,
            parallel: 4,
            early_stop: false,
            answer_tokens: 4096,
            passage_tokens: 1000,
            truncate_tokens: 2500,
            max_turns: 15,
            max_tool_calls_per_turn: 10,
            tool_tokens: 4000,
            most_bytes: None,
        }
    }
}

/// Least tokens of passages and ends, however small the cap: fewer say nothing.
const LEAST: u64 = 64;

/// Approximate bytes of a token in ordinary text.
const TOKEN_BYTES: u64 = 4;

impl ExtractionSettings {
    /// Returns the settings for a session whose tool results may have this many bytes. The
    /// strategies without a model (`search`, `truncate`) stay approximately within them; a model's
    /// answer is cut there.
    #[must_use]
    pub fn within(self, bytes: u64) -> Self {
        let most = (bytes / TOKEN_BYTES).max(LEAST);
        Self {
            passage_tokens: self.passage_tokens.min(most),
            truncate_tokens: self.truncate_tokens.min(most),
            most_bytes: Some(bytes),
            ..self
        }
    }
}

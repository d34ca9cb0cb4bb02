//! Settings of an extraction.

use serde::{Deserialize, Serialize};

/// Settings of an extraction (docs/configuration.md; docs/spec/behaviour.md, "Extraction").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractionSettings {
    /// The number of chunks up to which `auto` reads every chunk.
    #[serde(alias = "maxChunks")]
    pub max_chunks: u64,
    /// Maximum number of chunks that are read, whatever is requested. The answer says what was left
    /// out.
    #[serde(alias = "maxChunksHard")]
    pub max_chunks_hard: u64,
    /// How much of a chunk the next one repeats, in percent, 0 to 50. Chunks of JSON and tables do
    /// not overlap.
    #[serde(alias = "overlapPercent")]
    pub overlap_percent: u64,
    /// Average size of a raw line, in bytes, above which searching by lines makes no sense.
    #[serde(alias = "avgLineBytesThreshold")]
    pub avg_line_bytes_threshold: u64,
    /// Maximum size of a chunk, in tokens; 0 means as many as the model's window allows.
    #[serde(alias = "chunkTokens")]
    pub chunk_tokens: u64,
    /// Number of chunks that are read at the same time.
    pub parallel: u64,
    /// Whether to stop reading once a chunk has a verified answer.
    #[serde(alias = "earlyStop")]
    pub early_stop: bool,
    /// Maximum length of a model's answer, in tokens. The model is asked to keep to it. Of a
    /// longer answer, the calling model gets at most twice this length.
    #[serde(alias = "answerTokens")]
    pub answer_tokens: u64,
    /// Maximum size of the passages of `search`, in tokens.
    #[serde(alias = "passageTokens")]
    pub passage_tokens: u64,
    /// Maximum size of a `truncate` text, in tokens. The default corresponds to about 10,000 bytes,
    /// which every client passes on completely.
    #[serde(alias = "truncateTokens")]
    pub truncate_tokens: u64,
    /// Maximum number of requests to the model in the read-grep strategy.
    #[serde(alias = "maxTurns")]
    pub max_turns: u32,
    /// Maximum number of calls that this model may make in one reply.
    #[serde(alias = "maxToolCallsPerTurn")]
    pub max_tool_calls_per_turn: u32,
    /// Maximum size of one result of `Read` or `Grep` in the read-grep strategy, in tokens.
    #[serde(alias = "toolTokens")]
    pub tool_tokens: u64,
    /// Maximum size of an answer for the calling model, in bytes, without the lines around it;
    /// `None` means no limit. It is not a key in configuration files: [`within`](Self::within) sets
    /// it.
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

/// Minimum size of passages and truncated texts, in tokens, even if the session's size limit is
/// smaller. Fewer tokens would tell the model nothing.
const LEAST: u64 = 64;

/// Approximate size of a token in ordinary text, in bytes.
const TOKEN_BYTES: u64 = 4;

impl ExtractionSettings {
    /// Returns the settings for a session whose tool results may have at most `bytes` bytes. The
    /// results of the strategies without a model (`search`, `truncate`) keep approximately to this
    /// size; a model's answer is cut to it.
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

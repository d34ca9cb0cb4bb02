//! Picks the strategy of an extraction (docs/spec/behaviour.md, "Routing").

use crate::{ExtractionSettings, Mode, Strategy};

/// The facts on which the choice of a strategy depends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground {
    /// Whether there is a model to ask.
    pub has_model: bool,
    /// Tokens of the output when it is rendered in chunks.
    pub tokens: u64,
    /// Maximum size of one chunk, in tokens; 0 if the prompt alone fills the model's window.
    pub chunk_tokens: u64,
    /// Average bytes per line of the original text, rounded up.
    pub average_line: u64,
}

/// Returns the strategy for a mode. For `auto`, the facts about the output decide; any other mode
/// names its strategy.
pub(crate) fn route(mode: Mode, ground: &Ground, settings: &ExtractionSettings) -> Strategy {
    match mode {
        Mode::FullChunked => Strategy::FullChunked,
        Mode::ReadGrep => Strategy::ReadGrep,
        Mode::Truncate => Strategy::Truncate,
        Mode::Search => Strategy::Search,
        Mode::Auto if !ground.has_model => Strategy::Search,
        Mode::Auto => {
            let fits = ground.chunk_tokens > 0
                && ground.tokens.div_ceil(ground.chunk_tokens) <= settings.max_chunks.max(1);
            let has_long_lines = ground.average_line > settings.avg_line_bytes_threshold;
            match fits || has_long_lines {
                true => Strategy::FullChunked,
                false => Strategy::ReadGrep,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_lines_decide() {
        use Strategy::{FullChunked, ReadGrep, Search, Truncate};
        let settings = ExtractionSettings {
            max_chunks: 2,
            ..ExtractionSettings::default()
        };
        let ground = |has_model, tokens, chunk_tokens, average_line| Ground {
            has_model,
            tokens,
            chunk_tokens,
            average_line,
        };
        for (mode, ground, strategy) in [
            (Mode::Auto, ground(true, 2000, 1000, 80), FullChunked),
            (Mode::Auto, ground(true, 2001, 1000, 80), ReadGrep),
            // The threshold must be exceeded: 1000 bytes do not count as more than 1000.
            (Mode::Auto, ground(true, 9000, 1000, 1000), ReadGrep),
            (Mode::Auto, ground(true, 9000, 1000, 1001), FullChunked),
            (Mode::Auto, ground(true, 10, 0, 80), ReadGrep),
            (Mode::Auto, ground(true, 0, 1000, 0), FullChunked),
            (Mode::Auto, ground(false, 10, 0, 80), Search),
            (Mode::FullChunked, ground(true, 9000, 1000, 80), FullChunked),
            (Mode::ReadGrep, ground(true, 10, 1000, 5000), ReadGrep),
            (Mode::Truncate, ground(true, 10, 1000, 80), Truncate),
            (Mode::Search, ground(true, 10, 1000, 80), Search),
        ] {
            assert_eq!(
                route(mode, &ground, &settings),
                strategy,
                "{mode} {ground:?}"
            );
        }
    }
}

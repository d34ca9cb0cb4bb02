//! The `handle` profile: seed 001's three lines, byte for byte (wire.md).

use spillgate_artifact::{Handle, Stats};

/// The message; the only profile in which a model must call `tool_output`.
pub(crate) fn handle(stats: &Stats, handle: Handle) -> String {
    let Stats {
        bytes,
        lines,
        tokens,
        ..
    } = stats;
    // ai-agent's rule: the tokenizer's count, but no less than a quarter of
    // the text's length (SPEC 2.2).
    let tokens = tokens.count.max(stats.chars.div_ceil(4));
    format!(
        "Tool output is too large ({bytes} bytes, {lines} lines, {tokens} tokens).\n\
         Call tool_output(handle = \"{handle}\", extract = \"what to extract\").\n\
         Provide precise and detailed instructions in `extract` about what you are looking for."
    )
}

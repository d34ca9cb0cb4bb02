//! The text that encloses an answer or an error of `tool_output`
//! (docs/spec/texts.md, "Envelopes of extraction").

/// Formats an answer.
pub(crate) fn success(tool: &str, handle: &str, strategy: &str, body: &str) -> String {
    format!("ABSTRACT FROM TOOL OUTPUT {tool} WITH HANDLE {handle}, STRATEGY:{strategy}:\n\n{body}")
}

/// Formats a failure.
pub(crate) fn failure(tool: &str, handle: &str, strategy: &str, error: &str) -> String {
    format!("TOOL_OUTPUT FAILED FOR {tool} WITH HANDLE {handle}, STRATEGY:{strategy}:\n\n{error}")
}

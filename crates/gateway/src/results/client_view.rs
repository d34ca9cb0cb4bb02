//! Determines which part of a result (`content` or `structuredContent`) a client shows to its
//! model.

use std::sync::OnceLock;

use spillgate_mcp::{Envelope, ObjectView, meta};

use crate::session::in_flight::CallParams;

/// The part of a result that a client shows if the result contains both text and
/// `structuredContent` (docs/clients-measured.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ShownPart {
    /// The client shows `structuredContent`.
    Structured,
    /// The client shows the text, because a program reads `structuredContent`.
    Text,
    /// It is not known which part the client shows, so the larger part counts.
    #[default]
    Either,
}

impl ShownPart {
    /// Returns the part that the client named `name` (`clientInfo.name`) has been observed to show.
    fn of_client(name: &str) -> Self {
        match name {
            "claude-code" | "codex-mcp-client" => Self::Structured,
            _ => Self::Either,
        }
    }
}

/// The client of a session; empty until it has sent its name.
#[derive(Debug, Default)]
pub(crate) struct Client(OnceLock<String>);

impl Client {
    /// Returns the part that the client shows.
    pub(crate) fn shown_part(&self) -> ShownPart {
        self.name().map(ShownPart::of_client).unwrap_or_default()
    }

    /// Returns the name by which the client introduced itself (`clientInfo.name`).
    pub(crate) fn name(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Looks for the client's name in a request: in `initialize`, and since 2026-07-28 in the
    /// `_meta` of every request. `call` contains the parameters of the request if it calls a tool.
    pub(crate) fn note(&self, envelope: &Envelope<'_>, call: Option<&CallParams<'_>>) {
        if self.0.get().is_some() {
            return;
        }
        let in_meta = || {
            let meta = match call {
                Some(call) => call.meta?,
                None => ObjectView::of(envelope.params?)?.get("_meta")?,
            };
            ObjectView::of(meta)?.get(meta::CLIENT_INFO)
        };
        let in_greeting = || {
            let greets = envelope.method.as_deref() == Some("initialize");
            ObjectView::of(envelope.params.filter(|_| greets)?)?.get("clientInfo")
        };
        let info = in_meta().or_else(in_greeting);
        if let Some(name) = info
            .and_then(ObjectView::of)
            .and_then(|info| info.text("name"))
        {
            // If another request has set the value meanwhile, it came from the same client.
            let _ = self.0.set(name);
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use spillgate_mcp::messages;

    #[test]
    fn a_client_says_who_it_is() {
        let info = r#"{"title":"x","name":"claude-code"}"#;
        let meta = format!(r#"{{"io.modelcontextprotocol/clientInfo":{info}}}"#);
        for (frame, shown_part) in [
            (
                format!(r#"{{"id":1,"method":"initialize","params":{{"clientInfo":{info}}}}}"#),
                ShownPart::Structured,
            ),
            (
                format!(
                    r#"{{"id":1,"method":"tools/call","params":{{"name":"a","_meta":{meta}}}}}"#
                ),
                ShownPart::Structured,
            ),
            (
                r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"goose"}}}"#
                    .to_owned(),
                ShownPart::Either,
            ),
            (
                format!(r#"{{"id":1,"method":"tools/list","params":{{"clientInfo":{info}}}}}"#),
                ShownPart::Either,
            ),
            (
                r#"{"id":1,"method":"initialize"}"#.to_owned(),
                ShownPart::Either,
            ),
        ] {
            let client = Client::default();
            let envelope = &messages(frame.as_bytes())[0];
            let call = CallParams::of(envelope);
            client.note(envelope, call.as_ref());
            assert_eq!(client.shown_part(), shown_part, "{frame}");
        }
    }
}

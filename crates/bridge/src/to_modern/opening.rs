//! Answers `initialize` in place of a server without this method.

use bytes::Bytes;
use serde_json::json;
use spillgate_mcp::{Envelope, ObjectView, ProtocolVersion, RequestId, error_code, frame};

use super::{Request, ToModern};
use crate::json::{complaint, quoted};
use crate::refusal::{self, RefusalReply};
use crate::steps::Steps;
use spillgate_mcp::meta::SERVER_INFO;

/// What the client said about itself. The values are JSON.
#[derive(Debug, Default)]
pub(super) struct ClientFacts {
    pub(super) info: Option<String>,
    pub(super) capabilities: Option<String>,
}

/// An `initialize` from the client that is not answered yet.
#[derive(Debug)]
pub(super) struct PendingInitialize {
    pub(super) id: String,
    pub(super) key: RequestId,
    version: &'static str,
}

impl ToModern {
    /// Sends `server/discover`, whose answer is needed to answer the client's `initialize`.
    pub(super) fn initialize(&mut self, request: &Request<'_>, steps: &mut Steps) {
        let params = request.params();
        self.client = ClientFacts {
            info: params.spelled("clientInfo"),
            capabilities: params.spelled("capabilities"),
        };
        let asked = params.text("protocolVersion");
        let version = ProtocolVersion::HANDSHAKES
            .into_iter()
            .find(|known| Some(*known) == asked.as_deref());
        let opening = PendingInitialize {
            id: request.id.to_owned(),
            key: request.key.clone(),
            version: version.unwrap_or(ProtocolVersion::LEGACY),
        };
        if let Some((_, earlier)) = self.opening.take() {
            let why = RefusalReply::new(
                error_code::INVALID_REQUEST,
                "client",
                "another `initialize` came before this one was answered",
                "send `initialize` once",
            );
            steps.refuse(self.at, Some(earlier.key), &earlier.id, &why);
        }
        let key = self.ask_server("server/discover", "", steps);
        self.opening = Some((key, opening));
    }

    /// Handles the answer to `server/discover`.
    pub(super) fn discovered(&mut self, envelope: &Envelope<'_>, frame: &Bytes, steps: &mut Steps) {
        let Some(result) = envelope.result.and_then(ObjectView::of) else {
            let said = complaint(frame);
            return self.not_discovered(&format!("it refused `server/discover`: {said}"), steps);
        };
        let versions: Vec<String> = result.read("supportedVersions").unwrap_or_default();
        if !versions
            .iter()
            .any(|version| version == ProtocolVersion::MODERN)
        {
            let said = versions.join(", ");
            let ours = ProtocolVersion::MODERN;
            return self.not_discovered(&format!("it speaks {said:?}, and not {ours}"), steps);
        }
        let Some((_, opening)) = self.opening.take() else {
            return;
        };
        let capabilities = result.spelled("capabilities");
        let capabilities = capabilities.unwrap_or_else(|| "{}".to_owned());
        let meta = result.object("_meta").unwrap_or_default();
        let info = meta.spelled(SERVER_INFO).unwrap_or_else(|| {
            json!({"name": self.config.server, "version": "unknown"}).to_string()
        });
        let instructions = result.text("instructions").and(result.get("instructions"));
        let instructions = instructions.map(|text| format!(r#","instructions":{}"#, text.get()));
        let answer = format!(
            r#"{{"protocolVersion":{},"capabilities":{capabilities},"serverInfo":{info}{}}}"#,
            quoted(opening.version),
            instructions.unwrap_or_default(),
        );
        self.capabilities = Some(capabilities);
        steps.client(
            self.at,
            Some(opening.key),
            frame::response(&opening.id, &answer),
        );
    }

    /// Informs the client why `server/discover` failed. The client may try again.
    pub(super) fn not_discovered(&mut self, why: &str, steps: &mut Steps) {
        if let Some((_, opening)) = self.opening.take() {
            let why = refusal::no_connection(&self.config.server, why);
            steps.refuse(self.at, Some(opening.key), &opening.id, &why);
        }
    }

    /// Returns whether `group.member` of the server's capabilities is `true`.
    pub(super) fn has(&self, group: &str, member: &str) -> bool {
        let all = self.capabilities.as_deref().unwrap_or_default();
        let all = ObjectView::of_bytes(all.as_bytes()).unwrap_or_default();
        all.object(group).is_some_and(|group| group.is_true(member))
    }
}

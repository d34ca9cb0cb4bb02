//! Opens a session with a legacy server for clients without sessions.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use serde_json::json;
use spillgate_mcp::{Envelope, ObjectView, ProtocolVersion, frame};

use super::{OwnRequest, Request, ServerState, ToLegacy};
use crate::json::{complaint, quoted};
use crate::steps::Steps;
use crate::{DeclaredCapabilities, Step, refusal};
use spillgate_mcp::meta::SERVER_INFO;

/// All capabilities that can be bridged.
const EVERYTHING: &str =
    r#"{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

/// What the server said about itself. The values are JSON.
#[derive(Debug)]
pub(super) struct ServerFacts {
    pub(super) version: ProtocolVersion,
    capabilities: String,
    info: Option<String>,
    instructions: Option<String>,
}

impl ServerFacts {
    /// Returns whether the server's capabilities contain `group`. If `member` is given,
    /// `group.member` must also be `true`.
    pub(super) fn has(&self, group: &str, member: Option<&str>) -> bool {
        let all = ObjectView::of_bytes(self.capabilities.as_bytes()).unwrap_or_default();
        let group = all.object(group);
        group.is_some_and(|group| member.is_none_or(|name| group.is_true(name)))
    }
}

impl ToLegacy {
    /// Opens the session. The request that needs it waits until the session is open.
    pub(super) fn open(&mut self, request: Request, steps: &mut Steps) {
        let capabilities = match self.config.declare {
            DeclaredCapabilities::FirstRequest => request.capabilities.as_str(),
            DeclaredCapabilities::Everything => EVERYTHING,
        };
        let (name, version) = &self.config.ourselves;
        let ourselves = json!({"name": name, "version": version}).to_string();
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{capabilities},"clientInfo":{}}}"#,
            ProtocolVersion::LEGACY,
            request.info.as_ref().unwrap_or(&ourselves),
        );
        self.server = ServerState::Opening(VecDeque::from([request]));
        self.ask_server(OwnRequest::Initialize, "initialize", &params, steps);
    }

    /// Handles the answer to `initialize`.
    pub(super) fn opened(
        &mut self,
        envelope: &Envelope<'_>,
        frame: &Bytes,
        now: Instant,
        steps: &mut Steps,
    ) {
        let facts = match facts(envelope, frame) {
            Ok(facts) => facts,
            Err(why) => return self.not_opened(&why, steps),
        };
        let waiting = std::mem::replace(&mut self.server, ServerState::Open(facts));
        let initialized = frame::notification("notifications/initialized", None);
        steps.tell_server(
            initialized,
            Some("notifications/initialized"),
            &self.headers(),
        );
        steps.0.push(Step::Listen);
        if let ServerState::Opening(queue) = waiting {
            for request in queue {
                self.serve(request, now, steps);
            }
        }
    }

    /// Informs all waiting clients why the session was not opened. The next request tries again.
    pub(super) fn not_opened(&mut self, why: &str, steps: &mut Steps) {
        let why = refusal::no_connection(&self.config.server, why);
        if let ServerState::Opening(queue) =
            std::mem::replace(&mut self.server, ServerState::Closed)
        {
            for request in queue {
                request.refuse(&why, steps);
            }
        }
    }

    /// Answers `server/discover` from the server's answer to `initialize`.
    pub(super) fn discover(&self, request: &Request, steps: &mut Steps) {
        let ServerState::Open(facts) = &self.server else {
            return;
        };
        // `tasks` is removed, because tasks differ between the generations.
        let capabilities = ObjectView::of_bytes(facts.capabilities.as_bytes()).unwrap_or_default();
        let capabilities = capabilities.without(&["tasks"]);
        let instructions = facts.instructions.as_ref();
        let instructions = instructions.map(|text| format!(r#""instructions":{text},"#));
        let info = facts.info.clone().unwrap_or_else(|| {
            json!({"name": self.config.server, "version": "unknown"}).to_string()
        });
        let result = format!(
            r#"{{"resultType":"complete","supportedVersions":[{version}],"capabilities":{capabilities},{instructions}"ttlMs":0,"cacheScope":"private","_meta":{{"{SERVER_INFO}":{info}}}}}"#,
            version = quoted(ProtocolVersion::MODERN),
            instructions = instructions.unwrap_or_default(),
        );
        let frame = frame::response(&request.id, &result);
        steps.client(request.from, Some(request.key.clone()), frame);
    }
}

/// Returns what the server said about itself, or why it cannot be used.
fn facts(envelope: &Envelope<'_>, frame: &Bytes) -> Result<ServerFacts, String> {
    let Some(result) = envelope.result.and_then(ObjectView::of) else {
        return Err(format!("it refused `initialize`: {}", complaint(frame)));
    };
    let version = result.text("protocolVersion").unwrap_or_default();
    let legacy = ProtocolVersion::parse(&version).filter(|version| !version.is_modern());
    let Some(version) = legacy else {
        return Err(format!(
            "it chose the protocol version {version:?}, which is not one with `initialize`"
        ));
    };
    Ok(ServerFacts {
        version,
        capabilities: result
            .spelled("capabilities")
            .unwrap_or_else(|| "{}".to_owned()),
        info: result.spelled("serverInfo"),
        instructions: result
            .text("instructions")
            .and(result.get("instructions"))
            .map(|text| text.get().to_owned()),
    })
}

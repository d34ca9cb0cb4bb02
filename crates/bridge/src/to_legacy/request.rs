//! Parses a modern client's request.

use bytes::Bytes;
use spillgate_mcp::{
    ByteEdits, Envelope, ObjectView, ProtocolVersion, RequestId, error_code, messages,
};

use super::no_version;
use crate::json::{put_for, put_id};
use crate::names::{MAY_ASK, MODERN_KEYS, level, named_by};
use crate::refusal::{self, RefusalReply};
use crate::steps::Steps;
use crate::{Caller, ClientFrame};
use spillgate_mcp::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};

/// A request of a modern client.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) from: Caller,
    /// The exact text of the id.
    pub(super) id: String,
    pub(super) key: RequestId,
    pub(super) method: String,
    /// `params.name` or `params.uri`, if the method has one.
    pub(super) name: Option<String>,
    pub(super) frame: Bytes,
    pub(super) headers: Vec<(String, String)>,
    /// The client's capabilities for this request, as JSON.
    pub(super) capabilities: String,
    /// The client's name and version, as JSON.
    pub(super) info: Option<String>,
    pub(super) level: Option<usize>,
    /// The `progressToken`, as JSON.
    pub(super) token: Option<String>,
    /// The `requestState` that the client returns with its answers.
    pub(super) state: Option<String>,
}

impl Request {
    /// Parses a request. The refusal says why the request cannot be handled.
    pub(super) fn read(
        envelope: &Envelope<'_>,
        id: &str,
        key: RequestId,
        frame: &Bytes,
        received: ClientFrame<'_>,
    ) -> Result<Self, RefusalReply> {
        let method = envelope.method.as_deref().unwrap_or_default();
        let params = match envelope.params {
            Some(params) => ObjectView::of(params).ok_or_else(refusal::params_are_a_list)?,
            None => ObjectView::default(),
        };
        if let Some(why) = not_served(method, &params) {
            return Err(why);
        }
        let meta = params.object("_meta").unwrap_or_default();
        let version = meta.text(PROTOCOL_VERSION);
        let capabilities = meta.object(CLIENT_CAPABILITIES);
        let (Some(version), Some(_)) = (version, capabilities) else {
            return Err(no_envelope());
        };
        if version != ProtocolVersion::MODERN {
            return Err(no_version(&version));
        }
        let asks = MAY_ASK.contains(&method);
        Ok(Self {
            from: received.from,
            id: id.to_owned(),
            key,
            method: method.to_owned(),
            name: named_by(method).and_then(|name| params.text(name)),
            frame: frame.clone(),
            headers: received.headers.to_vec(),
            capabilities: meta
                .get(CLIENT_CAPABILITIES)
                .map_or("{}", |all| all.get())
                .to_owned(),
            info: meta.spelled(CLIENT_INFO),
            level: meta.text(LOG_LEVEL).and_then(|name| level(&name)),
            token: meta
                .get("progressToken")
                .map(|token| token.get().to_owned()),
            state: params.text("requestState").filter(|_| asks),
        })
    }

    /// Returns whether this is the request with this id from this client.
    pub(super) fn is(&self, from: Caller, key: &RequestId) -> bool {
        self.from == from && self.key == *key
    }

    /// Answers the request with an error.
    pub(super) fn refuse(&self, why: &RefusalReply, steps: &mut Steps) {
        steps.refuse(self.from, Some(self.key.clone()), &self.id, why);
    }

    /// Returns the frame for a legacy server: with the number of the call, and without the `_meta`
    /// keys that exist only in the modern generation.
    pub(super) fn for_server(&self, number: &RequestId) -> Vec<u8> {
        let frame = self.without_answers();
        let mut splice = ByteEdits::default();
        let all = messages(&frame);
        let Some(envelope) = all.first() else {
            return frame;
        };
        put_id(&mut splice, &frame, envelope, number.as_json());
        let params = envelope.params.and_then(ObjectView::of).unwrap_or_default();
        if let Some(meta) = params.get("_meta") {
            let [a, b, c, d] = MODERN_KEYS;
            let mut kept =
                ObjectView::of(meta)
                    .unwrap_or_default()
                    .without(&[a, b, c, d, "progressToken"]);
            if self.token.is_some() {
                // Several clients may use equal tokens, so the number of the call replaces the
                // token.
                let comma = if kept == "{}" { "" } else { "," };
                kept = format!(
                    r#"{{"progressToken":{number}{comma}{rest}"#,
                    number = number.as_json(),
                    rest = &kept[1..]
                );
            }
            put_for(&mut splice, &frame, meta, &kept);
        }
        splice.apply(&frame)
    }

    /// Returns the frame without the members that a client adds when it returns with answers.
    fn without_answers(&self) -> Vec<u8> {
        const ANSWERS: [&str; 2] = ["inputResponses", "requestState"];
        let all = messages(&self.frame);
        let params = all.first().and_then(|envelope| envelope.params);
        let members = params.and_then(ObjectView::of).unwrap_or_default();
        let has_any = ANSWERS.iter().any(|name| members.get(name).is_some());
        let (true, Some(params)) = (has_any && MAY_ASK.contains(&self.method.as_str()), params)
        else {
            return self.frame.to_vec();
        };
        let mut splice = ByteEdits::default();
        put_for(&mut splice, &self.frame, params, &members.without(&ANSWERS));
        splice.apply(&self.frame)
    }
}

/// Returns the refusal for a method that is not supported; `None` if it is supported.
fn not_served(method: &str, params: &ObjectView<'_>) -> Option<RefusalReply> {
    let instead = match method {
        "initialize" => {
            let requested = params.text("protocolVersion").unwrap_or_default();
            return Some(no_version(&requested));
        }
        "ping" => "any other request shows whether the server is there",
        "logging/setLevel" => "set `io.modelcontextprotocol/logLevel` in the `_meta` of a request",
        "resources/subscribe" | "resources/unsubscribe" => "use `subscriptions/listen`",
        other => {
            return other.starts_with("tasks/").then(|| refusal::tasks(other));
        }
    };
    Some(refusal::removed(method, instead))
}

fn no_envelope() -> RefusalReply {
    RefusalReply::new(
        error_code::INVALID_PARAMS,
        "client",
        format!("`params._meta` must have `{PROTOCOL_VERSION}` and `{CLIENT_CAPABILITIES}`"),
        "a client of MCP 2025-11-25 or older begins with `initialize`",
    )
}

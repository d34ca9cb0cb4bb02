//! The `server/discover` request with which the gateway finds out whether a server speaks modern
//! MCP (2026-07-28) or legacy MCP, and the error with which it answers a client's `server/discover`
//! when the server does not have this method.

use serde_json::json;
use serde_json::value::RawValue;
use spillgate_mcp::{ProtocolVersion, RequestId, error_code, frame, meta};
use spillgate_transport::{Message, ServerEvent};

/// The id of the gateway's own `server/discover`. All other ids of the gateway are numbers.
const PROBE: &str = "\"spillgate:era\"";

/// Returns the gateway's own `server/discover`.
pub(crate) fn probe() -> Message {
    let params = json!({"_meta": {
        meta::PROTOCOL_VERSION: ProtocolVersion::MODERN,
        meta::CLIENT_INFO: {"name": "spillgate", "version": env!("CARGO_PKG_VERSION")},
        meta::CLIENT_CAPABILITIES: {},
    }});
    let params = params.to_string();
    let frame = frame::line(frame::request(PROBE, "server/discover", Some(&params)));
    Message {
        id: Some(probe_key()),
        frame: frame.into(),
        method: Some("server/discover".to_owned()),
        name: None,
        headers: vec![(
            meta::VERSION_HEADER.to_owned(),
            ProtocolVersion::MODERN.to_owned(),
        )],
    }
}

pub(crate) fn probe_key() -> RequestId {
    let id: &RawValue = serde_json::from_str(PROBE).expect("invariant: a constant");
    RequestId::of(id).expect("invariant: a text is an id")
}

/// Returns the gateway's own answer to `server/discover` for a server without this method. Clients
/// then fall back to `initialize`.
pub(crate) fn no_discover(key: &RequestId) -> ServerEvent {
    let error = json!({
        "code": error_code::METHOD_NOT_FOUND,
        "message": "the server speaks MCP 2025-11-25 or older: `server/discover` is not part of it",
        "data": {"fault": "client", "hint": "begin with `initialize`"},
    });
    let frame = frame::line(frame::error(key.as_json(), error));
    ServerEvent::message(frame).of(Some(key.clone()))
}

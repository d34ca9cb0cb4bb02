//! Checks whether a client may call a tool, for gateways with a single server.
//!
//! A message that cannot be parsed is refused, because the server may parse it differently.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, object};

use crate::error::invalid_request;
use crate::session::in_flight::CallParams;
use crate::upstream::Upstream;

/// Returns why a message is refused, if it calls a tool that the configuration does not allow.
pub(crate) fn of_one(upstream: &Upstream, envelope: &Envelope<'_>) -> Option<String> {
    let filter = &upstream.server.tools;
    let is_call = envelope.method.as_deref() == Some("tools/call");
    if !is_call || filter.admits_all() {
        return None;
    }
    let call = envelope.params.and_then(object::<CallParams<'_>>);
    let Some(call) = call else {
        return Some("`tools/call` needs a `name`, and each parameter once".to_owned());
    };
    filter.refusal(&call.name)
}

/// Returns the error responses to a frame that is not a single message. `None` unless the frame
/// contains a message that is not allowed or cannot be parsed.
pub(crate) fn of_many(
    upstream: &Upstream,
    frame: &[u8],
    envelopes: &[Envelope<'_>],
) -> Option<Vec<Vec<u8>>> {
    if upstream.server.tools.admits_all() || is_allowed(upstream, frame, envelopes) {
        return None;
    }
    let what = "the configuration of this gateway allows only some tools: no message that \
        cannot be read is sent, and no batch with another tool's call";
    let requests = envelopes.iter().filter(|one| one.method.is_some());
    let ids: Vec<&RawValue> = requests.filter_map(|one| one.id).collect();
    Some(match &*ids {
        [] => vec![invalid_request("null", what)],
        ids => ids
            .iter()
            .map(|id| invalid_request(id.get(), what))
            .collect(),
    })
}

fn is_allowed(upstream: &Upstream, frame: &[u8], envelopes: &[Envelope<'_>]) -> bool {
    let text = frame.trim_ascii();
    if !text.starts_with(b"[") {
        // A single message that can be parsed is checked later, when its kind is known.
        return text.is_empty() || envelopes.len() == 1;
    }
    let all: Option<Vec<IgnoredAny>> = serde_json::from_slice(text).ok();
    all.is_some_and(|all| all.len() == envelopes.len())
        && envelopes.iter().all(|one| of_one(upstream, one).is_none())
}

//! The body of a POST, parsed only as far as the transport needs.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, RequestId, error_code, messages, object};

use crate::problem::Problem;

/// The messages of a body.
#[derive(Debug)]
pub(crate) struct PostBody<'a> {
    pub(crate) messages: Vec<Envelope<'a>>,
    pub(crate) is_batch: bool,
}

/// A request that waits for a response.
#[derive(Debug, Clone)]
pub(crate) struct PendingRequest {
    pub(crate) key: RequestId,
    pub(crate) method: String,
}

impl PendingRequest {
    /// Whether the request is a stream of notifications, which gets its response only at the end.
    pub(crate) fn is_lasting(&self) -> bool {
        self.method == "subscriptions/listen"
    }
}

/// The members of `params` that the transport examines.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId")]
    pub(crate) task: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

/// The contents of a request's `_meta` (2026-07-28).
#[derive(Debug, Default)]
pub(crate) struct RequestMeta {
    /// The protocol version that the request uses.
    pub(crate) version: Option<String>,
    /// Whether `_meta` contains the client's capabilities.
    pub(crate) has_capabilities: bool,
}

impl<'a> PostBody<'a> {
    /// Parses the envelopes of a body. Fails if it is not JSON-RPC.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, Problem> {
        let messages = messages(body);
        let is_batch = body.trim_ascii_start().starts_with(b"[");
        if messages.is_empty() {
            let is_json = serde_json::from_slice::<&RawValue>(body).is_ok();
            return Err(match is_json {
                true => Problem::bad(
                    error_code::INVALID_REQUEST,
                    "the body is no JSON-RPC message",
                ),
                false => Problem::bad(error_code::PARSE_ERROR, "the body is no JSON"),
            });
        }
        let post_body = Self { messages, is_batch };
        post_body.check()?;
        Ok(post_body)
    }

    fn check(&self) -> Result<(), Problem> {
        for message in &self.messages {
            let is_any = message.method.is_some() || message.id.is_some();
            if !is_any || (message.id.is_some() && message.key().is_none()) {
                let what = "a message needs a method, and an id that is a text or a number";
                return Err(Problem::bad(error_code::INVALID_REQUEST, what));
            }
        }
        if self.is_batch && self.messages.iter().any(is_initialize) {
            let what = "initialize cannot be part of a batch";
            return Err(Problem::bad(error_code::INVALID_REQUEST, what));
        }
        Ok(())
    }

    /// Returns the only message of a body; `None` for a batch.
    pub(crate) fn single(&self) -> Option<&Envelope<'a>> {
        match self.messages.as_slice() {
            [single] if !self.is_batch => Some(single),
            _ => None,
        }
    }

    /// Returns the requests in the body.
    pub(crate) fn pending_requests(&self) -> Vec<PendingRequest> {
        let asked = |message: &Envelope<'_>| {
            let key = message.key()?;
            let method = message.method.as_deref()?.to_owned();
            Some(PendingRequest { key, method })
        };
        self.messages.iter().filter_map(asked).collect()
    }

    /// Whether the body begins a session.
    pub(crate) fn is_initialize(&self) -> bool {
        self.single().is_some_and(is_initialize)
    }
}

fn is_initialize(message: &Envelope<'_>) -> bool {
    message.method.as_deref() == Some("initialize") && message.id.is_some()
}

/// Returns the parameters of a message; empty if they are not an object.
pub(crate) fn params<'a>(message: &Envelope<'a>) -> Params<'a> {
    message.params.and_then(object).unwrap_or_default()
}

/// Returns the text of a member whose value is a string.
pub(crate) fn text(member: Option<&RawValue>) -> Option<Cow<'_, str>> {
    serde_json::from_str(member?.get()).ok()
}

impl Params<'_> {
    /// Returns the version that an `initialize` requests.
    pub(crate) fn asked_version(&self) -> Option<Cow<'_, str>> {
        text(self.version)
    }

    /// Returns the contents of the request's `_meta`.
    pub(crate) fn request_meta(&self) -> RequestMeta {
        let meta: Meta<'_> = self.meta.and_then(object).unwrap_or_default();
        let capabilities = meta.capabilities;
        RequestMeta {
            version: text(meta.version).map(Cow::into_owned),
            has_capabilities: capabilities
                .is_some_and(|json| json.get().trim_start().starts_with('{')),
        }
    }
}

//! What does a frame of the client want?

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use spillgate_mcp::{Envelope, object};
use spillgate_wire::Message;

/// A frame from a client. Printed without its bytes.
#[derive(Clone)]
pub struct Incoming {
    /// Its bytes.
    pub frame: Bytes,
    /// Headers that came with it, names in lower case: `mcp-*` but for the
    /// session's id, `traceparent`, `tracestate`, `baggage`.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Incoming")
            .field("frame", &format_args!("{} bytes", self.frame.len()))
            .field("headers", &headers)
            .finish()
    }
}

impl Incoming {
    /// A frame that came without headers.
    #[must_use]
    pub fn new(frame: impl Into<Bytes>) -> Self {
        Self {
            frame: frame.into(),
            headers: Vec::new(),
        }
    }
}

/// A frame for a server, with what its transport may have to say of it.
pub(crate) fn message_of(incoming: &Incoming, envelope: Option<&Envelope<'_>>) -> Message {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        uri: Option<String>,
    }
    let named = envelope
        .and_then(|envelope| envelope.params)
        .and_then(object::<Named>);
    Message {
        frame: incoming.frame.clone(),
        id: envelope
            .filter(|envelope| envelope.method.is_some())
            .and_then(Envelope::key),
        method: envelope.and_then(|one| one.method.as_deref().map(ToOwned::to_owned)),
        name: named.and_then(|named| named.name.or(named.uri)),
        headers: incoming.headers.clone(),
    }
}

//! What does a frame of the client want?

use std::fmt;

use bytes::Bytes;
use spillgate_mcp::Envelope;
use spillgate_transport::Message;

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

    /// The same for a server; `envelope` is that of the frame unless it is a batch.
    pub(crate) fn message(&self, envelope: Option<&Envelope<'_>>) -> Message {
        Message::new(self.frame.clone(), self.headers.clone(), envelope)
    }
}

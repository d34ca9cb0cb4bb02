//! A frame from a client, with its HTTP headers.

use std::fmt;

use bytes::Bytes;
use spillgate_mcp::Envelope;
use spillgate_transport::Message;

/// A frame from a client. `Debug` does not print its bytes.
#[derive(Clone)]
pub struct Incoming {
    /// The bytes.
    pub frame: Bytes,
    /// Headers of the HTTP request, with names in lower case: `mcp-*` except the session id,
    /// `traceparent`, `tracestate`, `baggage`, `spillgate-results`.
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
    /// Returns a frame that arrived without headers.
    #[must_use]
    pub fn new(frame: impl Into<Bytes>) -> Self {
        Self {
            frame: frame.into(),
            headers: Vec::new(),
        }
    }

    /// Converts the frame to a message for a server. `envelope` is the envelope of the frame;
    /// `None` for a batch.
    pub(crate) fn message(&self, envelope: Option<&Envelope<'_>>) -> Message {
        Message::new(self.frame.clone(), self.headers.clone(), envelope)
    }
}

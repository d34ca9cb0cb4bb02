//! Collects the steps that a bridge returns: messages to clients and to the server.

use bytes::Bytes;
use spillgate_mcp::RequestId;
use spillgate_transport::{Message, ServerEvent};

use crate::refusal::RefusalReply;
use crate::{Caller, Step};

/// The steps that one call of the bridge returns, in order.
#[derive(Debug, Default)]
pub(crate) struct Steps(pub(crate) Vec<Step>);

impl Steps {
    /// Adds a message for a client, on the stream of its request `of`.
    pub(crate) fn client(&mut self, to: Caller, of: Option<RequestId>, frame: impl Into<Bytes>) {
        let event = ServerEvent::message(frame).of(of);
        self.0.push(Step::ToClient { to, event });
    }

    /// Adds an error for a client's request with this id (JSON).
    pub(crate) fn refuse(
        &mut self,
        to: Caller,
        of: Option<RequestId>,
        id: &str,
        why: &RefusalReply,
    ) {
        self.client(to, of, why.frame(id));
    }

    /// Adds a message for the server.
    pub(crate) fn server(&mut self, message: Message) {
        self.0.push(Step::ToServer(message));
    }

    /// Adds an answer or a notification for the server.
    pub(crate) fn tell_server(
        &mut self,
        frame: Vec<u8>,
        method: Option<&str>,
        headers: &[(String, String)],
    ) {
        self.server(Message {
            frame: frame.into(),
            id: None,
            method: method.map(str::to_owned),
            name: None,
            headers: headers.to_vec(),
        });
    }
}

//! Registers the requests that wait for an answer: the client's requests, and the gateway's own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, frame, messages};
use spillgate_transport::{ConnectionError, Frame, Message};
use spillgate_upstream::{RequestResult, RequestSpan, TOO_MUCH};
use tokio::sync::oneshot;

use crate::builtin_tools::progress;
use crate::session::in_flight::{CallParams, InFlightRequest, RequestDetails, RequestKind, asked};
use crate::session::incoming::Incoming;
use crate::session::{Session, asked_mode};
use crate::upstream::Upstream;

impl Session {
    /// Registers a request that is about to be sent to `upstream`. `call` contains its parameters
    /// if it calls a tool.
    pub(crate) fn expect(
        &self,
        upstream: &Upstream,
        envelope: &Envelope<'_>,
        call: Option<&CallParams<'_>>,
        headers: &[(String, String)],
    ) {
        if let (Some(method), Some(id), Some(key)) = (&envelope.method, envelope.id, envelope.key())
        {
            let asked = asked(method, envelope.params, call);
            // A wrong value was refused before.
            let results = asked_mode::of(envelope, call, headers).unwrap_or_default();
            let meter = self.hub().metrics().server(upstream.name());
            let span = RequestSpan::begin(meter, upstream.name(), &key, method, asked.target());
            let details = RequestDetails {
                results,
                ..asked.into()
            };
            let waiting = InFlightRequest {
                span: Some(span),
                progress: progress::token_of(envelope.params),
                ..InFlightRequest::new(id.get(), method, upstream.slot, details)
            };
            self.in_flight.add(key, waiting);
        }
    }

    /// Sends a request of the gateway itself to a server, and returns the response frame.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        method: &str,
        params: &str,
    ) -> Result<Bytes, ConnectionError> {
        let (message, answer) = self.question(upstream, method, params);
        let key = message.id.clone();
        if let Err(error) = upstream.send(self, message).await {
            drop(key.and_then(|key| self.in_flight.take(&key)));
            return Err(error);
        }
        match answer.await {
            Ok(Ok(Frame::Memory(frame))) => Ok(frame),
            Ok(Ok(_)) => Err(ConnectionError::Gone(TOO_MUCH.to_owned())),
            Ok(Err(how)) => Err(ConnectionError::Gone(how)),
            Err(_) => Err(ConnectionError::Gone("did not answer".to_owned())),
        }
    }

    /// Creates and registers a request of the gateway itself. Returns the message to send, and the
    /// receiver of its response.
    pub(crate) fn question(
        &self,
        upstream: &Upstream,
        method: &str,
        params: &str,
    ) -> (Message, oneshot::Receiver<RequestResult>) {
        let number = self.questions.fetch_add(1, Ordering::Relaxed);
        let id = format!("\"spillgate:{number}\"");
        let frame = frame::line(frame::request(&id, method, Some(params)));
        let (for_us, answer) = oneshot::channel();
        let frame = Bytes::from(frame);
        let mut message = Message::notice(frame.clone(), Some(method));
        if let [envelope] = &*messages(&frame) {
            self.expect(upstream, envelope, None, &[]);
            message = Incoming::new(frame.clone()).message(Some(envelope));
            if let Some(key) = envelope.key()
                && let Some(mut waiting) = self.in_flight.take(&key)
            {
                waiting.for_us = Some(for_us);
                waiting.details.kind = RequestKind::Other;
                self.in_flight.add(key, waiting);
            }
        }
        (message, answer)
    }

    /// Creates a request with the method and the parameters of an earlier request.
    pub(crate) fn question_again(
        &self,
        upstream: &Upstream,
        earlier: &Message,
    ) -> (Message, oneshot::Receiver<RequestResult>) {
        let params = match &*messages(&earlier.frame) {
            [envelope] => envelope.params.map_or("{}", RawValue::get).to_owned(),
            _ => "{}".to_owned(),
        };
        let method = earlier.method.as_deref().unwrap_or_default();
        self.question(upstream, method, &params)
    }
}

//! Requests that wait: the client's, and the gateway's own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, frame, messages};
use spillgate_wire::{ConnectionError, Message};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::builtin_tools::progress;
use crate::session::Session;
use crate::session::in_flight::{Answered, CallParams, InFlightRequest, RequestKind, asked};
use crate::session::incoming::{Incoming, message_of};
use crate::telemetry::request_span::RequestSpan;
use crate::upstream::{Upstream, notice};

impl Session {
    /// Notes a request that is about to go to `upstream`; `call` are its
    /// parameters where it calls a tool.
    pub(crate) fn expect(
        &self,
        upstream: &Upstream,
        envelope: &Envelope<'_>,
        call: Option<&CallParams<'_>>,
    ) {
        if let (Some(method), Some(id), Some(key)) = (&envelope.method, envelope.id, envelope.key())
        {
            let asked = asked(method, envelope.params, call);
            let meter = self.hub().metrics().server(upstream.name());
            let waiting = InFlightRequest {
                id: id.get().to_owned(),
                method: method.clone().into_owned(),
                seen: Some(RequestSpan::begin(meter, &key, method, &asked)),
                limits: None,
                result: None,
                asked,
                slot: upstream.slot,
                heard: Instant::now(),
                progress: progress::token_of(envelope.params),
                for_us: None,
                attempts: None,
            };
            self.in_flight.add(key, waiting);
            self.asked.notify_one();
        }
    }

    /// Asks a server something for the gateway's own sake; gives the frame with
    /// its answer.
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
            Ok(answered) => answered.map_err(ConnectionError::Gone),
            Err(_) => Err(ConnectionError::Gone("did not answer".to_owned())),
        }
    }

    /// A request of the gateway itself: the message to send, and where its answer
    /// comes. The id is `id`.
    pub(crate) fn question(
        &self,
        upstream: &Upstream,
        method: &str,
        params: &str,
    ) -> (Message, oneshot::Receiver<Answered>) {
        let number = self.questions.fetch_add(1, Ordering::Relaxed);
        let id = format!("\"spillgate:{number}\"");
        let frame = frame::line(frame::request(&id, method, Some(params)));
        let (for_us, answer) = oneshot::channel();
        let frame = Bytes::from(frame);
        let mut message = notice(frame.clone(), Some(method));
        if let [envelope] = &*messages(&frame) {
            self.expect(upstream, envelope, None);
            message = message_of(&Incoming::new(frame.clone()), Some(envelope));
            if let Some(key) = envelope.key()
                && let Some(mut waiting) = self.in_flight.take(&key)
            {
                waiting.for_us = Some(for_us);
                waiting.asked = RequestKind::Other;
                self.in_flight.add(key, waiting);
            }
        }
        (message, answer)
    }

    /// The same with the parameters of an earlier request.
    pub(crate) fn question_again(
        &self,
        upstream: &Upstream,
        earlier: &Message,
    ) -> (Message, oneshot::Receiver<Answered>) {
        let params = match &*messages(&earlier.frame) {
            [envelope] => envelope.params.map_or("{}", RawValue::get).to_owned(),
            _ => "{}".to_owned(),
        };
        let method = earlier.method.as_deref().unwrap_or_default();
        self.question(upstream, method, &params)
    }
}

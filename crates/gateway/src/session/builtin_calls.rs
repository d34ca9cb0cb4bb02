//! Answers calls of built-in tools in the background.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_transport::ServerEvent;
use tokio::runtime::Handle;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::builtin_tools::list_changed;
use crate::builtin_tools::progress::{self, Progress};
use crate::error::internal;
use crate::session::in_flight::CallParams;
use crate::session::{Session, in_place};
use crate::tool_search::{self, CALL, FIND};
use spillgate_mcp::{Generation, RequestId, frame};
use spillgate_retrieval::{self as retrieval, RetrievalTools, TOOL_OUTPUT};
use spillgate_upstream::call_span;

impl Session {
    /// Whether a call is meant for a built-in tool of this gateway.
    pub(crate) fn is_builtin_call(&self, call: &CallParams<'_>) -> bool {
        match &*call.name {
            FIND | CALL if self.is_searching() => true,
            name => self.builtin_tools.has(name) && !self.is_upstreams(call.arguments),
        }
    }

    /// Whether a call of one of our tools is meant for another Spillgate behind this one.
    fn is_upstreams(&self, arguments: Option<&RawValue>) -> bool {
        let gateway = self.gateway();
        let store = gateway.offloader.store();
        let is_unknown = |handle| in_place(|| store.manifest(handle).is_err());
        self.builtin_tools.server_is_one() && retrieval::handle_of(arguments).is_none_or(is_unknown)
    }

    /// Answers a call of a built-in tool.
    pub(crate) fn call_own(
        self: &Arc<Self>,
        key: RequestId,
        id: &str,
        params: &CallParams<'_>,
        headers: &[(String, String)],
    ) {
        self.hub()
            .metrics()
            .own_call(&params.name, &retrieval::NAMES);
        let span = call_span(
            &key,
            &params.name,
            params.meta,
            self.hub().traces(),
            headers,
        );
        let (cancelled, interrupt) = self.builtin_calls.begin(&key);
        let session = Arc::clone(self);
        let (tool, id) = (params.name.clone(), id.to_owned());
        let arguments = params.arguments.map(ToOwned::to_owned);
        let token = progress::token(params.meta);
        let meta = params.meta.map(ToOwned::to_owned);
        let generation = Generation::of_meta(params.meta);
        let work = async move {
            let turn = session.builtin_calls.turn_while(&tool, &cancelled).await;
            if !session.builtin_calls.is_awaited(&key) {
                return; // cancelled before the call could run
            }
            let tools = session.gateway().tools(session.known_history().cloned());
            let result = match &*tool {
                _ if turn.is_none() => {
                    let told = tools.offloader.presented("cancelled".to_owned());
                    Ok(retrieval::result_of(&told, true))
                }
                TOOL_OUTPUT => {
                    let watched = (token, key.clone());
                    session.extract(tools, arguments, watched, cancelled).await
                }
                FIND if session.is_searching() => {
                    let (offloader, meta) = (&tools.offloader, meta.as_deref());
                    let arguments = arguments.as_deref();
                    let found = session.find_tools(offloader, arguments, meta);
                    tokio::select! {
                        found = found => Ok(found),
                        () = cancelled.cancelled() => Ok(String::new()), // will not be read
                    }
                }
                _ => {
                    let (offloader, words) = (tools.offloader.clone(), arguments.clone());
                    let look = move || tools.call(&tool, arguments.as_deref(), &interrupt);
                    let result = spawn_blocking(look).await;
                    match session.is_searching() && !session.builtin_tools.has_stored() {
                        true => {
                            let found =
                                session.find_tools(&offloader, words.as_deref(), meta.as_deref());
                            let is_stateless = session.is_stateless();
                            let instead = async {
                                let result = result?;
                                Ok(tool_search::instead_of_look_up(result, is_stateless, found)
                                    .await)
                            };
                            tokio::select! {
                                instead = instead => instead,
                                () = cancelled.cancelled() => Ok(String::new()), // will not be read
                            }
                        }
                        false => result,
                    }
                }
            };
            let frame = match result {
                Ok(result) => frame::line(frame::response(&id, generation.complete(&result))),
                Err(_) => internal(&id),
            };
            drop(turn);
            if session.builtin_tools.take_announcement() {
                let change = session.to_client(list_changed());
                session.builtin_tools.inform(change).await;
            }
            session.answer_unless_cancelled(key, frame).await;
        };
        self.builtin_calls.work(work.instrument(span));
    }

    /// Sends the response to a call, unless the client has cancelled the call.
    pub(super) async fn answer_unless_cancelled(&self, key: RequestId, frame: Vec<u8>) {
        if self.builtin_calls.end(&key) {
            let answer = ServerEvent::message(frame).of(Some(key));
            self.to.take(answer).await;
        }
    }

    /// Returns the result of `tool_output`. Runs in its own thread, because it reads files and
    /// waits for a model. If it is cancelled, it stops at the next await.
    async fn extract(
        &self,
        tools: RetrievalTools,
        arguments: Option<Box<RawValue>>,
        (token, key): (Option<Value>, RequestId),
        cancelled: CancellationToken,
    ) -> Result<String, JoinError> {
        let (frames, mut told) = unbounded_channel();
        let progress = Progress::new(token, frames);
        let runtime = Handle::current();
        let span = tracing::info_span!("extract");
        let call = spawn_blocking(move || {
            let extraction = async {
                tokio::select! {
                    result = tools.tool_output(arguments.as_deref(), &progress) => result,
                    () = cancelled.cancelled() => String::new(), // the response will not be read
                }
            };
            runtime.block_on(extraction.instrument(span))
        });
        // This loop ends before the response is sent, because the call keeps the sender until it
        // ends.
        while let Some(frame) = told.recv().await {
            let event = ServerEvent::message(frame).of(Some(key.clone()));
            self.to.take(event).await;
        }
        call.await
    }
}

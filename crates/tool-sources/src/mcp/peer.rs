//! A client of one MCP server, which sends requests and calls tools.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_mcp::{RequestId, frame, messages, object_in};
use spillgate_transport::{Connector, Frame, Message};
use spillgate_upstream::{RequestResult, Server, invalid_params};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::client::{Client, Outgoing, RequestPurpose};
use super::leftovers::Leftovers;

/// How long to wait until a server that does not answer is known to have ended. The reason for its
/// end arrives only after its output was closed.
const MOMENT: Duration = Duration::from_secs(1);

/// A client of one server. When the client is dropped, the server is ended.
pub(crate) struct Peer {
    client: Arc<Client>,
    writer: AbortHandle,
    /// Ends the server in the background if the client is dropped without being closed.
    leftovers: Leftovers,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}

impl Peer {
    /// Creates a client of `server`, which is not opened yet.
    pub(crate) fn new(
        server: Server,
        connector: Arc<dyn Connector>,
        leftovers: &Leftovers,
    ) -> Self {
        let (outbox, messages) = unbounded_channel();
        let client = Client::new(server, connector, outbox);
        let writer = tokio::spawn(write(Arc::clone(&client), messages));
        Self {
            client,
            writer: writer.abort_handle(),
            leftovers: leftovers.clone(),
        }
    }

    /// Opens the server.
    pub(crate) async fn start(&self) -> Result<(), String> {
        let opened = self.client.upstream.open(&self.client, false).await;
        opened.map(drop).map_err(|error| error.to_string())
    }

    /// Returns whether this tool of the server may be used.
    pub(crate) fn admits(&self, tool: &str) -> bool {
        self.client.upstream.server.tools.admits(tool)
    }

    /// Sends a request and returns its result. The result must fit in memory.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let params = params.to_string();
        let answer = self.request(self.client.number(), method, params, None);
        let Frame::Memory(frame) = &answer.await? else {
            return Err(format!("answered `{method}` with too much"));
        };
        result(frame, method)
    }

    /// Calls a tool and returns the answer. Dropping the future cancels the call.
    pub(crate) async fn call(&self, tool: &str, arguments: &RawValue) -> RequestResult {
        let number = self.client.number();
        if let Some(what) = self.client.upstream.server.tools.refusal(tool) {
            let refusal = invalid_params(&number.to_string(), &what);
            return Ok(Frame::Memory(refusal.into()));
        }
        let name = json!(tool);
        // The progress token lets the server report progress, which shows that it is still working.
        let params = format!(
            "{{\"name\":{name},\"arguments\":{arguments},\"_meta\":{{\"progressToken\":{number}}}}}"
        );
        self.request(number, "tools/call", params, Some(tool)).await
    }

    async fn request(
        &self,
        number: u64,
        method: &str,
        params: String,
        tool: Option<&str>,
    ) -> RequestResult {
        let (tell, told) = oneshot::channel();
        let mut pending = PendingAnswer {
            client: &self.client,
            number,
            // `initialize` is never cancelled, because the protocol forbids this. It is therefore
            // marked as over from the start.
            is_over: method == "initialize",
        };
        self.client.send(Outgoing::Request {
            number,
            method: method.to_owned(),
            params,
            tool: tool.map(ToOwned::to_owned),
            tell,
        });
        let answer = told.await;
        pending.is_over = true;
        answer.unwrap_or_else(|_| Err("was closed".to_owned()))
    }

    /// Waits until the server's tools have changed since the last call.
    pub(crate) async fn changed(&self) {
        self.client.changed.notified().await;
    }

    pub(crate) fn notify(&self, method: &str) {
        let frame = frame::notification(method, None);
        self.client.send(Outgoing::Other(frame));
    }

    /// Returns how the server ended, if it ends within a second. This is more precise than the
    /// error of a message that could not be sent.
    pub(crate) async fn how_it_ended(&self) -> Option<String> {
        timeout(MOMENT, self.client.upstream.ended()).await.ok()
    }

    /// Ends the server.
    pub(crate) async fn close(&self, hurried: bool) {
        self.client.close(hurried).await;
        self.forget();
    }

    /// Ends the server in a separate task, unless it was closed.
    pub(crate) fn abandon(&self) {
        if !self.forget() {
            let client = Arc::clone(&self.client);
            self.leftovers.end(async move { client.close(true).await });
        }
    }

    /// Stops sending and drops all pending requests. Returns whether the client was closed before.
    fn forget(&self) -> bool {
        let was_closed = self.client.is_closed.swap(true, Ordering::SeqCst);
        self.writer.abort();
        drop(self.client.in_flight.drain(|_| true));
        was_closed
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.abandon();
    }
}

async fn write(client: Arc<Client>, mut outbox: UnboundedReceiver<Outgoing>) {
    while let Some(next) = outbox.recv().await {
        let frame = match next {
            Outgoing::Request {
                number,
                method,
                params,
                tool,
                tell,
            } => {
                let key = client.note(
                    number,
                    &method,
                    tool.as_deref(),
                    RequestPurpose::Answer,
                    tell,
                );
                // Check this after the request was recorded, because closing drops the recorded
                // requests.
                if client.is_closed.load(Ordering::SeqCst) {
                    drop(client.in_flight.take(&key));
                    return;
                }
                frame::request(number, &method, Some(&params))
            }
            Outgoing::Cancel(number) => {
                drop(client.in_flight.take(&RequestId::number(number)));
                frame::cancelled(number, Some("nobody waits for it any more"))
            }
            Outgoing::Other(frame) => frame,
        };
        let frame = Bytes::from(frame::line(frame));
        let envelopes = messages(&frame);
        let envelope = envelopes.first();
        let message = Message::new(frame.clone(), Vec::new(), envelope);
        client.upstream.pass(&client, message, envelope).await;
    }
}

/// Cancels a request when its caller stops waiting.
struct PendingAnswer<'a> {
    client: &'a Client,
    number: u64,
    is_over: bool,
}

impl Drop for PendingAnswer<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.client.send(Outgoing::Cancel(self.number));
        }
    }
}

/// Returns the result in an answer, or its error message.
fn result(frame: &[u8], method: &str) -> Result<Value, String> {
    #[derive(Deserialize)]
    struct Response {
        #[serde(default)]
        result: Option<Value>,
        #[serde(default)]
        error: Option<Value>,
    }
    let unreadable = || format!("answered `{method}` with an invalid response");
    let text = std::str::from_utf8(frame).map_err(|_| unreadable())?;
    let response: Response = object_in(text).ok_or_else(unreadable)?;
    match (response.result, response.error) {
        (_, Some(error)) => {
            let message = error["message"].as_str().unwrap_or("no reason");
            let is_ours = error["data"]["fault"].is_string();
            Err(match is_ours {
                // The message already contains the name of the server.
                true => format!("could not be asked for `{method}`: {message}"),
                false => format!("refused `{method}`: {message}"),
            })
        }
        (Some(result), None) => Ok(result),
        (None, None) => Err(unreadable()),
    }
}

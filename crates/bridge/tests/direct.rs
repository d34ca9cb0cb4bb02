//! Tests that a connector leaves the way of messages once client and server speak the same
//! generation.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use spillgate_bridge::{BridgedConnector, KnownGenerations};
use spillgate_mcp::{RequestId, frame, messages};
use spillgate_transport::{
    Connection, ConnectionError, Connector, Message, ServerCommand, ServerEvent, ServerSpec, Sink,
    Transport,
};

/// A server whose answers the test gives: it keeps the sink that it was opened with.
#[derive(Debug, Default)]
struct Server(Mutex<Option<Arc<dyn Sink>>>);

impl Connector for Server {
    fn open<'a>(
        &'a self,
        _: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        *self.0.lock().unwrap() = Some(sink);
        ready(Ok(Arc::new(Open) as Arc<dyn Connection>)).boxed()
    }
}

#[derive(Debug)]
struct Open;

impl Connection for Open {
    fn send(&self, _: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        ready(Ok(())).boxed()
    }

    fn listen(&self, _: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        ready(Ok(())).boxed()
    }

    fn abandon(&self, _: &RequestId) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn close(&self, _: bool) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

#[derive(Debug)]
struct Client;

impl Sink for Client {
    fn take(&self, _: ServerEvent) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

#[tokio::test]
async fn messages_go_directly_once_both_ends_speak_the_same_generation() {
    for (method, answer, is_direct) in [
        (
            "initialize",
            r#""result":{"protocolVersion":"2025-11-25"}"#,
            true,
        ),
        (
            "server/discover",
            r#""result":{"supportedVersions":["2026-07-28"]}"#,
            true,
        ),
        // The client may go on in the other generation.
        (
            "server/discover",
            r#""error":{"code":-32601,"message":""}"#,
            false,
        ),
    ] {
        let spec = ServerSpec {
            name: "s".to_owned(),
            transport: Transport::Command(ServerCommand::default()),
        };
        let server = Arc::new(Server::default());
        let known = Arc::new(KnownGenerations::default());
        let connector = BridgedConnector::session(Arc::clone(&server) as _, known, Arc::new(()));
        let connection = connector.open(&spec, Arc::new(Client)).await.unwrap();
        let sink = server.0.lock().unwrap().clone().unwrap();
        let request = frame::request(1, method, Some(r#"{"protocolVersion":"2025-11-25"}"#));
        let envelopes = messages(&request);
        let message = Message::new(request.clone().into(), Vec::new(), envelopes.first());
        assert!(sink.direct().is_none(), "{method}");
        connection.send(message).await.unwrap();
        assert!(sink.direct().is_none(), "{method}");
        sink.take(ServerEvent::message(frame::answer(1, answer)))
            .await;
        assert_eq!(sink.direct().is_some(), is_direct, "{method} {answer}");
    }
}

//! Tests of server processes that misbehave.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_store::MemoryStore;
use spillgate_transport::{
    ChildConnection, Connection, ConnectionError, FrameReader, Item, Message, ServerCommand,
    ServerEvent, Sink,
};
use tokio::time::timeout;

/// Much longer than any step of these tests takes, so that only a hanging test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// More bytes than any pipe holds.
const MUCH: usize = 4 << 20;

#[derive(Debug)]
struct Nobody;

impl Sink for Nobody {
    fn take(&self, _: ServerEvent) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

fn deaf() -> Arc<ChildConnection> {
    let command = ServerCommand {
        program: "sleep".to_owned(),
        arguments: vec!["1000".to_owned()],
        ..ServerCommand::default()
    };
    let frame_reader = FrameReader::new(Arc::new(MemoryStore::default()));
    Arc::new(ChildConnection::start(&command, frame_reader, Arc::new(Nobody)).unwrap())
}

fn large() -> Message {
    let text = "x".repeat(MUCH);
    Message {
        frame: format!("{{\"id\":1,\"method\":\"x\",\"params\":\"{text}\"}}\n").into(),
        id: None,
        method: None,
        name: None,
        headers: Vec::new(),
    }
}

#[tokio::test]
async fn one_that_does_not_read_can_be_ended() {
    for hurried in [true, false] {
        let link = deaf();
        let writer = Arc::clone(&link);
        let writing = tokio::spawn(async move { writer.send(large()).await });
        // Gives the pipe time to fill up.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let closed = timeout(PATIENCE, link.close(hurried)).await;
        assert!(closed.is_ok(), "{hurried}");
        let written = timeout(PATIENCE, writing).await.unwrap().unwrap();
        assert!(
            matches!(written, Err(ConnectionError::Gone(_))),
            "{written:?}"
        );
    }
}

/// A sink that records events as text.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Sink for Heard {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        let mut heard = self.0.lock().unwrap();
        match event.item {
            Item::Message(frame) => heard.push(format!("{} bytes", frame.len())),
            Item::Gone(how) => heard.push(how),
            _ => {}
        }
        std::future::ready(()).boxed()
    }
}

#[tokio::test]
async fn how_it_ended_is_told() {
    for (line, how) in [
        ("exit 3", "exited with status 3"),
        ("kill -9 $$", "was ended by signal 9"),
    ] {
        let command = ServerCommand {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), line.to_owned()],
            ..ServerCommand::default()
        };
        let heard = Arc::new(Heard::default());
        let frame_reader = FrameReader::new(Arc::new(MemoryStore::default()));
        let _link =
            ChildConnection::start(&command, frame_reader, Arc::clone(&heard) as _).unwrap();
        let told = async {
            while heard.0.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, told).await.unwrap();
        assert_eq!(*heard.0.lock().unwrap(), [how], "{line}");
    }
}

/// A sink that wraps another one and is needed only for the first message.
#[derive(Debug, Default)]
struct Wrapping {
    inner: Arc<Heard>,
    /// The bytes of each message that went through this sink; 0 for other events.
    passed: Mutex<Vec<u64>>,
}

impl Sink for Wrapping {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        let passed = match &event.item {
            Item::Message(frame) => frame.len(),
            _ => 0,
        };
        self.passed.lock().unwrap().push(passed);
        self.inner.take(event)
    }

    fn direct(&self) -> Option<Arc<dyn Sink>> {
        let is_done = !self.passed.lock().unwrap().is_empty();
        is_done.then(|| Arc::clone(&self.inner) as _)
    }
}

#[tokio::test]
async fn messages_skip_a_sink_that_only_passes_them_on() {
    let command = ServerCommand {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), "echo '{}'; echo '[{}]'".to_owned()],
        ..ServerCommand::default()
    };
    let sink = Arc::new(Wrapping::default());
    let frame_reader = FrameReader::new(Arc::new(MemoryStore::default()));
    let _link = ChildConnection::start(&command, frame_reader, Arc::clone(&sink) as _).unwrap();
    let told = async {
        while sink.inner.0.lock().unwrap().len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, told).await.unwrap();
    let heard = sink.inner.0.lock().unwrap().join(", ");
    assert_eq!(heard, "3 bytes, 5 bytes, exited with status 0");
    // The end still goes through the wrapping sink; the second message did not.
    assert_eq!(*sink.passed.lock().unwrap(), [3, 0]);
}

#[test]
fn what_a_command_is_given_is_not_printed() {
    let command = ServerCommand {
        program: "server".to_owned(),
        arguments: vec!["--key=hush".to_owned()],
        env: [("API_KEY".to_owned(), "hush".to_owned())].into(),
        ..ServerCommand::default()
    };
    let printed = format!("{command:?}");
    assert!(printed.contains("API_KEY"), "{printed}");
    assert!(!printed.contains("hush"), "{printed}");
}

//! Measures how long a 1 MB result takes from its arrival to its preview, and what each step costs.
//!
//! ```text
//! cargo run --release -p spillgate-gateway --example offloaded [DIRECTORY [RUNS]]
//! ```
//!
//! The server is a function that answers with a prepared reply. The time is measured from the
//! moment when the gateway receives the reply to the moment when the client receives the preview.
//! The second table shows the cost of each step, measured separately on the same bytes. All figures
//! are the minimum and the median of the runs, in milliseconds.

#![allow(clippy::print_stdout, reason = "it is a program")]
#![allow(clippy::unwrap_used, reason = "a run that cannot go on fails")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spillgate_artifact::{HandleForm, Layout, Stats, SystemClock, TokenBudget, Tokens, ViewFacts};
use spillgate_gateway::{Gateway, Hub, Incoming, ListTools, Several, ToolSearch};
use spillgate_mcp::{RequestId, messages};
use spillgate_offload::{NoLedger, Offloader, Policy};
use spillgate_outline::outline;
use spillgate_query::{Child, Engine};
use spillgate_retrieval::audience;
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, FileStore, Lifetime, MemoryStore, Part, SyncWhen};
use spillgate_testkit::{log, records};
use spillgate_text::{
    Indexer, JsonLayout, SAMPLE_BYTES, Sample, Scan, Tokenizer, View, classify, count_source,
};
use spillgate_transport::{
    Connection, ConnectionError, Connector, Frame, Item, Message, ServerCommand, ServerEvent,
    ServerSpec, Sink, Transport,
};
use spillgate_upstream::Server;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().map_or(std::env::temp_dir(), PathBuf::from);
    let base = base.join(format!("offloaded-{}", std::process::id()));
    let runs = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(60);
    let json = records(11_500);
    let value: Value = serde_json::from_str(&json).unwrap();
    let block = |text: &str| json!([{"type": "text", "text": text}]);
    let cases = [
        (
            "lines of a log",
            log(16_200),
            json!({"content": block(&log(16_200))}),
        ),
        (
            "text that is JSON",
            json.clone(),
            json!({"content": block(&json)}),
        ),
        (
            "structuredContent and its twin",
            json.clone(),
            json!({"content": block(&json), "structuredContent": value}),
        ),
    ];
    for (name, text, result) in &cases {
        let reply = |id: u64| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        println!(
            "{name}: {} bytes of text, a reply of {}",
            text.len(),
            reply(1).len()
        );
        for (store, how) in stores(&base) {
            show(
                &format!("reply to preview, {how}"),
                through(store, runs, &reply),
            );
        }
        stations(text, &reply(1), &base, runs);
    }
    std::fs::remove_dir_all(&base).unwrap();
}

type NamedStore = (Arc<dyn ArtifactStore>, &'static str);

fn stores(base: &Path) -> Vec<NamedStore> {
    let files = |lifetime| FileStore::new(base, lifetime, Arc::new(SystemClock));
    vec![
        (Arc::new(files(Lifetime::Durable)), "synced before"),
        (
            Arc::new(files(Lifetime::Durable).synced(SyncWhen::After)),
            "synced after",
        ),
        (Arc::new(files(Lifetime::Session)), "never synced"),
        (Arc::new(MemoryStore::default()), "in memory"),
    ]
}

/// Prints the minimum and the median of some times.
fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "  {what:<44} {:6.2} {:6.2}",
        ms(times[0]),
        ms(times[times.len() / 2])
    );
}

fn times(runs: usize, mut work: impl FnMut()) -> Vec<Duration> {
    let one = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..runs).map(one).collect()
}

/// Measures each step of the processing separately.
fn stations(text: &str, reply: &str, base: &Path, runs: usize) {
    let counter = Tokenizer::O200kBase.counter();
    let source: Arc<Vec<u8>> = Arc::new(text.as_bytes().to_vec());
    let time = |what: &str, work: &mut dyn FnMut()| show(what, times(runs, work));
    time("  envelope read", &mut || {
        drop(black_box(messages(reply.as_bytes())));
    });
    time("  reply hashed", &mut || {
        black_box(Sha256::digest(reply.as_bytes()));
    });
    time("  text scanned and indexed", &mut || {
        let (mut scan, mut indexer) = (Scan::default(), Indexer::as_is(Layout::AsIs));
        scan.feed(text.as_bytes());
        indexer.feed(text.as_bytes());
        black_box((scan.finish(), indexer.finish()));
    });
    time("  tokens, all", &mut || {
        black_box(counter.count(text));
    });
    time("  tokens, as counted for the manifest", &mut || {
        black_box(count_source(&*counter, &*source).unwrap());
    });
    let is_json = text.starts_with('{');
    let mut view = source.clone();
    if is_json {
        time("  JSON laid out", &mut || {
            let mut laid_out = Vec::new();
            JsonLayout::default()
                .feed(text.as_bytes(), &mut laid_out)
                .unwrap();
            view = Arc::new(laid_out);
        });
    }
    let (view, facts, stats) = looked_at(view, is_json);
    time("  outline", &mut || {
        drop(black_box(
            outline(&view, &facts, stats.kind, stats.lines, false).unwrap(),
        ));
    });
    for (store, how) in stores(base) {
        time(&format!("  stored, {how}"), &mut || {
            let mut draft = store.draft().unwrap();
            draft.write(Part::Raw, reply.as_bytes()).unwrap();
            draft.write(Part::View, text.as_bytes()).unwrap();
            let receipt = draft
                .commit(facts_of(reply.as_bytes()), b"index", HandleForm::Short)
                .unwrap();
            black_box(receipt);
        });
    }
}

fn looked_at(text: Arc<Vec<u8>>, is_json: bool) -> (View, ViewFacts, Stats) {
    let layout = if is_json { Layout::Json } else { Layout::AsIs };
    let mut indexer = Indexer::as_is(Layout::AsIs);
    indexer.feed(&text);
    let index = indexer.finish();
    let facts = ViewFacts {
        bytes: index.bytes,
        lines: index.lines,
        longest_line: index.longest_line,
        is_raw: false,
        layout,
        prelude: 0,
    };
    let head = &text[..text.len().min(SAMPLE_BYTES)];
    let stats = Stats {
        bytes: index.bytes,
        lines: index.lines,
        chars: index.bytes,
        tokens: Tokens::estimated(index.bytes / 4),
        kind: classify(Sample {
            head,
            complete: false,
        }),
    };
    (View::new(text, index, layout), facts, stats)
}

/// Measures the time from the arrival of a reply to the arrival of its preview at the client.
fn through(
    store: Arc<dyn ArtifactStore>,
    runs: usize,
    reply: &dyn Fn(u64) -> String,
) -> Vec<Duration> {
    let replies: Vec<Bytes> = (0..runs as u64 + 3).map(|id| reply(id).into()).collect();
    let arrived = Arc::new(Mutex::new(Instant::now()));
    let gateway = gateway(
        store,
        Scripted {
            replies,
            arrived: Arc::clone(&arrived),
        },
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (to, mut got) = unbounded_channel();
        let session = Hub::new(gateway).session(Arc::new(Client(to)));
        let mut times = Vec::new();
        for id in 0..runs as u64 + 3 {
            let params = json!({"name": "dump", "arguments": {}});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            session.take(Incoming::new(call.to_string())).await;
            let (at, frame): (Instant, Bytes) = got.recv().await.unwrap();
            assert!(frame.len() < 10_000, "the result was not offloaded");
            times.push(at - *arrived.lock().unwrap());
        }
        times.split_off(3) // the first runs load the vocabulary
    })
}

fn gateway(store: Arc<dyn ArtifactStore>, connector: Scripted) -> Gateway {
    let spec = ServerSpec {
        name: "s".to_owned(),
        transport: Transport::Command(ServerCommand::default()),
    };
    Gateway {
        offloader: Offloader::new(
            store,
            Policy::default(),
            Tokenizer::O200kBase.counter(),
            audience::usual_tools(),
            Arc::new(SystemClock),
            Arc::new(NoLedger),
        ),
        connector: Arc::new(connector),
        servers: vec![Server::new(spec)],
        page: TokenBudget::new(2500),
        list_tools: ListTools::WhenStored,
        engine: Engine::new(Child {
            program: "false".into(),
            arguments: Vec::new(),
        }),
        extractor: None,
        several: Several::default(),
        tool_search: ToolSearch::default(),
    }
}

/// A server that answers with prepared replies.
#[derive(Debug)]
struct Scripted {
    replies: Vec<Bytes>,
    arrived: Arc<Mutex<Instant>>,
}

impl Connector for Scripted {
    fn open<'a>(
        &'a self,
        _: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        let link = Answering {
            replies: self.replies.clone(),
            arrived: Arc::clone(&self.arrived),
            sink,
        };
        async move { Ok(Arc::new(link) as Arc<dyn Connection>) }.boxed()
    }
}

#[derive(Debug)]
struct Answering {
    replies: Vec<Bytes>,
    arrived: Arc<Mutex<Instant>>,
    sink: Arc<dyn Sink>,
}

impl Connection for Answering {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        let frame: Value = serde_json::from_slice(&message.frame).unwrap();
        let id = frame["id"].as_u64().and_then(|id| usize::try_from(id).ok());
        if let Some(reply) = id.and_then(|id| self.replies.get(id)).cloned() {
            let (sink, arrived) = (Arc::clone(&self.sink), Arc::clone(&self.arrived));
            tokio::spawn(async move {
                *arrived.lock().unwrap() = Instant::now();
                sink.take(ServerEvent::message(reply)).await;
            });
        }
        async { Ok(()) }.boxed()
    }

    fn listen(&self, _: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        async { Ok(()) }.boxed()
    }

    fn abandon(&self, _: &RequestId) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn close(&self, _: bool) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

/// A client that records when it receives each message.
#[derive(Debug)]
struct Client(UnboundedSender<(Instant, Bytes)>);

impl Sink for Client {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        if let Item::Message(Frame::Memory(frame)) = event.item
            && !frame.windows(8).any(|bytes| bytes == b"\"method\"")
        {
            drop(self.0.send((Instant::now(), frame)));
        }
        async {}.boxed()
    }
}

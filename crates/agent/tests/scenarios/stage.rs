//! The fixture that plays a scenario: a scripted model, hosts, a store and a clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_agent::{
    About, Caching, Decided, FINAL_REPORT, Finished, Format, Host, Journal, NoWatcher, Offers, Op,
    Orchestrator, Retrieval, Scope, Session, Settings, TOOL_OUTPUT, Trace, Until, Watcher, Window,
    run,
};
use spillgate_artifact::Handle;
use spillgate_conversation::{Nonce, Slot};
use spillgate_extract::{ExtractionSettings as Extraction, Extractor};
use spillgate_llm::{ChatModel, Fallback, Message, Reply, Request, Scripted};
use spillgate_offload::{Audience, NoLedger, Offloader, Policy, Profile, Rule};
use spillgate_store::{ArtifactStore, MemoryStore};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

use crate::tools::Tools;

/// The tool with which the model reads stored results.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum By {
    ToolOutput,
    Pages { short_ids: bool },
    Nothing,
}

/// One row of a scenario: its limits, and what the model says.
pub(crate) struct Row {
    /// Maximum size of a result in bytes, or of a page in characters.
    pub(crate) cap: u64,
    pub(crate) window: u64,
    pub(crate) max_turns: u32,
    pub(crate) calls_per_turn: u32,
    pub(crate) by: By,
    pub(crate) format: Format,
    pub(crate) store: Arc<dyn ArtifactStore>,
    pub(crate) hosts: Vec<Arc<dyn Host>>,
    pub(crate) caching: Option<Caching>,
    /// The time limit of a tool call.
    pub(crate) limit: Option<Duration>,
    /// The model that answers `tool_output`.
    pub(crate) extracts: Option<Arc<dyn ChatModel>>,
    pub(crate) until: Until,
    /// Models that are asked before the model that follows the script.
    pub(crate) before: Vec<Arc<dyn ChatModel>>,
    pub(crate) watcher: Arc<dyn Watcher>,
    pub(crate) says: Vec<Reply>,
}

impl Row {
    pub(crate) fn new(says: Vec<Reply>) -> Self {
        Self {
            cap: 1000,
            window: 6000,
            max_turns: 5,
            calls_per_turn: 5,
            by: By::ToolOutput,
            format: Format::Text,
            store: Arc::new(MemoryStore::default()),
            hosts: vec![Arc::new(Tools::default())],
            caching: None,
            limit: None,
            extracts: None,
            until: Until::default(),
            before: Vec::new(),
            watcher: Arc::new(NoWatcher),
            says,
        }
    }

    pub(crate) fn offloader(&self) -> Offloader {
        let rule = match self.by {
            By::Pages { .. } => Rule {
                profile: Some(Profile::Continuation),
                max_chars: Some(self.cap),
                ..Rule::default()
            },
            By::ToolOutput | By::Nothing => Rule {
                profile: Some(Profile::Handle),
                max_bytes: Some(self.cap),
                ..Rule::default()
            },
        };
        Offloader::new(
            Arc::clone(&self.store),
            Policy::new(rule, [], []).unwrap(),
            Tokenizer::Heuristic.counter(),
            Audience::default(),
            Arc::new(StoppedClock::default()),
            Arc::new(NoLedger),
        )
    }

    pub(crate) fn orchestrator(&self) -> Orchestrator {
        let offloader = self.offloader();
        let retrieval = match self.by {
            By::ToolOutput => {
                let model = self.extracts.clone();
                // Chunks are read one after the other, because the output shows their order.
                let settings = Extraction {
                    parallel: 1,
                    ..Extraction::default()
                };
                let extractor = Extractor::new(offloader.clone(), model, settings.within(self.cap));
                Retrieval::ToolOutput(Box::new(extractor))
            }
            By::Pages { short_ids } => Retrieval::Continuation { short_ids },
            By::Nothing => Retrieval::Off,
        };
        let orchestrator = Orchestrator::new(self.hosts.clone(), offloader, retrieval);
        let orchestrator = match self.limit {
            Some(limit) => orchestrator.with_call_timeout(limit),
            None => orchestrator,
        };
        match self.caching.clone() {
            Some(caching) => orchestrator.with_cache(caching),
            None => orchestrator,
        }
    }

    pub(crate) fn settings(&self, orchestrator: &Orchestrator) -> Settings {
        let mut retrieval = orchestrator.retrieval();
        if let Some(tool) = retrieval.as_mut().filter(|tool| tool.name == TOOL_OUTPUT) {
            tool.schema = json!({"type": "object"}); // the real schema is too large for the small windows of these tests
        }
        Settings {
            system: "You find things out.".into(),
            task: "Find out.".into(),
            format: self.format.clone(),
            max_turns: self.max_turns,
            calls_per_turn: self.calls_per_turn,
            window: Window {
                window: self.window,
                buffer: 100,
                max_output: 200,
            },
            offers: Offers {
                status: false,
                batch: true,
            },
            tools: orchestrator.tools(),
            retrieval,
        }
    }

    /// Plays the row and returns the final conversation as the model saw it.
    pub(crate) async fn told(self) -> String {
        self.played().await.0
    }

    /// Like `told`, but also returns the trace.
    pub(crate) async fn played(mut self) -> (String, Trace) {
        let handles = Arc::new(Mutex::new(Vec::<String>::new()));
        let model = scripted(std::mem::take(&mut self.says), Arc::clone(&handles));
        let mut models = std::mem::take(&mut self.before);
        models.push(Arc::new(model));
        let model = Fallback::new(models.remove(0), models);
        let stage = self.stage(&model, None);
        let journal = stage.journal.clone();
        let (finished, session) = stage.run(&model, self.until.clone()).await;
        // Handles are replaced before long texts are shortened, because a cut could split a handle.
        let mut messages = serde_json::to_string(session.messages()).unwrap();
        for (at, handle) in handles.lock().unwrap().iter().enumerate() {
            let stored: Handle = handle.parse().unwrap();
            assert!(self.store.open(stored).is_ok(), "no handle is dead");
            messages = messages.replace(handle, &format!("HANDLE-{at}"));
        }
        let messages: Vec<Message> = serde_json::from_str(&messages).unwrap();
        let mut told: Vec<String> = messages.iter().map(message).collect();
        let ending = finished.ending;
        told.push(format!("{ending:?}: {}", line(&finished.report.content)));
        (told.join("\n"), journal.trace())
    }

    /// Returns everything that a run needs. `scope` is set for a sub-agent.
    pub(crate) fn stage(&self, model: &dyn ChatModel, scope: Option<&Scope>) -> Stage {
        let orchestrator = self.orchestrator();
        let settings = self.settings(&orchestrator);
        let about = About::new("test", &settings, vec![model.target()]);
        let clock = Arc::new(StoppedClock::default());
        Stage {
            orchestrator,
            settings,
            watcher: Arc::clone(&self.watcher),
            journal: match scope {
                Some(scope) => Journal::within(scope, about, clock),
                None => Journal::begin(about, clock),
            },
        }
    }
}

/// A session about to start.
pub(crate) struct Stage {
    pub(crate) orchestrator: Orchestrator,
    pub(crate) settings: Settings,
    pub(crate) journal: Journal,
    pub(crate) watcher: Arc<dyn Watcher>,
}

impl Stage {
    pub(crate) async fn run(&self, model: &dyn ChatModel, until: Until) -> (Finished, Session) {
        let slot = Slot::new(Nonce::of([1; 16]));
        let counter = Tokenizer::Heuristic.counter();
        let session = Session::begin(self.settings.clone(), slot, counter).unwrap();
        run(
            session,
            model,
            &self.orchestrator,
            &self.journal,
            &*self.watcher,
            until,
        )
        .await
    }
}

/// Returns a trace with one line per operation, without times.
pub(crate) fn tree(op: &Op) -> String {
    let mut lines = Vec::new();
    enter(&mut lines, op, 0);
    lines.join("\n")
}

fn enter(lines: &mut Vec<String>, op: &Op, depth: usize) {
    let mut told = vec![format!("{:?} {}", op.kind, op.name)];
    told.extend(op.server.as_ref().map(|server| format!("of {server}")));
    told.extend(op.messages.map(|messages| format!("{messages} messages")));
    told.extend(op.response_bytes.map(|bytes| format!("gave {bytes} bytes")));
    told.extend(op.cached.then(|| "cached".to_owned()));
    told.extend(op.decided.map(|decided| match decided {
        Decided::Stored { reason, .. } => format!("Stored ({reason})"),
        Decided::NotStored { reason } => format!("NotStored ({reason})"),
        other => format!("{other:?}"),
    }));
    told.extend(
        op.tokens_shown
            .map(|tokens| format!("{tokens} tokens shown")),
    );
    told.extend(op.left_out.then(|| "left out".to_owned()));
    told.extend(op.unfinished.then(|| "unfinished".to_owned()));
    let error = op.error.as_ref().map(|error| line(error));
    told.extend(error.map(|error| format!("error: {error:.60}")));
    lines.push(format!("{}{}", "  ".repeat(depth), told.join(", ")));
    for child in &op.children {
        enter(lines, child, depth + 1);
    }
}

/// A model that gives these replies. In its calls, `HANDLE-0`, `HANDLE-1`, … stand for the handles
/// in the order in which the model saw them.
pub(crate) fn scripted(says: Vec<Reply>, handles: Arc<Mutex<Vec<String>>>) -> Scripted {
    let says = Mutex::new(says.into_iter());
    Scripted::new(move |seen| {
        let mut handles = handles.lock().unwrap();
        found(&seen.request, &mut handles);
        let mut reply = says
            .lock()
            .unwrap()
            .next()
            .unwrap_or_else(|| Scripted::says(""));
        for call in &mut reply.calls {
            for (at, handle) in handles.iter().enumerate() {
                call.arguments = call.arguments.replace(&format!("HANDLE-{at}"), handle);
            }
        }
        Ok(reply)
    })
}

/// Collects the handles in the messages that the model is sent.
pub(crate) fn found(request: &Request, handles: &mut Vec<String>) {
    for message in &request.messages {
        let Message::Tools(replies) = message else {
            continue;
        };
        for reply in replies {
            for (at, _) in reply.text.match_indices("session-") {
                let handle: String = reply.text[at..].chars().take(8 + 36 + 1 + 36).collect();
                if handle.parse::<Handle>().is_ok() && !handles.contains(&handle) {
                    handles.push(handle);
                }
            }
        }
    }
}

/// Returns a message as one line. Each tool result becomes a line of its own.
pub(crate) fn message(message: &Message) -> String {
    match message {
        Message::User(text) => format!("user: {}", line(text)),
        Message::Assistant { text, calls } => {
            let calls = calls
                .iter()
                .map(|call| format!("{} {}", call.name, call.arguments));
            let said = Some(line(text)).filter(|text| !text.is_empty());
            let said: Vec<String> = said.into_iter().chain(calls).collect();
            format!("model: {}", said.join("; "))
        }
        Message::Tools(replies) => {
            let replies = replies.iter().map(|reply| {
                let mark = if reply.is_error { "!" } else { "" };
                format!("tool{mark}: {}", line(&reply.text))
            });
            replies.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Returns a text on one line. A long text is shown as its beginning, its end and its size.
pub(crate) fn line(text: &str) -> String {
    const MOST: usize = 700;
    const END: usize = 60;
    let flat = text.replace('\n', " ⏎ ");
    let chars: Vec<char> = flat.chars().collect();
    if chars.len() <= MOST {
        return flat;
    }
    let part = |chars: &[char]| chars.iter().collect::<String>();
    let (start, end) = (part(&chars[..END]), part(&chars[chars.len() - END..]));
    format!("{start} … {end} ({} bytes)", text.len())
}

/// A call of `give`.
pub(crate) fn give(bytes: u64) -> (&'static str, Value) {
    ("give", json!({"bytes": bytes}))
}

/// A reply that calls tools.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Reply {
    Scripted::calls(calls)
}

/// A reply that ends the session.
pub(crate) fn done() -> Reply {
    calls(&[(FINAL_REPORT, json!({"report_content": "done"}))])
}

//! The seeds' scenarios, with the real pipeline and a scripted model: each row says
//! what conversation results.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_agent::{
    BATCH, FINAL_REPORT, Format, Given, Host, NoWatcher, Offers, Orchestrator, Session, Settings,
    TOOL_OUTPUT, Until, Window, run,
};
use spillgate_artifact::Handle;
use spillgate_extract::{Extractor, Settings as Extraction};
use spillgate_llm::{Message, Reply, Request, Scripted, ToolCall, ToolSpec};
use spillgate_measure::Tokenizer;
use spillgate_offload::{Door, NoLedger, Offloader, Policy, Profile, Rule};
use spillgate_store::{ArtifactStore, MemoryStore};
use spillgate_testkit::StoppedClock;
use spillgate_turns::{Nonce, Slot};

/// Gives as much as it is asked for.
#[derive(Debug)]
struct Sized;

impl Host for Sized {
    fn name(&self) -> &'static str {
        "test"
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "give".into(),
            description: "gives that many bytes".into(),
            schema: json!({"type": "object", "properties": {"bytes": {"type": "integer"}}}),
        }]
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Given> {
        async move {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            let bytes = usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap();
            let line = "a line of what the tool gives\n";
            let text: String = line.chars().cycle().take(bytes).collect();
            match arguments["fails"].as_bool() {
                Some(true) => Given::error(text),
                _ => Given::text(text),
            }
        }
        .boxed()
    }
}

/// One row: limits, and what the model says.
struct Row {
    cap: u64,
    window: u64,
    max_turns: u32,
    enabled: bool,
    says: Vec<Reply>,
}

impl Row {
    fn new(says: Vec<Reply>) -> Self {
        Self {
            cap: 1000,
            window: 6000,
            max_turns: 5,
            enabled: true,
            says,
        }
    }

    fn orchestrator(&self, store: &Arc<MemoryStore>) -> Orchestrator {
        let rule = Rule {
            profile: Some(Profile::Handle),
            max_bytes: Some(self.cap),
            ..Rule::default()
        };
        let offloader = Offloader::new(
            Arc::clone(store) as Arc<dyn ArtifactStore>,
            Policy::new(rule, [], []).unwrap(),
            Tokenizer::Heuristic.counter(),
            Door::Library,
            Arc::new(StoppedClock::default()),
            Arc::new(NoLedger),
        );
        let extractor = Extractor::new(offloader.clone(), None, Extraction::default());
        let extractor = self.enabled.then_some(extractor);
        Orchestrator::new(vec![Arc::new(Sized)], offloader, extractor)
    }

    fn settings(&self, tools: Vec<ToolSpec>) -> Settings {
        let retrieval = ToolSpec {
            name: TOOL_OUTPUT.into(),
            description: "extracts".into(),
            schema: json!({"type": "object"}),
        };
        Settings {
            system: "You find things out.".into(),
            task: "Find out.".into(),
            format: Format::Text,
            max_turns: self.max_turns,
            calls_per_turn: 5,
            window: Window {
                window: self.window,
                buffer: 100,
                max_output: 200,
            },
            offers: Offers {
                status: false,
                batch: true,
            },
            tools,
            retrieval: self.enabled.then_some(retrieval),
        }
    }

    /// The conversation as the model saw it last.
    async fn told(self) -> String {
        let store = Arc::new(MemoryStore::default());
        let orchestrator = self.orchestrator(&store);
        let settings = self.settings(orchestrator.tools());
        let handles = Arc::new(Mutex::new(Vec::<String>::new()));
        let model = scripted(self.says, Arc::clone(&handles));
        let slot = Slot::new(Nonce::of([1; 16]));
        let session = Session::begin(settings, slot, Tokenizer::Heuristic.counter()).unwrap();
        let until = Until {
            timeout: None,
            cancelled: None,
        };
        let (finished, session) = run(session, &model, &orchestrator, &NoWatcher, until).await;
        let mut told: Vec<String> = session.messages().iter().map(message).collect();
        told.push(format!(
            "{:?}: {}",
            finished.ending, finished.report.content
        ));
        let mut told = told.join("\n");
        for (at, handle) in handles.lock().unwrap().iter().enumerate() {
            let stored: Handle = handle.parse().unwrap();
            assert!(store.open(stored).is_ok(), "no handle is dead");
            told = told.replace(handle, &format!("HANDLE-{at}"));
        }
        told
    }
}

/// A model that says this, and names handles by the order in which it saw them.
fn scripted(says: Vec<Reply>, handles: Arc<Mutex<Vec<String>>>) -> Scripted {
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

/// Handles in what the model is sent.
fn found(request: &Request, handles: &mut Vec<String>) {
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

fn message(message: &Message) -> String {
    match message {
        Message::User(text) => format!("user: {text:.60}"),
        Message::Assistant { calls, .. } => {
            let names = calls
                .iter()
                .map(|call| format!("{} {}", call.name, call.arguments));
            format!("model: {}", names.collect::<Vec<_>>().join("; "))
        }
        Message::Tools(replies) => {
            let replies = replies.iter().map(|reply| {
                let mark = if reply.is_error { "!" } else { "" };
                let lines = reply.text.lines().count();
                match lines > 6 {
                    false => format!("tool{mark}: {}", reply.text),
                    true => format!("tool{mark}: {lines} lines, {} bytes", reply.text.len()),
                }
            });
            replies.collect::<Vec<_>>().join("\n")
        }
    }
}

fn give(bytes: u64) -> (&'static str, Value) {
    ("give", json!({"bytes": bytes}))
}

fn done() -> Reply {
    Scripted::calls(&[(FINAL_REPORT, json!({"report_content": "done"}))])
}

#[tokio::test]
async fn a_result_within_the_cap_is_shown() {
    let row = Row::new(vec![Scripted::calls(&[give(90)]), done()]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":90}
    tool: a line of what the tool gives
    a line of what the tool gives
    a line of what the tool gives

    Success: done
    "#);
}

#[tokio::test]
async fn over_the_size_cap_there_is_a_handle_and_tool_output_reads_it() {
    let row = Row::new(vec![
        Scripted::calls(&[give(5000)]),
        Scripted::calls(&[(
            TOOL_OUTPUT,
            json!({"handle": "HANDLE-0", "extract": "the line", "mode": "truncate"}),
        )]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: Tool output is too large (5000 bytes, 167 lines, 1250 tokens).
    Call tool_output(handle = "HANDLE-0", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    model: tool_output {"extract":"the line","handle":"HANDLE-0","mode":"truncate"}
    tool: 31 lines, 1000 bytes
    Success: done
    "#);
}

#[tokio::test]
async fn over_the_token_budget_it_is_stored_too() {
    let row = Row {
        cap: 50_000,
        window: 3000,
        ..Row::new(vec![Scripted::calls(&[give(10_000)]), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":10000}
    tool: Tool output is too large (10000 bytes, 334 lines, 2500 tokens).
    Call tool_output(handle = "HANDLE-0", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    Success: done
    "#);
}

#[tokio::test]
async fn of_two_that_fit_alone_one_is_stored() {
    let row = Row {
        cap: 50_000,
        window: 3000,
        ..Row::new(vec![Scripted::calls(&[give(6_000), give(6_000)]), done()])
    };
    let told = row.told().await;
    // They race for the budget: whichever comes first is shown.
    assert_eq!(told.matches("tool: 200 lines, 6000 bytes").count(), 1);
    assert_eq!(
        told.matches("Tool output is too large (6000 bytes").count(),
        1
    );
}

#[tokio::test]
async fn a_batch_takes_the_same_way() {
    let row = Row::new(vec![
        Scripted::calls(&[(
            BATCH,
            json!({"calls": [
                {"id": "a", "tool": "give", "parameters": {"bytes": 5000}},
                {"id": "b", "tool": "give", "parameters": {"bytes": 100}},
                {"id": "c", "tool": TOOL_OUTPUT, "parameters": {"handle": "x/y", "extract": "z"}},
            ]}),
        )]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: agent__batch {"calls":[{"id":"a","parameters":{"bytes":5000},"tool":"give"},{"id":"b","parameters":{"bytes":100},"tool":"give"},{"id":"c","parameters":{"extract":"z","handle":"x/y"},"tool":"tool_output"}]}
    tool: {"results":[{"id":"a","ok":true,"output":"Tool output is too large (5000 bytes, 167 lines, 1250 tokens).\nCall tool_output(handle = \"HANDLE-0\", extract = \"what to extract\").\nProvide precise and detailed instructions in `extract` about what you are looking for.","tool":"give"},{"id":"b","ok":true,"output":"a line of what the tool gives\na line of what the tool gives\na line of what the tool gives\na line of ","tool":"give"},{"error":{"code":"EXECUTION_ERROR","message":"There is no tool 'tool_output'; there are give, agent__final_report, agent__batch."},"id":"c","ok":false,"tool":"tool_output"}]}
    Success: done
    "#);
}

#[tokio::test]
async fn a_handle_that_overflows_itself_ends_it() {
    let row = Row {
        cap: 50_000,
        window: 950,
        ..Row::new(vec![
            Scripted::calls(&[give(700), give(700), give(700), give(700)]),
            done(),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":700}; give {"bytes":700}; give {"bytes":700}; give {"bytes":700}
    tool: Tool output is too large (700 bytes, 24 lines, 175 tokens).
    Call tool_output(handle = "HANDLE-0", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    tool!: (tool failed: context window budget exceeded)
    tool!: (tool failed: context window budget exceeded)
    tool!: (tool failed: context window budget exceeded)
    user: This is the final turn: no other tool can be called any more
    Success: done
    "#);
}

#[tokio::test]
async fn switched_off_the_middle_is_cut() {
    let row = Row {
        enabled: false,
        ..Row::new(vec![Scripted::calls(&[give(5000)]), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: 34 lines, 1000 bytes
    Success: done
    "#);
}

#[tokio::test]
async fn on_the_final_turn_only_the_report_is_left() {
    let row = Row {
        max_turns: 2,
        ..Row::new(vec![
            Scripted::calls(&[give(5000)]),
            Scripted::calls(&[give(1)]),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: Tool output is too large (5000 bytes, 167 lines, 1250 tokens).
    Call tool_output(handle = "HANDLE-0", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    user: This is the final turn: no other tool can be called any more
    model: give {"bytes":1}
    Failed("Your reply is empty."): No final report: Your reply is empty.
    "#);
}

#[tokio::test]
async fn a_failure_is_never_stored() {
    let row = Row::new(vec![
        Scripted::calls(&[("give", json!({"bytes": 5000, "fails": true}))]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000,"fails":true}
    tool!: 34 lines, 1000 bytes
    Success: done
    "#);
}

#[tokio::test]
async fn an_empty_result_is_a_space() {
    let row = Row::new(vec![Scripted::calls(&[give(0)]), done()]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":0}
    tool:  
    Success: done
    "#);
}

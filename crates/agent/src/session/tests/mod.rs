//! Tests sessions turn by turn, with a scripted model, tools from a table, and a fake store.

use std::collections::BTreeMap;
use std::sync::Arc;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_artifact::{Handle, TokenBudget};
use spillgate_conversation::{Nonce, Slot, tokens_of};
use spillgate_llm::{Message, Reply, Request, Scripted, Stop, ToolSpec};
use spillgate_offload::{Bounds, Presentation};
use spillgate_text::{TokenCounter, Tokenizer};

use super::*;
use crate::event::{Kept, Planned, Returned};
use crate::internal::{BATCH, FINAL_REPORT, GET_CONTINUATION, TASK_STATUS, TOOL_OUTPUT};
use crate::settings::{Format, Offers, Window};

/// What a tool returns: its text, and whether it is a failure.
type Gives = fn(&Value) -> (String, bool);

/// A session together with its fixtures.
struct Stage {
    settings: Settings,
    tools: BTreeMap<&'static str, Gives>,
    /// Results larger than this many bytes are stored.
    cap: usize,
    stores: bool,
    fails_to_store: bool,
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("gives {name}"),
        schema: json!({"type": "object"}),
    }
}

fn counter() -> Arc<dyn TokenCounter> {
    Tokenizer::Heuristic.counter()
}

fn presented(text: &str) -> Presentation {
    let bounds = Bounds {
        tokens: TokenBudget::new(u64::MAX),
        json_bytes: u64::MAX,
    };
    Presentation::new(text.to_owned(), &bounds, &*counter()).unwrap()
}

fn handle() -> Handle {
    let text = format!("session-{0}/{0}", "00000000-0000-4000-8000-000000000000");
    text.parse().unwrap()
}

fn slot() -> Slot {
    Slot::new(Nonce::of([1; 16]))
}

impl Stage {
    fn new(tools: &[(&'static str, Gives)]) -> Self {
        let tools: BTreeMap<_, _> = tools.iter().copied().collect();
        Self {
            settings: Settings {
                system: "You find things out.".into(),
                task: "Find out.".into(),
                format: Format::Text,
                max_turns: 4,
                calls_per_turn: 3,
                window: Window {
                    window: 3000,
                    buffer: 100,
                    max_output: 200,
                },
                offers: Offers {
                    status: true,
                    batch: true,
                },
                tools: tools.keys().map(|name| spec(name)).collect(),
                retrieval: Some(spec(TOOL_OUTPUT)),
            },
            tools,
            cap: 1000,
            stores: true,
            fails_to_store: false,
        }
    }

    fn returned(&self, planned: &Planned) -> (Returned, String) {
        let arguments = serde_json::from_str(&planned.call.arguments).unwrap();
        let name = planned.call.name.as_str();
        let is_retrieval = [TOOL_OUTPUT, GET_CONTINUATION].contains(&name);
        let (text, is_error) = match self.tools.get(name) {
            Some(gives) => gives(&arguments),
            None => ("what was asked for".to_owned(), false),
        };
        let is_over = text.len() > self.cap;
        let cut = format!("{}[cut]", text.chars().take(40).collect::<String>());
        let returned = Returned {
            whole: Some(presented(&text)),
            cut: is_over.then(|| presented(&cut)),
            is_over,
            is_error,
            is_storable: self.stores && !is_retrieval,
            instead: counter().count("HANDLE call_0/1"),
        };
        (returned, text)
    }

    /// Runs the session to its end. Returns every request that the model received, the session, and
    /// a log of stored results, statuses and the ending.
    fn run(&self, says: &[Reply]) -> (Vec<Request>, Session, Vec<String>) {
        let mut session = Session::begin(self.settings.clone(), slot(), counter()).unwrap();
        let (mut requests, mut log) = (Vec::new(), Vec::new());
        let mut says = says.iter();
        let mut effects = session.step(Event::Start);
        let mut held = BTreeMap::new();
        while !effects.is_empty() {
            let effect = effects.remove(0);
            let event = match effect {
                Effect::Ask(request) => {
                    requests.push(request);
                    let reply = says.next().cloned();
                    Event::Replied(Ok(reply.unwrap_or_else(|| Scripted::says(""))))
                }
                Effect::Call(planned) => {
                    let (returned, text) = self.returned(&planned);
                    held.insert(planned.id.clone(), text);
                    Event::Returned(planned.id, returned)
                }
                Effect::Store(id, reason) => {
                    let text = held.remove(&id).expect("what is stored is still there");
                    log.push(format!(
                        "store {} ({reason}, {} bytes)",
                        id.as_str(),
                        text.len()
                    ));
                    let text = format!("HANDLE {}", id.as_str());
                    let shown = presented(&text);
                    let kept = match self.fails_to_store {
                        true => Kept::Failed(shown),
                        false => Kept::Stored {
                            shown,
                            handle: handle(),
                        },
                    };
                    Event::Kept(id, kept)
                }
                Effect::Release(id) => {
                    assert!(held.remove(&id).is_some(), "released once: {}", id.as_str());
                    continue;
                }
                Effect::Status(status) => {
                    log.push(format!("status {}: {}", status.status, status.now));
                    continue;
                }
                Effect::Finish(finished) => {
                    let report = &finished.report;
                    log.push(format!(
                        "{:?} {:?} after {} turns: {}",
                        finished.ending, report.source, finished.turns, report.content
                    ));
                    continue;
                }
                _ => continue,
            };
            effects.extend(session.step(event));
        }
        (requests, session, log)
    }

    /// Returns the final conversation as the model saw it, and a log of what else happened.
    fn told(&self, says: &[Reply]) -> String {
        let (requests, session, log) = self.run(says);
        let tools = requests.iter().map(|request| {
            let names: Vec<&str> = request
                .tools
                .iter()
                .map(|tool| tool.name.as_str())
                .collect();
            format!("tools: {}", names.join(" "))
        });
        let said = session.messages().iter().map(told);
        tools.chain(said).chain(log).collect::<Vec<_>>().join("\n")
    }
}

fn told(message: &Message) -> String {
    match message {
        Message::User(text) => format!("user: {text}"),
        Message::Assistant { text, calls } => {
            let calls = calls
                .iter()
                .map(|call| format!(" [{} {} {}]", call.id, call.name, call.arguments));
            format!("model: {text}{}", calls.collect::<String>())
        }
        Message::Tools(replies) => {
            let replies = replies.iter().map(|reply| {
                let mark = if reply.is_error { "!" } else { "" };
                let text: String = reply.text.chars().take(300).collect();
                format!("tool {}{mark}: {text}", reply.call_id)
            });
            replies.collect::<Vec<_>>().join("\n")
        }
    }
}

fn report(text: &str) -> Reply {
    Scripted::calls(&[(
        FINAL_REPORT,
        json!({"report_format": "text", "report_content": text}),
    )])
}

fn small(_: &Value) -> (String, bool) {
    ("small".into(), false)
}

fn large(_: &Value) -> (String, bool) {
    ("large ".repeat(400), false)
}

/// A result below the cap of 1000 bytes. The window has room for two such results but not for a
/// third.
fn middling(_: &Value) -> (String, bool) {
    ("middling ".repeat(110), false)
}

fn broken(_: &Value) -> (String, bool) {
    ("it broke ".repeat(300), true)
}

#[test]
fn an_oversized_result_becomes_a_handle_and_tool_output_is_listed() {
    let stage = Stage::new(&[("big", large), ("small", small)]);
    let says = [
        Scripted::calls(&[("big", json!({})), ("small", json!({}))]),
        Scripted::calls(&[(TOOL_OUTPUT, json!({"handle": "h", "extract": "x"}))]),
        report("done"),
    ];
    assert_snapshot!(stage.told(&says), @r#"
    tools: big small agent__final_report agent__task_status agent__batch
    tools: big small agent__final_report agent__task_status agent__batch tool_output
    tools: big small agent__final_report agent__task_status agent__batch tool_output
    user: Find out.
    model:  [call_0 big {}] [call_1 small {}]
    tool call_0: HANDLE call_0
    tool call_1: small
    model:  [call_0 tool_output {"extract":"x","handle":"h"}]
    tool call_0: what was asked for
    store call_0 (size_cap, 2400 bytes)
    Success Tool after 3 turns: done
    "#);
}

#[test]
fn a_written_report_ends_it_too_and_an_unwritten_one_is_asked_for() {
    let stage = Stage::new(&[("small", small)]);
    let written = format!("Here: {}all well{}", slot().opening(), slot().closing());
    let says = [Scripted::says("I am done."), Scripted::says(written)];
    assert_snapshot!(stage.told(&says), @r#"
    tools: small agent__final_report agent__task_status agent__batch
    tools: small agent__final_report agent__task_status agent__batch
    user: Find out.
    model: I am done.
    user: Your reply has neither a call nor a report. Call a tool, or finish: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    Success Wrapper after 2 turns: all well
    "#);
}

#[test]
fn the_final_turn_has_the_report_alone_and_without_one_it_is_synthetic() {
    let mut stage = Stage::new(&[("big", large)]);
    stage.settings.max_turns = 2;
    let says = [
        Scripted::calls(&[("big", json!({}))]),
        Scripted::says("It is hard."),
    ];
    assert_snapshot!(stage.told(&says), @r#"
    tools: big agent__final_report agent__task_status agent__batch
    tools: agent__final_report
    user: Find out.
    model:  [call_0 big {}]
    tool call_0: HANDLE call_0
    user: This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    model: It is hard.
    store call_0 (size_cap, 2400 bytes)
    Failed("the turns were used up, the last reply had no report (\"Your reply has neither a call nor a report.\")") Synthetic after 2 turns: No final report: the turns were used up, the last reply had no report ("Your reply has neither a call nor a report."). The model's last words:

    It is hard.
    "#);
}

#[test]
fn a_batch_takes_the_same_path() {
    let stage = Stage::new(&[("big", large), ("small", small)]);
    let calls = json!({"calls": [
        {"id": "1", "tool": "big", "parameters": {}},
        {"id": "2", "tool": "small", "parameters": {}},
        {"id": "3", "tool": BATCH, "parameters": {}},
        {"id": "4", "tool": "nothing", "parameters": {}},
        {"id": "5", "tool": TASK_STATUS, "parameters": {"status": "in-progress", "now": "looking"}},
    ]});
    let says = [Scripted::calls(&[(BATCH, calls)]), report("done")];
    assert_snapshot!(stage.told(&says), @r#"
    tools: big small agent__final_report agent__task_status agent__batch
    tools: big small agent__final_report agent__task_status agent__batch tool_output
    user: Find out.
    model:  [call_0 agent__batch {"calls":[{"id":"1","parameters":{},"tool":"big"},{"id":"2","parameters":{},"tool":"small"},{"id":"3","parameters":{},"tool":"agent__batch"},{"id":"4","parameters":{},"tool":"nothing"},{"id":"5","parameters":{"now":"looking","status":"in-progress"},"tool":"agent__task_status"}]}]
    tool call_0: {"results":[{"id":"1","ok":true,"output":"HANDLE call_0/1","tool":"big"},{"id":"2","ok":true,"output":"small","tool":"small"},{"error":{"code":"INTERNAL_NOT_ALLOWED","message":"It cannot be called within a batch."},"id":"3","ok":false,"tool":"agent__batch"},{"error":{"code":"EXECUTION_ERROR","messag
    status in-progress: looking
    store call_0/1 (size_cap, 2400 bytes)
    Success Tool after 2 turns: done
    "#);
}

#[test]
fn what_would_overflow_is_stored_though_it_is_under_the_cap() {
    let mut stage = Stage::new(&[("middling", middling)]);
    stage.settings.window.window = 1600;
    let says = [
        Scripted::calls(&[
            ("middling", json!({})),
            ("middling", json!({})),
            ("middling", json!({})),
        ]),
        report("done"),
    ];
    assert_snapshot!(stage.told(&says), @"
    tools: middling agent__final_report agent__task_status agent__batch
    tools: middling agent__final_report agent__task_status agent__batch tool_output
    user: Find out.
    model:  [call_0 middling {}] [call_1 middling {}] [call_2 middling {}]
    tool call_0: middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling mid
    tool call_1: middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling middling mid
    tool call_2: HANDLE call_2
    store call_2 (token_budget, 990 bytes)
    Success Tool after 2 turns: done
    ");
}

#[test]
fn a_batch_that_does_not_fit_in_its_envelope_is_stored_in_parts() {
    let mut stage = Stage::new(&[("quotes", |_| ("\"\n".repeat(450), false))]);
    stage.settings.window.window = 1300;
    let calls = json!({"calls": [{"id": "1", "tool": "quotes", "parameters": {}}]});
    let says = [Scripted::calls(&[(BATCH, calls)]), report("done")];
    assert_snapshot!(stage.told(&says), @r#"
    tools: quotes agent__final_report agent__task_status agent__batch
    tools: quotes agent__final_report agent__task_status agent__batch tool_output
    user: Find out.
    model:  [call_0 agent__batch {"calls":[{"id":"1","parameters":{},"tool":"quotes"}]}]
    tool call_0: {"results":[{"id":"1","ok":true,"output":"HANDLE call_0/1","tool":"quotes"}]}
    store call_0/1 (reserve_failed, 900 bytes)
    Success Tool after 2 turns: done
    "#);
}

#[test]
fn failures_are_stored_and_without_a_store_the_middle_is_cut() {
    let mut stage = Stage::new(&[("big", large), ("broken", broken)]);
    let says = [
        Scripted::calls(&[("big", json!({})), ("broken", json!({}))]),
        report("done"),
    ];
    let with = stage.told(&says);
    stage.stores = false;
    let without = stage.told(&says);
    assert_snapshot!(format!("{with}\n--- off\n{without}"), @"
    tools: big broken agent__final_report agent__task_status agent__batch
    tools: big broken agent__final_report agent__task_status agent__batch tool_output
    user: Find out.
    model:  [call_0 big {}] [call_1 broken {}]
    tool call_0: HANDLE call_0
    tool call_1!: HANDLE call_1
    store call_0 (size_cap, 2400 bytes)
    store call_1 (size_cap, 2700 bytes)
    Success Tool after 2 turns: done
    --- off
    tools: big broken agent__final_report agent__task_status agent__batch
    tools: big broken agent__final_report agent__task_status agent__batch
    user: Find out.
    model:  [call_0 big {}] [call_1 broken {}]
    tool call_0: large large large large large large larg[cut]
    tool call_1!: it broke it broke it broke it broke it b[cut]
    Success Tool after 2 turns: done
    ");
}

#[test]
fn a_store_that_fails_shows_the_ends() {
    let mut stage = Stage::new(&[("big", large)]);
    stage.fails_to_store = true;
    assert_snapshot!(stage.told(&[Scripted::calls(&[("big", json!({}))]), report("done")]), @"
    tools: big agent__final_report agent__task_status agent__batch
    tools: big agent__final_report agent__task_status agent__batch
    user: Find out.
    model:  [call_0 big {}]
    tool call_0: HANDLE call_0
    store call_0 (size_cap, 2400 bytes)
    Success Tool after 2 turns: done
    ");
}

#[test]
fn paging_is_not_counted_and_the_same_page_twice_is_told() {
    let mut stage = Stage::new(&[("small", small)]);
    stage.settings.max_turns = 2;
    stage.settings.retrieval = None;
    stage.settings.tools.push(spec(GET_CONTINUATION));
    let page = |offset: u32| {
        Scripted::calls(&[(
            GET_CONTINUATION,
            json!({"tool_call_id": "1", "offset": offset}),
        )])
    };
    assert_snapshot!(stage.told(&[page(0), page(0), page(1), page(2), report("done")]), @r#"
    tools: small get_continuation agent__final_report agent__task_status agent__batch
    tools: small get_continuation agent__final_report agent__task_status agent__batch
    tools: small get_continuation agent__final_report agent__task_status agent__batch
    tools: small get_continuation agent__final_report agent__task_status agent__batch
    tools: small get_continuation agent__final_report agent__task_status agent__batch
    user: Find out.
    model:  [call_0 get_continuation {"offset":0,"tool_call_id":"1"}]
    tool call_0: what was asked for
    model:  [call_0 get_continuation {"offset":0,"tool_call_id":"1"}]
    tool call_0: Duplicate call: you just called get_continuation with the same arguments and it returned: what was asked for
    If the operation isn't working as expected, try a different approach.
    model:  [call_0 get_continuation {"offset":1,"tool_call_id":"1"}]
    tool call_0: what was asked for
    model:  [call_0 get_continuation {"offset":2,"tool_call_id":"1"}]
    tool call_0: what was asked for
    Success Tool after 5 turns: done
    "#);
}

#[test]
fn endings_that_are_no_success() {
    let stage = Stage::new(&[("small", small)]);
    let mut refused = Scripted::says("I will not.");
    refused.stop = Stop::Refused;
    let mut session = Session::begin(stage.settings.clone(), slot(), counter()).unwrap();
    session.step(Event::Start);
    let cancelled = session.step(Event::Ended(Abort::Cancelled));
    assert!(
        matches!(&cancelled[..], [Effect::Finish(finished)] if finished.ending == Ending::Cancelled)
    );
    assert!(
        session.step(Event::Start).is_empty(),
        "after the end nothing is done"
    );
    let mut long = stage.settings.clone();
    long.task = "word ".repeat(3000);
    let error = Session::begin(long, slot(), counter()).unwrap_err();
    assert_snapshot!(format!("{}\n{error}", stage.told(&[refused])), @r#"
    tools: small agent__final_report agent__task_status agent__batch
    user: Find out.
    Failed("the model refused") Synthetic after 1 turns: No final report: the model refused. The model's last words:

    I will not.
    the prompt, the task and the tools are 4418 tokens, more than the 2700 that the model's window leaves (window − buffer − max output)
    "#);
}

proptest! {
    /// Tests that, for any tool results and replies of the model, the text sent never exceeds
    /// window − buffer − max output, and that each call of the conversation has one reply.
    #[test]
    fn the_window_is_never_exceeded(
        sizes in prop::collection::vec(0_usize..6000, 1..12),
        window in 1200_u64..4000,
        stores in any::<bool>(),
        kinds in prop::collection::vec(0..5, 4),
        calls_per_turn in 1_u32..5,
    ) {
        let mut stage = Stage::new(&[("sized", |arguments| {
            let size = arguments["size"].as_u64().unwrap();
            ("\"x\" ".repeat(usize::try_from(size).unwrap() / 4), size % 7 == 0)
        })]);
        stage.settings.window.window = window;
        stage.settings.max_turns = 6;
        stage.settings.calls_per_turn = calls_per_turn;
        let number = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        stage.settings.format = Format::Json(Some(number));
        stage.stores = stores;
        let says: Vec<Reply> = sizes.chunks(3).zip(kinds).map(|(sizes, kind)| {
            let words = "\"word\" ".repeat(sizes.iter().sum::<usize>() / 7);
            let wrong = json!({"n": words});
            let calls: Vec<(&str, Value)> = sizes.iter().map(|size| ("sized", json!({"size": size}))).collect();
            let inner = |(tool, arguments): &(&str, Value)| json!({"tool": tool, "parameters": arguments});
            let inner: Vec<Value> = calls.iter().map(inner).collect();
            match kind {
                0 => Scripted::calls(&[(BATCH, json!({"calls": inner}))]),
                1 => Scripted::says(words),
                2 => Scripted::says(format!("{}{wrong}{}", slot().opening(), slot().closing())),
                3 => Scripted::calls(&[(FINAL_REPORT, json!({"content_json": wrong}))]),
                _ => Scripted::calls(&calls),
            }
        }).collect();
        let (requests, _, _) = stage.run(&says);
        let limit = stage.settings.window.limit();
        for request in &requests {
            let count = |text: &str| counter().count(text);
            let said: u64 = request.messages.iter().map(|message| match message {
                Message::User(text) => count(text),
                Message::Assistant { text, calls } => count(text)
                    + calls.iter().map(|call| count(&call.name) + count(&call.arguments)).sum::<u64>(),
                Message::Tools(replies) => replies.iter().map(|reply| count(&reply.text)).sum(),
            }).sum();
            let sent = count(&request.system) + said + tokens_of(&request.tools, &count);
            prop_assert!(sent <= limit, "{sent} of {limit}");
            for pair in request.messages.windows(2) {
                if let [Message::Assistant { calls, .. }, Message::Tools(replies)] = pair {
                    prop_assert_eq!(calls.len(), replies.len());
                }
            }
        }
    }
}

//! Tests the conversation loop with models that behave in different ways.

use std::fmt::Write;
use std::time::Duration;

use insta::assert_snapshot;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::json;
use spillgate_llm::{ErrorKind, LlmError, Message, Reply, Request, Scripted, Stop, ToolSpec};
use spillgate_text::Tokenizer;

use super::*;
use crate::conversation::TurnLimits;
use crate::host::ToolReplyFuture;
use crate::slot::{Nonce, Slot};
use crate::tool_loop::LoopEnding;

/// A host with the tool `look`, which returns its arguments, or a long text if they contain `much`.
/// The first call of a reply is slower than the others.
struct Host;

impl ToolHost for Host {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "look".into(),
            description: "Looks.".into(),
            schema: json!({"type": "object"}),
        }]
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> ToolReplyFuture<'a> {
        Box::pin(async move {
            let slow = if call.id == "call_0" { 20 } else { 0 };
            tokio::time::sleep(Duration::from_millis(slow)).await;
            let text = match call.arguments.contains("much") {
                true => "much ".repeat(300),
                false => format!("saw {}", call.arguments),
            };
            ToolReply {
                call_id: "the host's".into(),
                text,
                is_error: false,
            }
        })
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn asked(&self, request: &Request, reply: &Result<Reply, LlmError>) {
        let said = request.messages.len();
        let tools = if request.no_calls {
            0
        } else {
            request.tools.len()
        };
        let note = format!(
            "asked: {said} messages, {tools} tools, ok {}",
            reply.is_ok()
        );
        self.0.lock().push(note);
    }

    fn called(&self, call: &ToolCall, reply: &ToolReply) {
        let note = format!("called {}: error {}", call.id, reply.is_error);
        self.0.lock().push(note);
    }
}

const LIMITS: TurnLimits = TurnLimits {
    turns: 4,
    calls_per_turn: 2,
    max_output_tokens: 100,
    window: 1000,
};

fn turns(limits: TurnLimits) -> Turns {
    Turns {
        system: "Look, then answer.".into(),
        messages: vec![Message::User("What is there?".into())],
        slot: Slot::new(Nonce::of([1; 16])),
        limits,
        counter: Tokenizer::Heuristic.counter(),
    }
}

type Replies = Vec<Result<Reply, LlmError>>;

fn scripted(replies: Replies) -> Scripted {
    Scripted::new(move |seen| replies[seen.number.min(replies.len() - 1)].clone())
}

/// Runs a loop. Returns the last request, what the loop returned, and what the observer recorded.
fn told(limits: TurnLimits, replies: Replies) -> String {
    let (model, notes) = (scripted(replies), Notes::default());
    let finished = block(run(turns(limits), &model, &Host, &notes));
    let mut text = String::new();
    let last = model.seen().pop().unwrap();
    for message in &last.messages[1..] {
        match message {
            Message::User(said) => writeln!(text, "user: {said}").unwrap(),
            Message::Assistant { text: said, calls } => {
                writeln!(text, "model: {said}").unwrap();
                for call in calls {
                    writeln!(text, "  call {} {} {}", call.id, call.name, call.arguments).unwrap();
                }
            }
            Message::Tools(replies) => {
                for reply in replies {
                    let error = if reply.is_error { " error" } else { "" };
                    writeln!(
                        text,
                        "  reply {}{error}: {:.200}",
                        reply.call_id, reply.text
                    )
                    .unwrap();
                }
            }
        }
    }
    let notes = notes.0.into_inner().join("\n");
    let (ending, turns) = (&finished.ending, finished.turns);
    text + &format!("=> {ending:?} after {turns} turns\n{notes}")
}

fn block<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn answer(text: &str) -> Reply {
    let slot = turns(LIMITS).slot;
    Scripted::says(format!("{}{text}{}", slot.opening(), slot.closing()))
}

fn look(at: &str) -> Reply {
    Scripted::calls(&[("look", json!({"at": at}))])
}

fn raw_calls(calls: &[(&str, &str, &str)]) -> Reply {
    let calls = calls.iter().map(|(id, name, arguments)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    });
    Reply {
        calls: calls.collect(),
        ..look("")
    }
}

#[test]
fn a_look_and_an_answer() {
    assert_snapshot!(told(LIMITS, vec![Ok(look("a")), Ok(answer("a"))]), @r#"
    model: 
      call call_0 look {"at":"a"}
      reply call_0: saw {"at":"a"}
    => Answered("a") after 2 turns
    asked: 1 messages, 1 tools, ok true
    called call_0: error false
    asked: 3 messages, 1 tools, ok true
    "#);
}

#[test]
fn an_answer_beside_calls_wins() {
    let both = Reply {
        calls: look("a").calls,
        ..answer("b")
    };
    assert_snapshot!(told(LIMITS, vec![Ok(both)]), @r#"
    => Answered("b") after 1 turns
    asked: 1 messages, 1 tools, ok true
    "#);
}

#[test]
fn calls_that_cannot_be_made_are_answered() {
    let wrong = raw_calls(&[
        ("", "look", ""),
        ("x", "lookup\u{7}", "{}"),
        ("x", "look", "[1]"),
        ("x", "look", "{\"at\":"),
        ("y", "look", "null"),
        ("z", "look", "{}"),
    ]);
    assert_snapshot!(told(LIMITS, vec![Ok(wrong), Ok(answer("a"))]), @r#"
    model: 
      call _1 look {}
      call x lookup_ {}
      call x_3 look [1]
      call x_4 look {"at":
      call y look {}
      call z look {}
      reply _1: saw {}
      reply x error: There is no tool 'lookup_'; there are look.
      reply x_3 error: The arguments are not a JSON object: they are another value. Call again with one.
      reply x_4 error: The arguments are not a JSON object: EOF while parsing a value at line 1 column 6. Call again with one.
      reply y: saw {}
      reply z error: This call was not made: a reply may have 2 calls. Call again if it is still needed.
    => Answered("a") after 2 turns
    asked: 1 messages, 1 tools, ok true
    called x: error true
    called x_3: error true
    called x_4: error true
    called z: error true
    called _1: error false
    called y: error false
    asked: 3 messages, 1 tools, ok true
    "#);
}

#[test]
fn calls_are_made_at_once_and_answered_in_order() {
    let two = Scripted::calls(&[("look", json!({"at": 1})), ("look", json!({"at": 2}))]);
    assert_snapshot!(told(LIMITS, vec![Ok(two), Ok(answer("a"))]), @r#"
    model: 
      call call_0 look {"at":1}
      call call_1 look {"at":2}
      reply call_0: saw {"at":1}
      reply call_1: saw {"at":2}
    => Answered("a") after 2 turns
    asked: 1 messages, 1 tools, ok true
    called call_1: error false
    called call_0: error false
    asked: 3 messages, 1 tools, ok true
    "#);
}

#[test]
fn who_does_not_answer_is_reminded_once() {
    let silent = Reply {
        text: " ".into(),
        ..look("")
    };
    let silent = Reply {
        calls: Vec::new(),
        ..silent
    };
    assert_snapshot!(told(LIMITS, vec![Ok(Scripted::says("It is a.")), Ok(answer("a"))]), @r#"
    model: It is a.
    user: Your reply has no answer in its wrapper. Call a tool, or answer. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => Answered("a") after 2 turns
    asked: 1 messages, 1 tools, ok true
    asked: 3 messages, 1 tools, ok true
    "#);
    assert_snapshot!(told(LIMITS, vec![Ok(Scripted::says("a")), Ok(look("b")), Ok(Scripted::says("b"))]), @r#"
    model: a
    user: Your reply has no answer in its wrapper. Call a tool, or answer. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    model: 
      call call_0 look {"at":"b"}
      reply call_0: saw {"at":"b"}
    => NoAnswer(Missing) after 3 turns
    asked: 1 messages, 1 tools, ok true
    asked: 3 messages, 1 tools, ok true
    called call_0: error false
    asked: 5 messages, 1 tools, ok true
    "#);
    assert_snapshot!(told(LIMITS, vec![Ok(silent), Ok(answer("a"))]), @r#"
    user: Your answer is empty. Call a tool, or answer. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => Answered("a") after 2 turns
    asked: 1 messages, 1 tools, ok true
    asked: 2 messages, 1 tools, ok true
    "#);
}

#[test]
fn the_last_turn_has_no_tools() {
    assert_snapshot!(told(TurnLimits { turns: 2, ..LIMITS }, vec![Ok(look("a"))]), @r#"
    model: 
      call call_0 look {"at":"a"}
      reply call_0: saw {"at":"a"}
    user: This is the last turn: no tool can be called any more. Answer now, from what you have seen. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => NoAnswer(Missing) after 2 turns
    asked: 1 messages, 1 tools, ok true
    called call_0: error false
    asked: 4 messages, 0 tools, ok true
    "#);
    let cut = Reply {
        stop: Stop::Length,
        ..Scripted::says(turns(LIMITS).slot.opening() + "a")
    };
    assert_snapshot!(told(TurnLimits { turns: 2, ..LIMITS }, vec![Ok(cut), Ok(answer("a"))]), @r#"
    model: <ai-agent-01010101010101010101010101010101-FINAL format="text">a
    user: Your answer was cut off before its end; make it shorter. This is the last turn: no tool can be called any more. Answer now, from what you have seen. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => Answered("a") after 2 turns
    asked: 1 messages, 1 tools, ok true
    asked: 3 messages, 0 tools, ok true
    "#);
    assert_snapshot!(told(TurnLimits { turns: 1, ..LIMITS }, vec![Ok(answer("a"))]), @r#"
    user: This is the last turn: no tool can be called any more. Answer now, from what you have seen. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => Answered("a") after 1 turns
    asked: 2 messages, 0 tools, ok true
    "#);
}

#[test]
fn what_does_not_fit_the_window_is_left_out_and_the_turn_is_the_last() {
    let calls = [
        ("look", json!({"at": "a"})),
        ("look", json!({"at": "much"})),
    ];
    let limits = TurnLimits {
        window: 500,
        ..LIMITS
    };
    assert_snapshot!(told(limits, vec![Ok(Scripted::calls(&calls)), Ok(answer("a"))]), @r#"
    model: 
      call call_0 look {"at":"a"}
      call call_1 look {"at":"much"}
      reply call_0: saw {"at":"a"}
      reply call_1 error: (tool failed: context window budget exceeded)
    user: This is the last turn: no tool can be called any more. Answer now, from what you have seen. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => Answered("a") after 2 turns
    asked: 1 messages, 1 tools, ok true
    called call_1: error false
    called call_0: error false
    asked: 4 messages, 0 tools, ok true
    "#);
}

#[test]
fn a_model_that_cannot_be_asked_ends_it() {
    let error = LlmError::new(ErrorKind::Provider, Scripted::name(), "down");
    assert_snapshot!(told(LIMITS, vec![Ok(look("a")), Err(error)]), @r#"
    model: 
      call call_0 look {"at":"a"}
      reply call_0: saw {"at":"a"}
    => Failed(LlmError { kind: Provider, target: Target { provider: "scripted", model: "model" }, message: "down", request_id: None, retry_after: None }) after 2 turns
    asked: 1 messages, 1 tools, ok true
    called call_0: error false
    asked: 3 messages, 1 tools, ok false
    "#);
}

#[test]
fn what_a_provider_calls_too_long_is_asked_once_more_without_the_last_look() {
    let error = || {
        Err(LlmError::new(
            ErrorKind::ContextLength,
            Scripted::name(),
            "too long",
        ))
    };
    let much = || Ok(look("much"));
    assert_snapshot!(told(LIMITS, vec![much(), error(), Ok(answer("a"))]), @r#"
    model: 
      call call_0 look {"at":"much"}
      reply call_0 error: (tool failed: context window budget exceeded)
    user: This is the last turn: no tool can be called any more. Answer now, from what you have seen. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => Answered("a") after 3 turns
    asked: 1 messages, 1 tools, ok true
    called call_0: error false
    asked: 3 messages, 1 tools, ok false
    asked: 4 messages, 0 tools, ok true
    "#);
    assert_snapshot!(told(LIMITS, vec![much(), error(), error()]), @r#"
    model: 
      call call_0 look {"at":"much"}
      reply call_0 error: (tool failed: context window budget exceeded)
    user: This is the last turn: no tool can be called any more. Answer now, from what you have seen. The answer begins with <ai-agent-01010101010101010101010101010101-FINAL format="text"> and ends with </ai-agent-01010101010101010101010101010101-FINAL>.
    => Failed(LlmError { kind: ContextLength, target: Target { provider: "scripted", model: "model" }, message: "too long", request_id: None, retry_after: None }) after 3 turns
    asked: 1 messages, 1 tools, ok true
    called call_0: error false
    asked: 3 messages, 1 tools, ok false
    asked: 4 messages, 0 tools, ok false
    "#);
    assert_snapshot!(told(LIMITS, vec![error()]), @r#"
    => Failed(LlmError { kind: ContextLength, target: Target { provider: "scripted", model: "model" }, message: "too long", request_id: None, retry_after: None }) after 1 turns
    asked: 1 messages, 1 tools, ok false
    "#);
}

#[test]
fn a_refusal_ends_it() {
    let refusal = Reply {
        stop: Stop::Refused,
        ..answer("I must not.")
    };
    assert_snapshot!(told(LIMITS, vec![Ok(refusal)]), @"
    => Refused after 1 turns
    asked: 1 messages, 1 tools, ok true
    ");
}

#[test]
fn without_turns_nobody_is_asked() {
    let (model, limits) = (
        scripted(vec![Ok(answer("a"))]),
        TurnLimits { turns: 0, ..LIMITS },
    );
    let finished = block(run(turns(limits), &model, &Host, &Notes::default()));
    assert!(matches!(finished.ending, LoopEnding::NoAnswer(_)));
    assert_eq!((finished.turns, model.seen().len()), (0, 0));
}

fn any_reply() -> impl Strategy<Value = Result<Reply, LlmError>> {
    let name = prop_oneof![4 => Just("look"), 1 => Just("leap")];
    let arguments = prop_oneof![
        Just(""),
        Just("{}"),
        Just("{\"at\":\"much\"}"),
        Just("[]"),
        Just("{")
    ];
    let call =
        ("[ab]{0,1}", name, arguments).prop_map(|(id, name, arguments)| (id, name, arguments));
    let calls = proptest::collection::vec(call, 0..5);
    let stop = prop_oneof![Just(Stop::End), Just(Stop::Length), Just(Stop::ToolCalls)];
    let slot = turns(LIMITS).slot;
    let text = prop_oneof![
        6 => Just(String::new()),
        3 => Just("text".to_owned()),
        1 => Just(slot.opening()),
        1 => Just(slot.opening() + "a"),
    ];
    (calls, stop, text).prop_map(|(calls, stop, text)| {
        let calls: Vec<_> = calls
            .iter()
            .map(|(id, name, arguments)| (id.as_str(), *name, *arguments))
            .collect();
        Ok(Reply {
            stop,
            text,
            ..raw_calls(&calls)
        })
    })
}

proptest! {
    #[test]
    fn whatever_a_model_does_the_loop_ends(
        replies in proptest::collection::vec(any_reply(), 1..8),
        turns_allowed in 0u32..8,
        calls_per_turn in 0u32..4,
        window in 300u64..3000,
    ) {
        let limits = TurnLimits { turns: turns_allowed, calls_per_turn, window, ..LIMITS };
        let mut conversation = turns(limits).begin(Host.tools());
        let (mut event, mut asked) = (Event::Start, 0);
        let finished = loop {
            event = match conversation.step(event) {
                Effect::Ask(request) => {
                    asked += 1;
                    prop_assert!(request.bytes() / 4 + limits.max_output_tokens <= window);
                    prop_assert!(request.no_calls || asked < turns_allowed);
                    Event::Replied(replies[(asked as usize - 1) % replies.len()].clone())
                }
                Effect::Call(calls) => {
                    prop_assert!(calls.make.len() as u64 <= u64::from(calls_per_turn));
                    Event::Called(block(call(&calls, &Host, &Notes::default())))
                }
                Effect::Finish(finished) => break finished,
            };
        };
        prop_assert!(asked <= turns_allowed);
        prop_assert_eq!(finished.turns, asked);
        let said = conversation.messages();
        for (at, message) in said.iter().enumerate() {
            let Message::Assistant { calls, .. } = message else { continue };
            if calls.is_empty() { continue; }
            let Some(Message::Tools(replies)) = said.get(at + 1) else { panic!("{said:?}") };
            let ids = |ids: &mut dyn Iterator<Item = &String>| ids.cloned().collect::<Vec<_>>();
            let called = ids(&mut calls.iter().map(|call| &call.id));
            prop_assert_eq!(&called, &ids(&mut replies.iter().map(|reply| &reply.call_id)));
            let unlike: std::collections::HashSet<_> = called.iter().collect();
            prop_assert_eq!(unlike.len(), called.len());
        }
    }
}

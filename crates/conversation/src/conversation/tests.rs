//! Tests the rules that depend on a conversation's `TurnPolicy`, with one table per rule.

use insta::assert_snapshot;
use serde_json::json;
use spillgate_llm::{ErrorKind, LlmError, Scripted};

use super::*;
use crate::slot::Nonce;
use crate::texts::DROPPED;

/// Counts each byte as a token.
#[derive(Debug)]
struct Bytes;

impl TokenCounter for Bytes {
    fn count(&self, text: &str) -> u64 {
        text.len() as u64
    }

    fn exceeds(&self, text: &str, limit: u64) -> bool {
        self.count(text) > limit
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({}),
    }
}

/// Returns the two policies in use: the policy of a [`crate::run`] loop, and that of an agent.
fn policies() -> [(&'static str, TurnPolicy); 2] {
    let of_a_loop = TurnPolicy {
        reminds_once: true,
        keeps_window: false,
        last_tools: None,
        reminder: |_, why| format!("again, {why}"),
        last_turn: |_, why| format!("last, {}", why.unwrap_or("go")),
    };
    let of_an_agent = TurnPolicy {
        reminds_once: false,
        keeps_window: true,
        last_tools: Some(vec![tool("done")]),
        ..of_a_loop.clone()
    };
    [("loop", of_a_loop), ("agent", of_an_agent)]
}

fn begun(policy: &TurnPolicy, turns: u32, window: u64) -> Conversation {
    let limits = TurnLimits {
        turns,
        calls_per_turn: 4,
        max_output_tokens: 100,
        window: window + 100,
    };
    let turns = Turns {
        system: String::new(),
        messages: vec![Message::User("task".to_owned())],
        slot: Slot::new(Nonce::of([1; 16])),
        limits,
        counter: Arc::new(Bytes),
    };
    Conversation::new(turns, policy.clone(), vec![tool("look")])
}

/// Adds a reply of the model with this text and a call of `look` for each of `replies`, then adds
/// `replies`. The flag of a reply says whether it names a handle.
fn looks(conversation: &mut Conversation, text: &str, replies: &[(&str, bool)]) {
    let ids = (1..=replies.len()).map(|at| at.to_string());
    let call = |id: String| ToolCall {
        id,
        name: "look".to_owned(),
        arguments: "{\"long\": \"arguments\"}".to_owned(),
    };
    let calls: Vec<ToolCall> = ids.map(call).collect();
    conversation.hear(text.to_owned(), &calls);
    let told = calls.into_iter().zip(replies);
    let told = told.map(|(call, (text, is_handle))| {
        let reply = ToolReply {
            call_id: call.id,
            text: (*text).to_owned(),
            is_error: false,
        };
        (reply, *is_handle)
    });
    let tokens = replies.iter().map(|(text, _)| text.len() as u64).sum();
    conversation.guard.add(tokens);
    conversation.answered(told);
}

/// Describes a request: its messages, and the tools that the model may call or that are only
/// listed.
fn sent(request: Option<Request>) -> String {
    let Some(request) = request else {
        return "nothing".to_owned();
    };
    let short = |text: &str| match text {
        DROPPED => "dropped".to_owned(),
        text => text.chars().take(12).collect(),
    };
    let messages = request.messages.iter().map(|message| match message {
        Message::User(text) => text.clone(),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| call.arguments.len().to_string());
            let calls: Vec<String> = calls.collect();
            format!("model {} ({})", short(text), calls.join(" "))
        }
        Message::Tools(replies) => {
            let replies: Vec<String> = replies.iter().map(|reply| short(&reply.text)).collect();
            format!("tools {}", replies.join(", "))
        }
    });
    let messages: Vec<String> = messages.collect();
    let tools: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
    let how = if request.no_calls {
        "listed"
    } else {
        "may call"
    };
    format!("{} [{how}: {}]", messages.join(" | "), tools.join(" "))
}

/// Returns the requests that are made under each policy, one line each.
fn rows(row: impl Fn(&TurnPolicy) -> Vec<String>) -> String {
    let policies = policies();
    let all = policies
        .iter()
        .map(|(name, policy)| format!("{name}:\n{}", row(policy).join("\n")));
    all.collect::<Vec<_>>().join("\n")
}

fn too_long() -> LlmError {
    LlmError::new(ErrorKind::ContextLength, Scripted::name(), "too long")
}

#[test]
fn how_often_a_model_is_reminded() {
    let told = rows(|policy| {
        let mut conversation = begun(policy, 9, 1000);
        let mut asked = vec![sent(conversation.ask(None, false))];
        for text in ["a", " "] {
            conversation.hear(text.to_owned(), &[]);
            asked.push(sent(conversation.ask(Some("why"), false)));
        }
        asked
    });
    assert_snapshot!(told, @"
    loop:
    task [may call: look]
    task | model a () | again, why [may call: look]
    nothing
    agent:
    task [may call: look]
    task | model a () | again, why [may call: look]
    task | model a () | again, why | again, why [may call: look]
    ");
}

#[test]
fn what_may_be_called_on_the_last_turn() {
    let told = rows(|policy| {
        let mut told = Vec::new();
        for (turns, is_last) in [(2, false), (9, true)] {
            let mut conversation = begun(policy, turns, 1000);
            conversation.ask(None, false);
            looks(&mut conversation, "", &[("seen", false)]);
            told.push(sent(conversation.ask(None, is_last)));
            let said = conversation.read(Scripted::calls(&[("look", json!({}))]));
            let refused = said.unwrap().calls.refused;
            told.extend(refused.into_iter().map(|(_, reply)| reply.text));
            told.push(sent(conversation.ask(Some("why"), false)));
        }
        told.push(sent(begun(policy, 1, 1000).ask(None, false)));
        told
    });
    assert_snapshot!(told, @"
    loop:
    task | model  (21) | tools seen | last, go [listed: look]
    nothing
    task | model  (21) | tools seen | last, go [listed: look]
    nothing
    task | last, go [listed: ]
    agent:
    task | model  (21) | tools seen | last, go [may call: done]
    There is no tool 'look'; there are done.
    nothing
    task | model  (21) | tools seen | last, go [may call: done]
    There is no tool 'look'; there are done.
    nothing
    task | last, go [may call: done]
    ");
}

#[test]
fn what_is_left_out_of_a_full_window() {
    let told = rows(|policy| {
        let row = |window| {
            let mut conversation = begun(policy, 9, window);
            conversation.ask(None, false);
            let (large, handle) = ("large ".repeat(20), "handle ".repeat(10));
            looks(
                &mut conversation,
                "some words",
                &[(&large, false), (&handle, true), ("small", false)],
            );
            let asked = sent(conversation.ask(None, false));
            let left_out = conversation.take_left_out();
            let left_out = left_out
                .iter()
                .map(|one| format!("{} of {}", one.call_id, one.turn));
            format!(
                "{window}: {asked} without {:?}",
                left_out.collect::<Vec<_>>()
            )
        };
        [1000, 300, 250, 180, 170, 100]
            .into_iter()
            .map(row)
            .collect()
    });
    assert_snapshot!(told, @r#"
    loop:
    1000: task | model some words (21 21 21) | tools large large , handle handl, small [may call: look] without []
    300: task | model some words (21 21 21) | tools dropped, handle handl, small | last, go [listed: look] without ["1 of 1"]
    250: task | model some words (21 21 21) | tools dropped, handle handl, small | last, go [listed: ] without ["1 of 1"]
    180: task | model some words (21 21 21) | tools dropped, handle handl, small | last, go [listed: ] without ["1 of 1"]
    170: task | model some words (21 21 21) | tools dropped, handle handl, small | last, go [listed: ] without ["1 of 1"]
    100: task | model some words (21 21 21) | tools dropped, handle handl, small | last, go [listed: ] without ["1 of 1"]
    agent:
    1000: task | model some words (21 21 21) | tools large large , handle handl, small [may call: look] without []
    300: task | model some words (21 21 21) | tools dropped, handle handl, small | last, go [may call: done] without ["1 of 1"]
    250: task | model  (2 2 2) | tools dropped, handle handl, small | last, go [may call: done] without ["1 of 1"]
    180: task | model  (2 2 2) | tools dropped, dropped, small | last, go [may call: done] without ["1 of 1", "2 of 1"]
    170: task | last, go [may call: done] without ["1 of 1", "2 of 1", "3 of 1"]
    100: task | last, go [may call: done] without ["1 of 1", "2 of 1", "3 of 1"]
    "#);
}

#[test]
fn whether_a_reason_has_room() {
    let told = rows(|policy| {
        let row = |window| {
            let mut conversation = begun(policy, 9, window);
            conversation.ask(None, false);
            conversation.hear("words".to_owned(), &[]);
            format!(
                "{window}: {}",
                sent(conversation.ask(Some("a long reason"), false))
            )
        };
        [60, 50, 40, 30].into_iter().map(row).collect()
    });
    assert_snapshot!(told, @"
    loop:
    60: task | model words () | again, a long reason [may call: look]
    50: task | model words () | again, a long reason [may call: look]
    40: task | model words () | last, a long reason [listed: ]
    30: task | model words () | last, a long reason [listed: ]
    agent:
    60: task | model words () | again, a long reason [may call: look]
    50: task | model words () | last, a long reason [may call: done]
    40: task | last, a long reason [may call: done]
    30: task | last, go [may call: done]
    ");
}

#[test]
fn what_a_provider_calls_too_long() {
    let large = "large ".repeat(20);
    let told = rows(|policy| {
        let row = |replies: &[(&str, bool)]| {
            let mut conversation = begun(policy, 9, 9000);
            conversation.ask(None, false);
            looks(
                &mut conversation,
                "",
                &[("small", false), (&large, false), (&large, false)],
            );
            conversation.ask(None, false);
            looks(&mut conversation, "", replies);
            assert!(conversation.shorten(&too_long()));
            let asked = sent(conversation.ask(None, false));
            assert!(!conversation.shorten(&too_long()), "once");
            asked
        };
        vec![
            row(&[("small", false), (&large, false)]),
            row(&[("small", false)]),
            row(&[("handle", true)]),
        ]
    });
    assert_snapshot!(told, @"
    loop:
    task | model  (21 21 21) | tools small, large large , large large  | model  (21 21) | tools small, dropped | last, go [listed: look]
    task | model  (21 21 21) | tools small, dropped, dropped | model  (21) | tools small | last, go [listed: look]
    task | model  (21 21 21) | tools small, dropped, dropped | model  (21) | tools handle | last, go [listed: look]
    agent:
    task | model  (21 21 21) | tools small, large large , large large  | model  (21 21) | tools dropped, dropped | last, go [may call: done]
    task | model  (21 21 21) | tools small, large large , large large  | model  (21) | tools dropped | last, go [may call: done]
    task | model  (21 21 21) | tools small, large large , large large  | model  (21) | tools handle | last, go [may call: done]
    ");
    let mut silent = begun(&policies()[0].1, 9, 9000);
    silent.ask(None, false);
    assert!(!silent.shorten(&too_long()), "nothing to leave out");
}

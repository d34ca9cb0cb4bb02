//! What do several servers say of themselves together?

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use spillgate_wire::{LinkError, messages};

use super::{Question, all, result_frame};
use crate::error::{method_not_found, nobody_answered};
use crate::session::Session;
use crate::upstream::Upstream;

/// The greeting of the modern generation.
const DISCOVER: &str = "server/discover";
/// Where that has who the server is.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The greeting of all servers that answer: what any of them can do, in the
/// oldest protocol version that one of them speaks.
pub(super) async fn greet(session: &Arc<Session>, question: &Question) -> Vec<u8> {
    let (mut greetings, mut refused) = (Vec::new(), Vec::new());
    let answers = asked(session, question).await;
    let is_any_legacy = answers
        .iter()
        .any(|(upstream, _)| is_legacy(session, upstream));
    for (upstream, answer) in answers {
        let frame = match answer {
            Ok(frame) => frame,
            Err(error) => {
                tracing::warn!(server = upstream.name(), %error, "left out");
                refused.push(format!("`{}` {error}", upstream.name()));
                continue;
            }
        };
        let answers = messages(&frame);
        let result = answers.first().and_then(|answer| answer.result);
        match result.and_then(|result| serde_json::from_str(result.get()).ok()) {
            Some(Value::Object(greeting)) => greetings.push((upstream.name().to_owned(), greeting)),
            _ => refused.push(format!("`{}` refused", upstream.name())),
        }
    }
    match greetings.is_empty() {
        // As each of them says: clients that speak both generations fall back.
        true if question.method == DISCOVER && is_any_legacy => {
            method_not_found(&question.id, &question.method)
        }
        true => nobody_answered(&question.id, &question.method, &refused.join("; ")),
        false => result_frame(&question.id, &merged(greetings).to_string()),
    }
}

/// What each server says. If any of them is modern, the gateway is: then those
/// that do not know `server/discover` are asked again, and bridges answer.
async fn asked(
    session: &Arc<Session>,
    question: &Question,
) -> Vec<(Arc<Upstream>, Result<Bytes, LinkError>)> {
    let mut answers = all(session, question).await;
    let greets = |answer: &Result<Bytes, LinkError>| match answer {
        Ok(frame) => messages(frame)
            .first()
            .is_some_and(|one| one.result.is_some()),
        Err(_) => false,
    };
    if question.method == DISCOVER && answers.iter().any(|(_, answer)| greets(answer)) {
        let again = answers.iter_mut().map(|(upstream, answer)| async {
            if !greets(answer) && is_legacy(session, upstream) {
                let (method, params) = (&question.method, &question.params);
                *answer = session.ask(upstream, method, params).await;
            }
        });
        join_all(again).await;
    }
    answers
}

fn is_legacy(session: &Session, upstream: &Upstream) -> bool {
    session.hub().eras.of(upstream.name()).modern == Some(false)
}

fn merged(greetings: Vec<(String, Map<String, Value>)>) -> Value {
    let mut whole = Map::new();
    let mut instructions = Vec::new();
    for (server, greeting) in greetings {
        if let Some(text) = greeting.get("instructions").and_then(Value::as_str) {
            instructions.push(format!("# {server}\n{text}"));
        }
        for (member, value) in greeting {
            match (&*member, whole.get_mut(&member)) {
                ("protocolVersion", Some(version)) if value.as_str() < version.as_str() => {
                    *version = value;
                }
                ("ttlMs", Some(least)) if value.as_u64() < least.as_u64() => *least = value,
                // What one of them does not want shared, is not.
                ("cacheScope", Some(scope)) if value == "private" => *scope = value,
                ("capabilities", Some(known)) => join(known, value),
                ("supportedVersions", Some(Value::Array(known))) => {
                    let theirs = value.as_array().cloned().unwrap_or_default();
                    known.retain(|version| theirs.contains(version));
                }
                (_, Some(_)) => {}
                (_, None) => drop(whole.insert(member, value)),
            }
        }
    }
    if let Some(capabilities) = whole.get_mut("capabilities").and_then(Value::as_object_mut) {
        // Another configuration may bring other servers.
        for kind in ["tools", "prompts", "resources"] {
            if let Some(Value::Object(of_kind)) = capabilities.get_mut(kind) {
                of_kind.insert("listChanged".to_owned(), true.into());
            }
        }
    }
    let ourselves = json!({"name": "spillgate", "version": env!("CARGO_PKG_VERSION")});
    // The modern generation has it in `_meta`.
    match whole.contains_key("supportedVersions") {
        true => drop(whole.insert("_meta".to_owned(), json!({SERVER_INFO: ourselves}))),
        false => drop(whole.insert("serverInfo".to_owned(), ourselves)),
    }
    if !instructions.is_empty() {
        whole.insert("instructions".to_owned(), instructions.join("\n\n").into());
    }
    whole.into()
}

/// What either of two can do.
fn join(one: &mut Value, other: Value) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (member, value) in other {
                match one.get_mut(&member) {
                    Some(known) => join(known, value),
                    None => drop(one.insert(member, value)),
                }
            }
        }
        (Value::Bool(one), Value::Bool(other)) => *one |= other,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn greetings_become_one() {
        let of = |name: &str, greeting: Value| match greeting {
            Value::Object(members) => (name.to_owned(), members),
            _ => unreachable!(),
        };
        let merged = merged(vec![
            of(
                "a",
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": false}, "x": {"y": 1}}, "serverInfo": {"name": "A"}, "instructions": "Do."}),
            ),
            of(
                "b",
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}, "prompts": {}}, "instructions": "Do not.", "extra": 1.5}),
            ),
        ]);
        assert_snapshot!(serde_json::to_string_pretty(&merged).unwrap(), @r##"
        {
          "capabilities": {
            "prompts": {
              "listChanged": true
            },
            "tools": {
              "listChanged": true
            },
            "x": {
              "y": 1
            }
          },
          "extra": 1.5,
          "instructions": "# a\nDo.\n\n# b\nDo not.",
          "protocolVersion": "2025-06-18",
          "serverInfo": {
            "name": "spillgate",
            "version": "0.1.0"
          }
        }
        "##);
    }
}

//! What do several servers say of themselves together?

use std::sync::Arc;

use serde_json::{Map, Value, json};
use spillgate_wire::messages;

use super::{Question, all, result_frame};
use crate::error::nobody_answered;
use crate::session::Session;

/// The greeting of all servers that answer: what any of them can do, in the
/// oldest protocol version that one of them speaks.
pub(super) async fn greet(session: &Arc<Session>, question: &Question) -> Vec<u8> {
    let mut greetings = Vec::new();
    let mut refused = Vec::new();
    for (upstream, answer) in all(session, question).await {
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
        true => nobody_answered(&question.id, &question.method, &refused.join("; ")),
        false => result_frame(&question.id, &merged(greetings).to_string()),
    }
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
    whole.insert(
        "serverInfo".to_owned(),
        json!({"name": "spillgate", "version": env!("CARGO_PKG_VERSION")}),
    );
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

//! Merges the greetings of several servers (their answers to `initialize` or `server/discover`)
//! into one greeting for the client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use spillgate_mcp::meta::SERVER_INFO;
use spillgate_mcp::{ProtocolVersion, frame, messages, object};
use spillgate_transport::Message;
use tokio::time::timeout;

use super::fetch::{SILENT, keep};
use super::standing::Awaited;
use super::{Question, faults};
use crate::error::{method_not_found, nobody_answered};
use crate::session::Session;
use crate::upstream::{Greeted, Upstream};

/// The greeting of the legacy generation.
const INITIALIZE: &str = "initialize";
/// The greeting of the modern generation.
const DISCOVER: &str = "server/discover";

type Greeting = Map<String, Value>;

/// The greetings of all servers.
#[derive(Default)]
struct Greetings {
    /// The greetings by server name.
    said: Vec<(String, Greeting)>,
    /// The servers without a greeting, each with the reason.
    missing: Vec<(String, String)>,
}

/// Merges the greetings of all servers. For a server that has not answered yet, the last known
/// greeting is used. The result contains the capabilities of all servers, and the oldest protocol
/// version among their greetings.
pub(super) async fn initialize(session: &Arc<Session>, question: &Question) -> Vec<u8> {
    let all = session.upstreams.all();
    for upstream in all.iter() {
        upstream.greet_with(message_of(question));
        keep(session, upstream, Duration::ZERO);
    }
    let asked: Value = serde_json::from_str(&question.params).unwrap_or_default();
    let asked = asked["protocolVersion"].as_str();
    let version = asked.filter(|version| ProtocolVersion::HANDSHAKES.contains(version));
    let version = version.unwrap_or(ProtocolVersion::LEGACY);
    let greeted = all
        .iter()
        .map(|upstream| greeted(session, upstream, version));
    let greeted = join_all(greeted).await;
    let mut greetings = Greetings::default();
    for (upstream, (said, missing)) in all.iter().zip(greeted) {
        let name = || upstream.name().to_owned();
        greetings.said.extend(said.map(|said| (name(), said)));
        if let Some(why) = missing {
            session.note_fault(upstream, &why).await;
            greetings.missing.push((name(), why));
        }
    }
    let ours = json!({"protocolVersion": version, "capabilities": {}});
    let merged = merged(greetings, ours);
    frame::line(frame::response(&question.id, merged.to_string()))
}

/// Returns a server's greeting, or the reason why it is missing. If the last greeting of the server
/// is known, does not wait for a new one.
async fn greeted(
    session: &Session,
    upstream: &Upstream,
    version: &str,
) -> (Option<Greeting>, Option<String>) {
    let hub = session.hub();
    let known = hub.known().greeting(upstream.name(), INITIALIZE);
    let known = known.map(|mut known| {
        // The last greeting may have answered a client that requested another version. Its version
        // is used only if it is older than the version requested now.
        known.retain(|member, value| {
            member != "protocolVersion" || value.as_str().is_some_and(|own| own < version)
        });
        known
    });
    let wait = hub.gateway().several.start_wait;
    let wait = hub.known().patience(upstream.name(), INITIALIZE, wait);
    let patience = match known {
        Some(_) => Duration::ZERO,
        None => upstream.notes.standing.patience(Awaited::Start, wait),
    };
    match timeout(patience, upstream.notes.greeted()).await {
        Ok(Greeted::Up(said)) => (Some((*said).clone()), None),
        Ok(Greeted::Failed(why)) => (known, Some(why)),
        Ok(Greeted::Waits) | Err(_) if known.is_some() => (known, None),
        Ok(Greeted::Waits) | Err(_) => {
            hub.known().note_silence(upstream.name(), INITIALIZE);
            (None, Some(SILENT.to_owned()))
        }
    }
}

fn message_of(question: &Question) -> Message {
    let Question {
        id, method, params, ..
    } = question;
    let frame = frame::line(frame::request(id, method, Some(params)));
    Message::notice(frame.into(), Some(method))
}

/// Merges the `server/discover` answers of all servers.
pub(super) async fn discover(session: &Arc<Session>, question: &Question) -> Vec<u8> {
    let (mut greetings, mut refused) = (Greetings::default(), Vec::new());
    let answers = asked(session, question).await;
    let is_any_legacy = answers
        .iter()
        .any(|(upstream, _)| is_legacy(session, upstream));
    for (upstream, answer) in answers {
        let name = upstream.name().to_owned();
        match answer {
            Answer::Said(frame) => match greeting_in(&frame) {
                Some(greeting) => greetings.said.push((name, greeting)),
                None => refused.push(format!("`{name}` refused")),
            },
            Answer::Known(greeting) => greetings.said.push((name, greeting)),
            Answer::Missing(why) => {
                let asker = session.asker();
                if let Some(upstream) = asker.upstreams.named(&name) {
                    asker.note_fault(&upstream, &why).await;
                }
                greetings.missing.push((name, why));
            }
        }
    }
    let is_silent = greetings.missing.iter().any(|(_, why)| why == SILENT);
    match greetings.said.is_empty() {
        // Answer like the legacy servers: a client that speaks both generations then falls back to
        // `initialize`.
        true if is_any_legacy => method_not_found(&question.id, &question.method),
        true if !is_silent => {
            let missing = greetings.missing.iter();
            refused.extend(missing.map(|(name, why)| format!("`{name}` {why}")));
            nobody_answered(&question.id, &question.method, &refused.join("; "))
        }
        _ => {
            let ours = json!({
                "resultType": "complete",
                "supportedVersions": [ProtocolVersion::MODERN],
                "capabilities": {},
                "ttlMs": 0,
                "cacheScope": "private",
            });
            frame::line(frame::response(
                &question.id,
                merged(greetings, ours).to_string(),
            ))
        }
    }
}

/// The outcome of `server/discover` at a server.
enum Answer {
    Said(Bytes),
    /// The last known answer of a server that has not answered yet.
    Known(Greeting),
    Missing(String),
}

/// Sends `server/discover` to every server. If any server is modern, the gateway counts as modern.
/// Legacy servers are then asked once more, and their bridges answer.
async fn asked(session: &Arc<Session>, question: &Question) -> Vec<(Arc<Upstream>, Answer)> {
    let all = session.upstreams.all();
    let asked = all.iter().map(|upstream| async {
        let answer = ask(session, upstream, question).await;
        (Arc::clone(upstream), answer)
    });
    let mut answers = join_all(asked).await;
    let greets = |answer: &Answer| match answer {
        Answer::Said(frame) => greeting_in(frame).is_some(),
        Answer::Known(_) => true,
        Answer::Missing(_) => false,
    };
    if answers.iter().any(|(_, answer)| greets(answer)) {
        let wait = session.hub().gateway().several.start_wait;
        let again = answers.iter_mut().map(|(upstream, answer)| async {
            if !greets(answer) && is_legacy(session, upstream) {
                let (method, params) = (&question.method, &question.params);
                let asked = session.ask(upstream, method, params);
                let patience = upstream.notes.standing.patience(Awaited::Start, wait);
                *answer = match timeout(patience, asked).await {
                    Ok(Ok(frame)) => Answer::Said(frame),
                    Ok(Err(error)) => Answer::Missing(faults::why(&error)),
                    Err(_) => Answer::Missing(SILENT.to_owned()),
                };
            }
        });
        join_all(again).await;
    }
    answers
}

async fn ask(session: &Arc<Session>, upstream: &Arc<Upstream>, question: &Question) -> Answer {
    let hub = session.hub();
    let asker = session.asker();
    let standing = asker.upstreams.named(upstream.name());
    let standing = standing.as_ref().unwrap_or(upstream);
    let known = hub.known().greeting(upstream.name(), DISCOVER);
    let wait = hub.gateway().several.start_wait;
    let wait = hub.known().patience(upstream.name(), DISCOVER, wait);
    let patience = match known {
        Some(_) => Duration::ZERO,
        None => standing.notes.standing.patience(Awaited::Start, wait),
    };
    let (asks, of, params) = (
        Arc::clone(session),
        Arc::clone(upstream),
        question.params.clone(),
    );
    // Runs in its own task, so that a late answer is also recorded.
    let asked = tokio::spawn(async move {
        let answer = asks.ask(&of, DISCOVER, &params).await;
        if let Ok(frame) = &answer
            && let Some(greeting) = greeting_in(frame)
        {
            let known = asks.hub().known();
            known.learn_greeting(of.name(), DISCOVER, &greeting);
        }
        answer
    });
    match timeout(patience, asked).await {
        Ok(Ok(Ok(frame))) => {
            standing.notes.standing.came(Awaited::Start);
            Answer::Said(frame)
        }
        Ok(Ok(Err(error))) => Answer::Missing(faults::why(&error)),
        Ok(Err(_)) | Err(_) => {
            if let Some(known) = known {
                return Answer::Known(known);
            }
            hub.known().note_silence(upstream.name(), DISCOVER);
            Answer::Missing(SILENT.to_owned())
        }
    }
}

/// Returns the greeting in a response; `None` if the response is an error.
fn greeting_in(frame: &[u8]) -> Option<Greeting> {
    let answers = messages(frame);
    answers.first()?.result.and_then(object)
}

fn is_legacy(session: &Session, upstream: &Upstream) -> bool {
    session.hub().generations.is_legacy_only(upstream.name())
}

/// Merges all greetings. `ours` contains the required members and is used for those that no server
/// sent.
fn merged(greetings: Greetings, ours: Value) -> Value {
    let mut whole = Map::new();
    let mut instructions = Vec::new();
    for (server, greeting) in greetings.said {
        if let Some(text) = greeting.get("instructions").and_then(Value::as_str) {
            instructions.push(format!("# {server}\n{text}"));
        }
        for (member, mut value) in greeting {
            if !is_sound(&member, &mut value) {
                tracing::warn!(%server, %member, "a server's answer to `initialize` or `server/discover` has a member of the wrong type; the member is left out");
                continue;
            }
            match (&*member, whole.get_mut(&member)) {
                ("protocolVersion", Some(version)) if value.as_str() < version.as_str() => {
                    *version = value;
                }
                ("ttlMs", Some(least)) if value.as_u64() < least.as_u64() => *least = value,
                // If one server marks its answer as private, the merged answer is private.
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
    if let Value::Object(ours) = ours {
        for (member, value) in ours {
            whole.entry(member).or_insert(value);
        }
    }
    if let Some(Value::Object(capabilities)) = whole.get_mut("capabilities") {
        // Lists change when a server joins later or a new configuration adds one, so clients must
        // expect `list_changed`.
        for kind in ["tools", "prompts", "resources"] {
            let of_kind = capabilities.entry(kind).or_insert_with(|| json!({}));
            if !of_kind.is_object() {
                *of_kind = json!({});
            }
            of_kind["listChanged"] = true.into();
        }
        // The gateway reports missing servers as log messages, so it needs the `logging`
        // capability.
        capabilities.entry("logging").or_insert_with(|| json!({}));
    }
    let ourselves = json!({"name": "spillgate", "version": env!("CARGO_PKG_VERSION")});
    // In the modern generation, `_meta` contains the server's name and version.
    match whole.contains_key("supportedVersions") {
        true => drop(whole.insert("_meta".to_owned(), json!({SERVER_INFO: ourselves}))),
        false => drop(whole.insert("serverInfo".to_owned(), ourselves)),
    }
    instructions.extend(faults::notice(&greetings.missing));
    if !instructions.is_empty() {
        whole.insert("instructions".to_owned(), instructions.join("\n\n").into());
    }
    whole.into()
}

/// Returns whether a member of a greeting has the type that clients require. Without this check,
/// one server's mistake could make the whole gateway unusable. Capabilities of a wrong type are
/// removed.
fn is_sound(member: &str, value: &mut Value) -> bool {
    if member == "capabilities"
        && let Value::Object(all) = value
    {
        all.retain(|_, capability| capability.is_object());
    }
    match member {
        "capabilities" => value.is_object(),
        "protocolVersion" | "instructions" | "cacheScope" => value.is_string(),
        "supportedVersions" => value.is_array(),
        "ttlMs" => value.is_u64(),
        _ => true,
    }
}

/// Adds the capabilities of a second server to `one`.
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
        let said = vec![
            of(
                "a",
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": false}, "x": {"y": 1}}, "serverInfo": {"name": "A"}, "instructions": "Do."}),
            ),
            of(
                "b",
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}, "prompts": {}}, "instructions": "Do not.", "extra": 1.5}),
            ),
            // Members of wrong types, which clients could not parse, are omitted.
            of(
                "wrong",
                json!({"protocolVersion": 7, "capabilities": {"completions": "yes", "y": {}}, "instructions": {}}),
            ),
            of(
                "mute",
                json!({"protocolVersion": null, "capabilities": "none"}),
            ),
        ];
        let missing = vec![("c".to_owned(), SILENT.to_owned())];
        let ours = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        let merged = merged(Greetings { said, missing }, ours);
        assert_snapshot!(serde_json::to_string_pretty(&merged).unwrap(), @r##"
        {
          "capabilities": {
            "logging": {},
            "prompts": {
              "listChanged": true
            },
            "resources": {
              "listChanged": true
            },
            "tools": {
              "listChanged": true
            },
            "x": {
              "y": 1
            },
            "y": {}
          },
          "extra": 1.5,
          "instructions": "# a\nDo.\n\n# b\nDo not.\n\n[spillgate] Not available yet: `c` (has not answered yet). What they offer is listed once they answer.",
          "protocolVersion": "2025-06-18",
          "serverInfo": {
            "name": "spillgate",
            "version": "0.1.0"
          }
        }
        "##);
    }
}

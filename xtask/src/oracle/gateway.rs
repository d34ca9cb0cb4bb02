//! Collects what the gateway sends: for results of every kind under each profile, for look-ups of
//! the stored results, and for broken frames in both directions.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::commands::PROFILES;
use super::inputs::Input;
use super::sides::{Said, Side};
use crate::attack::{Chance, PLAY, Session, frame, handles};

/// Number of frames between two requests that must be answered.
const BATCH: usize = 500;

/// Starts a session with one build, in front of the server of the attacks.
fn session(side: &Side<'_>, words: &[&str]) -> Result<Session> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let log = side.room.work().join("received");
    let mut command = side.command(&[&["mcp"], words, &["--"]].concat());
    command.arg(own).arg("attack-peer").arg(log);
    Session::start(&side.room, command)
}

/// Returns the results that a server may make from an input.
fn results(input: &Input) -> Vec<(&'static str, Value)> {
    let text = String::from_utf8_lossy(&input.bytes).into_owned();
    let block = |text: &str| json!({"type": "text", "text": text});
    let half = text.floor_char_boundary(text.len() / 2);
    let mut all = vec![
        ("text", json!({"content": [block(&text)]})),
        ("error", json!({"content": [block(&text)], "isError": true})),
        (
            "blocks",
            json!({"content": [block(&text[..half]), block(&text[half..])], "_meta": {"k": 1}}),
        ),
        (
            "resource",
            json!({"content": [
                block("see the resource"),
                {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": text}},
                {"type": "resource_link", "uri": "file:///b", "name": "b"},
            ]}),
        ),
    ];
    match serde_json::from_str::<Value>(&text) {
        Ok(value) => {
            let object = if value.is_object() { value } else { json!({"result": value}) };
            all.push(("structured", json!({"content": [block(&object.to_string())], "structuredContent": object})));
            all.push(("structured-only", json!({"content": [], "structuredContent": object})));
        }
        Err(_) => all.push(("image", json!({"content": [
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo".repeat(text.len() / 40)},
            block("a picture"),
        ]}))),
    }
    all
}

/// Returns the messages that the client gets for each result, and the answers to look-ups.
pub(crate) fn calls(side: &mut Side<'_>, inputs: &[Input]) -> Result<Vec<Said>> {
    let mut said = Vec::new();
    for profile in PROFILES {
        let mut session = session(side, &["--profile", profile, "--max-tokens", "400"])?;
        let heard = session.ask("tools/list", &json!({}))?;
        said.push(told(side, &format!("{profile} tools/list"), &heard.lines));
        for input in inputs {
            for (form, result) in results(input) {
                side.room.go_on()?;
                let file = side.file("result", result.to_string().as_bytes())?;
                let params = json!({"name": "file", "arguments": {"file": file}});
                let heard = session.ask("tools/call", &params)?;
                let handle = handles(&heard.lines.concat()).pop();
                let name = format!("{profile} {form}");
                said.push(told(side, &name, &heard.lines));
                if let Some(handle) = handle.filter(|_| matches!(profile, "preview" | "handle")) {
                    look(side, &mut session, &handle, &name, &mut said)?;
                }
            }
        }
        // Dropping the session kills the gateway. That does not matter, because only its output
        // counts here.
        drop(session);
    }
    Ok(said)
}

/// Calls every look-up tool on a handle, and reads the stored output as an MCP resource.
fn look(
    side: &mut Side<'_>,
    session: &mut Session,
    handle: &str,
    name: &str,
    said: &mut Vec<Said>,
) -> Result<()> {
    let tools = [
        (
            "spillgate_read",
            json!({"handle": handle, "lines": 5, "max_tokens": 200}),
        ),
        (
            "spillgate_grep",
            json!({"handle": handle, "pattern": "(?i)item|error", "max_tokens": 200}),
        ),
        (
            "spillgate_query",
            json!({"handle": handle, "filter": ".", "max_tokens": 150}),
        ),
        (
            "spillgate_search",
            json!({"handle": handle, "words": "error name item", "max_tokens": 200}),
        ),
    ];
    for (tool, arguments) in tools {
        let heard = session.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        said.push(told(side, &format!("{name} {tool}"), &heard.lines));
    }
    Ok(())
}

fn told(side: &mut Side<'_>, asked: &str, lines: &[Vec<u8>]) -> Said {
    Said {
        asked: asked.to_owned(),
        text: side.said(&lines.join(&b'\n')),
    }
}

/// Sends `count` broken frames, half of them from the server. Returns the frames that arrived, in
/// no particular order, because the gateway answers concurrently.
pub(crate) fn frames(side: &mut Side<'_>, count: usize, chance: &mut Chance) -> Result<Vec<Said>> {
    let mut session = session(side, &[])?;
    let mut came: [Vec<Vec<u8>>; 2] = Default::default();
    for first in (0..count).step_by(BATCH) {
        side.room.go_on()?;
        let frames: Vec<Vec<u8>> = (first..first + BATCH)
            .map(|number| frame(number, chance))
            .collect();
        let mut all = frames.join(&b'\n');
        all.push(b'\n');
        let is_from_server = first * 2 < count;
        let heard = if is_from_server {
            session.ask(PLAY, &json!({"file": side.file("play", &all)?}))?
        } else {
            session.send(&all)?;
            session.ask("attack/mark", &json!({}))?
        };
        anyhow::ensure!(
            heard.answer.is_some(),
            "a request after {first} frames was not answered"
        );
        came[usize::from(!is_from_server)].extend(heard.lines);
    }
    // Collects answers that arrive late.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let heard = session.ask("attack/mark", &json!({}))?;
    came[1].extend(heard.lines);
    let received = std::fs::read(side.room.work().join("received"))?;
    let received = received
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let mut said = Vec::new();
    for (asked, mut lines) in ["from the server", "from the client", "received"]
        .into_iter()
        .zip(came.into_iter().chain([received]))
    {
        lines.sort();
        said.extend(
            lines
                .iter()
                .map(|line| told(side, asked, std::slice::from_ref(line))),
        );
    }
    Ok(said)
}

//! The attack that sends broken frames through the gateway, in both directions.
//!
//! Each frame must either arrive byte for byte, or be handled by the gateway, which must then
//! answer every request in it.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::chance::Chance;
use super::peer::PLAY;
use super::room::Room;
use super::session::{Heard, Session, gateway};
use super::table::Outcome;

/// Number of frames between two checks that the gateway still answers.
const BATCH: usize = 1000;

/// How long to wait for answers that arrive after all others.
const MOMENT: Duration = Duration::from_secs(1);

/// Frames that servers and clients send, and parts that the gateway inspects. `@` stands for a
/// number that is unique to each frame, so that an answer to one frame cannot answer another.
const FRAMES: [&str; 18] = [
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a short result"}],"isError":false}}"#,
    r#"{"jsonrpc":"2.0","id":"two","result":{"structuredContent":{"spillgate":"no","rows":[{"n":1.0},{"n":1e2}]},"content":[]}}"#,
    r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no such tool","data":{"name":"\ud83d"}}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":0.5,"total":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"line\u0000with\u001b[31m colours"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a/b%20c"}}"#,
    r#"{"jsonrpc":"2.0","id":@1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":9}}"#,
    r#"{"jsonrpc":"2.0","id":"@2","method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","id":@3,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":@4,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a","deep":[[[[[[]]]]]]},"_meta":{"progressToken":12}}}"#,
    r#"{"jsonrpc":"2.0","id":@5,"method":"resources/read","params":{"uri":"spillgate://session-x/y"}}"#,
    r#"{"jsonrpc":"2.0","id":@6,"method":"prompts/get","params":{"name":"p","arguments":{"$spill":"session-x/y"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12,"reason":"no"}}"#,
    r#"[{"jsonrpc":"2.0","id":@7,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/odd"},{"jsonrpc":"2.0","id":@8,"method":"odd/one"}]"#,
    r#"{"jsonrpc" : "2.0", "id":9223372036854@9,"method":"odd/params","params":[1.0,-0.0,"ü \ud83d\ude00"]}"#,
    "Debugger listening on port 9229",
];

/// Fragments that are hard for parsers.
const PIECES: [&[u8]; 20] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b",",
    b":",
    b"null",
    b"\"id\":1",
    b"\"id\":{}",
    b"1e999",
    b"\\u0000",
    b"\\ud800",
    b"\xff\xfe",
    b"\xe2\x80\xa8",
    b"\0",
    b"\"method\":\"x\"",
    b"\"params\":[]",
    b"\r",
];

/// Attacks both directions, with half of the frames each.
pub(crate) fn attack(room: &Room, count: usize, chance: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let log = room.work().join("received");
    let mut session = Session::start(room, gateway(room, &log)?)?;
    let mut start = None;
    let mut sides = [0; 2];
    let mut owed = Vec::new();
    while outcome.tried < count {
        room.go_on()?;
        let is_from_server = outcome.tried * 2 < count;
        let numbers = outcome.tried..outcome.tried + BATCH;
        let frames: Vec<Vec<u8>> = numbers.map(|number| mutated(number, chance)).collect();
        let is_alive = match is_from_server {
            true => from_server(room, &mut session, &frames, &mut outcome)?,
            false => from_client(&mut session, &log, &frames, &mut owed, &mut outcome)?,
        };
        outcome.tried += BATCH;
        sides[usize::from(!is_from_server)] += BATCH;
        if !is_alive {
            outcome.hangs += 1;
            outcome.note("a question after the frames was not answered".to_owned());
            break;
        }
        // The first frames fill memory pools, so memory is measured after them.
        if outcome.tried >= count / 5 && start.is_none() {
            start = Some(session.memory());
        }
    }
    // Answers to earlier frames may still be on their way.
    thread::sleep(MOMENT);
    from_client(&mut session, &log, &[], &mut owed, &mut outcome)?;
    outcome.memory = start.map(|start| (start, session.memory_after(start)));
    session.end(&mut outcome)?;
    outcome.note(format!(
        "{} from the server, {} from the client",
        sides[0], sides[1]
    ));
    Ok(outcome)
}

/// Returns one frame as one line, mutated one to four times.
pub(crate) fn mutated(number: usize, chance: &mut Chance) -> Vec<u8> {
    // All numbers have the same length, so that none is a prefix of another.
    let number = (100_000_000 + number).to_string();
    let mut frame = chance.one(&FRAMES).replace('@', &number).into_bytes();
    for _ in 0..=chance.below(4) {
        mutate(&mut frame, chance);
    }
    frame.retain(|byte| *byte != b'\n');
    if frame.is_empty() {
        frame.push(b'x'); // an empty line is not a frame
    }
    frame
}

fn mutate(frame: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(frame.len() + 1);
    let end = (at + chance.below(24)).min(frame.len());
    match chance.below(7) {
        0 if at < frame.len() => frame[at] ^= 1 << chance.below(8),
        1 => drop(frame.drain(at..end)),
        2 => {
            let piece = frame[at..end].to_vec();
            frame.splice(at..at, piece);
        }
        3 => frame.truncate(at),
        4 => {
            let other = chance.one(&FRAMES).as_bytes();
            frame.truncate(at);
            frame.extend_from_slice(&other[chance.below(other.len())..]);
        }
        5 => {
            let piece = chance.one(&PIECES);
            let piece = piece.repeat(1 + chance.below(3) * chance.below(40));
            frame.splice(at..at, piece);
        }
        _ => {
            let piece = chance.one(&PIECES);
            frame.splice(at..end, piece.iter().copied());
        }
    }
}

/// Sends the frames from the server. All of them must arrive unchanged and in order.
fn from_server(
    room: &Room,
    session: &mut Session,
    frames: &[Vec<u8>],
    outcome: &mut Outcome,
) -> Result<bool> {
    let file = room.work().join("play");
    let mut all = frames.join(&b'\n');
    all.push(b'\n');
    fs::write(&file, all)?;
    let Heard { mut lines, answer } = session.ask(PLAY, &json!({"file": file}))?;
    if answer.is_some() {
        lines.pop();
    }
    let (missing, odd) = compared(frames, &lines);
    outcome.unnoticed += missing.len().max(odd.len());
    for frame in missing.iter().chain(&odd) {
        outcome.note(format!(
            "from the server: {:.300}",
            String::from_utf8_lossy(frame)
        ));
    }
    Ok(answer.is_some())
}

/// Sends the frames from the client. A frame that does not reach the server must be answered by the
/// gateway. The gateway writes its own answers concurrently, so the answer to a frame may arrive
/// after the answer to the following check. The frame is then kept in `owed`, and its answer must
/// arrive before the answer to the next check.
fn from_client(
    session: &mut Session,
    log: &std::path::Path,
    frames: &[Vec<u8>],
    owed: &mut Vec<Vec<u8>>,
    outcome: &mut Outcome,
) -> Result<bool> {
    let before = fs::metadata(log)?.len();
    let mut all = frames.join(&b'\n');
    if !frames.is_empty() {
        all.push(b'\n');
    }
    session.send(&all)?;
    let heard = session.ask("attack/mark", &json!({}))?;
    let log = fs::read(log)?;
    let log = &log[usize::try_from(before)?.min(log.len())..];
    let log = log.strip_suffix(b"\n").unwrap_or(log);
    let is_mark = |line: &&[u8]| line.windows(11).any(|part| part == b"attack/mark");
    let reached: Vec<Vec<u8>> = log
        .split(|byte| *byte == b'\n')
        .filter(|line| !is_mark(line))
        .map(<[u8]>::to_vec)
        .collect();
    let (kept, odd) = compared(frames, &reached);
    let answers = heard.lines.iter().flat_map(|line| messages(line));
    let answered: HashSet<String> = answers.filter_map(|answer| id_of(&answer)).collect();
    let parts: HashSet<String> = kept
        .iter()
        .flat_map(|frame| parts(frame))
        .map(|part| part.to_string())
        .collect();
    for frame in owed.drain(..).filter(|frame| !is_handled(frame, &answered)) {
        outcome.unnoticed += 1;
        outcome.note(format!(
            "kept back without an answer: {:.300}",
            String::from_utf8_lossy(&frame)
        ));
    }
    let late = kept
        .into_iter()
        .filter(|frame| !is_handled(frame, &answered));
    owed.extend(late.map(<[u8]>::to_vec));
    for line in odd {
        // The gateway may split a batch into its messages.
        let is_part = serde_json::from_slice::<Value>(line)
            .is_ok_and(|line| parts.contains(&line.to_string()));
        if !is_part {
            outcome.unnoticed += 1;
            outcome.note(format!(
                "reached the server changed: {:.300}",
                String::from_utf8_lossy(line)
            ));
        }
    }
    Ok(heard.answer.is_some())
}

/// Returns the frames of `sent` that did not arrive and the lines that were not sent, both in
/// order.
fn compared<'a>(sent: &'a [Vec<u8>], came: &'a [Vec<u8>]) -> (Vec<&'a [u8]>, Vec<&'a [u8]>) {
    let (mut missing, mut odd) = (Vec::new(), Vec::new());
    let mut next = 0;
    for line in came {
        match sent[next..].iter().position(|frame| frame == line) {
            Some(skipped) => {
                missing.extend(sent[next..next + skipped].iter().map(Vec::as_slice));
                next += skipped + 1;
            }
            None => odd.push(line.as_slice()),
        }
    }
    missing.extend(sent[next..].iter().map(Vec::as_slice));
    (missing, odd)
}

/// Returns the messages of a frame, or none if it is not JSON.
fn parts(frame: &[u8]) -> Vec<Value> {
    match serde_json::from_slice(frame) {
        Ok(Value::Array(all)) => all,
        Ok(one) => vec![one],
        Err(_) => Vec::new(),
    }
}

/// Whether the gateway may withhold the frame from the server. The frame must be JSON, its requests
/// must have been answered, and its only notifications may be cancellations. Responses may be
/// withheld, too.
fn is_handled(frame: &[u8], answered: &HashSet<String>) -> bool {
    let messages = messages(frame);
    let is_answered = |message: &Message| {
        let method = message.get("method").map(|raw| raw.get());
        match (
            id_of(message),
            method.filter(|method| method.starts_with('"')),
        ) {
            (None, Some(method)) => method == r#""notifications/cancelled""#,
            (_, None) => true,
            (Some(id), Some(_)) => answered.contains(&id),
        }
    };
    !messages.is_empty() && messages.iter().all(is_answered)
}

/// The members of a message with their exact text, because no number type here could hold an id
/// such as `1e9999`.
type Message = BTreeMap<String, Box<RawValue>>;

/// Returns the messages of a frame, or none if it is not JSON; JSON that is no object is a message
/// without members.
fn messages(frame: &[u8]) -> Vec<Message> {
    if let Ok(one) = serde_json::from_slice(frame) {
        return vec![one];
    }
    let batch: Vec<Box<RawValue>> = match serde_json::from_slice(frame) {
        Ok(batch) => batch,
        Err(_) => match serde_json::from_slice(frame) {
            Ok(one) => vec![one],
            Err(_) => return Vec::new(),
        },
    };
    let members = batch.iter().map(|raw| serde_json::from_str(raw.get()));
    members.map(Result::unwrap_or_default).collect()
}

fn id_of(message: &Message) -> Option<String> {
    let id = message.get("id")?.get();
    (id != "null").then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_and_what_is_odd_is_told() {
        let all = |lines: &[&str]| -> Vec<Vec<u8>> {
            lines.iter().map(|line| line.as_bytes().to_vec()).collect()
        };
        let (sent, came) = (all(&["a", "b", "c", "d"]), all(&["a", "x", "c"]));
        let (missing, odd) = compared(&sent, &came);
        assert_eq!(missing, [b"b", b"d"]);
        assert_eq!(odd, [b"x"]);
    }

    #[test]
    fn a_frame_is_handled_only_if_its_requests_are_answered() {
        let answered = HashSet::from(["1".to_owned(), "1e9999".to_owned()]);
        let cases = [
            (r#"{"id":1,"method":"ping"}"#, true),
            (r#"{"id":2,"method":"ping"}"#, false),
            (r#"[{"id":1,"method":"ping"},{"id":9,"result":1}]"#, true),
            (r#"[{"id":1,"method":"ping"},{"method":"told"}]"#, false),
            (r#"{"method":"notifications/cancelled"}"#, true),
            (
                r#"[{"id":1,"method":"ping"},{"id":2,"method":"ping"}]"#,
                false,
            ),
            (r#"{"id":1,"#, false),
            (r#"{"id":1e9999,"method":"ping"}"#, true),
            (r#"{"id":1,"method":"ping","x":"\ud800"}"#, true),
            (r#"{"id":3,"method":"ping","x":"\ud800"}"#, false),
            ("12", true),
        ];
        for (frame, wanted) in cases {
            assert_eq!(is_handled(frame.as_bytes(), &answered), wanted, "{frame}");
        }
    }
}

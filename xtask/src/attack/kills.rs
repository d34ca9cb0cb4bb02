//! The attack that kills `put`, `run` and the gateway with `kill -9` at random moments.
//!
//! Afterwards, every handle that was shown must work, listed artifacts must be whole, the next
//! sweep must remove everything else, and every line of the ledger must be readable.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::chance::Chance;
use super::room::{Ended, LIMIT, Room, Running, handles, tag_of, text};
use super::session::gateway;
use super::table::Outcome;

/// Size of a result in bytes: large enough that writing it takes a moment.
const BYTES: usize = 300_000;

/// Maximum number of runs for each kill, because some runs end before they are killed.
const RUNS_A_KILL: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Put,
    Run,
    Gateway,
}

const KINDS: [Kind; 3] = [Kind::Put, Kind::Run, Kind::Gateway];

/// Kills `count` processes.
pub(crate) fn attack(room: &Room, count: usize, chance: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut usual = [Duration::ZERO; KINDS.len()];
    for (kind, usual) in KINDS.iter().zip(&mut usual) {
        *usual = how_long(room, *kind)?;
    }
    let mut shown = HashMap::new();
    let mut runs = 0;
    while outcome.tried < count && runs < count * RUNS_A_KILL {
        room.go_on()?;
        let at = runs % KINDS.len();
        runs += 1;
        let tag = u64::try_from(runs)?;
        let wait = usual[at].mul_f64(f64::from(u32::try_from(chance.below(1100))?) / 1000.0);
        let running = begin(room, KINDS[at], tag)?;
        thread::sleep(wait);
        running.kill();
        let ended = running.end(LIMIT)?;
        outcome.tried += usize::from(was_killed(&ended));
        shown.extend(
            handles(&ended.stdout)
                .into_iter()
                .map(|handle| (handle, tag)),
        );
    }
    let figures = format!(
        "{runs} runs, {} killed, {} handles shown",
        outcome.tried,
        shown.len()
    );
    outcome.note(figures);
    look_at_shown(room, &shown, &mut outcome)?;
    look_at_stored(room, &mut outcome)?;
    look_for_orphans(room, &mut outcome)?;
    look_at_ledger(&room.store(), &mut outcome)?;
    Ok(outcome)
}

fn was_killed(ended: &Ended) -> bool {
    use std::os::unix::process::ExitStatusExt;
    ended.status.signal().is_some()
}

/// Measures how long a run takes if it is not killed.
fn how_long(room: &Room, kind: Kind) -> Result<Duration> {
    let mut slowest = Duration::ZERO;
    for _ in 0..3 {
        let start = Instant::now();
        let ended = begin(room, kind, 0)?.end(LIMIT)?;
        anyhow::ensure!(
            !handles(&ended.stdout).is_empty(),
            "{kind:?} stored nothing: {}",
            ended.stderr
        );
        slowest = slowest.max(start.elapsed());
    }
    Ok(slowest)
}

fn begin(room: &Room, kind: Kind, tag: u64) -> Result<Running> {
    let (command, stdin) = match kind {
        Kind::Put => (
            room.spillgate(&["put", "--max-bytes", "1000"]),
            text(tag, BYTES),
        ),
        Kind::Run => {
            let file = room.work().join(format!("output-{}", tag % 4));
            fs::write(&file, text(tag, BYTES))?;
            let mut command = room.spillgate(&["run", "--max-bytes", "1000", "--", "cat"]);
            command.arg(file);
            (command, Vec::new())
        }
        Kind::Gateway => (gateway(room, &room.work().join("received"))?, calls(tag)),
    };
    Running::start(command, &stdin)
}

/// Returns the input of a client that requests one large result.
fn calls(tag: u64) -> Vec<u8> {
    let client = json!({"name": "attack", "version": "0"});
    let greeting =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let call = json!({"name": "big", "arguments": {"tag": tag, "bytes": BYTES}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ];
    messages
        .map(|message| format!("{message}\n"))
        .concat()
        .into_bytes()
}

/// Whether stored bytes are complete and, if a tag is given, contain the text of this tag.
fn is_whole(stored: &[u8], tag: Option<u64>) -> bool {
    let text_of = |value: &Value| {
        value["content"][0]["text"]
            .as_str()
            .map(str::as_bytes)
            .map(<[u8]>::to_vec)
    };
    // The gateway stores the result as the server sent it.
    let result = serde_json::from_slice(stored)
        .ok()
        .as_ref()
        .and_then(text_of);
    let bytes = result.as_deref().unwrap_or(stored);
    let found = tag_of(bytes);
    found.is_some_and(|found| tag.is_none_or(|tag| tag == found) && bytes == text(found, BYTES))
}

fn look_at_shown(room: &Room, shown: &HashMap<String, u64>, outcome: &mut Outcome) -> Result<()> {
    for (handle, tag) in shown {
        let ended = room.run(&["cat", "--raw", handle], &[])?;
        if !ended.judge(outcome, "cat") {
            continue;
        }
        if !ended.is_done() {
            outcome.dead += 1;
            outcome.note(format!("{handle} was shown: {:.200}", ended.stderr.trim()));
        } else if !is_whole(&ended.stdout, Some(*tag)) {
            outcome.unnoticed += 1;
            outcome.note(format!("{handle} was shown and holds something else"));
        }
    }
    Ok(())
}

/// Checks that every listed artifact is whole, whether it was shown or not.
fn look_at_stored(room: &Room, outcome: &mut Outcome) -> Result<()> {
    let listed = room.run(&["ls", "--json"], &[])?;
    listed.judge(outcome, "ls");
    let all = handles(&listed.stdout);
    outcome.note(format!("{} artifacts are listed", all.len()));
    for handle in all {
        let ended = room.run(&["cat", "--raw", &handle], &[])?;
        if ended.judge(outcome, "cat") && !(ended.is_done() && is_whole(&ended.stdout, None)) {
            outcome.unnoticed += 1;
            outcome.note(format!(
                "{handle} is listed and not whole: {:.200}",
                ended.stderr.trim()
            ));
        }
    }
    Ok(())
}

/// Checks that a gateway that starts later removes the files that belong to no artifact.
fn look_for_orphans(room: &Room, outcome: &mut Outcome) -> Result<()> {
    let before = orphans(&room.store())?;
    for path in &before {
        // The sweep spares files written within the last 60 s: a writer may still use them.
        File::options()
            .write(true)
            .open(path)?
            .set_modified(SystemTime::UNIX_EPOCH)?;
    }
    begin(room, Kind::Gateway, 0)?.end(LIMIT)?;
    let after = orphans(&room.store())?;
    outcome.note(format!(
        "{} files of killed writers, {} after the next start",
        before.len(),
        after.len()
    ));
    outcome.unnoticed += after.len();
    for path in after {
        outcome.note(format!("nobody's: {}", path.display()));
    }
    Ok(())
}

fn orphans(store: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for session in fs::read_dir(store)?.filter_map(Result::ok) {
        if !session.file_type()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(session.path())?.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let id = name
                .trim_start_matches(".draft-")
                .get(..36)
                .unwrap_or(&name)
                .to_owned();
            let is_named = |end: &str| session.path().join(format!("{id}{end}")).exists();
            if name.starts_with(".draft-") || !(is_named(".json") || is_named(".gone")) {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

fn look_at_ledger(store: &Path, outcome: &mut Outcome) -> Result<()> {
    let ledger = fs::read(store.join("ledger.ndjson")).context("the store has no ledger")?;
    let ledger = String::from_utf8_lossy(&ledger);
    // A killed writer may leave the beginning of a line, but that line must not contain another
    // entry.
    let is_entry = |line: &&str| {
        let entry = serde_json::from_str::<Value>(line);
        entry.map_or(line.matches("\"at\":").count() <= 1, |entry| {
            entry.is_object()
        })
    };
    let (all, good) = (
        ledger.lines().count(),
        ledger.lines().filter(is_entry).count(),
    );
    outcome.note(format!("{good} of {all} lines of the account are whole, or were cut by a kill and took no other with them"));
    outcome.unnoticed += all - good;
    Ok(())
}

//! The attack of eight users that work at the same time on a store that is always over its quota.
//!
//! Every read must be correct or be refused with a reason, and pinned artifacts must stay.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

use super::chance::Chance;
use super::room::{LIMIT, Room, Running, handles, tag_of, text};
use super::table::Outcome;

/// Number of concurrent users.
const AT_ONCE: usize = 8;

/// The size of an artifact in bytes, and the quota of the store, which suffices for some 30
/// artifacts. An artifact is larger than a hundredth of the quota, so that each `put` sweeps.
const BYTES: usize = 60_000;
const QUOTA: &str = "2 MB";

/// Number of artifacts that stay pinned during the attack.
const PINNED: usize = 4;

/// What all users know about the store.
#[derive(Debug, Default)]
struct Known {
    /// Handles with the tags of their texts, newest last.
    handles: Mutex<Vec<(String, u64)>>,
    begun: AtomicUsize,
}

/// Runs `count` commands, eight at a time.
pub(crate) fn attack(room: &Room, count: usize, chance: &mut Chance) -> Result<Outcome> {
    let known = Known::default();
    let mut pinned = Vec::new();
    for number in 0..PINNED {
        let tag = u64::try_from(number)?;
        let handle = room.put(&text(tag, BYTES))?;
        room.run(&["pin", &handle], &[])?;
        pinned.push((handle, tag));
    }
    let seeds: Vec<u64> = (0..AT_ONCE).map(|_| chance.next()).collect();
    let mut outcome = thread::scope(|scope| {
        let works: Vec<_> = seeds
            .iter()
            .map(|seed| scope.spawn(|| work(room, &known, count, &mut Chance::of(*seed, "race"))))
            .collect();
        let mut all = Outcome::default();
        for one in works {
            all.add(one.join().map_err(|_| anyhow!("a thread panicked"))??);
        }
        anyhow::Ok(all)
    })?;
    for (handle, tag) in pinned {
        let ended = room.run(&["cat", "--raw", &handle], &[])?;
        if ended.judge(&mut outcome, "cat of what is pinned") && ended.stdout != text(tag, BYTES) {
            outcome.dead += 1;
            outcome.note(format!("{handle} was pinned: {:.200}", ended.stderr.trim()));
        }
    }
    Ok(outcome)
}

fn work(room: &Room, known: &Known, count: usize, chance: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    loop {
        let number = known.begun.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(outcome);
        }
        room.go_on()?;
        let some = {
            let handles = known
                .handles
                .lock()
                .map_err(|_| anyhow!("a thread panicked"))?;
            // Most reads use one of the newest artifacts, which others use, too.
            let newest = handles.len().saturating_sub(1 + chance.below(40));
            handles.get(newest).cloned()
        };
        match (chance.below(10), some) {
            (0..4, _) | (_, None) => put(room, known, u64::try_from(number)? + 100, &mut outcome)?,
            (kind, Some(one)) => look(room, kind, &one, &mut outcome)?,
        }
        outcome.tried += 1;
    }
}

fn put(room: &Room, known: &Known, tag: u64, outcome: &mut Outcome) -> Result<()> {
    let mut command = room.spillgate(&["put", "--max-bytes", "1000"]);
    command.env("SPILLGATE_QUOTA", QUOTA);
    let ended = Running::start(command, &text(tag, BYTES))?.end(LIMIT)?;
    if !ended.judge(outcome, "put") {
        return Ok(());
    }
    match handles(&ended.stdout).pop() {
        Some(handle) if ended.is_done() => {
            let mut handles = known
                .handles
                .lock()
                .map_err(|_| anyhow!("a thread panicked"))?;
            handles.push((handle, tag));
        }
        _ => {
            outcome.dead += 1;
            outcome.note(format!(
                "put: {}: {:.200}",
                ended.status,
                ended.stderr.trim()
            ));
        }
    }
    Ok(())
}

/// Reads, greps, pins, lists or removes an artifact that may be gone.
fn look(
    room: &Room,
    kind: usize,
    (handle, tag): &(String, u64),
    outcome: &mut Outcome,
) -> Result<()> {
    let arguments: &[&str] = match kind {
        4 | 5 => &["cat", "--raw", handle],
        6 => &["read", handle, "--lines", "1"],
        7 => &["pin", handle, "--off"],
        8 => &["ls", "--json"],
        _ => &["rm", handle],
    };
    let mut command = room.spillgate(arguments);
    command.env("SPILLGATE_QUOTA", QUOTA);
    let ended = Running::start(command, &[])?.end(LIMIT)?;
    if !ended.judge(outcome, arguments[0]) {
        return Ok(());
    }
    let is_right = match (arguments[0], ended.is_done()) {
        ("cat", true) => ended.stdout == text(*tag, BYTES),
        ("read", true) => tag_of(&ended.stdout) == Some(*tag),
        ("ls", false) => false,
        (_, true) => true,
        (_, false) => ended.stderr.contains(handle.as_str()),
    };
    if !is_right {
        outcome.unnoticed += 1;
        outcome.note(format!(
            "{}: {}: {:.200}",
            arguments[0],
            ended.status,
            ended.stderr.trim()
        ));
    }
    Ok(())
}

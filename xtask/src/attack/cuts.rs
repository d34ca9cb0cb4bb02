//! The attack that shortens a file while it is read. The reader must report an error or return what
//! it could still read, and must neither crash nor hang.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::chance::Chance;
use super::room::{LIMIT, Room, Running, text};
use super::session::{Session, gateway};
use super::table::Outcome;

/// Size of the file in bytes. Reading it takes some tens of milliseconds.
const BYTES: usize = 24 << 20;

/// The commands that read, with the arguments after the handle.
const COMMANDS: [(&str, &[&str]); 5] = [
    // With --json, it is no failure to find nothing.
    ("grep", &["--json", "no such words [0-9]+ here"]),
    ("search", &["which line has no such words"]),
    ("outline", &[]),
    ("read", &["--start", "300000"]),
    ("query", &["length"]),
];

/// Cuts the file `count` times while each reader reads it.
pub(crate) fn attack(room: &Room, count: usize, chance: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let body = text(1, BYTES);
    let handle = room.put(&body)?;
    let victim = Victim {
        file: room.raw_file(&handle).context("no text file found")?,
        body,
    };
    for (reader, rest) in COMMANDS {
        let mut arguments = vec![reader, &handle];
        arguments.extend(rest);
        let begin = Instant::now();
        let usual = room.run(&arguments, &[])?;
        anyhow::ensure!(
            usual.is_done(),
            "{reader} fails on a whole file: {}",
            usual.stderr
        );
        let usual = begin.elapsed();
        for _ in 0..count {
            room.go_on()?;
            let running = Running::start(room.spillgate(&arguments), &[])?;
            victim.cut(usual, chance)?;
            let ended = running.end(LIMIT)?;
            ended.judge(&mut outcome, reader);
            outcome.tried += 1;
            victim.restore()?;
        }
    }
    let grep = json!({"name": "spillgate_grep", "arguments": {"handle": handle, "pattern": "no such words"}});
    let log = room.work().join("received");
    let session = Session::start(room, gateway(room, &log)?)?;
    under_server(room, session, &grep, &victim, count, chance, &mut outcome)?;
    served_files(room, victim, count, chance, &mut outcome)?;
    Ok(outcome)
}

/// Attacks `fs-mcp` on a log that is rotated.
fn served_files(
    room: &Room,
    victim: Victim,
    count: usize,
    chance: &mut Chance,
    outcome: &mut Outcome,
) -> Result<()> {
    let victim = Victim {
        file: room.work().join("app.log"),
        ..victim
    };
    victim.restore()?;
    let grep = json!({"name": "Grep", "arguments": {"path": "app.log", "file": "app.log", "regex": "no such words"}});
    let mut command = room.spillgate(&["fs-mcp", "--root"]);
    command.arg(room.work());
    let session = Session::start(room, command)?;
    under_server(room, session, &grep, &victim, count, chance, outcome)
}

/// Cuts the file while a server reads it, which must then continue.
fn under_server(
    room: &Room,
    mut session: Session,
    grep: &Value,
    victim: &Victim,
    count: usize,
    chance: &mut Chance,
    outcome: &mut Outcome,
) -> Result<()> {
    let begin = Instant::now();
    let found = session.ask("tools/call", grep)?;
    let is_error = found
        .answer
        .is_none_or(|answer| answer["error"].is_object() || answer["result"]["isError"] == true);
    anyhow::ensure!(!is_error, "a search of a whole file failed: {grep}");
    let usual = begin.elapsed();
    for _ in 0..count {
        room.go_on()?;
        let id = session.begin("tools/call", grep)?;
        victim.cut(usual, chance)?;
        let is_answered = session.until(&id).answer.is_some();
        victim.restore()?;
        outcome.tried += 1;
        if !is_answered || session.ask("ping", &json!({}))?.answer.is_none() {
            outcome.hangs += 1;
            outcome.note(format!("no answer: {grep}"));
            break;
        }
    }
    session.end(outcome)
}

/// The file and its whole content.
#[derive(Debug)]
struct Victim {
    file: PathBuf,
    body: Vec<u8>,
}

impl Victim {
    /// Cuts the file at a moment within `usual`, to a length that may be 0.
    fn cut(&self, usual: Duration, chance: &mut Chance) -> Result<()> {
        let part = f64::from(u32::try_from(chance.below(1000))?) / 1000.0;
        thread::sleep(usual.mul_f64(part));
        let file = OpenOptions::new().write(true).open(&self.file)?;
        Ok(file.set_len(u64::try_from(chance.below(self.body.len() / 2))?)?)
    }

    /// Replaces the file with a new file that contains the whole text.
    fn restore(&self) -> Result<()> {
        let whole: &Path = &self.file.with_extension("whole");
        fs::write(whole, &self.body)?;
        Ok(fs::rename(whole, &self.file)?)
    }
}

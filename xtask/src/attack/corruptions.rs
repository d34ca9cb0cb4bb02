//! The attack that flips single bits in stored files. `verify` must detect every flip, and
//! `cat --raw` every flip in raw bytes.

use std::fs;

use anyhow::{Context, Result};

use super::chance::Chance;
use super::room::{Room, text};
use super::table::Outcome;

/// The suffix of the damaged file, and whether the file contains the bytes that came in.
const PARTS: [(&str, bool); 3] = [(".raw", true), ("", false), (".lines", false)];

/// Size of the artifact, in bytes.
const BYTES: usize = 400_000;

/// Damages each part in turn, `count` times in total.
pub(crate) fn attack(room: &Room, count: usize, chance: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    // Colours make the view differ from the input, so that all parts exist.
    let mut body = b"\x1b[31mred\x1b[0m\n".to_vec();
    body.extend(text(1, BYTES));
    let coloured = room.put(&body)?;
    let plain = room.put(&text(2, BYTES))?;
    for handle in [&coloured, &plain] {
        let sound = room.run(&["verify", handle], &[])?;
        anyhow::ensure!(
            sound.is_done(),
            "`verify` fails on an undamaged artifact: {}",
            sound.stderr
        );
    }
    let mut victims = Vec::new();
    for (suffix, is_raw) in PARTS {
        victims.push((
            &coloured,
            room.file(&coloured, suffix).context("a file is missing")?,
            is_raw,
        ));
    }
    // The plain artifact has no separate view, so its text file contains the bytes that came in.
    victims.push((
        &plain,
        room.file(&plain, "").context("no text file found")?,
        true,
    ));
    while outcome.tried < count {
        room.go_on()?;
        let (handle, file, is_raw) = &victims[outcome.tried % victims.len()];
        let sound = fs::read(file)?;
        let mut damaged = sound.clone();
        let at = chance.below(damaged.len());
        damaged[at] ^= 1 << chance.below(8);
        fs::write(file, &damaged)?;
        outcome.tried += 1;
        let mut readers: Vec<&[&str]> = vec![&["verify"]];
        if *is_raw {
            readers.push(&["cat", "--raw"]);
        }
        for reader in readers {
            let arguments: Vec<&str> = reader.iter().copied().chain([handle.as_str()]).collect();
            let ended = room.run(&arguments, &[])?;
            if ended.judge(&mut outcome, reader[0]) && ended.is_done() {
                outcome.unnoticed += 1;
                let name = file.extension().unwrap_or_default().display();
                outcome.note(format!(
                    "{}: byte {at} of `.{name}` was not noticed",
                    reader[0]
                ));
            }
        }
        fs::write(file, &sound)?;
    }
    Ok(outcome)
}

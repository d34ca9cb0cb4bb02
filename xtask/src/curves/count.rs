//! The cost against the number of stored outputs, beside a listing of the directory.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Curves;
use super::size::{copy, write_log};
use crate::attack::Chance;
use crate::command::output;

const COUNTS: [u64; 6] = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
const QUICK: u64 = 10_000;

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// Most hard links to one file: file systems allow some 65,000.
const MOST_LINKS: u64 = 30_000;

pub(crate) fn measure(curves: &mut Curves) -> Result<()> {
    let store = curves.scratch.join("many");
    let file = curves.scratch.join("log");
    write_log(&file, 20_000)?;
    let mut put = curves.program(&store);
    put.args(["put", "--max-bytes", "1"]).arg(&file);
    let mut made = Made::new(&store, &mut put)?;
    for count in curves.steps(&COUNTS, QUICK) {
        made.fill(count)?;
        // The next listing replaces the list of the newest outputs.
        let _ = fs::remove_file(store.join(".recent"));
        let _ = fs::remove_file(store.join(".store"));
        output(&mut copy(&put))?;
        // Fewer letters may be those of several of a million handles.
        let beginning = made.first[..8].to_owned();
        // The list of the newest outputs is made again if it is lost.
        let lose = || {
            let _ = fs::remove_file(store.join(".recent"));
            Ok(())
        };
        let mut newest = curves.program(&store);
        newest.args(["ls", "-n", "20"]);
        curves.time(
            ("count", "ls -n 20 (its list is lost)", count),
            &lose,
            &|| copy(&newest),
        )?;
        let commands: [(&str, Vec<&str>); 8] = [
            ("ls of all", vec!["ls"]),
            ("ls -n 20", vec!["ls", "-n", "20"]),
            ("read last", vec!["read", "last"]),
            ("first letters of a handle", vec!["show", &beginning]),
            ("completion", vec!["__handles"]),
            ("search of all", vec!["search", "--all", "request timeout"]),
            ("stats", vec!["stats"]),
            (
                "rm --older-than (of none)",
                vec!["rm", "--older-than", "90000d"],
            ),
        ];
        for (name, arguments) in commands {
            let mut command = curves.program(&store);
            command.args(arguments);
            curves.time(("count", name, count), &|| Ok(()), &|| copy(&command))?;
        }
        curves.time(("count", "put", count), &|| Ok(()), &|| copy(&put))?;
        let is_due = || {
            let _ = fs::remove_file(store.join(".store"));
            Ok(())
        };
        curves.time(("count", "put with a sweep", count), &is_due, &|| {
            copy(&put)
        })?;
        let mut list = Command::new("ls");
        list.arg("-fR").arg(&store);
        curves.time(
            ("count", "ls -fR of the directory", count),
            &|| Ok(()),
            &|| copy(&list),
        )?;
    }
    Ok(())
}

/// A store with many outputs of the same text.
struct Made {
    store: std::path::PathBuf,
    /// The manifest of the first output.
    manifest: Value,
    /// The handle of the first output.
    first: String,
    /// The handle whose files are linked now.
    linked: String,
    count: u64,
    chance: Chance,
}

impl Made {
    fn new(store: &Path, put: &mut Command) -> Result<Self> {
        output(put)?;
        let manifest = find(store).context("nothing was stored")?;
        let manifest: Value = serde_json::from_slice(&fs::read(manifest)?)?;
        let first = manifest["handle"].as_str().context("no handle")?.to_owned();
        ensure!(first.len() == 14, "{first} is no short handle");
        Ok(Self {
            store: store.to_owned(),
            manifest,
            linked: first.clone(),
            first,
            count: 1,
            chance: Chance::of(1, "curves"),
        })
    }

    fn path(&self, handle: &str, suffix: &str) -> std::path::PathBuf {
        self.store
            .join(&handle[..1])
            .join(format!("{handle}{suffix}"))
    }

    /// Adds outputs until there are `count`. Their texts are hard links to one text; each has a manifest of its own.
    fn fill(&mut self, count: u64) -> Result<()> {
        let written = fs::metadata(self.path(&self.first, ""))?.modified()?;
        let now = written.duration_since(UNIX_EPOCH)?;
        while self.count < count {
            let handle = (0..14).map(|_| char::from(*self.chance.one(LETTERS)));
            let handle: String = handle.collect();
            fs::create_dir_all(self.store.join(&handle[..1]))?;
            for suffix in ["", ".lines"] {
                let (from, to) = (self.path(&self.linked, suffix), self.path(&handle, suffix));
                match self.count % MOST_LINKS {
                    0 => drop(fs::copy(from, to)?),
                    _ => fs::hard_link(from, to)?,
                }
            }
            if self.count.is_multiple_of(MOST_LINKS) {
                self.linked.clone_from(&handle);
            }
            // A week of outputs, the oldest first.
            let age = Duration::from_secs(604_800 * (count - self.count) / count);
            self.manifest["handle"] = json!(handle);
            self.manifest["created"] = json!(time(now.saturating_sub(age)));
            // The checksum is that of another manifest; without one, nothing is checked.
            self.manifest
                .as_object_mut()
                .context("no object")?
                .remove("checks");
            fs::write(self.path(&handle, ".json"), self.manifest.to_string())?;
            self.count += 1;
        }
        Ok(())
    }
}

/// Returns a manifest in a store.
fn find(store: &Path) -> Option<std::path::PathBuf> {
    let directories = fs::read_dir(store).ok()?.flatten();
    let mut files = directories
        .filter_map(|one| fs::read_dir(one.path()).ok())
        .flatten()
        .flatten();
    let is_manifest = |path: &std::path::PathBuf| path.extension().is_some_and(|one| one == "json");
    files.find_map(|file| Some(file.path()).filter(is_manifest))
}

/// Returns seconds since 1970 in the form of a manifest.
fn time(since: Duration) -> String {
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // The civil date of a day, after Howard Hinnant's `civil_from_days`.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + u64::from(month <= 2);
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_694_399, "2026-11-26T11:59:59Z"),
        ] {
            assert_eq!(time(Duration::from_secs(seconds)), text);
        }
    }
}

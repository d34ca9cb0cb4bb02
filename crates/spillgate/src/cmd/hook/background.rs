//! Notes which tasks of a client run in the background. Their output grows while the model reads
//! it, so it is left alone when they end.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::failure::Failure;
use crate::settings::state_home;

/// Age after which a note is removed: its task never ended.
const OLD: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Notes that the task runs in the background.
pub(super) fn note(session: &str, task: &str) -> Result<(), Failure> {
    let Some(file) = file(session, task)? else {
        return Ok(());
    };
    let Some(directory) = file.parent() else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)?;
    fs::write(&file, b"")?;
    remove_old(directory, fs::metadata(&file)?.modified()?)
}

/// Removes the notes of tasks that never ended.
fn remove_old(directory: &Path, now: SystemTime) -> Result<(), Failure> {
    for entry in fs::read_dir(directory)?.flatten() {
        let written = entry.metadata().and_then(|found| found.modified());
        let age = written.map(|then| now.duration_since(then));
        if matches!(age, Ok(Ok(age)) if age > OLD) {
            drop(fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

/// Returns whether the task runs in the background, and forgets it, because it has ended.
pub(super) fn take(session: &str, task: &str) -> Result<bool, Failure> {
    let Some(file) = file(session, task)? else {
        return Ok(true);
    };
    match fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the file that notes the task; `None` if its name cannot be part of a path.
fn file(session: &str, task: &str) -> Result<Option<PathBuf>, Failure> {
    let is_plain = |name: &str| {
        let mut chars = name.chars();
        (1..=64).contains(&name.len()) && chars.all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let directory = state_home()?.join("spillgate-hooks");
    let is_name = is_plain(session) && is_plain(task);
    Ok(is_name.then(|| directory.join(format!("{session}.{task}"))))
}

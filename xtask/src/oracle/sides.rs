//! Runs one of the two builds in its own directory, and normalizes its outputs.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};

use super::plain::Plain;
use crate::attack::{LIMIT, Room, Running, handles};

/// A build with a directory and a store of its own.
pub(crate) struct Side<'a> {
    pub(crate) room: Room,
    pub(crate) plain: &'a Plain,
    program: PathBuf,
    library: &'a Path,
    /// Numbers of the handles seen so far.
    pub(crate) names: HashMap<String, usize>,
}

/// A question and its normalized output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// The question.
    pub(crate) asked: String,
    pub(crate) text: String,
}

impl<'a> Side<'a> {
    pub(crate) fn new(
        program: &Path,
        library: &'a Path,
        plain: &'a Plain,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self> {
        Ok(Self {
            room: Room::new("oracle", program, interrupted)?,
            plain,
            program: program.to_owned(),
            library,
            names: HashMap::new(),
        })
    }

    /// Writes a file for a program's input; returns its path.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> Result<String> {
        let path = self.room.work().join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path.to_string_lossy().into_owned())
    }

    pub(crate) fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = self.room.spillgate(words);
        command.env("LD_PRELOAD", self.library).arg0("spillgate");
        command
    }

    /// Runs the program; returns exit code, standard output and standard error.
    pub(crate) fn run(&mut self, words: &[&str], stdin: &[u8]) -> Result<Said> {
        self.room.go_on()?;
        let ended = Running::start(self.command(words), stdin)?.end(LIMIT)?;
        let mut said = format!("{}\n", ended.status).into_bytes();
        said.extend_from_slice(&ended.stdout);
        said.extend_from_slice(b"\n-- stderr\n");
        said.extend_from_slice(ended.stderr.as_bytes());
        let text = self.said(&said);
        let asked = self.said(words.join(" ").as_bytes());
        Ok(Said { asked, text })
    }

    /// Stores `bytes`, whatever their size, and returns the handle; `None` if they cannot be
    /// stored.
    pub(crate) fn stored(&mut self, bytes: &[u8]) -> Result<Option<String>> {
        let command = self.command(&["put", "--max-bytes", "1"]);
        let ended = Running::start(command, bytes)?.end(LIMIT)?;
        let handle = handles(&ended.stdout).pop();
        self.said(&ended.stdout);
        Ok(handle)
    }

    /// Normalizes `bytes`.
    pub(crate) fn said(&mut self, bytes: &[u8]) -> String {
        self.plain.of(bytes, &self.program, &mut self.names)
    }
}

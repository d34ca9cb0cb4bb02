//! The start of a session: has each shell of the client run `spillgate hook` when it ends.
//!
//! Before each command, the client's shell reads a file that hooks of `SessionStart` write. The
//! trap in this file leaves the command itself as it is, so the client's permission rules apply to
//! what the model wrote.

use std::env;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use spillgate_untrusted::shell_word;

use super::claude::SHELL;
use super::limits;
use crate::args::Common;
use crate::clients::{on_path, text_of_path};
use crate::failure::Failure;
use crate::wiring::GATEWAY_PAGE;

/// Variable of the client that names the file.
const FILE: &str = "CLAUDE_ENV_FILE";

/// Maximum size of the file, in bytes. A larger file is left alone.
const LARGEST: u64 = 1 << 20;

/// Variable that limits the pages of look-ups.
const PAGE: &str = "SPILLGATE_PAGE_TOKENS";

/// Adds our line to the file that the client's shell reads.
pub(super) fn start(common: &Common) -> Result<(), Failure> {
    let file = env::var_os(FILE).map(PathBuf::from);
    let Some(file) = file.filter(|file| file.is_absolute()) else {
        return Ok(());
    };
    // The shell's output is found through /proc.
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let line = line(common)?;
    let mut opened = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(&file)?;
    let mut text = Vec::new();
    (&mut opened).take(LARGEST).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    if text.len() as u64 >= LARGEST || text.contains(&line) {
        return Ok(());
    }
    let gap = match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    Ok(opened.write_all(format!("{gap}{line}").as_bytes())?)
}

/// Returns the line for the shell, bash or zsh. It is a single one, without an end, because each
/// line shifts the numbers of lines in the shell's messages about the command.
fn line(common: &Common) -> Result<String, Failure> {
    let program = env::current_exe()?;
    let mut parts = Vec::new();
    // The previews name `spillgate` as a command.
    if on_path("spillgate").is_none()
        && let Some(directory) = program.parent()
    {
        let directory = shell_word(&text_of_path(directory)?);
        parts.push(format!("\\builtin export PATH=\"$PATH\":{directory}"));
    }
    // A page of a look-up is an output of the shell, too, and must not be replaced in turn.
    if env::var_os(PAGE).is_none() {
        let tokens = limits(common, SHELL)?.tokens.unwrap_or(GATEWAY_PAGE);
        let page = tokens.min(GATEWAY_PAGE);
        parts.push(format!("\\builtin export {PAGE}={page}"));
    }
    parts.push(trap(&command(common, &program)?));
    Ok(parts.join(" && "))
}

/// Returns the command that a shell runs at its end, without the exit code.
fn command(common: &Common, program: &Path) -> Result<String, Failure> {
    let mut words = vec![text_of_path(program)?];
    words.extend(crate::clients::options(common)?);
    if common.shared_store {
        words.push("--shared-store".to_owned());
    }
    words.extend(["hook", "claude-code", "--shell-end"].map(str::to_owned));
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    Ok(words.join(" "))
}

/// Returns the command that sets the trap. Neither errors nor what the user's settings of the shell
/// (`set -x`, traps) print about our command reach the output; its failure changes no exit code.
fn trap(command: &str) -> String {
    let action = format!("{{ {command} \"$?\" >&3 || :; }} 2>/dev/null 3>&1 >/dev/null");
    format!("\\builtin trap {} EXIT", shell_word(&action))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn the_trap_quotes_the_program() {
        let command = format!("{} hook", shell_word("/opt/it's/spillgate"));
        assert_snapshot!(trap(&command), @r#"\builtin trap '{ "/opt/it'\''s/spillgate" hook "$?" >&3 || :; } 2>/dev/null 3>&1 >/dev/null' EXIT"#);
    }
}

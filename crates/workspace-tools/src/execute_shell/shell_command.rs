//! The parsed arguments of `execute_shell`.

use std::os::fd::OwnedFd;
use std::time::Duration;

use spillgate_files::Arguments;

use crate::tool_result::ToolError;
use crate::{ShellRules, Workspace};

/// Maximum length of a command, in bytes: the longest argument that Linux accepts for a program
/// (`MAX_ARG_STRLEN`, 32 pages, which includes the final NUL).
const LONGEST: usize = 32 * 4096 - 1;

/// A command that can be run.
#[derive(Debug)]
pub(crate) struct ShellCommand {
    pub(crate) command: String,
    pub(crate) timeout: Duration,
    /// A note on the timeout.
    pub(crate) note: Option<String>,
    /// The open working directory.
    pub(crate) directory: OwnedFd,
}

impl ShellCommand {
    pub(crate) fn of(
        arguments: &Arguments,
        rules: &ShellRules,
        workspace: &Workspace,
    ) -> Result<Self, ToolError> {
        let command = arguments.text("command")?;
        if command.trim().is_empty() {
            return Err(ToolError::new(
                "command is missing. Please say what is to be run.",
            ));
        }
        if command.contains('\0') {
            return Err(ToolError::new(
                "command has a NUL byte in it, which no command can have. \
                 Please write \\0 for printf, or put the bytes into a file.",
            ));
        }
        if command.len() > LONGEST {
            return Err(ToolError::new(format!(
                "command has {} bytes; the system takes {LONGEST} at most. \
                 Please write it into a file in parts and run that.",
                command.len()
            )));
        }
        let (timeout, note) = timeout(arguments.limit("timeout")?, rules);
        Ok(Self {
            command: command.to_owned(),
            timeout,
            note,
            directory: directory(arguments, workspace)?,
        })
    }
}

/// Returns the time limit: the one that the call asks for, lowered to the maximum of the rules.
/// Also returns a note if it was lowered.
fn timeout(asked: Option<u64>, rules: &ShellRules) -> (Duration, Option<String>) {
    let Some(seconds) = asked else {
        return (rules.timeout, None);
    };
    let most = rules.longest();
    match Duration::from_secs(seconds) {
        timeout if timeout <= most => (timeout, None),
        _ => {
            let most_seconds = most.as_secs();
            let note = format!(
                "[timeout is in seconds and {most_seconds} at most; it was {seconds}, \
                 {most_seconds} was taken]"
            );
            (most, Some(note))
        }
    }
}

fn directory(arguments: &Arguments, workspace: &Workspace) -> Result<OwnedFd, ToolError> {
    let name = arguments.any_of(&["workdir", "cwd"])?;
    let opened = workspace.directory(name.as_deref().unwrap_or("."));
    let (opened, _) = opened.map_err(ToolError::new)?;
    Ok(opened.into_std_file().into())
}

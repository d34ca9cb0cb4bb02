//! The end of a client's shell: replaces an output that is too large by its preview.
//!
//! The client's shell writes its output straight into a file of the client. So the command runs as
//! it would without us, and the client shows its progress. Only when the shell ends, whatever its
//! exit code, do we store the file's content and write the preview in its place.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use spillgate_artifact::{Ending, Origin};
use spillgate_clients::Client;
use spillgate_offload::{Choice, Outcome};

use super::claude::SHELL;
use super::{background, limits, offloader, outcome, refusal};
use crate::args::{Common, LimitArgs};
use crate::failure::Failure;
use crate::wiring::App;

/// Our standard output, which is that of the shell.
const STDOUT: &str = "/proc/self/fd/1";

/// How often we look for other processes that can write to the file, and how long we wait in between.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(15);

/// Variables that select the store and the configuration.
const PLACES: [&str; 7] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "SPILLGATE_CONFIG",
    "SPILLGATE_STORE",
    "SPILLGATE_STORE_KEY",
];

/// The file of the client that receives the shell's output.
struct ClientFile {
    path: PathBuf,
    session: String,
    task: String,
    bytes: u64,
}

/// Replaces the output of the shell that ends with this exit code, if it is too large.
pub(super) fn end(common: &Common, code: i32) -> Result<(), Failure> {
    let Some(file) = ClientFile::find()? else {
        return Ok(());
    };
    if limits(common, SHELL)?.admit_any(file.bytes) {
        return Ok(());
    }
    let shell = std::os::unix::process::parent_id();
    let command = command_of(shell);
    if is_elsewhere(shell)? || background::take(&file.session, &file.task)? {
        return Ok(());
    }
    // What another process writes between our last look at the file and its end would be lost.
    for attempt in 1.. {
        if !has_other_writers(&file.path, shell)? {
            break;
        }
        if attempt == ATTEMPTS {
            return Ok(());
        }
        // A process that was just started has all files of its parent open for a moment.
        std::thread::sleep(PAUSE);
    }
    let app = App::for_offloading(common, &LimitArgs::default())?;
    let origin = Origin {
        arguments: command,
        ..Origin::tool(SHELL)
    };
    let opened = File::open(STDOUT)?;
    let pending = offloader(&app, Client::ClaudeCode).submit_stream(
        origin,
        false,
        &mut opened.take(file.bytes),
        &mut |_| {},
    )?;
    let ending = Ending {
        exit_code: Some(code),
        signal: None,
        duration_ms: None,
    };
    let outcome = pending
        .ended(ending)
        .settle(Choice::Limits { is_over: None });
    let message = match &outcome {
        Outcome::Offloaded(offloaded) => Some(offloaded.shown.text()),
        // If the store failed, the client's own handling loses less than our notice would.
        Outcome::NotStored(lost) => refusal(lost),
        Outcome::Inline(_) => None,
    };
    if let Some(message) = message {
        file.becomes(message)?;
    }
    app.tidy_quickly(outcome::receipt(&outcome));
    outcome::failure(outcome).map_or(Ok(()), Err)
}

impl ClientFile {
    /// Returns the client's file if it is our standard output. After a command such as `exec >log`,
    /// standard output is a file of the user, which must not change.
    fn find() -> Result<Option<Self>, Failure> {
        let path = fs::read_link(STDOUT)?;
        let found = fs::metadata(STDOUT)?;
        let flags = rustix::fs::fcntl_getfl(std::io::stdout()).map_err(std::io::Error::from)?;
        let is_log = found.is_file()
            && found.nlink() == 1
            && found.uid() == rustix::process::getuid().as_raw()
            && flags.contains(OFlags::APPEND);
        // …/claude-1000/-home-ann-project/SESSION/tasks/TASK.output
        let names: Vec<&OsStr> = path.iter().rev().take(5).collect();
        let [name, tasks, session, _, client] = names[..] else {
            return Ok(None);
        };
        let task = name.to_str().and_then(|name| name.strip_suffix(".output"));
        let is_clients = client.as_encoded_bytes().starts_with(b"claude-");
        let (Some(task), Some(session)) = (task, session.to_str()) else {
            return Ok(None);
        };
        let is_it = is_log && is_clients && tasks == "tasks";
        let (task, session) = (task.to_owned(), session.to_owned());
        Ok(is_it.then_some(Self {
            path,
            session,
            task,
            bytes: found.len(),
        }))
    }

    /// Writes the message in place of the content, unless the file has grown. A message about
    /// secrets may be longer than the content. What covers the content is written first, so nothing
    /// of it stays if the disk is full.
    fn becomes(&self, message: &str) -> Result<(), Failure> {
        let file = File::options().write(true).open(STDOUT)?;
        let length = message.len() as u64;
        if file.metadata()?.len() == self.bytes {
            let covered =
                usize::try_from(self.bytes).map_or(message.len(), |n| n.min(message.len()));
            let (first, rest) = message.as_bytes().split_at(covered);
            file.write_all_at(first, 0)?;
            file.write_all_at(rest, self.bytes)?;
            file.set_len(length)?;
        }
        Ok(())
    }
}

/// Returns whether the command has changed which store and configuration are used. Later shells do
/// not see such a change, so they would not find the output.
fn is_elsewhere(shell: u32) -> Result<bool, Failure> {
    let first = nul_separated(shell, "environ")?;
    let is_place = |(name, _): &(OsString, OsString)| PLACES.iter().any(|place| *place == name);
    let now: BTreeSet<(OsString, OsString)> = std::env::vars_os().filter(is_place).collect();
    let then = first.into_iter().filter_map(|variable| {
        let bytes = variable.into_vec();
        let at = bytes.iter().position(|&byte| byte == b'=')?;
        let (name, value) = (bytes[..at].to_vec(), bytes[at + 1..].to_vec());
        Some((OsString::from_vec(name), OsString::from_vec(value)))
    });
    Ok(then.filter(is_place).collect::<BTreeSet<_>>() != now)
}

/// Returns whether a process besides the shell and its ancestors has the file open.
fn has_other_writers(path: &Path, shell: u32) -> Result<bool, Failure> {
    let mut known = vec![std::process::id()];
    let mut next = Some(shell);
    while let Some(pid) = next.filter(|pid| *pid > 1 && known.len() < 100) {
        known.push(pid);
        next = parent(pid);
    }
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // Processes of other users cannot be examined.
        let Ok(open) = fs::read_dir(entry.path().join("fd")) else {
            continue;
        };
        let has = |open: fs::ReadDir| {
            let mut links = open.flatten().map(|one| fs::read_link(one.path()));
            links.any(|link| link.is_ok_and(|link| link == path))
        };
        if !known.contains(&pid) && has(open) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the parent of a process.
fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line?.trim().parse().ok()
}

/// Maximum bytes of a process's environment or command line that are read.
const LARGEST: u64 = 16 << 20;

fn nul_separated(pid: u32, what: &str) -> Result<Vec<OsString>, Failure> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/{what}"))?;
    file.take(LARGEST).read_to_end(&mut bytes)?;
    let parts = bytes.split(|&byte| byte == 0).map(<[u8]>::to_vec);
    Ok(parts.map(OsString::from_vec).collect())
}

/// Returns the command that the shell runs, as the model wrote it.
fn command_of(shell: u32) -> Option<String> {
    let words = nul_separated(shell, "cmdline").ok()?;
    let script = words.get(2)?.to_str()?;
    written(script)
}

/// Returns the command in the script that the client gives to its shell.
fn written(script: &str) -> Option<String> {
    let (_, rest) = script.split_once(" && eval '")?;
    let (rest, _) = rest.rsplit_once(" && pwd -P >| ")?;
    let quoted = rest.strip_suffix(" < /dev/null").unwrap_or(rest);
    let quoted = quoted.strip_suffix('\'')?;
    Some(quoted.replace("'\"'\"'", "'").replace("'\\''", "'"))
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn the_command_is_what_the_model_wrote() {
        for (script, command) in [
            (
                "source /s.sh && eval 'ls' < /dev/null && pwd -P >| /tmp/c",
                Some("ls"),
            ),
            (
                "source /s.sh && eval 'echo '\"'\"'a'\"'\"'' < /dev/null && pwd -P >| /tmp/c",
                Some("echo 'a'"),
            ),
            (
                "source /s.sh && eval 'echo '\\''a'\\''' < /dev/null && pwd -P >| /tmp/c",
                Some("echo 'a'"),
            ),
            (
                "source /s.sh && eval 'ls < a' && pwd -P >| /tmp/c",
                Some("ls < a"),
            ),
            ("ls", None),
            ("source /s.sh && eval 'ls'", None),
        ] {
            assert_eq!(written(script).as_deref(), command, "{script}");
        }
    }
}

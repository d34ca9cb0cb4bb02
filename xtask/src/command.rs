//! Running other programs, with errors that name what was run.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::workspace;

/// `cargo` with space-separated `arguments`, in the workspace root. It is the cargo that runs us,
/// so that a toolchain override holds for what we run too.
pub(crate) fn cargo(arguments: &str) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command
        .args(arguments.split_whitespace())
        .current_dir(workspace::root());
    command
}

/// Runs `command` to its end, its output going to ours; anything but exit code 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    // Nothing here may wait for an answer: continuous integration has nobody to give one.
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// The same, but what still runs after `limit`, or when we are told to end, is ended with all that
/// it started. It is a group of its own, which a person's Ctrl-C does not reach.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Result<()> {
    let told_to_end = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&told_to_end))?;
    }
    let mut child = command
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let why = match told_to_end.load(Ordering::Relaxed) {
            true => "was interrupted".to_owned(),
            false if start.elapsed() > limit => {
                format!("still ran after {} s and was ended", limit.as_secs())
            }
            false => {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
        };
        kill_process_group(Pid::from_child(&child), Signal::KILL)?;
        child.wait()?;
        bail!("{} {why}", shown(command));
    };
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs `command` and gives its trimmed stdout; its stderr is part of the error when it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ended with {}: {}",
            shown(command),
            output.status,
            reason.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}

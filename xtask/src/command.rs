//! Runs other programs, and returns errors that name the command.

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

/// Returns the command `cargo` with space-separated `arguments` in the workspace root. It uses the
/// `cargo` that runs this program, so that a toolchain override applies to the command, too.
pub(crate) fn cargo(arguments: &str) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command
        .args(arguments.split_whitespace())
        .current_dir(workspace::root());
    command
}

/// Runs `command` to its end. It inherits our output streams; an exit code other than 0 is an
/// error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    // No program may wait for input, because in continuous integration there is none.
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs `command` like [`run`], but kills it and all its children after `limit` or when we receive
/// a signal. The command gets its own process group, so Ctrl-C on a terminal does not reach it
/// directly.
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

/// Runs `command` and returns its trimmed stdout; if it fails, its stderr is part of the error.
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

/// Returns the command as a user would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}

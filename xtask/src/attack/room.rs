//! Provides a directory, a store and environment variables for one attack, and runs programs with
//! them under a time limit.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process_group};

use super::table::Outcome;

/// A program that still runs after this time counts as hanging. The slowest call has its own limit
/// of 10 s, and the machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// How often to check whether a program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The directory, store and environment of an attack. The directory is removed at the end.
#[derive(Debug)]
pub(crate) struct Room {
    directory: PathBuf,
    program: PathBuf,
    interrupted: Arc<AtomicBool>,
}

/// The exit status and the output of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// Whether the program was still running after [`LIMIT`], or after its own limit.
    pub(crate) is_late: bool,
}

impl Ended {
    pub(crate) fn is_done(&self) -> bool {
        self.status.success()
    }

    pub(crate) fn has_panicked(&self) -> bool {
        has_panicked(&self.stderr, self.status)
    }

    /// Counts a panic or a hang; returns whether there was none.
    pub(crate) fn judge(&self, outcome: &mut Outcome, what: &str) -> bool {
        if self.is_late {
            outcome.hangs += 1;
            outcome.note(format!("{what}: still ran after its time"));
        } else if self.has_panicked() {
            outcome.panics += 1;
            outcome.note(format!(
                "{what}: {}: {:.200}",
                self.status,
                self.stderr.trim()
            ));
        } else {
            return true;
        }
        false
    }
}

/// Returns whether a program panicked or was killed by a signal. Callers do not pass programs that
/// they killed themselves.
pub(crate) fn has_panicked(stderr: &str, status: ExitStatus) -> bool {
    stderr.contains("panicked at") || status.signal().is_some() || status.code() == Some(101)
}

impl Room {
    /// Creates a directory for the attack `name` against `program`.
    pub(crate) fn new(name: &str, program: &Path, interrupted: &Arc<AtomicBool>) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let directory =
            std::env::temp_dir().join(format!("spillgate-attack-{process}-{name}-{number:04}"));
        fs::create_dir_all(directory.join("work"))
            .with_context(|| format!("cannot create {}", directory.display()))?;
        Ok(Self {
            directory,
            program: program.to_owned(),
            interrupted: Arc::clone(interrupted),
        })
    }

    /// Returns the directory that the attack may write to.
    pub(crate) fn work(&self) -> PathBuf {
        self.directory.join("work")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.directory.join("store")
    }

    /// Returns the command of `spillgate` with this room's store and without the user's
    /// configuration.
    pub(crate) fn spillgate(&self, arguments: &[&str]) -> Command {
        let mut command = self.spillgate_at_home(&[]);
        command.arg("--store").arg(self.store()).args(arguments);
        command
    }

    /// Returns the command of `spillgate` without the user's configuration. It uses the default
    /// store, which is in this room, so that messages do not name a store.
    pub(crate) fn spillgate_at_home(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let home = self.directory.join("home");
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TMPDIR", self.work());
        for name in ["CONFIG", "STATE", "DATA", "CACHE"] {
            command.env(format!("XDG_{name}_HOME"), home.join(name));
        }
        command.env("HOME", home);
        command
    }

    /// Fails once the user has pressed Ctrl-C.
    pub(crate) fn go_on(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Runs `spillgate` to its end, or to [`LIMIT`].
    pub(crate) fn run(&self, arguments: &[&str], stdin: &[u8]) -> Result<Ended> {
        self.go_on()?;
        Running::start(self.spillgate(arguments), stdin)?.end(LIMIT)
    }

    /// Stores `bytes` and returns the handle.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<String> {
        let ended = self.run(&["put", "--max-bytes", "100"], bytes)?;
        ensure!(ended.is_done(), "`put` failed: {}", ended.stderr);
        let handle = handles(&ended.stdout).pop();
        handle.context("`put` printed no handle")
    }

    /// Returns the file of an artifact with this suffix, if it exists.
    pub(crate) fn file(&self, handle: &str, suffix: &str) -> Option<PathBuf> {
        let path = self.store().join(format!("{handle}{suffix}"));
        path.is_file().then_some(path)
    }

    /// Returns the file with the bytes that came in. It is a separate file only if the view differs
    /// from these bytes.
    pub(crate) fn raw_file(&self, handle: &str) -> Option<PathBuf> {
        self.file(handle, ".raw").or_else(|| self.file(handle, ""))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A running program. Dropping it kills it with all its children.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    readers: Option<[JoinHandle<Vec<u8>>; 2]>,
}

impl Running {
    /// Starts the program; a thread writes `stdin` to it.
    pub(crate) fn start(mut command: Command, stdin: &[u8]) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start spillgate")?;
        let (mut to, bytes) = (child.stdin.take(), stdin.to_owned());
        thread::spawn(move || to.as_mut().map(|to| to.write_all(&bytes)));
        let stdout = child.stdout.take().map(all_of);
        let stderr = child.stderr.take().map(all_of);
        let readers = stdout.zip(stderr).map(|(out, err)| [out, err]);
        Ok(Self { child, readers })
    }

    /// Kills the program, as a system that is out of memory would.
    pub(crate) fn kill(&self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Waits for the end of the program, at most for `limit`.
    pub(crate) fn end(mut self, limit: Duration) -> Result<Ended> {
        let begin = Instant::now();
        let mut is_late = false;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if begin.elapsed() > limit {
                is_late = true;
                self.kill();
                break self.child.wait()?;
            }
            thread::sleep(LOOK_EVERY);
        };
        let mut said = [Vec::new(), Vec::new()];
        for (said, reader) in said
            .iter_mut()
            .zip(self.readers.take().into_iter().flatten())
        {
            *said = reader.join().unwrap_or_default();
        }
        let [stdout, stderr] = said;
        Ok(Ended {
            status,
            stdout,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            is_late,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

fn all_of(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        // An error is ignored: after a kill, the output up to then is used.
        let _ = from.read_to_end(&mut all);
        all
    })
}

/// Finds handles. Any word may have 14 letters, so a short handle is recognized by the text before
/// it.
static HANDLE: LazyLock<Regex> = LazyLock::new(|| {
    let long = "session-[0-9a-f-]{36}/[0-9a-f-]{36}";
    let before = r#"stored whole as |spillgate://artifact/|handle\\*":\s?\\*""#;
    let pattern = format!(r"(?:{before})(?<short>[a-z]{{14}})\b|(?<long>{long})");
    Regex::new(&pattern).expect("invariant: the pattern compiles")
});

/// Returns all handles in an output, each once.
pub(crate) fn handles(said: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(said);
    let mut found: Vec<String> = Vec::new();
    for captures in HANDLE.captures_iter(&said) {
        let handle = captures.name("short").or(captures.name("long"));
        if let Some(handle) = handle.map(|handle| handle.as_str())
            && !found.iter().any(|other| other == handle)
        {
            found.push(handle.to_owned());
        }
    }
    found
}

/// Returns a text of at least `bytes` bytes that is unique to `tag`.
pub(crate) fn text(tag: u64, bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 80);
    let mut line = 0_u64;
    while text.len() < bytes {
        let _ = writeln!(
            text,
            "attack {tag} line {line:06} has some words and the number {}",
            line * 7919 % 1009
        );
        line += 1;
    }
    text
}

/// Returns the tag of such a text.
pub(crate) fn tag_of(text: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.strip_prefix("attack ")?
        .split(' ')
        .next()?
        .parse()
        .ok()
}

/// Returns the resident memory of a process in MiB.
pub(crate) fn resident(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_and_tags_are_found_in_what_is_said() {
        let handle =
            "session-0b1f4e3a-6f5e-4b43-9a55-3f0c8c3b0001/0b1f4e3a-6f5e-4b43-9a55-3f0c8c3b0002";
        let said = format!("stored whole as {handle} and again {handle}; cut: session-0b1f4e3a-6f");
        assert_eq!(handles(said.as_bytes()), [handle]);
        assert_eq!(
            handles(b"session-x/y, stored whole as kqvbnrtzaewmxoo"),
            [""; 0]
        );
        let said = br#"{"text":"{\"handle\": \"kqvbnrtzaewmxo\"}","uri":"spillgate://artifact/abcdefghijklmn/content/0"}"#;
        assert_eq!(handles(said), ["kqvbnrtzaewmxo", "abcdefghijklmn"]);
        assert_eq!(tag_of(&text(17, 300)), Some(17));
        assert!(text(17, 300).len() >= 300);
        assert_eq!(tag_of(b"else"), None);
    }
}

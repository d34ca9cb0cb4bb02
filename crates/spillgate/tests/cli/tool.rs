//! A test helper that runs the `spillgate` binary with a new store.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The command `spillgate` with an empty store and without the user's configuration.
pub(crate) struct Tool {
    home: TempDir,
}

impl Tool {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.home.path().join("store")
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.with(Command::new(env!("CARGO_BIN_EXE_spillgate")), args)
    }

    /// Returns the command of a shell line in which `$SPILLGATE` is the binary.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = self.with(Command::new("sh"), &["-c", line]);
        command.env("SPILLGATE", env!("CARGO_BIN_EXE_spillgate"));
        command
    }

    fn with<S: AsRef<OsStr>>(&self, mut command: Command, args: &[S]) -> Command {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SPILLGATE_") {
                command.env_remove(name);
            }
        }
        command
            .args(args)
            .env("HOME", self.home.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_STATE_HOME")
            .env("SPILLGATE_STORE", self.store());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S], stdin: &[u8]) -> Output {
        feed(self.command(args), stdin)
    }

    /// Returns the object that `--json` prints; the command must succeed.
    pub(crate) fn json<S: AsRef<OsStr>>(&self, args: &[S], stdin: &[u8]) -> Value {
        let output = feed(self.command(&with_json(args)), stdin);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the object that `--json` prints, however the command ends.
    pub(crate) fn json_of_any<S: AsRef<OsStr>>(&self, args: &[S]) -> Value {
        let output = feed(self.command(&with_json(args)), b"");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the `error` member of `--json` and the exit code of a command that fails.
    pub(crate) fn error<S: AsRef<OsStr>>(&self, args: &[S]) -> (Value, i32) {
        let output = feed(self.command(&with_json(args)), b"");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        (object["error"].clone(), output.status.code().unwrap())
    }

    /// Stores `bytes`, which must be offloaded, and returns the handle.
    pub(crate) fn put(&self, bytes: &[u8]) -> String {
        let object = self.json(&["put"], bytes);
        object["handle"].as_str().unwrap().to_owned()
    }
}

/// Inserts `--json` directly after the subcommand, because everything after the options of `run`
/// belongs to the command.
fn with_json<S: AsRef<OsStr>>(args: &[S]) -> Vec<&OsStr> {
    let mut args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    args.insert(1, OsStr::new("--json"));
    args
}

/// Runs a command with `stdin` as its input.
pub(crate) fn feed(mut command: Command, stdin: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A command may end without reading all of its input.
        scope.spawn(move || drop(input.write_all(stdin)));
        child.wait_with_output().unwrap()
    })
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Replaces the handle, which differs from run to run.
pub(crate) fn masked(text: &str, handle: &str) -> String {
    text.replace(handle, "HANDLE")
}

//! The file of a trace, which contains a complete JSON document at every moment, however the run
//! ends, and the directory in which each run leaves one for the page.
//!
//! The trace is written to a temporary file in the same directory, which is then renamed. This is
//! repeated during the run and done once more at its end. If a run is killed, the file contains the
//! trace as it was a few seconds before.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use spillgate_artifact::{Clock, SystemClock};
use spillgate_extract::{Op, TraceKeeper};

use crate::failure::{Failure, Fault};
use crate::marks::redacted;

/// Maximum length of the name of a run in the name of its file, in characters.
const NAME: usize = 40;

/// The file that a trace is written to.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    draft: PathBuf,
}

impl TraceFile {
    /// Prepares to write to `path`, which must not exist or be a regular file. The file is readable
    /// by its owner alone, because it quotes tool results.
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(path)?;
        let name = path.file_name().map(|name| name.to_string_lossy());
        let Some(name) = name.filter(|_| !path.is_dir()) else {
            return Err(wrong(&path, "it is a directory"));
        };
        // Renaming over /dev/null or a pipe would replace it.
        let is_file = fs::symlink_metadata(&path).map(|found| found.is_file());
        if is_file.is_ok_and(|is_file| !is_file) {
            return Err(wrong(&path, "it is not a regular file"));
        }
        let draft = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        Ok(Self { path, draft })
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file with this trace.
    pub(crate) fn write(&self, trace: &impl serde::Serialize) -> Result<(), Failure> {
        self.replace(trace).map_err(|error| {
            drop(fs::remove_file(&self.draft));
            wrong(&self.path, &error.to_string())
        })
    }

    fn replace(&self, trace: &impl serde::Serialize) -> io::Result<()> {
        let mut json = serde_json::to_string_pretty(trace)?;
        json.push('\n');
        // An existing draft was left by an earlier process with our process id.
        drop(fs::remove_file(&self.draft));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let json = redacted(&json);
        options.open(&self.draft)?.write_all(json.as_bytes())?;
        fs::rename(&self.draft, &self.path)
    }
}

/// Prepares to write the trace of a run into a file of its own in a directory, which is created if it
/// does not exist.
pub(crate) fn in_directory(directory: &Path, run: &str) -> Result<TraceFile, Failure> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let create = |error: io::Error| {
        let what = format!(
            "the directory of traces {} cannot be created: {error}",
            directory.display()
        );
        Failure::new("io", Fault::Us, what).hint("correct `traces` under [ui], or remove it")
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(directory).map_err(create)?;
    let time = SystemClock.now().to_string().replace(':', "-");
    let name: String = run.chars().take(NAME).collect();
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    // Several runs of the same second and process, and several processes, have different names.
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let id = std::process::id();
    TraceFile::at(&directory.join(format!("{time}-{name}-{id}-{number}.json")))
}

/// Writes the trace of each extraction into a file of its own.
#[derive(Debug)]
pub(crate) struct TraceDirectory(pub(crate) PathBuf);

impl TraceKeeper for TraceDirectory {
    fn keep(&self, trace: &Op) {
        let written = in_directory(&self.0, "extraction").and_then(|file| file.write(trace));
        if let Err(failure) = written {
            tracing::error!(
                error = failure.text(),
                "the trace of an extraction could not be written"
            );
        }
    }
}

fn wrong(path: &Path, what: &str) -> Failure {
    let message = format!(
        "the trace could not be written to {}: {what}",
        path.display()
    );
    Failure::new("io", Fault::Us, message).hint("name another file with --trace FILE")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.json");
        fs::write(&path, "what was there, and longer than what comes").unwrap();
        let file = TraceFile::at(&path).unwrap();
        file.write(&[1]).unwrap();
        file.write(&[2, 3]).unwrap();
        let read: Vec<u32> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(read, [2, 3]);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "no draft");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = file.write(&[4]).unwrap_err();
        assert!(error.text().contains("t.json: "), "{}", error.text());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "no draft");
    }

    #[test]
    fn each_run_has_a_file_in_a_directory_of_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("a/traces");
        let keeper = TraceDirectory(directory.clone());
        let op = Op::new(spillgate_extract::OpKind::Session, "tool_output");
        keeper.keep(&op);
        keeper.keep(&op);
        let file = in_directory(&directory, "../über/agent").unwrap();
        file.write(&op).unwrap();
        assert_eq!(file.path().parent(), Some(&*directory));
        let mode = fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let files = fs::read_dir(&directory).unwrap().map(|one| one.unwrap());
        let read = files.map(|one| serde_json::from_slice(&fs::read(one.path()).unwrap()).unwrap());
        assert_eq!(read.collect::<Vec<Op>>(), [op.clone(), op.clone(), op]);
    }

    #[test]
    fn only_an_ordinary_file_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let link = home.path().join("link");
        symlink("/dev/null", &link).unwrap();
        for (path, what) in [
            (Path::new("/dev/null"), "not a regular file"),
            (&link, "not a regular file"),
            (home.path(), "a directory"),
            (Path::new("/"), "a directory"),
        ] {
            let error = TraceFile::at(path).unwrap_err();
            assert!(error.text().contains(what), "{path:?}: {}", error.text());
        }
    }
}

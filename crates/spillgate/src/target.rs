//! What a look-up looks into: a stored output, or a file that is read without storing it.

use std::convert::Infallible;
use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use spillgate_artifact::{Clock, Handle, Origin, Reason, SystemClock};
use spillgate_offload::{Choice, NoLedger, Offloader, StoredSecrets};
use spillgate_store::{ArtifactStore, FileStore, Lifetime, MemoryStore, Receipt};
use spillgate_untrusted::shell_word;

use crate::args::LimitArgs;
use crate::failure::{Failure, Fault};
use crate::handle_arg::HandleArg;
use crate::wiring::App;

/// Largest file that is held in memory while it is looked into, in bytes. A larger one, and a pipe,
/// is copied to a directory of its own until the command ends.
const HELD: u64 = 64 << 20;

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A stored output or a file, as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetArg(pub(crate) String);

impl FromStr for TargetArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// A stored output or a file that can be looked into.
#[derive(Debug)]
pub(crate) struct Target {
    /// What looks into it.
    pub(crate) offloader: Offloader,
    /// Its name for the offloader.
    pub(crate) handle: Handle,
    /// What names it in another command.
    pub(crate) name: String,
    /// The directory of a copy, which is removed with this value.
    _copy: Option<Scratch>,
}

impl App {
    /// Finds what the user typed: a stored output, or a file if no stored output is called so.
    pub(crate) fn target(&self, typed: &TargetArg) -> Result<Target, Failure> {
        let text = typed.0.as_str();
        let path = Path::new(text);
        let parsed = text.parse::<HandleArg>();
        let is_beginning = matches!(parsed, Ok(HandleArg::Beginning(_)));
        let found = match parsed {
            Ok(handle) => self.handle(&handle).and_then(|handle| {
                self.store.manifest(handle)?;
                Ok(handle)
            }),
            Err(_) if text == STANDARD_INPUT => return self.file(text, io::stdin().lock(), None),
            Err(_) => Err(absent(text)),
        };
        match found {
            Ok(handle) => Ok(Target {
                offloader: self.offloader.clone(),
                handle,
                name: handle.to_string(),
                _copy: None,
            }),
            Err(failure) if failure.is_absent() && path.exists() => self.open(text, path),
            // Whatever begins with a letter can be the beginning of a handle, also `cargo`.
            Err(failure) if failure.is_absent() && is_beginning => Err(absent(text)),
            Err(failure) => Err(failure),
        }
    }

    fn open(&self, text: &str, path: &Path) -> Result<Target, Failure> {
        let failed = |error: &io::Error| {
            Failure::new("file", Fault::Caller, format!("{text}: {error}")).hint(
                "name a file that you may read, or a stored output; `spillgate ls` lists those",
            )
        };
        let file = File::open(path).map_err(|error| failed(&error))?;
        let metadata = file.metadata().map_err(|error| failed(&error))?;
        if metadata.is_dir() {
            return Err(
                Failure::new("file", Fault::Caller, format!("{text} is a directory"))
                    .hint("name a file in it, or a stored output; `spillgate ls` lists those"),
            );
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        self.file(text, file, bytes)
    }

    /// Makes bytes that are not stored ready for look-ups, with the same rules as stored ones.
    fn file(
        &self,
        name: &str,
        mut bytes: impl Read,
        length: Option<u64>,
    ) -> Result<Target, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let is_held = length.is_some_and(|length| length <= HELD);
        let copy = (!is_held).then(Scratch::new).transpose()?;
        let store: Arc<dyn ArtifactStore> = match &copy {
            None => Arc::new(MemoryStore::default()),
            Some(copy) => Arc::new(FileStore::new(
                &copy.0,
                Lifetime::Session,
                Arc::clone(&clock),
            )),
        };
        // Nothing is kept, so what may be kept of secrets does not matter; look-ups mark them.
        let mut settings = self.settings.clone();
        settings.secrets.stored = Some(StoredSecrets::AsIs);
        let offloader = Offloader::new(
            store,
            settings.policy(&LimitArgs::default())?,
            Arc::clone(self.offloader.counter()),
            spillgate_offload::Audience::default(),
            clock,
            Arc::new(NoLedger),
        )
        .with_redactor(settings.redactor()?);
        let origin = Origin::tool("file");
        let pending = offloader.submit_stream(origin, false, &mut bytes, &mut |_| {});
        let pending = pending
            .map_err(|error| Failure::new("file", Fault::Caller, format!("{name}: {error}")))?;
        let outcome = pending.settle(Choice::Store(Reason::SizeCap));
        let handle = crate::cmd::receipt(&outcome).map(Receipt::handle);
        let Some(handle) = handle else {
            return Err(crate::cmd::failure(outcome).unwrap_or_else(|| absent(name)));
        };
        Ok(Target {
            offloader,
            handle,
            name: shell_word(name),
            _copy: copy,
        })
    }
}

/// The error for what is neither a stored output nor a file.
fn absent(text: &str) -> Failure {
    let path = std::env::current_dir().unwrap_or_default().join(text);
    // Leaves out the `.` of `./FILE`.
    let path: PathBuf = path.components().collect();
    let what = format!(
        "no stored output has a handle that begins with `{text}`, and there is no file {}",
        path.display()
    );
    Failure::new("not_found", Fault::Caller, what)
        .hint("`spillgate ls` lists what is stored; `last` is the newest output")
}

/// A directory that only this user can read, removed with this value.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let name = format!("spillgate-{}", spillgate_artifact::SessionId::random());
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that is left over lies among the temporary files, which the system removes.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

//! `spillgate export`: writes a stored output to a file, and checks that it is whole.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use spillgate_artifact::{FileId, Handle, ReadRange};
use spillgate_offload::Checked;
use spillgate_store::{Part, StoreError};

use super::cat::{check_secrets, copy};
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::store_args::Export;
use crate::wiring::App;

pub(crate) fn export(app: &App, export: &Export, out: &Output) -> Result<u8, Failure> {
    let handle = app.handle(&export.handle)?;
    let to = &export.output;
    if !export.view {
        check_secrets(app, handle, out)?;
    }
    if !export.force && to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    let unfinished = Unfinished::beside(to);
    let (bytes, sha256) = written(app, handle, export.view, &unfinished.0)?;
    let moved = match export.force {
        true => fs::rename(&unfinished.0, to),
        // Unlike a rename, a link never replaces a file that somebody made since.
        false => fs::hard_link(&unfinished.0, to),
    };
    moved.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(to),
        _ => unwritable(to, &error),
    })?;
    if out.json {
        let object = json!({"handle": handle, "file": to, "bytes": bytes, "sha256": sha256});
        out.object(&object)?;
    } else {
        let checked = sha256.map_or(String::new(), |sum| format!(", SHA-256 {sum}"));
        out.note(&format!("{}: {bytes} bytes{checked}", to.display()));
    }
    Ok(0)
}

/// Writes the output to a new file; returns the number of bytes, and the SHA-256 if the bytes are
/// those that came in.
fn written(
    app: &App,
    handle: Handle,
    is_view: bool,
    to: &Path,
) -> Result<(u64, Option<String>), Failure> {
    let artifact = is_view
        .then(|| app.offloader.artifact(handle))
        .transpose()?;
    let redacted = artifact.filter(spillgate_lookup::Artifact::is_redacted);
    let stored = app.store.open(handle)?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(to);
    let mut file = BufWriter::new(file.map_err(|error| unwritable(to, &error))?);
    let failed = |error: io::Error| unwritable(to, &error);
    if let Some(artifact) = redacted {
        let view = artifact.view().source();
        copy(&mut ReadRange::whole(view), &mut file).map_err(failed)?;
        file.flush().map_err(failed)?;
        return Ok((view.len(), None));
    }
    let part = if is_view { Part::View } else { Part::Raw };
    let mut checked = Checked::new(&stored, part);
    copy(&mut checked, &mut file).map_err(failed)?;
    file.flush().map_err(failed)?;
    file.get_ref().sync_all().map_err(failed)?;
    checked.finish().map_err(|what| StoreError::Damaged {
        path: app.store.path_of(handle),
        what: format!("{what}; nothing was written"),
    })?;
    let bytes = if is_view {
        stored.view.len()
    } else {
        stored.raw.len()
    };
    let sha256 = (!is_view).then(|| stored.manifest.facts.sha256.clone());
    Ok((bytes, sha256))
}

/// A file that is removed with this value.
struct Unfinished(PathBuf);

impl Unfinished {
    /// Returns a new name in the directory of `to`.
    fn beside(to: &Path) -> Self {
        Self(to.with_file_name(format!(".spillgate-{}", FileId::random())))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

fn exists(to: &Path) -> Failure {
    let what = format!("{} exists already", to.display());
    Failure::new("file", Fault::Caller, what).hint("--force replaces it")
}

fn unwritable(to: &Path, error: &io::Error) -> Failure {
    let place = to
        .parent()
        .filter(|place| *place != Path::new(""))
        .unwrap_or(Path::new("."));
    let what = format!("{} cannot be written to: {error}", place.display());
    Failure::new("file", Fault::Caller, what)
        .hint("name a file in a directory that exists and that you may write to")
}

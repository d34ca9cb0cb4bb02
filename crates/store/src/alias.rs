//! Creates and removes the symbolic links through which other programs can open an artifact's text.
//!
//! The `funnel` profile gives a model the path of a file that `jq` and `grep` can read. That file
//! is a symbolic link to the stored text in the same directory, so no byte is stored twice. The
//! store itself never follows the link.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use spillgate_artifact::{Facts, FileId, FileName, RawForm};

use crate::StoreError;
use crate::draft::DRAFT_PREFIX;
use crate::files::Paths;

/// Creates the link that `facts` names, if any. A link of this name that already exists leads to
/// the same text, because the name contains the text's hash. Such a link is replaced by one to the
/// newer artifact.
pub(crate) fn link(directory: &Path, paths: &Paths, facts: &Facts) -> Result<(), StoreError> {
    let Some(name) = &facts.file_name else {
        return Ok(());
    };
    let path = directory.join(name.as_str());
    let draft = directory.join(format!("{DRAFT_PREFIX}{}.link", FileId::random()));
    symlink(target(paths, facts), &draft)
        .and_then(|()| fs::rename(&draft, &path))
        .map_err(|error| {
            drop(fs::remove_file(&draft));
            StoreError::io(&path, error)
        })
}

/// Removes the link, unless it leads to another artifact now.
pub(crate) fn unlink(directory: &Path, paths: &Paths, facts: &Facts) {
    if let Some(name) = &facts.file_name {
        let path = directory.join(name.as_str());
        if fs::read_link(&path).is_ok_and(|to| to == target(paths, facts)) {
            drop(fs::remove_file(path));
        }
    }
}

/// Whether a link leads to no file because its writer was killed before it had stored the artifact.
pub(crate) fn is_dangling(directory: &Path, name: &str) -> bool {
    let path = directory.join(name);
    let is_gone = |to: PathBuf| {
        let found = fs::symlink_metadata(directory.join(to));
        found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    name.parse::<FileName>().is_ok() && fs::read_link(path).is_ok_and(is_gone)
}

/// The file that holds the text: the raw bytes if they are text, otherwise the view.
fn target(paths: &Paths, facts: &Facts) -> PathBuf {
    let is_text = facts.form == RawForm::Plain && !facts.view.is_raw;
    let text = if is_text { &paths.raw } else { &paths.view };
    text.file_name().map(PathBuf::from).unwrap_or_default()
}

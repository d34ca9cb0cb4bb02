//! Provides paths in this checkout of the repository.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The workspace root: the directory above this package.
pub(crate) fn root() -> PathBuf {
    // The path is read at run time: checkouts that share a target directory also share the compiled
    // binary.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .parent()
        .map_or_else(|| package.clone(), Path::to_path_buf)
}

/// The directory of the real MCP clients and servers; git ignores it.
pub(crate) fn peers() -> PathBuf {
    root().join(".peers")
}

/// The directory of the real language models; git ignores it.
pub(crate) fn models() -> PathBuf {
    root().join(".models")
}

/// Returns the profile directory that cargo built this program into. It contains the other
/// programs, too.
pub(crate) fn built() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let directory = own.parent().context("this program is in no directory")?;
    Ok(directory.to_path_buf())
}

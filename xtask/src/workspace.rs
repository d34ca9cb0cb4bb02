//! Where things lie in this checkout.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The workspace root: the directory above this package.
pub(crate) fn root() -> PathBuf {
    // Asked at run time: checkouts that share a target directory share the compiled binary too.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .parent()
        .map_or_else(|| package.clone(), Path::to_path_buf)
}

/// Where the real MCP clients and servers are installed; git ignores it.
pub(crate) fn peers() -> PathBuf {
    root().join(".peers")
}

/// Where real language models are installed; git ignores it.
pub(crate) fn models() -> PathBuf {
    root().join(".models")
}

/// The profile directory that cargo built us into: what else it builds lies beside us.
pub(crate) fn built() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    let directory = own.parent().context("a program lies in a directory")?;
    Ok(directory.to_path_buf())
}

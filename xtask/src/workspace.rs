//! Where things lie in this checkout.

use std::path::{Path, PathBuf};

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

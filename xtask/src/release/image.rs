//! The root file system of the container image, put together and run without a container engine.
//!
//! It has what `packaging/Dockerfile` copies, on the libraries of this system in place of those of
//! the base image. The image itself is built only by the release workflow.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::packages::NOTICES;
use super::{Release, empty};
use crate::command::{output, run};
use crate::report::say;
use crate::workspace;

/// The user of the image, who has no rights.
const USER: u32 = 65532;

/// Puts the root file system together and runs the main job in it, as its user.
pub(super) fn root_file_system(release: &Release) -> Result<Vec<PathBuf>> {
    if output(Command::new("id").arg("-u")).is_ok_and(|id| id != "0") {
        say("left out: only root can change the root directory\n")?;
        return Ok(Vec::new());
    }
    let root = release.target.join("release-tried/image");
    empty(&root)?;
    copy(
        &root,
        &release.program(),
        Path::new("/usr/local/bin/spillgate"),
    )?;
    let texts = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| workspace::root().join(name));
    for text in texts.into_iter().chain([release.dist(NOTICES)]) {
        let name = text.file_name().context("a text has a name")?;
        let to = Path::new("/usr/share/doc/spillgate").join(name);
        copy(&root, &text, &to)?;
    }
    for library in libraries(&release.program())? {
        copy(&root, &library, &library)?;
    }
    let data = root.join("data");
    fs::create_dir(&data)?;
    chown(&data, Some(USER), Some(USER))?;
    // Nothing else may be written.
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755))?;
    // What the script mounts is gone when it ends.
    let mut job = Command::new("unshare");
    job.args(["--mount", "/bin/sh"]);
    job.arg(workspace::root().join("xtask/release/image.sh"))
        .arg(&root);
    run(job.env("IMAGE_USER", USER.to_string()))?;
    say(&format!(
        "{}\n",
        output(Command::new("du").arg("-sh").arg(&root))?
    ))?;
    Ok(Vec::new())
}

/// The libraries that the loader gives the program on this system.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let told = output(Command::new("ldd").arg(program))?;
    let words = told.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(words.map(PathBuf::from).collect())
}

/// Copies a file to a path below `root`.
fn copy(root: &Path, from: &Path, to: &Path) -> Result<()> {
    let below = to
        .strip_prefix("/")
        .context("paths in the image are absolute")?;
    let to = root.join(below);
    let parent = to.parent().context("a file is in a directory")?;
    fs::create_dir_all(parent)?;
    fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

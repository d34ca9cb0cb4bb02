//! Opens files and directories beneath a directory handle, without following links.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

/// Flags for opening directories. Links are not followed.
const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Flags for opening files. Links are not followed, and opening a pipe does not block.
const FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the directory at `path` beneath `base`, following no link. An empty path means `base`.
pub(super) fn directory(base: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    if path.is_empty() {
        return Ok(openat(base, c".", DIRECTORY, Mode::empty())?);
    }
    match at_once(base, path) {
        // This is not Linux, the kernel lacks `openat2`, a sandbox forbids it, or the path is too
        // long for it.
        Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => step_by_step(base, path),
        opened => Ok(opened?),
    }
}

#[cfg(target_os = "linux")]
fn at_once(base: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(base, path, DIRECTORY, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn at_once(_: BorrowedFd<'_>, _: &[u8]) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Opens a directory like `directory`, but one component at a time, holding each directory while
/// its child is opened.
fn step_by_step(base: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    let mut parts = path.split(|&byte| byte == b'/');
    let first = parts.next().unwrap_or_default();
    let mut opened = step(base, first)?;
    for part in parts {
        opened = step(opened.as_fd(), part)?;
    }
    Ok(opened)
}

fn step(from: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    match name {
        b".." | b"." | b"" => Err(Errno::INVAL.into()),
        name => Ok(openat(from, name, DIRECTORY, Mode::empty())?),
    }
}

/// Opens the regular file `name` in a directory. Returns `None` if it is something else. Never
/// blocks on a pipe.
pub(crate) fn regular(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<File>> {
    match openat(folder, name, FILE, Mode::empty()) {
        Ok(file) => {
            let file = File::from(file);
            Ok(file.metadata()?.is_file().then_some(file))
        }
        // A link, or a socket.
        Err(Errno::LOOP | Errno::MLINK | Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Formats a name on one line: characters that would break the line are escaped, invalid UTF-8
/// is replaced.
pub(crate) fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    match name.chars().any(breaks) {
        false => name.into_owned(),
        true => name.chars().fold(String::new(), |mut shown, letter| {
            match breaks(letter) {
                true => shown.extend(letter.escape_default()),
                false => shown.push(letter),
            }
            shown
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    type Open = fn(BorrowedFd<'_>, &[u8]) -> bool;

    /// Tests that `openat2` and the walk that replaces it where it is missing follow no symbolic link
    /// and accept the same paths.
    #[test]
    fn no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir(home.path().join("out")).unwrap();
        symlink("../out", root.join("link")).unwrap();
        symlink("b", root.join("a/inside")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let opened = std::fs::File::open(&root).unwrap();
        let ways: [Open; 2] = [
            |base, path| directory(base, path).is_ok(),
            |base, path| step_by_step(base, path).is_ok(),
        ];
        for (path, leads) in [
            ("a", true),
            ("a/b", true),
            ("link", false),
            ("a/inside", false),
            ("link/x", false),
            ("..", false),
            ("a/../..", false),
            ("file", false),
            ("absent", false),
        ] {
            for way in ways {
                assert_eq!(way(opened.as_fd(), path.as_bytes()), leads, "{path}");
            }
        }
    }

    #[test]
    fn a_name_cannot_break_its_line() {
        for (name, told) in [
            (&b"a b.txt"[..], "a b.txt"),
            (b"a\nb", "a\\nb"),
            (b"a\x1b[0m", "a\\u{1b}[0m"),
            (b"\xff.txt", "\u{fffd}.txt"),
            ("größe".as_bytes(), "größe"),
        ] {
            assert_eq!(shown(name), told);
        }
    }
}

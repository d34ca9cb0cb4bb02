//! Finds existing paths that a misspelt path may have meant.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use super::path_error::shown;

/// Maximum number of entries of a directory that are compared. A larger directory gets no
/// suggestion, because the result must not depend on the order in which the system lists entries.
const MOST_NAMES: usize = 10_000;

/// Maximum number of components of a path that are examined.
const MOST_PARTS: usize = 32;

/// Maximum number of letters by which a suggested name may differ from the given name. Also, at
/// most one third of its letters may differ.
const MOST_LETTERS: usize = 3;

/// Returns the existing path that `path` was probably meant to be: with slashes instead of
/// backslashes, without the root's own name before it, or with components that differ in case or in
/// a few letters.
pub(super) fn name(dir: &Dir, root: &Path, path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let exact = [
        text.contains('\\').then(|| text.replace('\\', "/")),
        root.file_name().and_then(|own| {
            let rest = path.strip_prefix(own).ok()?;
            Some(rest.to_str()?.to_owned())
        }),
        text.strip_suffix('/').map(str::to_owned),
    ];
    let exact = exact.into_iter().flatten();
    exact
        .filter(|name| !name.is_empty())
        .find(|name| dir.metadata(name).is_ok())
        .or_else(|| spelt(dir, path)?.to_str().map(str::to_owned))
        .filter(|name| shown(name) == *name)
}

/// Returns the path with each missing component replaced by the most similar entry.
fn spelt(dir: &Dir, path: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for (passed, part) in path.components().enumerate() {
        if passed == MOST_PARTS {
            return None;
        }
        let next = found.join(part);
        match dir.metadata(&next).is_ok() {
            true => found = next,
            false => found.push(likeliest(dir, &found, part)?),
        }
    }
    dir.metadata(&found).is_ok().then_some(found)
}

/// The entry of the directory `at` that is most similar to `part`.
fn likeliest(dir: &Dir, at: &Path, part: Component<'_>) -> Option<String> {
    let Component::Normal(part) = part else {
        return None;
    };
    let part = part.to_str()?;
    let most = MOST_LETTERS.min(part.chars().count() / 3);
    let at = match at.as_os_str().is_empty() {
        true => Path::new("."),
        false => at,
    };
    let mut best = None;
    for (passed, entry) in dir.read_dir(at).ok()?.enumerate() {
        if passed == MOST_NAMES {
            return None;
        }
        let name = entry.ok()?.file_name();
        let Some(letters) = name.to_str().and_then(|name| distance(part, name)) else {
            continue;
        };
        if letters <= most || letters == 0 {
            best = best.into_iter().chain([(letters, name)]).min();
        }
    }
    best.and_then(|(_, name)| OsStr::to_str(&name).map(str::to_owned))
}

/// The number of letters by which two names differ, ignoring case; `None` if their lengths
/// differ by more than 12 bytes.
fn distance(one: &str, other: &str) -> Option<usize> {
    let near = one.len().abs_diff(other.len()) <= 4 * MOST_LETTERS;
    near.then(|| strsim::osa_distance(&one.to_lowercase(), &other.to_lowercase()))
}

//! Glob patterns over file paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Component;

use globset::{Candidate, GlobBuilder, GlobSet};
use memchr::memchr_iter;

use super::Base;
use crate::workspace::{Workspace, shown as named};

/// Maximum length of a glob, in characters: the same bound as for regular expressions
/// (docs/spec/limits.md, "Look-ups").
const LONGEST: usize = 10_000;

/// A glob over paths below a directory: `*` and `?` within a name, `**` across directories,
/// `[a-z]`, `{one,other}`. A glob without `/` matches at any depth. As in ripgrep, a glob with
/// `!` may exclude a directory with everything in it.
#[derive(Debug)]
pub(crate) struct NamePattern {
    set: GlobSet,
    /// Whether the glob is matched against the path below the base; otherwise it is matched against
    /// the file name only.
    is_path: bool,
    /// Whether the glob begins with `!`, so that it selects what does not match.
    is_negated: bool,
    /// Whether the glob itself names something hidden.
    pub(crate) is_hidden: bool,
}

impl NamePattern {
    /// Compiles `glob` below `base`. A leading `!` negates it if `may_negate`.
    pub(crate) fn new(
        glob: &str,
        may_negate: bool,
        workspace: &Workspace,
        base: &Base,
    ) -> Result<Self, String> {
        if glob.chars().count() > LONGEST {
            return Err(format!(
                "The glob is longer than {LONGEST} characters. Please use a shorter one."
            ));
        }
        let bare = glob.strip_prefix('!').filter(|_| may_negate);
        let (is_negated, bare) = (bare.is_some(), bare.unwrap_or(glob));
        let bare = match is_negated {
            true => bare.trim_end_matches('/'),
            false => bare,
        };
        let (bare, is_absolute) = below(bare, workspace, base)?;
        let wrong = |error: globset::Error| {
            format!(
                "Glob '{}' cannot be read: {}. Please put special characters in brackets, as in '[[]'.",
                named(glob),
                error.kind()
            )
        };
        let mut builder = GlobBuilder::new(&bare);
        builder.literal_separator(true).empty_alternates(true);
        let built = builder.build().map_err(wrong)?;
        let set = GlobSet::builder().add(built).build().map_err(wrong)?;
        Ok(Self {
            set,
            is_path: is_absolute || bare.contains('/'),
            is_negated,
            is_hidden: !is_negated && bare.split('/').any(names_hidden),
        })
    }

    /// Whether the glob selects the file at `path`, a path from the root. `name_at` is the
    /// offset of its last name, `base_at` the offset of the part below the base.
    pub(crate) fn matches(&self, path: &[u8], base_at: usize, name_at: usize) -> bool {
        let below = path.get(base_at..).unwrap_or_default();
        if self.is_negated {
            return !self.names_part(below);
        }
        match self.is_path {
            true => self.names(below),
            false => self.names(path.get(name_at..).unwrap_or_default()),
        }
    }

    fn names(&self, name: &[u8]) -> bool {
        let candidate = Candidate::new(OsStr::from_bytes(name));
        self.set.is_match_candidate(&candidate)
    }

    /// Whether the glob matches the file at `below` or a directory above it.
    fn names_part(&self, below: &[u8]) -> bool {
        let mut start = 0;
        let ends = memchr_iter(b'/', below).chain([below.len()]);
        ends.into_iter().any(|end| {
            let from = std::mem::replace(&mut start, end + 1);
            match self.is_path {
                true => self.names(&below[..end]),
                false => self.names(&below[from..end]),
            }
        })
    }
}

fn names_hidden(part: &str) -> bool {
    part.starts_with('.') && !matches!(part, "." | "..")
}

/// Returns the glob relative to the base, and whether it was absolute.
fn below(glob: &str, workspace: &Workspace, base: &Base) -> Result<(String, bool), String> {
    let out = || {
        format!(
            "Glob '{}' leads out of path '{}'. Please give path, and a glob below it.",
            named(glob),
            base.shown()
        )
    };
    let mut bare = glob.to_owned();
    let is_absolute = glob.starts_with('/');
    if is_absolute {
        let path = workspace.relative(glob).map_err(|_| out())?;
        let path = path.into_os_string().into_string().map_err(|_| out())?;
        let base = std::str::from_utf8(&base.path).map_err(|_| out())?;
        path.strip_prefix(base)
            .ok_or_else(out)?
            .clone_into(&mut bare);
    }
    while let Some(rest) = bare.strip_prefix("./") {
        bare = rest.to_owned();
    }
    let mut parts = std::path::Path::new(&bare).components();
    if parts.any(|part| part == Component::ParentDir) {
        return Err(out());
    }
    if bare.ends_with('/') {
        bare.push_str("**");
    }
    Ok((bare, is_absolute))
}

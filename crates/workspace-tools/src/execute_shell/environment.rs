//! The environment variables of commands.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;

/// Variables that every command inherits if they are set; a trailing `*` matches any suffix.
const USUAL: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR",
];

/// Variables that we set, because a command has no terminal and no user who could turn the pages of
/// its output or enter a password for git.
const SET: [(&str, &str); 4] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The default `PATH` (POSIX leaves it open; these are the usual directories).
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment variables of our process, some of which are passed to commands. `Debug` shows
/// only names, because values may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(OsString, OsString)>);

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

impl Environment {
    /// Returns the variables of a command: the usual variables, the variables that `pass` names,
    /// and the variables in `SET` that `pass` does not name.
    pub(crate) fn of_command(&self, pass: &[String]) -> Vec<(OsString, OsString)> {
        let is_passed = |name: &OsStr| pass.iter().any(|pattern| fits(name, pattern));
        let is_usual = |name: &OsStr| USUAL.iter().any(|pattern| fits(name, pattern));
        let mut given: Vec<(OsString, OsString)> = self
            .0
            .iter()
            .filter(|(name, _)| is_passed(name) || is_usual(name))
            .cloned()
            .collect();
        for (name, value) in SET.into_iter().chain([("PATH", PATH)]) {
            if !given.iter().any(|(given, _)| given == name) {
                given.push((name.into(), value.into()));
            }
        }
        given.sort();
        given
    }
}

/// Sets the variable `name` to `value`.
pub(crate) fn with(
    mut variables: Vec<(OsString, OsString)>,
    name: &str,
    value: &OsStr,
) -> Vec<(OsString, OsString)> {
    variables.retain(|(there, _)| there != name);
    variables.push((name.into(), value.to_owned()));
    variables
}

fn fits(name: &OsStr, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.as_bytes().starts_with(start.as_bytes()),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        [
            ("HOME", "/home/a"),
            ("LC_ALL", "C"),
            ("LCX", "no"),
            ("API_KEY", "s3cret"),
            ("CARGO_HOME", "/c"),
            ("PAGER", "less"),
            ("TERM", "xterm"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into_iter()
        .collect()
    }

    fn given(pass: &[&str]) -> String {
        let pass: Vec<String> = pass.iter().map(ToString::to_string).collect();
        let given = environment().of_command(&pass);
        let each = given
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()));
        each.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_command_sees_what_it_needs() {
        insta::assert_snapshot!(given(&[]), @"
        GIT_PAGER=cat
        GIT_TERMINAL_PROMPT=0
        HOME=/home/a
        LC_ALL=C
        PAGER=cat
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        TERM=dumb
        ");
        insta::assert_snapshot!(given(&["CARGO*", "PAGER", "GONE"]), @"
        CARGO_HOME=/c
        GIT_PAGER=cat
        GIT_TERMINAL_PROMPT=0
        HOME=/home/a
        LC_ALL=C
        PAGER=less
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        TERM=dumb
        ");
    }

    #[test]
    fn values_are_not_shown() {
        insta::assert_snapshot!(format!("{:?}", environment()), @r#"["HOME", "LC_ALL", "LCX", "API_KEY", "CARGO_HOME", "PAGER", "TERM"]"#);
    }
}

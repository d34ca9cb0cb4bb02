//! The argument that names a stored output: a handle, the beginning of one, or `last`.

use std::ops::ControlFlow;
use std::str::FromStr;

use spillgate_artifact::{Handle, HandleError};

use crate::failure::{Failure, Fault};
use crate::stores::Store;

/// The argument that names the output that was stored last.
const LAST: &str = "last";

/// Maximum number of handles that an error lists.
const SHOWN: usize = 5;

/// A reference to a stored output, as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandleArg {
    /// A complete handle.
    Whole(Handle),
    /// The output that was stored last.
    Last,
    /// The first letters of a handle.
    Beginning(String),
}

impl FromStr for HandleArg {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        let is_beginning = !text.is_empty()
            && text
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'/'))
            && !text.starts_with(['-', '/']);
        match text.parse() {
            Ok(handle) => Ok(Self::Whole(handle)),
            Err(_) if text == LAST => Ok(Self::Last),
            Err(_) if is_beginning => Ok(Self::Beginning(text.to_owned())),
            Err(error) => Err(error),
        }
    }
}

impl HandleArg {
    /// Returns the handle. Fails if no stored output has such a handle, or more than one.
    pub(crate) fn find(&self, store: &Store) -> Result<Handle, Failure> {
        let beginning = match self {
            Self::Whole(handle) => return Ok(*handle),
            Self::Last => {
                let mut last = None;
                store.newest(&mut |one| {
                    last = Some(one.manifest.handle);
                    ControlFlow::Break(())
                })?;
                return last.ok_or_else(|| {
                    let base = store.place();
                    Failure::new(
                        "not_found",
                        Fault::Caller,
                        format!("nothing is stored in {base}"),
                    )
                    .hint("store an output with `spillgate run -- COMMAND` or `spillgate put`")
                });
            }
            Self::Beginning(beginning) => beginning,
        };
        let found = store.beginning_with(beginning)?;
        match &*found {
            [one] => Ok(*one),
            [] => {
                let what = format!("no stored output has a handle that begins with `{beginning}`");
                Err(Failure::new("not_found", Fault::Caller, what)
                    .hint("`spillgate ls` lists what is stored; `last` is the newest output"))
            }
            several => {
                let count = several.len();
                let shown = several[..count.min(SHOWN)].iter().map(Handle::to_string);
                let mut shown = shown.collect::<Vec<_>>().join(", ");
                if count > SHOWN {
                    shown.push_str(", …");
                }
                let what = format!(
                    "{count} stored outputs have a handle that begins with `{beginning}`: {shown}"
                );
                Err(Failure::new("ambiguous", Fault::Caller, what).hint("type more of the handle"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_typed() {
        let long =
            "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";
        let whole = |text: &str| Some(HandleArg::Whole(text.parse().unwrap()));
        let beginning = |text: &str| Some(HandleArg::Beginning(text.to_owned()));
        for (typed, expected) in [
            ("kqvbnrtzaewmxo", whole("kqvbnrtzaewmxo")),
            (long, whole(long)),
            ("last", Some(HandleArg::Last)),
            ("kq", beginning("kq")),
            ("session-0b", beginning("session-0b")),
            (&long[..60], beginning(&long[..60])),
            ("", None),
            ("-kq", None),
            ("/etc/passwd", None),
            ("../x", None),
            ("Kq", None),
            ("kq é", None),
        ] {
            assert_eq!(typed.parse().ok(), expected, "{typed}");
        }
    }
}

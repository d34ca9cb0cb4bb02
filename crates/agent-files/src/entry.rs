//! What a configuration says of one server, tool or service.
//!
//! Whoever starts it has the type for it. This keeps the values with their places,
//! so that what is wrong with them can be told with file, line and key.

mod hidden;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;
use spillgate_config::{Member, Node, NodeKind, Position};

use crate::problem::{FileError, Problems};
use crate::read::read;

/// One entry of `mcpServers`, `restTools`, `openapiSpecs` or `guardedTools`. Its variables are put
/// in: do not put them in once more.
#[derive(Clone)]
pub struct Entry {
    file: PathBuf,
    /// Section and name.
    key: [String; 2],
    at: Position,
    node: Node,
}

impl Entry {
    pub(crate) fn new(file: &Path, section: &str, member: &Member) -> Self {
        Self {
            file: file.to_owned(),
            key: [section.to_owned(), member.key.clone()],
            at: member.at,
            node: member.node.clone(),
        }
    }

    /// An entry that nobody wrote, and that says nothing: it is in the place where it is
    /// named.
    pub(crate) fn unwritten(file: &Path, at: Position, section: &str, name: &str) -> Self {
        Self {
            file: file.to_owned(),
            key: [section.to_owned(), name.to_owned()],
            at,
            node: Node::new(at, NodeKind::Table(Vec::new())),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.key[1]
    }

    /// The file that it stands in; relative paths in it are from that file's
    /// directory.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Where it stands.
    pub fn place(&self) -> Position {
        self.at
    }

    /// All that it says. There may be secrets in it.
    pub fn value(&self) -> Value {
        self.node.value()
    }

    /// The same as it is written, variables not put in, and what else may be a secret
    /// hidden: headers, variables for a program, what is named like a key or a token.
    pub fn shown(&self) -> Value {
        let mut value = self.node.written();
        hidden::hide(&mut value);
        value
    }

    /// What it says as a `T`. Both spellings of a key are understood, unknown keys are
    /// errors; everything that is wrong is told at its place.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problems> {
        read(&self.node, &self.file, &self.key)
    }

    /// The error of a member, or of the whole entry.
    pub fn wrong(&self, path: &[&str], what: impl Into<String>) -> FileError {
        let found = (1..=path.len())
            .rev()
            .find_map(|length| self.node.find(&path[..length]));
        let key = self
            .key
            .iter()
            .map(String::as_str)
            .chain(path.iter().copied());
        let key: Vec<&str> = key.collect();
        FileError::whole(&self.file, what)
            .at(found.map_or(self.at, |member| member.at))
            .of(key.join("."))
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.key.join("."))
    }
}

/// The variable that `text` is, if it is one and nothing else.
pub(crate) fn variable(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    Some(name).filter(|_| starts && rest)
}

/// Members of a section, as entries.
pub(crate) fn entries<'n>(
    file: &'n Path,
    root: &'n Node,
    section: &'static str,
) -> impl Iterator<Item = Entry> + 'n {
    let members = root
        .get(section)
        .into_iter()
        .flat_map(|one| one.node.members());
    let tables = members.filter(|member| matches!(member.node.kind, NodeKind::Table(_)));
    tables.map(move |member| Entry::new(file, section, member))
}

//! The raw configuration of one server, tool or service.
//!
//! The code that opens the server, tool or service defines the type of its configuration. An entry
//! keeps the values with their positions, so that errors name file, line and key.

mod hidden;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;
use spillgate_config::{Member, Node, NodeKind, Position};

use crate::problem::{FileError, Problems};
use crate::read::read;

/// One entry of `mcpServers`, `restTools`, `openapiSpecs` or `guardedTools`. The variables in it
/// are already expanded, and must not be expanded again.
#[derive(Clone)]
pub struct Entry {
    file: PathBuf,
    /// The section and the name of the entry.
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

    /// Creates an empty entry for a source that no file configures. `at` is the position where the
    /// source is named.
    pub(crate) fn unwritten(file: &Path, at: Position, section: &str, name: &str) -> Self {
        Self {
            file: file.to_owned(),
            key: [section.to_owned(), name.to_owned()],
            at,
            node: Node::new(at, NodeKind::Table(Vec::new())),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.key[1]
    }

    /// Returns the file of the entry. Relative paths in the entry start at the file's directory.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the position in the file.
    pub fn place(&self) -> Position {
        self.at
    }

    /// Returns all values. They may contain secrets.
    pub fn value(&self) -> Value {
        self.node.value()
    }

    /// Returns the values as written, with variables unexpanded. Other values that may be secrets
    /// are hidden: headers, environment variables of a program, and fields named like a key or a
    /// token.
    pub fn shown(&self) -> Value {
        let mut value = self.node.written();
        hidden::hide(&mut value);
        value
    }

    /// Reads the entry as a `T`. Accepts keys in camel case and in snake case, and rejects unknown
    /// keys. Reports all problems with their positions.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problems> {
        read(&self.node, &self.file, &self.key)
    }

    /// Returns an error about the member at `path`, or about the entry if it has no such member.
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

/// Returns the variable's name if `text` is a single variable.
pub(crate) fn variable(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    Some(name).filter(|_| starts && rest)
}

/// Returns the members of a section as entries.
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

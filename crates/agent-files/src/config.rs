//! Reads `.ai-agent.json`, the file that configures servers, tools and defaults for agents.

use spillgate_config::{Malformed, Member, Node, NodeKind, camel, json};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::entry::{Entry, entries, variable};
use crate::expand::{Lookup, Unset, expand};
use crate::guarded::{self, GuardedTools};
use crate::keys::{OF_ONE_AGENT, Settings};
use crate::problem::{FileError, Problems};
use crate::prompt::{as_table, check_size, read_text};
use crate::read::{joined, read};
use crate::sections::{McpServer, Sections};

/// A `.ai-agent.json`: the settings that agents share.
#[derive(Clone)]
pub struct ConfigFile {
    /// The file.
    pub path: PathBuf,
    pub(crate) given: Sections,
    pub(crate) root: Node,
    pub(crate) unset: Vec<Unset>,
}

impl ConfigFile {
    /// Reads the file `path` and expands its variables with `lookup`.
    pub fn read(path: &Path, lookup: Lookup<'_>) -> Result<Self, Problems> {
        Self::parse(&read_text(path)?, path, lookup)
    }

    /// Reads those of `paths` that exist; `paths` is in the order of precedence. Reports all
    /// problems of all files.
    pub fn read_all<P: AsRef<Path>>(
        paths: &[P],
        lookup: Lookup<'_>,
    ) -> Result<Vec<Self>, Problems> {
        let mut problems = Problems::default();
        let mut files = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            if path.try_exists().is_ok_and(|exists| !exists) {
                continue;
            }
            files.extend(problems.take(Self::read(path, lookup)));
        }
        problems.or(files)
    }

    /// Parses `text`, the text of the file `path`.
    pub fn parse(text: &str, path: &Path, lookup: Lookup<'_>) -> Result<Self, Problems> {
        check_size(text, path)?;
        let text = text.trim_start_matches('\u{feff}');
        let wrong = |error: Malformed| FileError::whole(path, error.what).at(error.at);
        let mut root = as_table(json::parse(text).map_err(wrong)?, path)?;
        guarded::spell_out(&mut root);
        let mut problems = Problems::default();
        name_keys(&mut root, path, &mut problems);
        let unset = expand(&mut root, lookup);
        let given: Option<Sections> = problems.take(read(&root, path, &[]));
        let given = given.unwrap_or_default();
        check(&given, &root, path, &mut problems);
        problems.sort();
        problems.or(Self {
            path: path.to_owned(),
            given,
            root,
            unset,
        })
    }

    /// Returns an error about the value at the path `keys`, which starts at the top of the file;
    /// `None` if the file has no such value.
    #[must_use]
    pub fn wrong(&self, keys: &[&str], what: impl Into<String>) -> Option<FileError> {
        let found = self.root.find(keys)?;
        let error = FileError::whole(&self.path, what).at(found.at);
        Some(error.of(keys.join(".")))
    }

    pub(crate) fn defaults(&self) -> &Settings {
        &self.given.defaults
    }

    /// Returns the entries of a section.
    pub(crate) fn entries(&self, section: &'static str) -> impl Iterator<Item = Entry> + '_ {
        entries(&self.path, &self.root, section)
    }

    /// Returns the error for an unset variable.
    pub(crate) fn unset(&self, unset: &Unset) -> FileError {
        let variable = &unset.variable;
        FileError::whole(&self.path, format!("the variable {variable} is not set"))
            .at(unset.place)
            .of(joined(&unset.key))
            .hint(format!("set it, or write a default: ${{{variable}:-…}}"))
    }
}

impl fmt::Debug for ConfigFile {
    /// Shows path and sections only: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = self.root.members().iter().map(|member| &member.key);
        f.debug_struct("ConfigFile")
            .field("path", &self.path)
            .field("sections", &sections.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Supports ai-agent's form of API keys, `"apiKey": "${NAME}"`: stores the variable's name as
/// `key_env`, and the variable is read when the provider is used. Refuses a literal API key.
fn name_keys(root: &mut Node, path: &Path, problems: &mut Problems) {
    let sections = root.members_mut().into_iter().flatten();
    let providers = sections.filter(|section| section.key == "providers");
    let providers = providers.filter_map(|section| section.node.members_mut());
    for provider in providers.flatten() {
        let name = provider.key.clone();
        let Some(members) = provider.node.members_mut() else {
            continue;
        };
        members.retain_mut(|member| {
            if camel(&member.key) != "apiKey" {
                return true;
            }
            let named = match &member.node.kind {
                NodeKind::Text(text) => variable(&text.text).map(str::to_owned),
                _ => None,
            };
            let Some(variable) = named else {
                problems.add(literal_key(path, &name, member));
                return false;
            };
            "keyEnv".clone_into(&mut member.key);
            member.node.kind = NodeKind::Text(variable.into());
            true
        });
    }
}

fn literal_key(path: &Path, provider: &str, member: &Member) -> FileError {
    FileError::whole(path, "an API key must not be written into this file")
        .at(member.at)
        .of(format!("providers.{provider}.{}", member.key))
        .hint("put it into a variable and write \"${NAME}\", or into a file that only you can read and write keyFile")
}

/// Checks rules that the types cannot express.
fn check(given: &Sections, root: &Node, path: &Path, problems: &mut Problems) {
    let place = |keys: &[&str]| root.find(keys).map_or(root.at, |member| member.at);
    for (name, server) in &given.mcp_servers {
        if let Some((member, what)) = server.fault() {
            let keys = ["mcpServers", name, member.unwrap_or_default()];
            let keys = &keys[..2 + usize::from(member.is_some())];
            let found = match root.find(keys) {
                Some(member) => member.at,
                None => place(&keys[..2]),
            };
            let key = keys.join(".");
            problems.add(FileError::whole(path, what).at(found).of(key));
        }
    }
    for name in given.models.keys() {
        if name.parse::<spillgate_llm::Target>().is_err() {
            let error = FileError::whole(path, "is not the name of a model")
                .at(place(&["models", name]))
                .of(format!("models.{name}"))
                .hint("write \"provider/model\"");
            problems.add(error);
        }
    }
    for key in OF_ONE_AGENT {
        if let Some(member) = root.find(&["defaults", key]) {
            let error = FileError::whole(path, "belongs to a single agent and cannot be a default")
                .at(member.at)
                .of(format!("defaults.{key}"))
                .hint("write it in the prompt file");
            problems.add(error);
        }
    }
    problems
        .0
        .extend(guarded::check(&given.guarded_tools, root, path));
    let patterns = given.cache.iter().flat_map(|cache| cache.tools.keys());
    for pattern in patterns {
        if let Err(error) = globset::Glob::new(pattern) {
            let what = format!("is not a pattern of tools: {}", error.kind());
            let at = place(&["cache", "tools", pattern]);
            let key = format!("cache.tools.{pattern}");
            problems.add(FileError::whole(path, what).at(at).of(key));
        }
    }
}

impl ConfigFile {
    /// Returns the server of this name in this file.
    pub(crate) fn server(&self, name: &str) -> Option<&McpServer> {
        self.given.mcp_servers.get(name)
    }

    /// Returns the guarded tools of this name in this file.
    pub(crate) fn guarded(&self, name: &str) -> Option<&GuardedTools> {
        self.given.guarded_tools.get(name)
    }
}

#[cfg(test)]
mod tests;

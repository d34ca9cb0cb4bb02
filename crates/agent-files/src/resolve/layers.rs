//! The layers of settings, in the order of their precedence: the command line, the frontmatter,
//! then `defaults` of each file.

use std::collections::BTreeMap;

use serde_json::Value;
use spillgate_config::{Member, Node, NodeKind};

use crate::config::ConfigFile;
use crate::keys::Settings;
use crate::problem::FileError;
use crate::prompt::PromptFile;
use crate::source::{Set, Source};

/// All layers of settings, in the order of precedence.
#[derive(Clone, Copy)]
pub(super) struct Layers<'l> {
    pub(super) over: &'l Settings,
    pub(super) prompt: &'l PromptFile,
    pub(super) files: &'l [ConfigFile],
}

impl<'l> Layers<'l> {
    /// Returns the value of a key from the layer that takes precedence.
    pub(super) fn pick<T>(
        &self,
        key: &str,
        get: impl Fn(&'l Settings) -> Option<T>,
    ) -> Option<Set<T>> {
        self.pick_in(&[key], get)
    }

    /// Returns the value of a nested key from the layer that takes precedence.
    pub(super) fn pick_in<T>(
        &self,
        path: &[&str],
        get: impl Fn(&'l Settings) -> Option<T>,
    ) -> Option<Set<T>> {
        if let Some(value) = get(self.over) {
            return Some(Set {
                value,
                source: Source::CommandLine,
                written: None,
            });
        }
        if let Some(value) = get(&self.prompt.settings) {
            return Some(self.of_prompt(path, value));
        }
        let said = self
            .files
            .iter()
            .find_map(|file| Some((file, get(file.defaults())?)));
        let (file, value) = said?;
        let path = [&["defaults"][..], path].concat();
        Some(of_file(file, &path, value))
    }

    /// Returns the rank of a source: the smaller rank takes precedence.
    pub(super) fn rank(&self, source: &Source) -> usize {
        match source {
            Source::CommandLine => 0,
            Source::File { path, .. } if *path == self.prompt.path => 1,
            Source::File { path, .. } => {
                let place = self.files.iter().position(|file| file.path == *path);
                place.map_or(usize::MAX, |place| place + 2)
            }
            Source::BuiltIn => usize::MAX,
        }
    }

    fn of_prompt<T>(&self, path: &[&str], value: T) -> Set<T> {
        let PromptFile {
            path: file, root, ..
        } = self.prompt;
        set(file, root, path, value)
    }

    /// Returns an error about one element of a list that a source contains.
    pub(super) fn wrong_element(
        &self,
        source: &Source,
        key: &str,
        index: usize,
        what: String,
    ) -> FileError {
        let mut error = source.wrong(key, what);
        error.key += &format!("[{index}]");
        let Source::File { path, key, .. } = source else {
            return error;
        };
        let files = self.files.iter().map(|file| (&file.path, &file.root));
        let mut roots = std::iter::once((&self.prompt.path, &self.prompt.root)).chain(files);
        let keys: Vec<&str> = key.split('.').collect();
        let list = roots.find(|(file, _)| *file == path);
        match list.and_then(|(_, root)| Some(&root.find(&keys)?.node.kind)) {
            Some(NodeKind::List(elements)) if index < elements.len() => {
                error.at(elements[index].at)
            }
            _ => error,
        }
    }

    /// Merges the entries of all files. If several files have an entry of the same name, the whole
    /// entry comes from the file that takes precedence.
    pub(super) fn by_name<T: Clone + 'l>(
        &self,
        of: impl Fn(&'l ConfigFile) -> &'l BTreeMap<String, T>,
    ) -> BTreeMap<String, T> {
        let far_to_near = self.files.iter().rev();
        let all = far_to_near.flat_map(|file| of(file).iter());
        all.map(|(name, one)| (name.clone(), one.clone())).collect()
    }
}

/// Wraps a value of a file with the position of its key.
pub(super) fn of_file<T>(file: &ConfigFile, path: &[&str], value: T) -> Set<T> {
    set(&file.path, &file.root, path, value)
}

fn set<T>(file: &std::path::Path, root: &Node, path: &[&str], value: T) -> Set<T> {
    let member = root.find(path);
    Set {
        value,
        source: Source::File {
            path: file.to_owned(),
            place: member.map_or(root.at, |member| member.at),
            key: path.join("."),
        },
        written: member.and_then(written),
    }
}

/// Returns the value as written, if it contains variables.
fn written(member: &Member) -> Option<String> {
    if !member.node.is_from_variable() {
        return None;
    }
    Some(match member.node.written() {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

//! The configuration file, with the source and position of each setting.
//!
//! Settings with names from other systems, such as ai-agent, are renamed here, so that later code
//! knows only one name for each setting.

use std::path::Path;

use spillgate_config::{LayerSource, Layers, Member, Node, NodeKind, Position, toml};

use crate::failure::{Failure, Fault};
use crate::tool_output;

/// The name of the table with the settings of extraction.
const TOOL_OUTPUT: &str = "tool_output";

/// A key within tables.
type Key = Vec<String>;

/// All settings with their sources and positions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    layers: Layers,
    /// Renamed keys, each with the original key in the file's spelling.
    spelled: Vec<(Key, String)>,
}

impl Places {
    /// Reads the file `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            Failure::new("config", Fault::Caller, message).hint("check that it can be read")
        })?;
        let root = toml::parse(&text).map_err(|error| {
            // The parser takes whatever is no value for a text.
            let what = error.what.replace(
                "string values must be quoted, expected literal string",
                "the value is missing, or it is a text without quotes",
            );
            let what = format!("{}:{}: {what}", path.display(), error.at.line);
            Failure::new("config", Fault::Caller, what)
                .hint("the file is TOML, see https://toml.io")
        })?;
        let mut places = Self::default();
        places.put(LayerSource::File(path.to_owned()), root);
        places.use_our_names()?;
        places.check_extraction()?;
        Ok(places)
    }

    /// Adds a layer on top.
    pub(crate) fn put(&mut self, source: LayerSource, tree: Node) {
        self.layers.put(source, tree);
    }

    /// Adds the file `path` on top.
    pub(crate) fn put_file(&mut self, path: &Path, file: Self) {
        self.put(LayerSource::File(path.to_owned()), file.layers.into_root());
        self.spelled = file.spelled;
    }

    /// Returns the merged settings.
    pub(crate) fn root(&self) -> &Node {
        self.layers.root()
    }

    /// Renames ai-agent's settings to Spillgate's (docs/configuration.md).
    fn use_our_names(&mut self) -> Result<(), Failure> {
        self.rename(&["toolOutput"], &[TOOL_OUTPUT])?;
        self.rename(&["toolResponseMaxBytes"], &["max_bytes"])?;
        for (alias, name) in tool_output::aliases() {
            self.rename(&[TOOL_OUTPUT, &alias], &[TOOL_OUTPUT, &name])?;
        }
        // ai-agent accepts this setting and ignores it; here it takes effect.
        self.rename(&[TOOL_OUTPUT, "store_dir"], &["store"])
    }

    /// Moves a value. Fails if both names are set, because it is unclear which one is meant.
    fn rename(&mut self, from: &[&str], to: &[&str]) -> Result<(), Failure> {
        if self.way(from).len() < from.len() {
            return Ok(());
        }
        if self.way(to).len() == to.len() {
            let what = format!("is another name for `{}`, which is also set", to.join("."));
            return Err(self.wrong(from, &what, "keep one of them"));
        }
        let key = to.iter().map(|&name| name.to_owned()).collect();
        self.spelled.push((key, self.spelled(from)));
        self.layers.rename(from, to);
        Ok(())
    }

    /// Checks each setting of extraction separately, because an error from reading them together
    /// does not name the setting.
    fn check_extraction(&self) -> Result<(), Failure> {
        let Some(table) = self.root().member(TOOL_OUTPUT) else {
            return Ok(());
        };
        if !matches!(table.node.kind, NodeKind::Table(_)) {
            let what = "must be a table";
            return Err(self.wrong(&[TOOL_OUTPUT], what, "write [tool_output]"));
        }
        for member in table.node.members() {
            tool_output::check(member)
                .map_err(|(what, hint)| self.wrong(&[TOOL_OUTPUT, &member.key], &what, &hint))?;
        }
        Ok(())
    }

    /// Returns the members along the path `key`, up to the first one that does not exist.
    fn way<S: AsRef<str>>(&self, key: &[S]) -> Vec<&Member> {
        let mut node = self.root();
        let members = key.iter().map_while(|name| {
            let member = node.member(name.as_ref())?;
            node = &member.node;
            Some(member)
        });
        members.collect()
    }

    /// Returns the source of a key.
    pub(crate) fn source<S: AsRef<str>>(&self, key: &[S]) -> &LayerSource {
        let way = self.way(key);
        match way.last() {
            Some(member) if way.len() == key.len() => self.layers.source(&member.node),
            _ => &LayerSource::Default,
        }
    }

    fn is_of_file(&self, member: &Member) -> bool {
        matches!(self.layers.source(&member.node), LayerSource::File(_))
    }

    /// Returns whether the file sets this key.
    pub(crate) fn has(&self, key: &[String]) -> bool {
        matches!(self.source(key), LayerSource::File(_))
    }

    /// Returns the first key of the file with this name and this text as its value.
    pub(crate) fn of_text(&self, name: &str, text: &str) -> Option<Key> {
        self.first(&|member| {
            matches!(&member.node.kind, NodeKind::Text(is) if is.text == text) && member.key == name
        })
    }

    /// Returns the first key of the file whose last name is `name`.
    pub(crate) fn ending(&self, name: &str) -> Option<Key> {
        self.first(&|member| member.key == name)
    }

    fn first(&self, is: &dyn Fn(&Member) -> bool) -> Option<Key> {
        let is = |member: &Member| is(member) && self.is_of_file(member);
        first(self.root(), &[], &is).map(|(_, key)| key)
    }

    /// Returns a key in the file's spelling.
    fn spelled<S: AsRef<str>>(&self, key: &[S]) -> String {
        let names = || key.iter().map(AsRef::as_ref);
        let renamed = self.spelled.iter().filter(|(ours, _)| {
            ours.len() <= key.len() && names().zip(ours).all(|(name, ours)| name == ours)
        });
        let (known, spelled) = match renamed.max_by_key(|(ours, _)| ours.len()) {
            Some((ours, spelled)) => (ours.len(), Some(spelled.as_str())),
            None => (0, None),
        };
        let names: Vec<&str> = spelled.into_iter().chain(names().skip(known)).collect();
        names.join(".")
    }

    /// Returns `what` prefixed with the source: file, line and key, a variable, or a flag.
    pub(crate) fn told<S: AsRef<str>>(&self, key: &[S], what: &str) -> String {
        let set = self.way(key).into_iter().rev().find_map(|member| {
            match self.layers.source(&member.node) {
                LayerSource::Default => None,
                LayerSource::Variable(name) | LayerSource::Option(name) => Some(name.clone()),
                LayerSource::File(file) => {
                    let (file, line) = (file.display(), member.at.line);
                    Some(format!("{file}:{line}: `{}`", self.spelled(key)))
                }
            }
        });
        match set {
            None if key.is_empty() => what.to_owned(),
            None => format!("`{}`: {what}", self.spelled(key)),
            Some(place) => format!("{place}: {what}"),
        }
    }

    /// Like [`told`](Self::told), as a failure.
    pub(crate) fn wrong<S: AsRef<str>>(&self, key: &[S], what: &str, hint: &str) -> Failure {
        Failure::new("config", Fault::Caller, self.told(key, what)).hint(hint)
    }
}

/// Returns the first member of the file for which `is` returns true, with its key.
fn first(node: &Node, above: &[String], is: &dyn Fn(&Member) -> bool) -> Option<(Position, Key)> {
    let each = node.members().iter().flat_map(|member| {
        let key = [above, std::slice::from_ref(&member.key)].concat();
        let below = first(&member.node, &key, is);
        is(member)
            .then_some((member.at, key))
            .into_iter()
            .chain(below)
    });
    each.min_by_key(|(at, _)| *at)
}

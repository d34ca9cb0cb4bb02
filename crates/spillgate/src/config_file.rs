//! What does the configuration file say, and on which line?
//!
//! Names that other systems have for a setting become ours here, so that every
//! later layer knows one name for each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment2::value::{Dict, Map, Value};
use figment2::{Metadata, Profile as Section, Provider};
use toml_edit::{Document, TableLike};

use crate::failure::{Failure, Fault};
use crate::tool_output;

/// The table of extraction.
const TOOL_OUTPUT: &str = "tool_output";

/// A key within tables.
type Key = Vec<String>;

/// A configuration file.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFile {
    values: Dict,
    pub(crate) places: Places,
}

impl ConfigFile {
    /// Reads the file `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            Failure::new("config", Fault::Caller, message).hint("check that it can be read")
        })?;
        let mut places = Places {
            file: path.to_owned(),
            ..Places::default()
        };
        let syntax = |error: toml_edit::TomlError| {
            let start = error.span().map_or(0, |span| span.start);
            let what = format!(
                "{}:{}: {}",
                path.display(),
                line_of(&text, start),
                error.message()
            );
            Failure::new("config", Fault::Caller, what)
                .hint("the file is TOML, see https://toml.io")
        };
        let document = Document::parse(text.as_str()).map_err(syntax)?;
        places.enter(&text, document.as_table(), &[]);
        let values = toml_edit::de::from_str(&text).map_err(|error| {
            let message = format!("{}: {}", path.display(), error.message());
            Failure::new("config", Fault::Caller, message)
        })?;
        let mut file = Self { values, places };
        file.use_our_names()?;
        file.check_extraction()?;
        Ok(file)
    }

    /// ai-agent's names become ours (docs/configuration.md).
    fn use_our_names(&mut self) -> Result<(), Failure> {
        self.rename(&["toolOutput"], &[TOOL_OUTPUT])?;
        self.rename(&["toolResponseMaxBytes"], &["max_bytes"])?;
        for (alias, name) in tool_output::aliases() {
            self.rename(&[TOOL_OUTPUT, &alias], &[TOOL_OUTPUT, &name])?;
        }
        // The shipped system took the directory and did not use it.
        self.rename(&[TOOL_OUTPUT, "store_dir"], &["store"])
    }

    /// Moves a value; a value that stands under both names is an error, for
    /// nobody can say which is meant.
    fn rename(&mut self, from: &[&str], to: &[&str]) -> Result<(), Failure> {
        let Some(value) = take(&mut self.values, from) else {
            return Ok(());
        };
        if put(&mut self.values, to, value).is_err() {
            let what = format!("stands for `{}`, which is set, too", to.join("."));
            return Err(self.places.wrong(from, &what, "keep one of them"));
        }
        self.places.rename(from, to);
        Ok(())
    }

    /// Checks each setting of extraction by itself: what reads them together
    /// cannot say which one is wrong.
    fn check_extraction(&self) -> Result<(), Failure> {
        let table = match self.values.get(TOOL_OUTPUT) {
            None => return Ok(()),
            Some(Value::Dict(_, table)) => table,
            Some(_) => {
                let what = "must be a table";
                return Err(self
                    .places
                    .wrong(&[TOOL_OUTPUT], what, "write [tool_output]"));
            }
        };
        for (key, value) in table {
            tool_output::check(key, value)
                .map_err(|(what, hint)| self.places.wrong(&[TOOL_OUTPUT, key], &what, &hint))?;
        }
        Ok(())
    }
}

impl Provider for ConfigFile {
    fn metadata(&self) -> Metadata {
        Metadata::from("TOML file", self.places.file.as_path())
    }

    fn data(&self) -> figment2::error::Result<Map<Section, Dict>> {
        Ok(Section::Default.collect(self.values.clone()))
    }
}

fn take(values: &mut Dict, path: &[&str]) -> Option<Value> {
    match path {
        [] => None,
        [last] => values.remove(*last),
        [first, rest @ ..] => match values.get_mut(*first) {
            Some(Value::Dict(_, inner)) => take(inner, rest),
            _ => None,
        },
    }
}

/// Fails where there is a value already.
fn put(values: &mut Dict, path: &[&str], value: Value) -> Result<(), ()> {
    match path {
        [] => Err(()),
        [last] if values.contains_key(*last) => Err(()),
        [last] => {
            values.insert((*last).to_owned(), value);
            Ok(())
        }
        [first, rest @ ..] => match values.get_mut(*first) {
            Some(Value::Dict(_, inner)) => put(inner, rest, value),
            _ => Err(()),
        },
    }
}

/// Where each key of a file stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    file: PathBuf,
    keys: Vec<Place>,
    /// The variable or flag that has set a key at the top instead.
    outside: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
struct Place {
    /// Under our names.
    key: Key,
    /// As it is written.
    spelled: String,
    line: usize,
    /// Its value, if that is a text.
    text: Option<String>,
}

impl Places {
    fn enter(&mut self, text: &str, table: &dyn TableLike, above: &[String]) {
        for (name, item) in table.iter() {
            let key = [above, &[name.to_owned()]].concat();
            let of_key = table.get_key_value(name).and_then(|(key, _)| key.span());
            let start = of_key.or_else(|| item.span()).map_or(0, |span| span.start);
            self.keys.push(Place {
                spelled: key.join("."),
                key: key.clone(),
                line: line_of(text, start),
                text: item.as_str().map(ToOwned::to_owned),
            });
            if let Some(inner) = item.as_table_like() {
                self.enter(text, inner, &key);
            }
            for inner in item.as_array_of_tables().into_iter().flatten() {
                self.enter(text, inner, &key);
            }
        }
    }

    fn rename(&mut self, from: &[&str], to: &[&str]) {
        for place in &mut self.keys {
            if place
                .key
                .iter()
                .zip(from)
                .filter(|(one, other)| one == other)
                .count()
                == from.len()
            {
                let rest = place.key.split_off(from.len());
                place.key = to.iter().map(|&name| name.to_owned()).chain(rest).collect();
            }
        }
    }

    /// A later layer has set `name`, by `source`: a variable or a flag. The file is not to
    /// blame for it any more.
    pub(crate) fn set_outside(&mut self, name: &str, source: String) {
        self.keys
            .retain(|place| place.key.first().is_none_or(|first| first != name));
        self.outside.insert(name.to_owned(), source);
    }

    /// The place of `key`, or of the nearest table around it.
    fn find<S: AsRef<str>>(&self, key: &[S]) -> Option<&Place> {
        let is = |place: &&Place, length: usize| {
            let names = key[..length].iter().map(AsRef::as_ref);
            names.eq(place.key.iter().map(String::as_str))
        };
        (1..=key.len())
            .rev()
            .find_map(|length| self.keys.iter().find(|place| is(place, length)))
    }

    /// Whether the file has this key.
    pub(crate) fn has(&self, key: &[String]) -> bool {
        self.keys.iter().any(|place| place.key == key)
    }

    /// The keys that have this text for a value.
    pub(crate) fn of_text(&self, name: &str, text: &str) -> Option<Key> {
        let mut keys = self.keys.iter();
        let found = keys.find(|place| {
            place.text.as_deref() == Some(text) && place.key.last().is_some_and(|last| last == name)
        });
        found.map(|place| place.key.clone())
    }

    /// The key that ends so.
    pub(crate) fn ending(&self, name: &str) -> Option<Key> {
        let mut keys = self.keys.iter();
        let found = keys.find(|place| place.key.last().is_some_and(|last| last == name));
        found.map(|place| place.key.clone())
    }

    /// `what` with file, line and key before it, as far as they are known.
    pub(crate) fn told<S: AsRef<str>>(&self, key: &[S], what: &str) -> String {
        let name = |keys: &[S]| {
            let names: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
            names.join(".")
        };
        let outside = key
            .first()
            .and_then(|first| self.outside.get(first.as_ref()));
        if let Some(source) = outside {
            return format!("{source}: {what}");
        }
        match self.find(key) {
            None if key.is_empty() => what.to_owned(),
            None => format!("`{}`: {what}", name(key)),
            Some(place) => {
                let rest = &key[place.key.len()..];
                let dot = if rest.is_empty() { "" } else { "." };
                let (file, line) = (self.file.display(), place.line);
                format!(
                    "{file}:{line}: `{}{dot}{}`: {what}",
                    place.spelled,
                    name(rest)
                )
            }
        }
    }

    /// The same as a failure.
    pub(crate) fn wrong<S: AsRef<str>>(&self, key: &[S], what: &str, hint: &str) -> Failure {
        Failure::new("config", Fault::Caller, self.told(key, what)).hint(hint)
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte).unwrap_or_default();
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

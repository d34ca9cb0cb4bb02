//! Reads the collections of a document: lists of records, with their members as columns.

use std::io;

use rustc_hash::FxHashMap;
use serde_json::Value;
use spillgate_artifact::ContentKind;
use spillgate_lookup::Artifact;
use spillgate_text::push_key;

/// Most bytes of a document that is read as records: parsed, it takes several times as much memory.
const MOST_BYTES: u64 = 8 << 20;
/// Bytes of a text by which a table without a header is known.
const LOOKED_AT: u64 = 16 << 10;
/// Fewest records of a collection.
const LEAST_RECORDS: usize = 4;
/// Most collections that are kept, the largest.
const MOST_COLLECTIONS: usize = 6;
/// How deep the members of a record may be nested to be columns.
const DEPTH: usize = 3;
/// Most columns of a collection, and most items of a list in a record.
const MOST_COLUMNS: usize = 200;
const MOST_ITEMS: usize = 400;

/// A value of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// A text.
    Text(String),
    /// A number, as written.
    Number(f64, String),
    Bool(bool),
    /// The texts of a list (its items, or their names, or the keys of an object), at most
    /// [`MOST_ITEMS`], and how many there are.
    List(Vec<String>, usize),
}

impl Cell {
    fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        match number {
            _ if text.is_empty() => None,
            Some(number) => Some(Self::Number(number, text.to_owned())),
            None => Some(Self::Text(text.to_owned())),
        }
    }

    /// The number to compare: for a list, how many items it has.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number, _) => Some(*number),
            Self::List(_, count) => Some(*count as f64),
            _ => None,
        }
    }

    /// The text to show, on one line.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) | Self::Number(_, text) => text.replace(['\n', '\r', '\t'], " "),
            Self::Bool(is) => is.to_string(),
            Self::List(_, count) => format!("{count} items"),
        }
    }
}

/// One record.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) cells: FxHashMap<usize, Cell>,
}

/// A list of records.
#[derive(Debug, Default)]
pub(super) struct Collection {
    /// Its path as jq writes it; empty for a table or lines.
    pub(super) path: String,
    /// The names of the columns, `a.b` for nested members.
    pub(super) columns: Vec<String>,
    pub(super) records: Vec<Record>,
    by_name: FxHashMap<String, usize>,
}

/// The name of the column with the keys of an object's members, or with a list's items.
const KEY: &str = "key";

impl Collection {
    /// Whether its records have names.
    pub(super) fn has_names(&self) -> bool {
        ["name", "title"]
            .iter()
            .any(|name| self.by_name.contains_key(*name))
    }

    /// Returns the records of an array.
    pub(super) fn of_array(path: &str, items: &[Value]) -> Self {
        let mut collection = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for item in items {
            match item {
                Value::Object(_) => collection.add(None, item),
                Value::String(text) => collection.add(Some(text), &Value::Null),
                _ => {}
            }
        }
        collection
    }

    fn column(&mut self, name: &str) -> Option<usize> {
        if let Some(&at) = self.by_name.get(name) {
            return Some(at);
        }
        if self.columns.len() == MOST_COLUMNS {
            return None;
        }
        let at = self.columns.len();
        self.columns.push(name.to_owned());
        self.by_name.insert(name.to_owned(), at);
        Some(at)
    }

    fn set(&mut self, record: &mut Record, name: &str, cell: Option<Cell>) {
        if let Some(cell) = cell
            && let Some(column) = self.column(name)
        {
            record.cells.insert(column, cell);
        }
    }

    fn add(&mut self, key: Option<&str>, value: &Value) {
        let mut record = Record::default();
        self.set(&mut record, KEY, key.map(|key| Cell::Text(key.to_owned())));
        self.members(&mut record, "", value, 0);
        self.records.push(record);
    }

    fn members(&mut self, record: &mut Record, at: &str, value: &Value, depth: usize) {
        let name = if at.is_empty() { "value" } else { at };
        match value {
            Value::Null => {}
            Value::Bool(is) => self.set(record, name, Some(Cell::Bool(*is))),
            Value::Number(number) => {
                let cell = Cell::Number(number.as_f64().unwrap_or(0.0), number.to_string());
                self.set(record, name, Some(cell));
            }
            Value::String(text) => self.set(record, name, Some(Cell::Text(text.clone()))),
            Value::Array(items) => {
                let texts = items.iter().take(MOST_ITEMS).map(item).collect();
                self.set(record, name, Some(Cell::List(texts, items.len())));
            }
            Value::Object(members) => {
                if !at.is_empty() {
                    let keys = members.keys().take(MOST_ITEMS).cloned().collect();
                    self.set(record, name, Some(Cell::List(keys, members.len())));
                }
                if depth < DEPTH {
                    for (key, value) in members {
                        let name = match at {
                            "" => key.clone(),
                            at => format!("{at}.{key}"),
                        };
                        self.members(record, &name, value, depth + 1);
                    }
                }
            }
        }
    }
}

/// The text of a list's item: itself, or the name of an object; empty if it has none.
fn item(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Object(members) => {
            let mut names = ["name", "id", "key", "title"].iter();
            let name = names.find_map(|name| members.get(*name)?.as_str());
            name.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// Returns the collections of an artifact, largest first; none if it has no records or is too
/// large.
pub(super) fn collections(artifact: &Artifact) -> io::Result<Vec<Collection>> {
    let view = artifact.view();
    let kind = artifact.manifest().facts.stats.kind;
    if view.bytes() > MOST_BYTES {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    match kind {
        ContentKind::Json => {
            let start = artifact.manifest().facts.view.prelude;
            let text = view.source().bytes(start, view.bytes())?;
            if let Ok(document) = serde_json::from_slice::<Value>(&text) {
                walk(&document, &mut String::new(), 0, &mut all);
            }
        }
        ContentKind::Ndjson => {
            let text = view.source().bytes(0, view.bytes())?;
            let mut lines = Collection::default();
            let values = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
            for value in values {
                // What cannot be read in full must not be counted.
                let Ok(value) = value else {
                    return Ok(Vec::new());
                };
                lines.add(None, &value);
            }
            all.push(lines);
        }
        ContentKind::Csv | ContentKind::Tsv => {
            let text = view.source().bytes(0, view.bytes())?;
            all.extend(table(&text, kind));
        }
        // A table without a header may be stored as text.
        ContentKind::Text | ContentKind::Log => {
            let start = view.source().bytes(0, LOOKED_AT.min(view.bytes()))?;
            if is_tabbed(&start) {
                let text = view.source().bytes(0, view.bytes())?;
                all.extend(table(&text, ContentKind::Tsv));
            }
        }
        _ => {}
    }
    all.retain(|one: &Collection| one.records.len() >= LEAST_RECORDS);
    all.sort_by_key(|one| std::cmp::Reverse(one.records.len()));
    all.truncate(MOST_COLLECTIONS);
    Ok(all)
}

/// Whether the first lines have the same number of tabs, at least two.
fn is_tabbed(text: &[u8]) -> bool {
    const LINES: usize = 20;
    let lines = text.split(|&byte| byte == b'\n').take(LINES);
    let mut tabs = lines.map(|line| line.iter().filter(|&&byte| byte == b'\t').count());
    tabs.next()
        .is_some_and(|first| first >= 2 && tabs.all(|tabs| tabs == first))
}

/// Returns the rows of a table; `None` if one cannot be read.
fn table(text: &[u8], kind: ContentKind) -> Option<Collection> {
    let delimiter = match kind {
        ContentKind::Csv => b',',
        _ => b'\t',
    };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(kind == ContentKind::Csv)
        .flexible(true)
        .has_headers(false)
        .from_reader(text);
    let rows: Result<Vec<csv::ByteRecord>, csv::Error> = reader.byte_records().collect();
    let mut rows = rows.ok()?.into_iter();
    let mut collection = Collection::default();
    let header = rows.next()?;
    let names: Vec<String> = header
        .iter()
        .map(|name| String::from_utf8_lossy(name).trim().to_owned())
        .collect();
    // A first line with figures, or with cells that are long, is a row.
    let is_header = names.iter().all(|name| {
        !name.is_empty() && name.len() < 40 && name.parse::<f64>().is_err() && !name.contains('@')
    });
    let first = (!is_header).then(|| header.clone());
    for row in first.into_iter().chain(rows) {
        let mut record = Record::default();
        for (at, cell) in row.iter().enumerate() {
            let name = match is_header {
                true => names.get(at).cloned().unwrap_or_default(),
                false => format!("column {}", at + 1),
            };
            let cell = Cell::of_text(&String::from_utf8_lossy(cell));
            collection.set(&mut record, &name, cell);
        }
        collection.records.push(record);
    }
    Some(collection)
}

fn walk(value: &Value, path: &mut String, depth: usize, all: &mut Vec<Collection>) {
    let shown = match path.as_str() {
        "" => ".",
        path => path,
    }
    .to_owned();
    match value {
        // A list of other things as well has no columns, and its count would mislead.
        Value::Array(items)
            if items.len() >= LEAST_RECORDS
                && (items.iter().all(Value::is_object) || items.iter().all(Value::is_string)) =>
        {
            let path = format!("{}[]", shown.trim_end_matches('.'));
            all.push(Collection::of_array(&path, items));
        }
        Value::Object(members) => {
            let is_map = members.len() >= LEAST_RECORDS && are_alike(members);
            if is_map {
                let mut collection = Collection {
                    path: format!("{}[]", shown.trim_end_matches('.')),
                    ..Collection::default()
                };
                for (key, value) in members {
                    collection.add(Some(key), value);
                }
                all.push(collection);
            }
            if depth < DEPTH && !is_map {
                for (key, value) in members {
                    let length = path.len();
                    push_key(path, key);
                    walk(value, path, depth + 1, all);
                    path.truncate(length);
                }
            }
        }
        _ => {}
    }
}

/// Returns whether the members of an object are records of one kind, rather than the members of one
/// record: all objects with a common key, or many texts.
fn are_alike(members: &serde_json::Map<String, Value>) -> bool {
    const MANY: usize = 20;
    let objects = members.values().filter(|value| value.is_object()).count();
    let texts = members.values().filter(|value| value.is_string()).count();
    objects * 10 >= members.len() * 9 && members.len() >= LEAST_RECORDS * 2
        || texts == members.len() && texts >= MANY
}

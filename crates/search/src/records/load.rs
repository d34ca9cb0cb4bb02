//! Reads the collections of a document: lists of records, with their members as columns.
//!
//! The columns refer to the parsed document, which refers to the bytes of the view, so that few
//! texts are copied.

use std::borrow::Cow;
use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use spillgate_artifact::ContentKind;
use spillgate_lookup::Artifact;
use spillgate_text::{is_year, push_key};

use super::cell::{Cell, joined};
use super::value::Json;

/// Most bytes of a document that is read as records: parsed, it takes several times as much memory.
const MOST_BYTES: u64 = 8 << 20;
/// Bytes of a text by which a table without a header is known.
const LOOKED_AT: u64 = 16 << 10;
/// Fewest records of a collection.
const LEAST_RECORDS: usize = 4;
/// Most collections that are kept, the largest.
const MOST_COLLECTIONS: usize = 6;
/// How deep the members of a record may be nested to be columns.
const DEPTH: usize = 4;
/// Most columns of a collection.
const MOST_COLUMNS: usize = 400;
/// Most columns that are members of one column.
const MOST_MEMBERS: usize = 64;
/// One in this many lines may be something else than JSON.
const OTHER_LINES: usize = 10;

/// The bytes of a view that may contain records.
pub(super) struct Document {
    text: Vec<u8>,
    kind: ContentKind,
    /// What separates the cells of a table.
    delimiter: u8,
}

/// What a document contains, parsed.
pub(super) enum Parsed<'d> {
    Json(Json<'d>),
    Lines {
        values: Vec<Json<'d>>,
        /// Lines that are not JSON.
        left_out: usize,
    },
    Rows {
        /// The names of the columns; none if the first line is a row.
        header: Option<csv::ByteRecord>,
        rows: Vec<csv::ByteRecord>,
        /// Whether filters read the rows as objects, too.
        has_filter: bool,
    },
}

/// One record.
#[derive(Debug, Default)]
pub(super) struct Record<'d> {
    /// The cells with the numbers of their columns, in ascending order.
    cells: Vec<(usize, Cell<'d>)>,
    /// The whole record, if it is JSON.
    pub(super) whole: Option<&'d Json<'d>>,
}

impl<'d> Record<'d> {
    pub(super) fn get(&self, column: usize) -> Option<&Cell<'d>> {
        let at = self.cells.binary_search_by_key(&column, |(at, _)| *at);
        at.ok().map(|at| &self.cells[at].1)
    }

    pub(super) fn has(&self, column: usize) -> bool {
        self.get(column).is_some()
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, &Cell<'d>)> {
        self.cells.iter().map(|(column, cell)| (*column, cell))
    }
}

/// A list of records.
#[derive(Debug, Default)]
pub(super) struct Collection<'d> {
    /// Its path as jq writes it; empty for a table or lines.
    pub(super) path: String,
    /// The names of the columns, `a.b` for nested members.
    pub(super) columns: Vec<String>,
    pub(super) records: Vec<Record<'d>>,
    /// Lines that could not be read as records.
    pub(super) left_out: usize,
    /// The number of the collection in whose records its own are lists.
    pub(super) outer: Option<usize>,
    /// Whether a filter over the document finds its records as objects.
    pub(super) has_filter: bool,
    by_step: FxHashMap<(Option<usize>, &'d str), usize>,
    /// The columns with maps of objects: the keys of each record differ from those of others.
    pub(super) maps: Vec<usize>,
    /// How many columns are members of each column.
    members: Vec<usize>,
    /// The keys of lists that never have more than one object, which only has further ones. Their
    /// members are columns.
    sole: FxHashSet<&'d str>,
}

/// The name of the column with the keys of an object's members, or with a list's items.
pub(super) const KEY: &str = "key";
/// The names of the numbers of a position.
const POSITION: [&str; 3] = ["longitude", "latitude", "depth or altitude"];
/// The name of the column of records that are no objects.
const VALUE: &str = "value";

impl Document {
    /// Reads what of an artifact may contain records; `None` if it has none or is too large.
    pub(super) fn read(artifact: &Artifact) -> io::Result<Option<Self>> {
        let view = artifact.view();
        let facts = &artifact.manifest().facts;
        let kind = facts.stats.kind;
        if view.bytes() > MOST_BYTES {
            return Ok(None);
        }
        let (start, delimiter) = match kind {
            ContentKind::Json => (facts.view.prelude, b','),
            ContentKind::Ndjson => (0, b','),
            // A table without a header, or with semicolons, may be stored as text.
            ContentKind::Text | ContentKind::Log | ContentKind::Csv | ContentKind::Tsv => {
                let start = view.source().bytes(0, LOOKED_AT.min(view.bytes()))?;
                match (kind, delimiter(&start)) {
                    (ContentKind::Tsv, _) => (0, b'\t'),
                    (_, Some(delimiter)) => (0, delimiter),
                    (ContentKind::Csv, None) => (0, b','),
                    // Rows may lack their last cells.
                    (ContentKind::Text, None) if is_ragged(&start) => (0, b','),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let text = view.source().bytes(start, view.bytes())?;
        Ok(Some(Self {
            text,
            kind,
            delimiter,
        }))
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns a document of this text.
    #[cfg(test)]
    pub(super) fn of(text: Vec<u8>, kind: ContentKind) -> Self {
        let delimiter = match kind {
            ContentKind::Csv => delimiter(&text).unwrap_or(b','),
            _ => b'\t',
        };
        Self {
            text,
            kind,
            delimiter,
        }
    }

    /// Parses it; `None` if it cannot be read.
    pub(super) fn parse(&self) -> Option<Parsed<'_>> {
        match self.kind {
            ContentKind::Json => serde_json::from_slice(&self.text).ok().map(Parsed::Json),
            ContentKind::Ndjson => lines(&self.text),
            kind => {
                let has_filter = match self.delimiter {
                    b',' => kind == ContentKind::Csv,
                    b'\t' => kind == ContentKind::Tsv,
                    _ => false,
                };
                rows(&self.text, self.delimiter, has_filter)
            }
        }
    }
}

/// Reads one JSON value per line; `None` if many lines are something else.
fn lines(text: &[u8]) -> Option<Parsed<'_>> {
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let (mut values, mut left_out) = (Vec::new(), 0);
    for line in lines {
        match serde_json::from_slice::<Json<'_>>(line) {
            Ok(value) => values.push(value),
            Err(_) => left_out += 1,
        }
    }
    (left_out * OTHER_LINES <= values.len()).then_some(Parsed::Lines { values, left_out })
}

/// Reads the rows of a table; `None` if one cannot be read.
fn rows(text: &[u8], delimiter: u8, has_filter: bool) -> Option<Parsed<'_>> {
    /// A name has fewer bytes.
    const LONGEST_NAME: usize = 40;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(delimiter != b'\t')
        .flexible(true)
        .has_headers(false)
        .from_reader(text);
    let rows: Result<Vec<csv::ByteRecord>, csv::Error> = reader.byte_records().collect();
    let mut rows = rows.ok()?;
    // A first line with figures other than years, or with cells that are long, is a row. The names of
    // the rows themselves often have no name.
    let is_name = |(at, name): (usize, &[u8])| {
        let name = String::from_utf8_lossy(name);
        let name = name.trim();
        (!name.is_empty() || at == 0)
            && name.len() < LONGEST_NAME
            && (name.parse::<f64>().is_err() || is_year(name))
            && !name.contains('@')
    };
    let first = rows.first()?;
    let is_text = |name: &[u8]| name.iter().any(u8::is_ascii_alphabetic);
    let is_header = first.iter().enumerate().all(is_name) && first.iter().any(is_text);
    let header = is_header.then(|| rows.remove(0));
    let has_filter = has_filter && header.is_some();
    Some(Parsed::Rows {
        header,
        rows,
        has_filter,
    })
}

/// Whether the first lines are rows with commas below a line of names, none with more cells.
fn is_ragged(text: &[u8]) -> bool {
    /// Names of columns.
    const LEAST: usize = 4;
    const LINES: usize = 20;
    // The last line may be cut off.
    let end = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .from_reader(&text[..end]);
    let mut rows = reader.byte_records().take(LINES);
    let Some(Ok(names)) = rows.next() else {
        return false;
    };
    // Names are words, rather than parts of a sentence.
    let is_name =
        |name: &[u8]| name.first().is_some_and(u8::is_ascii_alphabetic) && !name.contains(&b' ');
    let rows: Vec<_> = rows.collect();
    let is_row = |row: &csv::ByteRecord| row.len() * 2 >= names.len() && row.len() <= names.len();
    names.len() >= LEAST
        && names.iter().all(is_name)
        && rows.len() >= LEAST_RECORDS
        && rows.iter().all(|row| row.as_ref().is_ok_and(is_row))
}

/// The tab or semicolon of which the first lines have the same number, at least two.
fn delimiter(text: &[u8]) -> Option<u8> {
    const LINES: usize = 20;
    let is_alike = |delimiter: &u8| {
        let lines = text.split(|byte| *byte == b'\n').take(LINES);
        // The last line may be cut off, or the empty one behind the last.
        let lines: Vec<&[u8]> = lines.take_while(|line| !line.is_empty()).collect();
        let mut counts = lines
            .iter()
            .map(|line| line.iter().filter(|byte| *byte == delimiter).count());
        let first = counts.next();
        lines.len() > LEAST_RECORDS
            && first.is_some_and(|first| first >= 2 && counts.all(|count| count == first))
    };
    [b'\t', b';'].into_iter().find(is_alike)
}

impl<'d> Parsed<'d> {
    /// Returns the largest collections, largest first.
    pub(super) fn collections<'p: 'd>(&'p self) -> Vec<Collection<'d>> {
        match self {
            Self::Json(document) => {
                let mut lists = Vec::new();
                walk(document, &mut String::new(), 0, &mut lists);
                lists.sort_by_key(|(_, list)| std::cmp::Reverse(size(list)));
                lists.truncate(MOST_COLLECTIONS);
                let lists = lists.into_iter();
                let lists: Vec<Collection<'d>> = lists
                    .map(|(path, list)| Collection::of_json(&path, list))
                    .collect();
                with_inner(lists)
            }
            Self::Lines { values, .. } if values.len() < LEAST_RECORDS => Vec::new(),
            Self::Lines { values, left_out } => {
                let mut lines = Collection {
                    left_out: *left_out,
                    has_filter: *left_out == 0,
                    ..Collection::default()
                };
                lines.sole = sole(values.iter());
                for value in values {
                    lines.add(None, value);
                }
                lines.with_joined();
                with_inner(vec![lines])
            }
            Self::Rows { rows, .. } if rows.len() < LEAST_RECORDS => Vec::new(),
            Self::Rows {
                header,
                rows,
                has_filter,
            } => vec![Collection {
                has_filter: *has_filter,
                ..Collection::of_rows(header.as_ref(), rows)
            }],
        }
    }
}

impl<'d> Collection<'d> {
    /// Returns whether its records have names.
    pub(super) fn has_names(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|name| name == "name" || name == "title")
    }

    /// Returns the records of an array or the members of an object.
    pub(super) fn of_json(path: &str, list: &'d Json<'d>) -> Self {
        let mut collection = Self {
            path: path.to_owned(),
            has_filter: matches!(list, Json::List(items) if items.iter().all(Json::is_object)),
            ..Self::default()
        };
        match list {
            Json::List(items) => {
                collection.sole = sole(items.iter());
                for item in items {
                    match item {
                        Json::Text(text) => collection.add(Some(text), &Json::Null),
                        item => collection.add(None, item),
                    }
                }
            }
            Json::Members(members) => {
                collection.sole = sole(members.iter().map(|(_, value)| value));
                // If a key occurs twice, its last value counts.
                let last: FxHashMap<&str, usize> = members
                    .iter()
                    .enumerate()
                    .map(|(at, (key, _))| (&**key, at))
                    .collect();
                for (at, (key, value)) in members.iter().enumerate() {
                    if last.get(&**key) == Some(&at) {
                        collection.add(Some(key), value);
                    }
                }
            }
            _ => {}
        }
        collection.with_joined();
        collection
    }

    fn of_rows(header: Option<&'d csv::ByteRecord>, rows: &'d [csv::ByteRecord]) -> Self {
        let mut collection = Self::default();
        let mut columns: Vec<Option<usize>> = Vec::new();
        for name in header.into_iter().flatten() {
            // Cells below a name that is not text, or that occurs twice, have a number instead.
            let name = std::str::from_utf8(name).unwrap_or_default().trim();
            let is_known = collection.by_step.contains_key(&(None, name));
            columns.push(match name.is_empty() || is_known {
                true => collection.numbered(columns.len()),
                false => collection.column(None, name),
            });
        }
        for row in rows {
            let mut record = Record::default();
            for (at, cell) in row.iter().enumerate() {
                if at == columns.len() {
                    columns.push(collection.numbered(at));
                }
                let cell = std::str::from_utf8(cell).ok().and_then(Cell::of_text);
                if let (Some(column), Some(cell)) = (columns[at], cell) {
                    record.cells.push((column, cell));
                }
            }
            collection.push(record);
        }
        collection.without_marks();
        collection.with_joined();
        collection
    }

    /// Makes lists of the texts of columns that list some of a few words, such as the statuses `200,404`.
    fn with_joined(&mut self) {
        /// Longest word.
        const LONGEST: usize = 24;
        /// Values in which a comma is looked for first.
        const FIRST: usize = 24;
        /// One in so many values at least has several words.
        const SEVERAL: usize = 4;
        let text_of = |cell: &Cell<'d>| match cell {
            Cell::Text(text) | Cell::Figure(_, text) => Some(*text),
            _ => None,
        };
        let is_word = |word: &str| {
            let is_part = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
            !word.is_empty() && word.len() <= LONGEST && word.chars().all(is_part)
        };
        // Most columns have no comma in their first values.
        let mut has_comma = vec![false; self.columns.len()];
        for (column, cell) in self.records.iter().take(FIRST).flat_map(Record::cells) {
            has_comma[column] |= text_of(cell).is_some_and(|text| text.contains(','));
        }
        for column in (0..self.columns.len()).filter(|&column| has_comma[column]) {
            let cells = self.records.iter().filter_map(|record| record.get(column));
            // A number may stand for one word.
            let is_word_or_list =
                |cell: &&Cell<'_>| !cell.is_empty() && !matches!(cell, Cell::Number(_));
            let texts: Option<Vec<&str>> = cells.filter(is_word_or_list).map(text_of).collect();
            let Some(texts) = texts.filter(|texts| !texts.is_empty()) else {
                continue;
            };
            let several = texts.iter().filter(|text| text.contains(',')).count();
            let words = || texts.iter().copied().flat_map(joined);
            if several * SEVERAL < texts.len() || !words().all(is_word) {
                continue;
            }
            let different = words().collect::<FxHashSet<_>>().len();
            if different * SEVERAL > texts.len() {
                continue;
            }
            for record in &mut self.records {
                for (at, cell) in &mut record.cells {
                    let text = text_of(cell).filter(|_| *at == column && !cell.is_empty());
                    if let Some(text) = text {
                        *cell = Cell::Joined(text);
                    }
                }
            }
        }
    }

    /// Takes what stands for a missing number out of the columns of numbers: `NA`.
    fn without_marks(&mut self) {
        const MARKS: [&str; 6] = ["NA", "N/A", "NaN", "nan", "null", "None"];
        let is_mark = |cell: &Cell<'_>| matches!(cell, Cell::Text(text) if MARKS.contains(text));
        let mut counts = vec![(0usize, 0usize); self.columns.len()];
        for (column, cell) in self.records.iter().flat_map(Record::cells) {
            counts[column].0 += usize::from(cell.is_number());
            counts[column].1 += usize::from(!cell.is_number() && !is_mark(cell));
        }
        for record in &mut self.records {
            let has_numbers = |column: usize| counts[column].0 > 0 && counts[column].1 == 0;
            record
                .cells
                .retain(|(column, cell)| !(is_mark(cell) && has_numbers(*column)));
        }
    }

    /// Returns the keys that lead to a column in a record; `None` if the column is no member of
    /// objects in all records that have it.
    pub(super) fn steps(&self, mut column: usize) -> Option<Vec<&'d str>> {
        let mut steps = Vec::new();
        loop {
            let mut known = self.by_step.iter();
            let (&(parent, key), _) = known.find(|(_, at)| **at == column)?;
            steps.insert(0, key);
            let Some(parent) = parent else {
                return Some(steps);
            };
            let mut outer = self.records.iter().filter_map(|one| one.get(parent));
            if !outer.all(|cell| matches!(cell, Cell::Members(_))) {
                return None;
            }
            column = parent;
        }
    }

    fn push(&mut self, mut record: Record<'d>) {
        record.cells.sort_by_key(|(column, _)| *column);
        // The last of equal keys counts.
        record.cells.reverse();
        record.cells.dedup_by_key(|(column, _)| *column);
        record.cells.reverse();
        self.records.push(record);
    }

    /// Returns the number of the column behind a key; `None` if there are too many columns.
    fn column(&mut self, parent: Option<usize>, key: &'d str) -> Option<usize> {
        if let Some(&at) = self.by_step.get(&(parent, key)) {
            return Some(at);
        }
        let name = match parent {
            Some(parent) => {
                // A member with many different members is a map, whose keys are values.
                if self.members[parent] == MOST_MEMBERS {
                    return None;
                }
                self.members[parent] += 1;
                format!("{}.{key}", self.columns[parent])
            }
            None => key.to_owned(),
        };
        let at = self.named(name)?;
        self.by_step.insert((parent, key), at);
        Some(at)
    }

    /// Returns the number of a table's column that has no name of its own.
    fn numbered(&mut self, at: usize) -> Option<usize> {
        self.named(format!("column {}", at + 1))
    }

    fn named(&mut self, name: String) -> Option<usize> {
        if self.columns.len() == MOST_COLUMNS {
            return None;
        }
        self.members.push(0);
        self.columns.push(name);
        Some(self.columns.len() - 1)
    }

    fn add(&mut self, key: Option<&'d str>, value: &'d Json<'d>) {
        let mut record = Record {
            cells: Vec::new(),
            whole: Some(value),
        };
        if let Some(key) = key
            && let Some(column) = self.column(None, KEY)
        {
            record.cells.push((column, Cell::Text(key)));
        }
        match value {
            Json::Members(members) => self.members(&mut record, None, members, 1),
            value => {
                if let Some(cell) = Cell::of_json(value)
                    && let Some(column) = self.column(None, VALUE)
                {
                    record.cells.push((column, cell));
                }
            }
        }
        self.push(record);
    }

    fn members(
        &mut self,
        record: &mut Record<'d>,
        parent: Option<usize>,
        members: &'d [(Cow<'d, str>, Json<'d>)],
        depth: usize,
    ) {
        for (key, value) in members {
            let Some(cell) = Cell::of_json(value) else {
                continue;
            };
            let Some(column) = self.column(parent, key) else {
                continue;
            };
            record.cells.push((column, cell));
            match value {
                Json::Members(members) if depth < DEPTH => {
                    self.members(record, Some(column), members, depth + 1);
                }
                Json::List(items) if depth == 1 && self.sole.contains(&**key) => {
                    if let [Json::Members(members)] = &items[..] {
                        self.members(record, Some(column), members, depth + 1);
                    }
                }
                Json::List(items) if key == "coordinates" => self.position(record, column, items),
                _ => {}
            }
        }
    }
}

/// Adds the lists of objects in the records of the largest collections.
fn with_inner(mut collections: Vec<Collection<'_>>) -> Vec<Collection<'_>> {
    /// Most lists of one collection.
    const MOST: usize = 4;
    for one in collections.iter_mut().take(MOST) {
        one.maps = one.maps_of_objects();
    }
    let outer = collections.iter().enumerate().take(MOST);
    let inner: Vec<Collection<'_>> = outer.flat_map(|(at, one)| one.inner(at)).collect();
    collections.extend(inner.into_iter().take(MOST));
    collections
}

impl<'d> Collection<'d> {
    /// Returns the lists of objects in its records, each as one collection over all records.
    fn inner(&self, at: usize) -> Vec<Self> {
        // How many records have a list of objects in each column, and how many objects there are.
        let mut held = vec![(0, 0); self.columns.len()];
        for (column, cell) in self.records.iter().flat_map(Record::cells) {
            let count = match cell {
                Cell::List(items) if items.iter().all(Json::is_object) => items.len(),
                Cell::Members(members) if self.maps.contains(&column) => members.len(),
                _ => continue,
            };
            held[column].0 += 1;
            held[column].1 += count;
        }
        let is_inner = |column: usize| {
            let (records, items) = held[column];
            !self.sole.contains(&*self.columns[column])
                && records * 2 >= self.records.len()
                && items >= LEAST_RECORDS
        };
        let columns = (0..self.columns.len()).filter(|&column| is_inner(column));
        let inner = columns.map(|column| self.items(column));
        let inner = inner.map(|inner| Self {
            outer: Some(at),
            ..inner
        });
        inner.collect()
    }

    /// The columns whose values are objects with objects as members, most of which have keys of their
    /// own: the functions of each file.
    fn maps_of_objects(&self) -> Vec<usize> {
        let mut keys: FxHashMap<usize, (usize, FxHashSet<&str>)> = FxHashMap::default();
        let mut others = vec![false; self.columns.len()];
        for (column, cell) in self.records.iter().flat_map(Record::cells) {
            match cell {
                Cell::Members(members) if members.iter().all(|(_, value)| value.is_object()) => {
                    let seen = keys.entry(column).or_default();
                    seen.0 += members.len();
                    seen.1.extend(members.iter().map(|(key, _)| &**key));
                }
                _ => others[column] = true,
            }
        }
        let is_map = |&column: &usize| {
            let (all, different) = &keys[&column];
            // A schema deep inside a record is no map.
            !others[column]
                && !self.columns[column].contains('.')
                && *all >= LEAST_RECORDS * 2
                && different.len() * 2 > *all
        };
        let mut maps: Vec<usize> = keys.keys().copied().filter(is_map).collect();
        maps.sort_unstable();
        maps
    }

    /// Whether a column is a member of a map.
    pub(super) fn is_in_map(&self, column: usize) -> bool {
        self.maps.iter().any(|&map| {
            let rest = self.columns[column].strip_prefix(&*self.columns[map]);
            rest.is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// Returns the objects in the lists of a column, each with what tells its outer record.
    fn items(&self, column: usize) -> Self {
        let name = &self.columns[column];
        let mut path = match &*self.path {
            "" => String::new(),
            path => path.to_owned(),
        };
        for step in name.split('.') {
            push_key(&mut path, step);
        }
        path.push_str("[]");
        let mut inner = Self {
            path,
            ..Self::default()
        };
        let outer = self.names();
        for record in &self.records {
            let count = match record.get(column) {
                Some(Cell::List(items)) => {
                    for item in *items {
                        inner.add(None, item);
                    }
                    items.len()
                }
                Some(Cell::Members(members)) => {
                    for (key, item) in *members {
                        inner.add(Some(key), item);
                    }
                    members.len()
                }
                _ => continue,
            };
            let Some(name) = outer.and_then(|outer| record.get(outer)) else {
                continue;
            };
            let at = inner.records.len() - count;
            let Some(place) = inner.outer_column(outer.map_or("", |outer| &self.columns[outer]))
            else {
                continue;
            };
            for record in &mut inner.records[at..] {
                record.cells.push((place, name.clone()));
                record.cells.sort_by_key(|(column, _)| *column);
            }
        }
        inner
    }

    /// Returns whether a column has a name of its own, beside the columns of another collection.
    pub(super) fn has_own(&self, column: usize, other: &Self) -> bool {
        let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_lowercase();
        let name = last(&self.columns[column]);
        let mut others = (0..other.columns.len()).filter(|&column| !other.is_in_map(column));
        others.all(|column| last(&other.columns[column]) != name)
    }

    /// The first column whose texts differ from record to record.
    fn names(&self) -> Option<usize> {
        let mut columns = (0..self.columns.len()).filter(|&at| !self.columns[at].contains('.'));
        columns.find(|&column| {
            let mut known = FxHashSet::default();
            self.records.iter().all(|record| match record.get(column) {
                Some(Cell::Text(text)) => known.insert(*text),
                _ => false,
            })
        })
    }

    /// Whether a column tells the outer record.
    pub(super) fn is_outer_name(&self, column: usize) -> bool {
        self.outer.is_some() && self.columns[column].starts_with("in ")
    }

    /// Returns the number of the column that tells the outer record.
    fn outer_column(&mut self, name: &str) -> Option<usize> {
        let name = format!("in {name}");
        let known = self.columns.iter().position(|one| *one == name);
        known.or_else(|| self.named(name))
    }

    /// Adds the numbers of a position as `GeoJSON` orders them.
    fn position(&mut self, record: &mut Record<'d>, parent: usize, items: &'d [Json<'d>]) {
        if items.len() > POSITION.len() || !items.iter().all(Json::is_number) {
            return;
        }
        for (name, item) in POSITION.iter().zip(items) {
            let column = self.column(Some(parent), name);
            if let (Some(column), Some(cell)) = (column, Cell::of_json(item)) {
                record.cells.push((column, cell));
            }
        }
    }
}

fn size(list: &Json<'_>) -> usize {
    match list {
        Json::List(items) => items.len(),
        Json::Members(members) => members.len(),
        _ => 0,
    }
}

/// Returns the keys of lists that never have more than one object, if that only has further ones:
/// `locations` in SARIF.
fn sole<'d>(records: impl Iterator<Item = &'d Json<'d>>) -> FxHashSet<&'d str> {
    let members = records.filter_map(|record| match record {
        Json::Members(members) => Some(members),
        _ => None,
    });
    let members = members.flatten();
    let is_nested =
        |members: &[(Cow<'_, str>, Json<'_>)]| members.iter().all(|(_, value)| value.is_object());
    let (mut sole, mut others) = (FxHashSet::default(), FxHashSet::default());
    for (key, value) in members {
        match value {
            Json::List(items) if matches!(&items[..], [Json::Members(only)] if is_nested(only)) => {
                sole.insert(&**key);
            }
            Json::Null => {}
            Json::List(items) if items.is_empty() => {}
            _ => {
                others.insert(&**key);
            }
        }
    }
    sole.retain(|key| !others.contains(key));
    sole
}

/// Finds the lists of records in a value.
fn walk<'d>(
    value: &'d Json<'d>,
    path: &mut String,
    depth: usize,
    all: &mut Vec<(String, &'d Json<'d>)>,
) {
    let found = |path: &str| format!("{}[]", if path.is_empty() { "." } else { path });
    match value {
        // A list of other things as well has no columns, and its count would mislead.
        Json::List(items)
            if items.len() >= LEAST_RECORDS
                && (items.iter().all(Json::is_object) || items.iter().all(Json::is_text)) =>
        {
            all.push((found(path), value));
        }
        // A report may have a list of a single run.
        Json::List(items) if items.len() < LEAST_RECORDS && depth < DEPTH => {
            for (at, item) in items.iter().enumerate() {
                let length = path.len();
                path.push_str(&match path.is_empty() {
                    true => format!(".[{at}]"),
                    false => format!("[{at}]"),
                });
                walk(item, path, depth + 1, all);
                path.truncate(length);
            }
        }
        Json::Members(members) => {
            let is_map = members.len() >= LEAST_RECORDS && are_alike(members);
            if is_map {
                all.push((found(path), value));
            } else if depth < DEPTH {
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
/// record: all objects with a common key, many texts, or many lists of texts.
fn are_alike(members: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    const MANY: usize = 10;
    let objects = members.iter().filter(|(_, value)| value.is_object());
    let texts = members.iter().filter(|(_, value)| value.is_text());
    let is_list =
        |value: &Json<'_>| matches!(value, Json::List(items) if items.iter().all(Json::is_text));
    let lists = members.iter().filter(|(_, value)| is_list(value));
    if lists.count() == members.len() && members.len() >= MANY {
        return true;
    }
    objects.count() * 10 >= members.len() * 9 && members.len() >= LEAST_RECORDS * 2
        || texts.count() == members.len() && members.len() >= MANY
}

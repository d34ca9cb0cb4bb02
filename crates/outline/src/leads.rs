//! Finds look-up calls whose arguments fit a text: its own paths, columns, patterns and lines.

use std::io;

use csv_core::{ReadRecordResult, ReaderBuilder};
use serde_json::{Map, Value};
use spillgate_artifact::ContentKind;
use spillgate_text::{View, is_plain_key, push_key};
use spillgate_untrusted::is_hidden;

use crate::{EntryKind, OutlineEntry};

/// Maximum size, in bytes, of a record that is shown as an example, and of the first lines that are
/// read.
pub(crate) const RECORD_BYTES: usize = 16 << 10;

/// Maximum number of lines of a record that is shown as an example.
const RECORD_LINES: usize = 400;

/// Maximum number of characters of a value in a call. A longer value is not a good example.
const VALUE_CHARS: usize = 40;

/// Number of lines before a failure that a call reads.
const BEFORE: u64 = 10;
/// Number of lines around a failure, including those before it, that a call reads.
const AROUND: u64 = 60;

/// Number of lines that a call reads from a heading on.
const SECTION: u64 = 40;

/// A look-up call with arguments that fit the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lead {
    /// A jq filter.
    Query(String),
    /// Words or a question for a search.
    Search(String),
    /// A regular expression.
    Grep(String),
    /// A range of lines.
    Read {
        /// The first line.
        start: u64,
        /// The number of lines.
        lines: u64,
    },
    /// A range of lines of a text inside a JSON document.
    ReadInside {
        /// The path of the string, as jq writes it.
        path: String,
        /// The first line of this text.
        start: u64,
        /// The number of lines.
        lines: u64,
    },
}

impl Lead {
    /// Returns the call for the text at `path` inside a JSON document, if there is such a call.
    #[must_use]
    pub fn inside(self, path: &str) -> Option<Self> {
        match self {
            Self::Search(_) => Some(self),
            Self::Read { start, lines } => Some(Self::ReadInside {
                path: path.to_owned(),
                start,
                lines,
            }),
            Self::Query(_) | Self::Grep(_) | Self::ReadInside { .. } => None,
        }
    }
}

/// The first record of a list in laid-out JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstRecord {
    /// The path of the list's elements, such as `.items[]`.
    pub path: String,
    /// The record as JSON on one line.
    pub whole: String,
    /// The record without its nested values; the same as `whole` if it has none.
    pub brief: String,
    /// The members of the record that are not containers, in order: keys and values.
    scalars: Vec<(String, Value)>,
}

/// Returns the index of the entry for the outermost list of objects.
pub(crate) fn outermost(entries: &[OutlineEntry]) -> Option<usize> {
    let lists = entries.iter().enumerate();
    let lists = lists.filter_map(|(at, entry)| entry.records.map(|_| (entry.depth, at)));
    lists.min().map(|(_, at)| at)
}

/// Returns the first record of the list that the entry `at` describes. `text` is laid-out JSON that
/// begins with the line above the record. Returns `None` if the record is too large to be an
/// example, or does not end within `text`.
pub(crate) fn record_in(text: &[u8], entries: &[OutlineEntry], at: usize) -> Option<FirstRecord> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut bytes = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n').skip(1) {
        let line = String::from_utf8_lossy(line);
        let trimmed = line.trim();
        let depth = line.len() - line.trim_start().len();
        let indent = lines.first().map_or(depth, |(depth, _)| *depth);
        bytes += trimmed.len();
        if bytes > RECORD_BYTES || lines.len() >= RECORD_LINES || depth < indent {
            return None;
        }
        let opens = lines.is_empty() && trimmed.ends_with(['{', '[']);
        lines.push((depth, trimmed.to_owned()));
        if depth == indent && !opens {
            return Some(record(path_of(entries, at), &lines, indent));
        }
    }
    None
}

/// Joins the lines of a record.
fn record(path: String, lines: &[(usize, String)], indent: usize) -> FirstRecord {
    let (mut whole, mut brief) = (String::new(), String::new());
    let mut scalars = Vec::new();
    let inside = lines
        .iter()
        .map(|(depth, _)| *depth)
        .find(|depth| *depth > indent);
    for (depth, line) in lines {
        let joint = if whole.ends_with(',') { " " } else { "" };
        whole.push_str(joint);
        whole.push_str(line);
        let is_own = *depth == indent || Some(*depth) == inside;
        if !is_own {
            continue;
        }
        let opens = line.ends_with(['{', '[']);
        let closes = line.starts_with(['}', ']']);
        if closes && Some(*depth) == inside {
            brief.push_str(line);
            continue;
        }
        brief.push_str(if brief.ends_with(',') { " " } else { "" });
        brief.push_str(line);
        if Some(*depth) != inside {
            continue;
        }
        if opens {
            brief.push('…');
        } else {
            let member = format!("{{{}}}", line.trim_end_matches(','));
            let member = serde_json::from_str::<Map<String, Value>>(&member);
            scalars.extend(member.into_iter().flatten());
        }
    }
    let clean = |text: String| text.trim_end_matches(',').to_owned();
    FirstRecord {
        path,
        whole: clean(whole),
        brief: clean(brief),
        scalars,
    }
}

/// Returns the path of an entry from the root.
fn path_of(entries: &[OutlineEntry], at: usize) -> String {
    let mut pieces = Vec::new();
    let mut depth = entries[at].depth + 1;
    for entry in entries[..=at].iter().rev() {
        if entry.depth < depth {
            depth = entry.depth;
            if let EntryKind::Path(path) = &entry.kind {
                pieces.push(path.as_str());
            }
        }
    }
    let path: String = pieces.into_iter().rev().collect();
    match path.is_empty() {
        true => ".[]".to_owned(),
        false => path,
    }
}

/// Returns the first record of the outermost list of objects, if the text is JSON with such a list
/// and the record is not too large to be an example.
#[must_use]
pub fn first_record(entries: &[OutlineEntry]) -> Option<&FirstRecord> {
    entries.iter().find_map(|entry| entry.first.as_deref())
}

/// Returns the calls that show why a run failed, if the outline has lines about a failure.
#[must_use]
pub fn failure_leads(entries: &[OutlineEntry]) -> Vec<Lead> {
    let failures = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Failure);
    let best = failures.min_by_key(|entry| entry.rank);
    let Some(line) = best.and_then(|entry| entry.line) else {
        return Vec::new();
    };
    let read = Lead::Read {
        start: line.saturating_sub(BEFORE).max(1),
        lines: AROUND,
    };
    vec![Lead::Search("why did it fail?".to_owned()), read]
}

/// Returns look-up calls for a text of this kind, the most useful first.
///
/// # Errors
///
/// Fails if the text cannot be read.
pub fn leads(view: &View, kind: ContentKind, entries: &[OutlineEntry]) -> io::Result<Vec<Lead>> {
    let last = (view.lines() > 0).then(|| Lead::Read {
        start: view.lines().saturating_sub(SECTION - 1).max(1),
        lines: SECTION,
    });
    let is_cut = entries.iter().any(|entry| entry.kind == EntryKind::Cut);
    if let Some(first) = first_record(entries) {
        let mut all = of_records(first);
        if is_cut {
            all.retain(|lead| !matches!(lead, Lead::Query(_)));
            all.extend(last);
        }
        return Ok(all);
    }
    let of_rows = match kind {
        ContentKind::Csv => of_table(view, b',')?,
        ContentKind::Tsv => of_table(view, b'\t')?,
        ContentKind::Ndjson => of_lines(view)?,
        _ => Vec::new(),
    };
    let mut own: Vec<&OutlineEntry> = entries.iter().filter(|one| one.lead.is_some()).collect();
    own.sort_by_key(|entry| entry.rank);
    let own = own.into_iter().filter_map(|entry| entry.lead.clone());
    let paths = entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| match entry.kind {
            EntryKind::Path(_) if !is_cut => Some(Lead::Query(path_of(entries, at))),
            _ => None,
        });
    // A place in the middle is a better example than the first one, which the preview's head shows.
    let places: Vec<&OutlineEntry> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Place && entry.line.is_some())
        .collect();
    let place = places.get(places.len() / 2);
    // The text of an entry with its own call is not a quotation, so it cannot be searched for.
    let titled = place.filter(|entry| entry.lead.is_none());
    let titled = titled.and_then(|entry| {
        let title = entry.text.trim_start_matches('#').trim();
        let is_short = (4..=VALUE_CHARS).contains(&title.chars().count());
        (is_short && !title.ends_with('…')).then(|| Lead::Search(title.to_owned()))
    });
    let place = place.and_then(|entry| {
        let start = entry.line?;
        Some(Lead::Read {
            start,
            lines: SECTION,
        })
    });
    let all = of_rows.into_iter().chain(own).chain(paths.take(1));
    let all = all
        .chain(titled)
        .chain(place)
        .chain(last.filter(|_| kind != ContentKind::Binary));
    Ok(all.collect())
}

/// Returns calls for a list of objects in a JSON document.
fn of_records(first: &FirstRecord) -> Vec<Lead> {
    let names: Vec<&str> = first
        .scalars
        .iter()
        .map(|(key, _)| key.as_str())
        .filter(|key| is_plain_key(key))
        .take(2)
        .collect();
    let query = match &*names {
        [_, _] => format!("{} | {{{}}}", first.path, names.join(", ")),
        _ => format!("first({})", first.path),
    };
    let words = first.scalars.iter().find_map(words);
    let words = words.map(|(key, value)| Lead::Search(format!("{key} {value}")));
    [Lead::Query(query)].into_iter().chain(words).collect()
}

/// Returns the key and the value of a member if a reader may search for such a value.
fn words((key, value): &(String, Value)) -> Option<(&str, &str)> {
    let value = value.as_str()?;
    let is_usable = (2..=VALUE_CHARS).contains(&value.chars().count())
        && !value.chars().any(|c| c.is_control() || is_hidden(c));
    is_usable.then_some((key, value))
}

/// Returns a call that selects rows by a value of the first row.
fn selecting<'a>(columns: impl Iterator<Item = (&'a str, Value)>) -> Vec<Lead> {
    let mut columns = columns.filter_map(|(name, value)| {
        let usable = words(&(name.to_owned(), value.clone())).is_some() || value.is_number();
        let mut path = String::new();
        push_key(&mut path, &Value::from(name).to_string());
        (usable && !name.is_empty()).then(|| (name.to_owned(), path, value))
    });
    let Some((name, path, value)) = columns.next() else {
        return Vec::new();
    };
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    vec![
        Lead::Query(format!("select({path} == {value})")),
        Lead::Search(format!("{name} {text}")),
    ]
}

fn of_lines(view: &View) -> io::Result<Vec<Lead>> {
    let head = view.source().bytes(0, RECORD_BYTES as u64)?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let record = serde_json::from_slice::<Map<String, Value>>(line).unwrap_or_default();
    Ok(selecting(
        record
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone())),
    ))
}

fn of_table(view: &View, delimiter: u8) -> io::Result<Vec<Lead>> {
    let head = view.source().bytes(0, RECORD_BYTES as u64)?;
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut at = match head.starts_with(b"\xef\xbb\xbf") {
        true => 3,
        false => 0,
    };
    let (mut fields, mut ends) = (vec![0; RECORD_BYTES], vec![0; 1024]);
    while rows.len() < 2 {
        let (result, read, _, count) = reader.read_record(&head[at..], &mut fields, &mut ends);
        at += read;
        if result != ReadRecordResult::Record {
            break;
        }
        let starts = std::iter::once(0).chain(ends[..count].iter().copied());
        let row = starts.zip(&ends[..count]).map(|(start, &end)| {
            String::from_utf8_lossy(fields.get(start..end).unwrap_or_default()).into_owned()
        });
        rows.push(row.collect());
    }
    match &*rows {
        [names, values] => {
            let columns = names.iter().zip(values);
            Ok(selecting(columns.map(|(name, value)| {
                (name.as_str(), Value::from(value.as_str()))
            })))
        }
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_artifact::{Layout, ViewFacts};

    use super::*;
    use crate::outline;
    use crate::tests::view_of;

    /// Returns the first record and the calls for a text.
    fn led(text: &str, kind: ContentKind) -> String {
        let view = view_of(text);
        let facts = ViewFacts {
            bytes: text.len() as u64,
            lines: view.lines(),
            longest_line: 80,
            is_raw: true,
            layout: Layout::AsIs,
            prelude: 0,
        };
        let entries = outline(&view, &facts, kind, view.lines(), false).unwrap();
        let leads = leads(&view, kind, &entries).unwrap();
        let first = first_record(&entries);
        let first =
            first.map(|first| format!("{}: {}\nbrief: {}", first.path, first.whole, first.brief));
        let leads = leads.iter().map(|lead| format!("{lead:?}"));
        first
            .into_iter()
            .chain(leads)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn json() {
        let list = serde_json::json!({"total": 2, "data": {"items": [
            {"id": 7, "name": "a \"b\"", "tags": ["x", "y"], "of": {"size": 1}},
            {"id": 8, "name": "c", "tags": [], "of": {"size": 2}},
        ]}});
        assert_snapshot!(led(&serde_json::to_string_pretty(&list).unwrap(), ContentKind::Json), @r#"
        .data.items[]: {"id": 7, "name": "a \"b\"", "of": {"size": 1}, "tags": ["x", "y"]}
        brief: {"id": 7, "name": "a \"b\"", "of": {…}, "tags": […]}
        Query(".data.items[] | {id, name}")
        Search("name a \"b\"")
        "#);
        let map = serde_json::json!({"a1": {"at": "x y"}, "b2": {"at": "z"}, "c3": {"at": "z"}, "d4": {"at": "z"}, "e5": {"at": "z"}, "f6": {"at": "z"}});
        assert_snapshot!(led(&serde_json::to_string_pretty(&map).unwrap(), ContentKind::Json), @r#"
        .[]: "a1": {"at": "x y"}
        brief: "a1": {"at": "x y"}
        Query("first(.[])")
        Search("at x y")
        "#);
        assert_snapshot!(led("[\n  {\n    \"odd key\": 1\n  }\n]\n", ContentKind::Json), @r#"
        .[]: {"odd key": 1}
        brief: {"odd key": 1}
        Query("first(.[])")
        "#);
        // jq reads whole documents only.
        let cut =
            "{\n  \"items\": [\n    {\n      \"id\": 1,\n      \"name\": \"pen\"\n    },\n    {\n";
        assert_snapshot!(led(cut, ContentKind::Json), @r#"
        .items[]: {"id": 1, "name": "pen"}
        brief: {"id": 1, "name": "pen"}
        Search("name pen")
        Read { start: 1, lines: 40 }
        "#);
        assert_snapshot!(led("{\n  \"a\": 1,\n  \"b\": [\n", ContentKind::Json), @"Read { start: 1, lines: 40 }");
        assert_snapshot!(led("{\n  \"a b\": 1,\n  \"c\": [\n    1\n  ]\n}\n", ContentKind::Json), @r#"
        Query(".c[]")
        Read { start: 1, lines: 40 }
        "#);
    }

    #[test]
    fn tables_and_lines() {
        assert_snapshot!(led("id,state of,n\n,on,1\n2,off,2\n", ContentKind::Csv), @r#"
        Query("select(.\"state of\" == \"on\")")
        Search("state of on")
        Read { start: 1, lines: 40 }
        "#);
        assert_snapshot!(led("id\tname\n", ContentKind::Tsv), @"Read { start: 1, lines: 40 }");
        assert_snapshot!(led("{\"level\":\"warn\",\"n\":1}\n{\"level\":\"info\"}\n", ContentKind::Ndjson), @r#"
        Query("select(.level == \"warn\")")
        Search("level warn")
        Query(".level")
        Read { start: 1, lines: 40 }
        "#);
        // A value that a terminal would not show unchanged is not used as an argument.
        assert_snapshot!(led("a,b\n\u{202e}x,\u{1b}[1m\n", ContentKind::Csv), @"Read { start: 1, lines: 40 }");
    }

    #[test]
    fn other_texts() {
        let log: String = (0..200)
            .map(|i| match i % 50 {
                7 => format!("10:00:{i:02} WARN slow disk {i}\n"),
                _ => format!("10:00:{i:02} INFO batch {i} done\n"),
            })
            .collect();
        assert_snapshot!(led(&log, ContentKind::Log), @r#"
        Grep("\\bWARN")
        Read { start: 161, lines: 40 }
        "#);
        assert_snapshot!(led("# A\n\ntext\n\n## B\n\ntext\n\n## C\n", ContentKind::Markdown), @"
        Read { start: 5, lines: 40 }
        Read { start: 1, lines: 40 }
        ");
        assert_snapshot!(led("plain\n", ContentKind::Text), @"Read { start: 1, lines: 40 }");
        assert_snapshot!(led("", ContentKind::Text), @"");
        let failed = "ok\n".repeat(30) + "error: no such host\nmake: *** [all] Error 2\n";
        let view = view_of(&failed);
        let facts = ViewFacts {
            bytes: failed.len() as u64,
            lines: view.lines(),
            longest_line: 80,
            is_raw: true,
            layout: Layout::AsIs,
            prelude: 0,
        };
        let entries = outline(&view, &facts, ContentKind::Text, view.lines(), false).unwrap();
        assert_snapshot!(format!("{:?}", failure_leads(&entries)), @r#"[Search("why did it fail?"), Read { start: 22, lines: 60 }]"#);
    }
}

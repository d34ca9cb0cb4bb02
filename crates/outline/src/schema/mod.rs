//! Outlines documents that describe data or an API: OpenAPI in JSON or YAML, and JSON Schema.
//!
//! An outline of the keys would show only words that every such document contains. This outline
//! shows the paths with their methods, and the schemas with their fields.

mod lean;
mod yaml;

use std::io;

use rustc_hash::FxHashMap;
use serde::de::DeserializeSeed;
use spillgate_text::{View, is_plain_key};

use crate::parts::{SamplePlan, counted, grouped};
use crate::{EntryKind, OutlineEntry, located, note};
use lean::Lean;

/// Maximum size, in bytes, of a document that is parsed in memory. The description of GitHub's API
/// has 12 MB.
const LARGEST: u64 = 24 << 20;
/// Bytes that are searched at a time for the name of a format.
const BLOCK: u64 = 64 << 10;
/// Bytes by which two such blocks overlap.
const OVERLAP: u64 = 128;
/// Members that precede the name of the format if members are sorted by name. If the first block
/// contains none of them, the other blocks are not searched.
const SORTED: [&[u8]; 3] = [b"\"components\":", b"\"definitions\":", b"\"$defs\":"];
/// Bytes at the beginning of a YAML document in which the name of its format must occur.
const HEAD: u64 = 2 << 10;
/// Maximum number of paths, of schemas and of fields of the first schema that have a line.
const LISTED: usize = 300;
/// Minimum number of paths for which the outline counts the first segments of the paths.
const MANY: usize = 20;
/// Maximum number of first segments that are named.
const AREAS: usize = 10;
/// Maximum number of fields that are named in one line.
const FIELDS: usize = 16;
/// Maximum number of values or alternatives that are named in one line.
const VALUES: usize = 4;
/// Levels of fields that are named.
const DEPTH: usize = 2;

/// The HTTP methods that OpenAPI allows.
const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];

/// The beginnings of the URLs that name a version of JSON Schema.
const SCHEMA: [&[u8]; 2] = [b"\"http://json-schema.org", b"\"https://json-schema.org"];

/// The description of an API.
#[derive(Debug, Default)]
struct Api {
    version: String,
    title: String,
    /// The version of the API itself.
    release: String,
    server: String,
    operations: u64,
    paths: Vec<Listed>,
    schemas: Vec<Listed>,
    /// The key that holds the schemas.
    schemas_key: &'static str,
}

/// A path with its methods, or a schema with its fields.
#[derive(Debug)]
struct Listed {
    name: String,
    text: String,
    offset: Option<u64>,
}

/// Returns the outline of an API description or a JSON Schema that begins at byte `start` of a JSON
/// text; `None` for other documents.
pub(crate) fn of_json(view: &View, start: u64) -> io::Result<Option<Vec<OutlineEntry>>> {
    let source = view.source();
    if source.len().saturating_sub(start) > LARGEST {
        return Ok(None);
    }
    let mut buffer = Vec::new();
    let head = source.window(start, start + BLOCK, &mut buffer)?;
    // If the members of a document are sorted by name, its format may be named far from the start.
    let is_sorted = SORTED
        .iter()
        .any(|key| memchr::memmem::find(head, key).is_some());
    let mut from = start;
    while !is_named(source.window(from, from + BLOCK + OVERLAP, &mut buffer)?) {
        from += BLOCK;
        if from >= source.len() || !is_sorted {
            return Ok(None);
        }
    }
    let text = source.window(start, source.len(), &mut buffer)?;
    let mut parser = serde_json::Deserializer::from_slice(text);
    let Ok(document) = lean::Seed::default().deserialize(&mut parser) else {
        return Ok(None);
    };
    if let Some(api) = Api::of(&document) {
        return api.render(view, true).map(Some);
    }
    let schema = document.text("$schema").unwrap_or_default();
    Ok(schema
        .contains("json-schema.org")
        .then(|| of_schema(&document)))
}

/// Returns whether a part of a document names a known format and a known version of it.
fn is_named(text: &[u8]) -> bool {
    let says = |key: &[u8], values: &[&[u8]]| {
        memchr::memmem::find_iter(text, key).any(|at| {
            let rest = text[at + key.len()..].trim_ascii_start();
            let rest = rest.strip_prefix(b":").unwrap_or_default();
            let rest = rest.trim_ascii_start();
            values.iter().any(|value| rest.starts_with(value))
        })
    };
    says(b"\"openapi\"", &[b"\"3."])
        || says(b"\"swagger\"", &[b"\"2."])
        || says(b"\"$schema\"", &SCHEMA)
}

/// Returns the outline of an API description in YAML; no entries for other texts.
pub(crate) fn of_yaml(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    let is_api = crate::parts::lines(&head).any(|(_, line)| {
        let version = line
            .strip_prefix(b"openapi:")
            .or_else(|| line.strip_prefix(b"swagger:"));
        let version = version.map(|version| version.trim_ascii().trim_ascii_start());
        version.is_some_and(|version| {
            let bare = version.strip_prefix(b"'").or(version.strip_prefix(b"\""));
            matches!(bare.unwrap_or(version), [b'2' | b'3', b'.', ..])
        })
    });
    match is_api {
        true => yaml::read(view, plan)?.render(view, false),
        false => Ok(Vec::new()),
    }
}

impl Api {
    fn of(document: &Lean) -> Option<Self> {
        let version = document
            .text("openapi")
            .or_else(|| document.text("swagger"))?;
        let paths = document.get("paths").map(Lean::members)?;
        let info = document.get("info");
        let text = |key: &str| info.and_then(|info| info.text(key)).unwrap_or_default();
        let server = match document.get("servers") {
            Some(Lean::List(servers)) => servers.first().and_then(|server| server.text("url")),
            _ => document.text("basePath"),
        };
        let components = document.get("components");
        let (schemas_key, schemas) = match components.and_then(|all| all.get("schemas")) {
            Some(schemas) => (".components.schemas", Some(schemas)),
            None => (".definitions", document.get("definitions")),
        };
        let mut api = Self {
            version: version.to_owned(),
            title: text("title").to_owned(),
            release: text("version").to_owned(),
            server: server.unwrap_or_default().to_owned(),
            schemas_key,
            ..Self::default()
        };
        for (name, item) in paths {
            let operations = item.members().iter();
            let operations = operations.filter(|(method, _)| METHODS.contains(&&**method));
            let operations: Vec<String> = operations
                .map(|(method, operation)| {
                    let id = operation.text("operationId");
                    operation_text(method, id.or_else(|| operation.text("summary")))
                })
                .collect();
            api.operations += operations.len() as u64;
            api.paths.push(Listed {
                name: name.clone(),
                text: operations.join(", "),
                offset: None,
            });
        }
        let schemas = schemas.map(Lean::members).unwrap_or_default();
        api.schemas = schemas
            .iter()
            .map(|(name, schema)| Listed {
                name: name.clone(),
                text: described(schema, DEPTH),
                offset: None,
            })
            .collect();
        Some(api)
    }

    fn render(self, view: &View, is_json: bool) -> io::Result<Vec<OutlineEntry>> {
        let Self {
            version, server, ..
        } = &self;
        let title = format!("{} {}", self.title, self.release);
        let title = title.trim();
        let server = match server.is_empty() {
            true => String::new(),
            false => format!("; server {server}"),
        };
        let operations = counted(&grouped(self.operations), "operation");
        let mut shown = vec![note(format!(
            "OpenAPI {version}: {title}; {operations}{server}"
        ))];
        let groups = [
            (".paths", "path", self.paths, (2, 1)),
            (self.schemas_key, "schema", self.schemas, (3, 2)),
        ];
        for (key, what, all, (rank, step)) in groups {
            if all.is_empty() {
                continue;
            }
            let count = counted(&grouped(all.len() as u64), what);
            let required = if what == "schema" && is_json {
                " (* is required)"
            } else {
                ""
            };
            let key = if is_json { key } else { &key[1..] };
            let text = format!("{key}: {count}{required}");
            shown.push(OutlineEntry::new(1, 0, EntryKind::Place, text));
            let areas = areas(&all);
            if what == "path" && !areas.is_empty() {
                shown.push(OutlineEntry::new(1, 1, EntryKind::Place, areas));
            }
            for (at, listed) in all.into_iter().take(LISTED).enumerate() {
                shown.push(listed.entry(view, (rank + at * step, 1), is_json)?);
            }
        }
        Ok(shown)
    }
}

/// Returns the first segments of the paths, the most frequent first; an empty text if there are
/// fewer than [`MANY`] paths.
fn areas(paths: &[Listed]) -> String {
    if paths.len() < MANY {
        return String::new();
    }
    let mut known: FxHashMap<&str, u64> = FxHashMap::default();
    for path in paths {
        let first = path.name.split('/').nth(1).unwrap_or_default();
        *known.entry(first).or_default() += 1;
    }
    let mut counts: Vec<(&str, u64)> = known.into_iter().collect();
    counts.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let more = if counts.len() > AREAS { ", …" } else { "" };
    let named = counts.iter().take(AREAS);
    let named: Vec<String> = named
        .map(|(first, count)| format!("{}× /{first}", grouped(*count)))
        .collect();
    format!("{}{more}", named.join(", "))
}

impl Listed {
    fn entry(
        self,
        view: &View,
        (rank, depth): (usize, usize),
        is_json: bool,
    ) -> io::Result<OutlineEntry> {
        let name = match is_json {
            true => step_to(&self.name),
            false => self.name,
        };
        let text = match self.text.is_empty() {
            true => name.clone(),
            false => format!("{name}: {}", self.text),
        };
        if let Some(offset) = self.offset {
            return located(view, offset, (rank, depth), text);
        }
        let kind = EntryKind::Path(name);
        Ok(OutlineEntry::new(rank, depth, kind, text))
    }
}

/// Returns the step of a jq path to a member.
fn step_to(name: &str) -> String {
    match is_plain_key(name) {
        true => format!(".{name}"),
        false => format!(".{}", serde_json::Value::from(name)),
    }
}

fn operation_text(method: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{method} {name}"),
        None => method.to_owned(),
    }
}

/// Returns the fields of a schema and the schemas that it defines.
fn of_schema(document: &Lean) -> Vec<OutlineEntry> {
    let title = document.text("title").or_else(|| document.text("$id"));
    let title = title.map(|title| format!(" {title}"));
    let about = described(document, 0);
    let mut shown = vec![note(format!(
        "JSON Schema{}: {about} (* is required)",
        title.unwrap_or_default()
    ))];
    let mut rank = 2;
    let groups = [
        ("properties", "field"),
        ("$defs", "schema"),
        ("definitions", "schema"),
    ];
    for (key, what) in groups {
        let members = document.get(key).map(Lean::members).unwrap_or_default();
        if members.is_empty() {
            continue;
        }
        let count = counted(&grouped(members.len() as u64), what);
        let text = format!("{}: {count}", step_to(key));
        shown.push(OutlineEntry::new(1, 0, EntryKind::Place, text));
        for (name, schema) in members.iter().take(LISTED) {
            let mark = match key {
                "properties" if document.requires(name) => "*",
                _ => "",
            };
            let path = step_to(name);
            let text = format!("{path}{mark}: {}", described(schema, DEPTH));
            shown.push(OutlineEntry::new(rank, 1, EntryKind::Path(path), text));
            rank += 1;
        }
    }
    shown
}

/// Returns the type of a schema in a few words, with `depth` levels of fields.
fn described(schema: &Lean, depth: usize) -> String {
    let last = |reference: &str| reference.rsplit('/').next().unwrap_or_default().to_owned();
    if let Some(reference) = schema.text("$ref") {
        return last(reference);
    }
    for (key, joint) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
        if let Some(Lean::List(all)) = schema.get(key) {
            let some = all.iter().take(VALUES);
            let some: Vec<String> = some
                .map(|one| described(one, depth.saturating_sub(1)))
                .collect();
            let more = if all.len() > VALUES { " …" } else { "" };
            return some.join(joint) + more;
        }
    }
    let kind = match schema.get("type") {
        Some(Lean::Text(kind)) => kind.clone(),
        Some(Lean::List(kinds)) => {
            let kinds = kinds.iter().filter_map(Lean::as_text);
            kinds.collect::<Vec<_>>().join("|")
        }
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ if schema.get("enum").is_some() => "one of".to_owned(),
        _ => "any".to_owned(),
    };
    if let Some(Lean::List(values)) = schema.get("enum") {
        let some = values.iter().filter_map(Lean::as_text).take(VALUES);
        let some: Vec<&str> = some.collect();
        let more = match values.len() > VALUES {
            true => format!("|… {} values", values.len()),
            false => String::new(),
        };
        return format!("{kind} {}{more}", some.join("|"));
    }
    if let Some(items) = schema.get("items") {
        return format!("{kind} of {}", described(items, depth.saturating_sub(1)));
    }
    if let Some(format) = schema.text("format") {
        return format!("{kind} {format}");
    }
    let fields = schema.get("properties").map(Lean::members);
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        return kind;
    };
    if depth == 0 {
        let fields = counted(&grouped(fields.len() as u64), "field");
        return format!("{kind} of {fields}");
    }
    let named = fields.iter().take(FIELDS).map(|(name, field)| {
        let mark = if schema.requires(name) { "*" } else { "" };
        match depth {
            1 => format!("{name}{mark}"),
            _ => format!("{name}{mark}: {}", described(field, depth - 1)),
        }
    });
    let named: Vec<String> = named.collect();
    let more = if fields.len() > FIELDS { ", …" } else { "" };
    format!("{kind} {{{}{more}}}", named.join(", "))
}

#[cfg(test)]
mod tests;

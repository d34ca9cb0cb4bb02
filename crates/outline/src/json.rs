//! The keys of a JSON document, their types, and how many there are.
//!
//! One pass of a streaming parser; the elements of an array are merged into one
//! shape, so memory depends on the number of different keys and not on the
//! document.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::io::{BufRead, BufReader};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use spillgate_artifact::{ByteSource, ReadRange};

use super::Line;

/// Different keys that are kept of an object: objects used as maps have
/// thousands, and say no more after the first.
const KEYS: usize = 40;
/// Levels that are looked into.
const DEPTH: usize = 8;
/// Different values that are kept of a leaf, to show what it is like.
const EXAMPLES: usize = 2;
/// Characters of an example.
const EXAMPLE_CHARS: usize = 24;

/// The key tree of the first `limit` bytes from `start` on. What was read before
/// the limit, or before a fault, keeps its shape.
pub(super) fn outline(source: &dyn ByteSource, start: u64, limit: u64) -> Vec<Line> {
    let range = ReadRange::new(source, start, start.saturating_add(limit));
    let reader = BufReader::with_capacity(64 << 10, range);
    let mut shape = Shape::default();
    // The limit, or a fault, ends it; what came before is kept.
    let _ = shape.merge(&mut serde_json::Deserializer::from_reader(reader), 0);
    rendered(&shape, "")
}

/// The same of many documents, one a line; lines that are none are counted.
pub(super) fn outline_of_lines(source: &dyn ByteSource, limit: u64) -> Vec<Line> {
    let reader = BufReader::with_capacity(64 << 10, ReadRange::new(source, 0, limit));
    let mut shape = Shape::default();
    let (mut documents, mut others) = (0u64, 0u64);
    for line in reader.split(b'\n').map_while(Result::ok) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        // Looked at before it is merged: half a line would leave its keys.
        match serde_json::from_slice::<IgnoredAny>(&line) {
            Ok(_) => {
                documents += 1;
                let _ = shape.merge(&mut serde_json::Deserializer::from_slice(&line), 0);
            }
            Err(_) => others += 1,
        }
    }
    let others = match others {
        0 => String::new(),
        n => format!(" (and {n} lines that are none)"),
    };
    rendered(&shape, &format!("{documents} documents{others}, each "))
}

fn rendered(shape: &Shape, label: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    shape.render(&mut lines, label, 0);
    lines
}

/// What the values in one place have in common.
#[derive(Debug, Default)]
struct Shape {
    nulls: u64,
    booleans: u64,
    numbers: u64,
    strings: u64,
    objects: u64,
    arrays: u64,
    /// Of the array with the fewest, and with the most.
    lengths: Option<(u64, u64)>,
    keys: BTreeMap<String, (usize, Shape)>,
    /// Whether there were more keys than are kept.
    more_keys: bool,
    items: Option<Box<Shape>>,
    examples: Vec<String>,
    /// Whether there were more different values than are kept.
    more_values: bool,
}

impl Shape {
    fn merge<'de, D: Deserializer<'de>>(&mut self, from: D, depth: usize) -> Result<(), D::Error> {
        Merge { shape: self, depth }.deserialize(from)
    }

    fn example(&mut self, value: String) {
        if self.examples.contains(&value) {
            return;
        }
        if self.examples.len() < EXAMPLES {
            self.examples.push(value);
        } else {
            self.more_values = true;
        }
    }

    fn types(&self) -> String {
        let array = || match self.lengths {
            Some((least, most)) if least == most => format!("array({most})"),
            Some((least, most)) => format!("array({least}–{most})"),
            None => "array".to_owned(),
        };
        let mut types: Vec<String> = Vec::new();
        for (count, name) in [
            (self.objects, "object"),
            (self.strings, "string"),
            (self.numbers, "number"),
            (self.booleans, "boolean"),
        ] {
            if count > 0 {
                types.push(name.to_owned());
            }
        }
        if self.arrays > 0 {
            types.insert(0, array());
        }
        if self.nulls > 0 {
            types.push("null".to_owned());
        }
        types.join("|")
    }

    fn render(&self, lines: &mut Vec<Line>, label: &str, depth: usize) {
        let mut text = format!("{}{label}{}", "  ".repeat(depth), self.types());
        let items = self.items.as_deref().filter(|_| self.arrays > 0);
        if let Some(items) = items {
            write!(text, " of {}", items.types()).expect("writing to a string");
        }
        let leaf = items.unwrap_or(self);
        if !leaf.examples.is_empty() {
            let more = if leaf.more_values { ", …" } else { "" };
            write!(text, ": {}{more}", leaf.examples.join(", ")).expect("writing to a string");
        }
        lines.push(Line { rank: depth, text });
        for shape in [Some(self), items].into_iter().flatten() {
            shape.render_keys(lines, depth + 1);
        }
        if let Some(inner) = items.and_then(|items| items.items.as_deref()) {
            inner.render(lines, "[][]: ", depth + 1);
        }
    }

    fn render_keys(&self, lines: &mut Vec<Line>, depth: usize) {
        let mut keys: Vec<(&String, &(usize, Shape))> = self.keys.iter().collect();
        keys.sort_by_key(|(_, (order, _))| *order);
        for (key, (_, shape)) in keys {
            let present = shape.count();
            let optional = if present < self.objects { "?" } else { "" };
            shape.render(lines, &format!("{}{optional}: ", shown_key(key)), depth);
        }
        if self.more_keys {
            lines.push(Line {
                rank: depth,
                text: format!("{}… more keys", "  ".repeat(depth)),
            });
        }
    }

    /// How many values were here.
    fn count(&self) -> u64 {
        self.nulls + self.booleans + self.numbers + self.strings + self.objects + self.arrays
    }
}

/// A key as it can be written in a path; escaped, so that it stays one line.
fn shown_key(key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
    match plain {
        true => key.chars().take(EXAMPLE_CHARS * 2).collect(),
        false => quoted(key),
    }
}

fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(EXAMPLE_CHARS).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{more}")
}

/// Merges one value into a shape.
struct Merge<'a> {
    shape: &'a mut Shape,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Merge<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.depth < DEPTH {
            true => from.deserialize_any(self),
            false => from.deserialize_ignored_any(IgnoredAny).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for Merge<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.shape.nulls += 1;
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.shape.booleans += 1;
        self.shape.example(value.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.shape.numbers += 1;
        self.shape.example(value.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.shape.numbers += 1;
        self.shape.example(value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.shape.numbers += 1;
        self.shape.example(value.to_string());
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.shape.strings += 1;
        self.shape.example(quoted(value));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let shape = self.shape;
        shape.arrays += 1;
        let mut length = 0;
        let merged = loop {
            let item = Merge {
                shape: shape.items.get_or_insert_default(),
                depth: self.depth + 1,
            };
            match items.next_element_seed(item) {
                Ok(Some(())) => length += 1,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let (least, most) = shape.lengths.unwrap_or((length, length));
        shape.lengths = Some((least.min(length), most.max(length)));
        merged
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let shape = self.shape;
        shape.objects += 1;
        while let Some(key) = entries.next_key::<String>()? {
            let order = shape.keys.len();
            if order >= KEYS && !shape.keys.contains_key(&key) {
                shape.more_keys = true;
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            let (_, value) = shape.keys.entry(key).or_insert((order, Shape::default()));
            entries.next_value_seed(Merge {
                shape: value,
                depth: self.depth + 1,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn shape(json: &str) -> String {
        let source = json.as_bytes().to_vec();
        let lines = match json.contains('\n') {
            true => outline_of_lines(&source, 1 << 20),
            false => outline(&source, 0, 1 << 20),
        };
        let texts: Vec<String> = lines.into_iter().map(|line| line.text).collect();
        texts.join("\n")
    }

    #[test]
    fn elements_are_merged() {
        assert_snapshot!(
            shape(r#"{"items":[{"id":1,"tags":["a"]},{"id":2,"name":"x\ny","tags":[]}],"total":2,"ok":true}"#),
            @r#"
        object
          items: array(2) of object
            id: number: 1, 2
            tags: array(0–1) of string: "a"
            name?: string: "x\ny"
          total: number: 2
          ok: boolean: true
        "#
        );
    }

    #[test]
    fn many_documents_and_odd_ones() {
        assert_snapshot!(shape("{\"level\":\"info\"}\n{\"level\":\"warn\",\"a b\":null}\n"), @r#"
        2 documents, each object
          level: string: "info", "warn"
          "a b"?: null
        "#);
        assert_snapshot!(shape("{\"a\":1}\n{bro\n{\"a\":2}\n"), @"
        2 documents (and 1 lines that are none), each object
          a: number: 1, 2
        ");
        assert_snapshot!(shape("[1, 2, \"x\", [3]]"), @"
        array(4) of array(1)|string|number: 1, 2, …
          [][]: number: 3
        ");
        assert_snapshot!(shape("{\"cut\": [{\"id\": 1}, {\"i"), @"
        object
          cut: array(1) of object
            id?: number: 1
        ");
    }
}

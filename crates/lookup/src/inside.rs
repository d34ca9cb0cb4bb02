//! Opens a text inside a JSON document: a string that is read as a text of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use spillgate_artifact::{
    ByteSource, ContentKind, Facts, Interruptible, Layout, RawForm, Stats, Tokens, ViewFacts,
};
use spillgate_text::{
    Indexer, SAMPLE_BYTES, Sample, Sanitizer, Scan, View, ViewSink, classify, decode_json_string,
    push_elements, push_key,
};
use spillgate_untrusted::line;

use crate::{Artifact, LookupError};

/// Maximum bytes of a document in which a path is looked up.
const MOST_BYTES: u64 = 64 << 20;

/// Maximum number of keys that an error names.
const KEYS: usize = 5;

/// Maximum characters of a path or a list of keys in an error.
const QUOTED: usize = 120;

impl Artifact {
    /// Opens the text of the string at `path`, which is written as in jq: `.content`,
    /// `.files[2].patch`, `."a key"`. The returned artifact has the handle and the origin of this
    /// one; its lines are those of the text.
    ///
    /// # Errors
    ///
    /// Fails if the view is not a JSON document, if it is larger than 64 MiB, if the path does not
    /// exist, or if its value is not a string.
    pub fn inside(&self, path: &str) -> Result<Self, LookupError> {
        let no_text = |why: String| LookupError::NoText {
            path: line(path, QUOTED),
            why,
        };
        if self.manifest().facts.stats.kind != ContentKind::Json {
            return Err(no_text("the output is not a JSON document".to_owned()));
        }
        let view = self.view();
        if view.bytes() > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(no_text(format!("the document is larger than {most} MiB")));
        }
        let steps = steps(path).ok_or_else(|| {
            no_text("write a path such as `.content` or `.files[2].patch`".to_owned())
        })?;
        let prelude = self.manifest().facts.view.prelude;
        let text = view.source().bytes(prelude, view.bytes())?;
        let string = find(&text, &steps).map_err(no_text)?;
        self.text_of(string.as_bytes())
            .ok_or_else(|| no_text("its value is not a string".to_owned()))
    }

    /// Returns the text of a JSON string, which is given with its quotes, as an artifact; `None` if
    /// it is not a JSON string, or if it has more secrets than can be marked.
    #[must_use]
    pub fn text_of(&self, string: &[u8]) -> Option<Self> {
        let decoded = decode_json_string(string)?;
        let sample = &decoded.as_bytes()[..decoded.len().min(SAMPLE_BYTES)];
        let kind = classify(Sample {
            head: sample,
            complete: sample.len() == decoded.len(),
        });
        let layout = match kind {
            ContentKind::Html | ContentKind::Xml => Layout::Markup,
            _ => Layout::AsIs,
        };
        let mut made = InnerView {
            text: Vec::with_capacity(decoded.len()),
            indexer: Indexer::made(layout),
        };
        let mut sanitizer = Sanitizer::default();
        let fed = sanitizer.feed(decoded.as_bytes(), &mut made);
        fed.and_then(|()| sanitizer.finish(&mut made)).ok()?;
        let mut scan = Scan::default();
        scan.feed(&made.text);
        let scanned = scan.finish();
        let index = made.indexer.finish();
        let bytes = made.text.len() as u64;
        let mut manifest = self.manifest().clone();
        manifest.facts = Facts {
            form: RawForm::Plain,
            raw_bytes: bytes,
            stats: Stats {
                bytes,
                lines: scanned.lines(),
                chars: scanned.chars,
                tokens: Tokens::estimated(bytes.div_ceil(4)),
                kind,
            },
            view: ViewFacts {
                bytes,
                lines: index.lines,
                longest_line: index.longest_line,
                is_raw: true,
                layout,
                prelude: 0,
            },
            secrets: None,
            ..manifest.facts
        };
        let source: Arc<dyn ByteSource> = Arc::new(made.text);
        let source: Arc<dyn ByteSource> = match self.interrupt() {
            Some(interrupt) => Arc::new(Interruptible::new(source, interrupt.clone())),
            None => source,
        };
        let view = View::new(Arc::clone(&source), index, layout);
        let inside = self.with_text(manifest, source, view);
        self.marked_inside(inside).ok()
    }
}

/// The view of an inner text while it is made.
struct InnerView {
    text: Vec<u8>,
    indexer: Indexer,
}

impl ViewSink for InnerView {
    fn text(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.text.extend_from_slice(bytes);
        self.indexer.feed(bytes);
        Ok(())
    }

    fn line(&mut self, origin: u64) {
        self.indexer.line(origin);
    }
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Parses a path as jq writes it. Returns `None` if it is not a path of keys and indices.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.trim();
    let mut steps = Vec::new();
    if rest == "." {
        return Some(steps);
    }
    while !rest.is_empty() {
        let after_dot = rest.strip_prefix('.');
        let body = after_dot.unwrap_or(rest);
        if let Some(inner) = body.strip_prefix('[') {
            let (step, after) = if inner.starts_with('"') {
                quoted(inner)?
            } else {
                let (index, after) = inner.split_at(inner.find(']')?);
                (Step::Index(index.trim().parse().ok()?), after)
            };
            steps.push(step);
            rest = after.strip_prefix(']')?;
        } else if body.starts_with('"') {
            after_dot?;
            let (step, after) = quoted(body)?;
            steps.push(step);
            rest = after;
        } else {
            // The dot before the first key may be missing.
            let is_first = steps.is_empty();
            after_dot.or(is_first.then_some(rest))?;
            let end = body.find(['.', '[']).unwrap_or(body.len());
            if end == 0 {
                return None;
            }
            steps.push(Step::Key(body[..end].to_owned()));
            rest = &body[end..];
        }
    }
    (!steps.is_empty()).then_some(steps)
}

/// Takes a quoted key from the start of `text` and returns it with the rest.
fn quoted(text: &str) -> Option<(Step, &str)> {
    let mut keys = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let key = keys.next()?.ok()?;
    Some((Step::Key(key), &text[keys.byte_offset()..]))
}

/// Returns the value at a path, or why there is none.
fn find<'t>(document: &'t [u8], steps: &[Step]) -> Result<&'t str, String> {
    let broken = |_| "the document cannot be read".to_owned();
    let document = std::str::from_utf8(document).map_err(|_| "the document is not text")?;
    let document = document.trim_start_matches('\u{feff}');
    let mut here: &RawValue = serde_json::from_str(document).map_err(broken)?;
    let mut path = String::new();
    for step in steps {
        let at = match path.as_str() {
            "" => "the document".to_owned(),
            path => format!("`{}`", line(path, QUOTED)),
        };
        here = match step {
            Step::Key(key) => {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(here.get())
                    .map_err(|_| format!("{at} is {}, not an object", kind_of(here)))?;
                let found = members.get(key).copied();
                push_key(
                    &mut path,
                    &serde_json::Value::from(key.as_str()).to_string(),
                );
                found.ok_or_else(|| {
                    let near = nearest(key, members.keys());
                    format!("{at} has no such key; the nearest: {}", line(&near, QUOTED))
                })?
            }
            Step::Index(index) => {
                let elements: Vec<&RawValue> = serde_json::from_str(here.get())
                    .map_err(|_| format!("{at} is {}, not an array", kind_of(here)))?;
                push_elements(&mut path, *index as u64, *index as u64 + 1);
                let count = elements.len();
                let found = elements.get(*index).copied();
                found.ok_or_else(|| format!("{at} has {count} elements, counted from 0"))?
            }
        };
    }
    match here.get().starts_with('"') {
        true => Ok(here.get()),
        false => Err(format!("it is {}; `query` shows it", kind_of(here))),
    }
}

fn kind_of(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

/// Returns the keys that are most similar to `key`, the nearest first.
fn nearest<'k>(key: &str, keys: impl Iterator<Item = &'k String>) -> String {
    /// Maximum bytes of a key that is compared.
    const LONGEST: usize = 100;
    let lower = key.to_lowercase();
    let far = |other: &str| match other.len().max(lower.len()) > LONGEST {
        true => usize::MAX,
        false => strsim::osa_distance(&lower, &other.to_lowercase()),
    };
    let mut near: Vec<(usize, &String)> = keys.map(|other| (far(other), other)).collect();
    near.sort();
    let shown = near.iter().take(KEYS).map(|(_, key)| {
        let mut path = String::new();
        push_key(
            &mut path,
            &serde_json::Value::from(key.as_str()).to_string(),
        );
        format!("`{path}`")
    });
    match near.is_empty() {
        true => "none, it is empty".to_owned(),
        false => shown.collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn paths_are_read_as_jq_writes_them() {
        let key = |key: &str| Step::Key(key.to_owned());
        for (path, want) in [
            (".", Some(vec![])),
            (".content", Some(vec![key("content")])),
            ("content", Some(vec![key("content")])),
            (".a[2].b", Some(vec![key("a"), Step::Index(2), key("b")])),
            (".[0]", Some(vec![Step::Index(0)])),
            ("[0].a", Some(vec![Step::Index(0), key("a")])),
            (
                ".\"a \\\"b\"[\"c.d\"]",
                Some(vec![key("a \"b"), key("c.d")]),
            ),
            (".a-b", Some(vec![key("a-b")])),
            (".größe", Some(vec![key("größe")])),
            ("", None),
            ("..a", None),
            (".a[", None),
            (".a[-1]", None),
            (".a[1:2]", None),
            (".a[]", None),
            (".\"a", None),
        ] {
            assert_eq!(steps(path), want, "{path}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let document = br#"{"files": [{"path": "a.rs", "patch": "+1\n"}], "count": 1, "e": {}}"#;
        let told: Vec<String> = [
            ".files[0].patch",
            ".files[0].pach",
            ".file",
            ".files[1]",
            ".files.patch",
            ".count[0]",
            ".count",
            ".files",
            ".e.x",
        ]
        .iter()
        .map(|path| match find(document, &steps(path).unwrap()) {
            Ok(found) => format!("{path}: {found}"),
            Err(why) => format!("{path}: {why}"),
        })
        .collect();
        assert_snapshot!(told.join("\n"), @r#"
        .files[0].patch: "+1\n"
        .files[0].pach: `.files[0]` has no such key; the nearest: `.patch`, `.path`
        .file: the document has no such key; the nearest: `.files`, `.e`, `.count`
        .files[1]: `.files` has 1 elements, counted from 0
        .files.patch: `.files` is an array, not an object
        .count[0]: `.count` is a number, not an array
        .count: it is a number; `query` shows it
        .files: it is an array; `query` shows it
        .e.x: `.e` has no such key; the nearest: none, it is empty
        "#);
    }
}

//! A JSON document as a tree whose branches are read when a person opens them.
//!
//! Nothing is parsed into values: each level is cut into the texts of its members, and only the text of
//! an opened member is cut further.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Html;
use maud::{Markup, html};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use spillgate_artifact::Layout;
use spillgate_http_api::Problem;
use spillgate_lookup::{Artifact, LookupError};
use spillgate_offload::Offloader;
use spillgate_outline::grouped;

use crate::artifact::Subject;
use crate::asked::{Asked, handle};
use crate::{Page, shown};

/// Maximum size of a document that is shown as a tree, in bytes: it is held in memory while a level is
/// read.
const DOCUMENT: u64 = 64 << 20;

/// Most members that are shown at a time.
const MEMBERS: usize = 200;

/// Most characters of a string or a number.
const LONGEST: usize = 400;

/// Most steps from the root to a member.
const DEPTH: usize = 256;

/// Returns the text of the JSON document in an output.
pub(crate) fn document(artifact: &Artifact) -> Result<String, Problem> {
    let facts = &artifact.manifest().facts.view;
    let from = match facts.layout {
        Layout::Json => facts.prelude,
        _ => 0,
    };
    let source = artifact.view().source();
    if source.len() - from.min(source.len()) > DOCUMENT {
        let what = format!(
            "the document has {}, and a tree shows at most {}",
            shown::size(source.len()),
            shown::size(DOCUMENT)
        );
        return Err(
            Problem::bad(what).hint("use the look-up `jq`, which reads documents of any size")
        );
    }
    let bytes = source.bytes(from, u64::MAX).map_err(LookupError::from);
    let bytes = bytes.map_err(|error| Problem::from(&error))?;
    let text = String::from_utf8(bytes);
    Ok(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Some members of an object or elements of an array, as they are written. The rest is only counted,
/// because a document may have many millions.
pub(crate) struct Level<'a> {
    pub(crate) kind: Kind,
    /// The members in the range that was asked for; those of an array have empty keys.
    pub(crate) members: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// The number of all members.
    pub(crate) total: usize,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    /// A string, a number, `true`, `false` or `null`.
    Leaf,
}

impl<'a> Level<'a> {
    /// Cuts the text of a value, and keeps `most` members from the member `from` on; an error if it is
    /// not JSON.
    pub(crate) fn of(text: &'a str, from: usize, most: usize) -> Result<Self, serde_json::Error> {
        let (mut members, mut total) = (Vec::new(), 0);
        let kind = each_member(text, &mut |key, value| {
            if total >= from && members.len() < most {
                members.push((key, value));
            }
            total += 1;
        })?;
        Ok(Self {
            kind,
            members,
            total,
        })
    }
}

/// Calls `each` for each member of an object or element of an array in their order, those of an array
/// with an empty key.
pub(crate) fn each_member<'a>(
    text: &'a str,
    each: &mut dyn FnMut(Cow<'a, str>, &'a RawValue),
) -> Result<Kind, serde_json::Error> {
    struct Members<'e, 'de>(&'e mut dyn FnMut(Cow<'de, str>, &'de RawValue));

    impl<'de> Visitor<'de> for Members<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object or an array")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<Key<'de>>()? {
                (self.0)(key.0, map.next_value()?);
            }
            Ok(())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
            while let Some(value) = seq.next_element()? {
                (self.0)(Cow::Borrowed(""), value);
            }
            Ok(())
        }
    }

    let mut parser = serde_json::Deserializer::from_str(text);
    let kind = match text.trim_start().as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        _ => return Ok(Kind::Leaf),
    };
    match kind {
        Kind::Object => parser.deserialize_map(Members(each))?,
        _ => parser.deserialize_seq(Members(each))?,
    }
    parser.end()?;
    Ok(kind)
}

/// A key, borrowed unless it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> de::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Returns the text of the value at a JSON pointer (RFC 6901).
fn at<'a>(text: &'a str, pointer: &str) -> Result<&'a str, Problem> {
    let gone = || Problem::bad("there is no value at that path");
    let mut text = text;
    if pointer.is_empty() {
        return Ok(text);
    }
    let steps = pointer.strip_prefix('/').ok_or_else(gone)?;
    for (depth, step) in steps.split('/').enumerate() {
        let step = step.replace("~1", "/").replace("~0", "~");
        let number: Option<usize> = step.parse().ok();
        let is_array = text.trim_start().starts_with('[');
        let (mut found, mut at) = (None, 0);
        each_member(text, &mut |key, value| {
            let is_it = if is_array {
                number == Some(at)
            } else {
                key == step
            };
            if is_it && found.is_none() {
                found = Some(value);
            }
            at += 1;
        })
        .map_err(|_| gone())?;
        text = found.filter(|_| depth < DEPTH).ok_or_else(gone)?.get();
    }
    Ok(text)
}

/// Returns the tree with its first level open.
pub(crate) fn root(offloader: &Offloader, subject: &Subject) -> Result<Markup, Problem> {
    let artifact = offloader.artifact(subject.handle)?;
    let address = subject.address("/tree");
    let reveals = subject.reveals;
    let level = document(&artifact).and_then(|text| level(&text, "", 0, &address, reveals));
    Ok(html! {
        @match level {
            Ok(level) => { div.tree role="group" aria-label="Tree" { (level) } }
            // The other views still show the output.
            Err(problem) => {
                p.notice { (shown::line(problem.detail(), 400)) "." @if let Some(advice) = problem.advice() { " " (advice) "." } }
            }
        }
    })
}

/// `GET /a/{handle}/tree?path=&from=`: the members below a path.
pub(crate) async fn branch(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Html<String>, Problem> {
    let handle = handle(&named)?;
    let asked = Asked::of_query(request.uri().query());
    let from = asked.number("from", 0)?;
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, wait| {
        let reveals = of.is_owner && asked.flag("secrets");
        let offloader = of.offloader_for(reveals).within(wait);
        let manifest = of.store.manifest(handle)?;
        let artifact = offloader.artifact(handle)?;
        let path = asked.text("path").unwrap_or_default().to_owned();
        let subject = Subject {
            handle,
            manifest,
            asked,
            reveals,
        };
        let text = document(&artifact)?;
        level(
            at(&text, &path)?,
            &path,
            from,
            &subject.address("/tree"),
            reveals,
        )
    });
    Ok(Html(work.await?.into_string()))
}

/// Returns the members of a value as a list.
fn level(
    text: &str,
    path: &str,
    from: usize,
    address: &str,
    reveals: bool,
) -> Result<Markup, Problem> {
    let wrong = |error: serde_json::Error| Problem::bad(format!("this is not JSON: {error}"));
    let open = |path: &str, from: usize| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("path", path)
            .append_pair("from", &from.to_string());
        if reveals {
            query.append_pair("secrets", "1");
        }
        format!("{address}?{}", query.finish())
    };
    let below = |step: &str| format!("{path}/{}", step.replace('~', "~0").replace('/', "~1"));
    let rest = |total: usize| {
        let next = from.saturating_add(MEMBERS);
        html! {
            @if total > next {
                button.rest type="button" data-more=(open(path, next)) { (grouped((total - next) as u64)) " more…" }
            }
        }
    };
    let Level {
        kind,
        members,
        total,
    } = Level::of(text, from, MEMBERS).map_err(wrong)?;
    let is_object = kind == Kind::Object;
    let key = |at: usize, key: &str| {
        html! {
            @if is_object { span.key { (shown::line(beginning(key, 120), 120)) } }
            @else { span.index { (from + at) } }
        }
    };
    let step = |at: usize, key: &str| {
        if is_object {
            below(key)
        } else {
            below(&(from + at).to_string())
        }
    };
    Ok(html! {
        ul {
            @if kind == Kind::Leaf { li { (leaf(text)) } }
            @for (at, (name, value)) in members.iter().enumerate() {
                li { (member(&key(at, name), value.get(), &open(&step(at, name), 0))) }
            }
        }
        (rest(total))
    })
}

fn member(key: &Markup, text: &str, open: &str) -> Markup {
    let text = text.trim();
    let bracket = match text.as_bytes().first() {
        Some(b'{') if text != "{}" => "{…}",
        Some(b'[') if text != "[]" => "[…]",
        _ => return html! { (key) ": " (leaf(text)) },
    };
    html! {
        details data-branch=(open) {
            summary { (key) ": " span.faint { (bracket) " " (count(text)) } " " span.peek { (peek(text)) } }
        }
    }
}

/// Returns the number of members or elements.
fn count(text: &str) -> String {
    match Level::of(text, 0, 0) {
        Ok(level) if level.kind != Kind::Leaf => grouped(level.total as u64),
        _ => String::new(),
    }
}

/// Returns enough of a text for a line of `most` characters: what is long must not be marked as a whole.
fn beginning(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(4 * most);
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Returns the beginning of a value on one line.
fn peek(text: &str) -> String {
    shown::line(beginning(text, 80), 80)
}

fn leaf(text: &str) -> Markup {
    let class = match text.as_bytes().first() {
        Some(b'"') => "string",
        Some(b'0'..=b'9' | b'-') => "digits",
        _ => "word",
    };
    html! { span.(class) { (shown::line(beginning(text, LONGEST), LONGEST)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"a/b": [1, {"c~": "<script>"}], "e": {}, "f": null}"#;

    #[test]
    fn a_pointer_leads_to_a_value() {
        for (pointer, found) in [
            ("", Some(TEXT)),
            ("/a~1b/0", Some("1")),
            ("/a~1b/1/c~0", Some("\"<script>\"")),
            ("/f", Some("null")),
            ("/g", None),
            ("/f/x", None),
            ("/a~1b/7", None),
            ("a", None),
        ] {
            assert_eq!(at(TEXT, pointer).ok(), found, "{pointer}");
        }
        // Depth is no danger: values are cut, not parsed.
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(at(&deep, "/0/0").ok().map(str::len), Some(deep.len() - 4));
        assert!(at(&deep, &"/0".repeat(DEPTH + 1)).is_err());
    }

    #[test]
    fn a_level_shows_members_and_opens_others() {
        let html = level(TEXT, "", 0, "/ui/a/x/tree", false)
            .unwrap()
            .into_string();
        assert!(
            html.contains("data-branch=\"/ui/a/x/tree?path=%2Fa%7E1b&amp;from=0\""),
            "{html}"
        );
        assert!(html.contains("<span class=\"word\">null</span>"));
        assert!(!html.contains("<script>"), "{html}");
        let many = format!("[{}0]", "0,".repeat(450));
        let html = level(&many, "", 200, "/t", false).unwrap().into_string();
        assert_eq!(html.matches("<li>").count(), MEMBERS);
        assert!(html.contains("51 more…"), "{html}");
        assert!(level("[1,", "", 0, "/t", false).is_err());
        let last = level(&many, "", 450, "/t", false).unwrap().into_string();
        assert!(last.contains("<span class=\"index\">450</span>"), "{last}");
        assert!(level("[1", "", usize::MAX, "/t", false).is_err());
        assert_eq!(
            level("[1]", "", usize::MAX, "/t", false)
                .unwrap()
                .into_string(),
            "<ul></ul>"
        );
    }

    #[test]
    fn members_that_are_not_shown_are_only_counted() {
        let many = format!("[{}0]", "0,".repeat(1_000_000));
        let kept = Level::of(&many, 5, MEMBERS).unwrap();
        assert_eq!(kept.total, 1_000_001);
        assert!(kept.members.capacity() < 2 * MEMBERS);
        assert_eq!(count(&many), "1,000,001");
    }
}

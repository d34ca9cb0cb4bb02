//! Tests the properties that the plan of every output must have.

mod cases;
mod secrets;
mod shown;

use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_artifact::{ContentKind, HandleForm, Layout};
use spillgate_lookup::Artifact;
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, MemoryStore, Part};
use spillgate_text::{Indexer, JsonLayout, TokenCounter, Tokenizer};

use super::*;

/// Returns an artifact whose view is `text`.
fn stored(text: &[u8], kind: ContentKind, layout: Layout) -> Artifact {
    let store = MemoryStore::default();
    let mut indexer = Indexer::as_is(layout);
    indexer.feed(text);
    let mut facts = facts_of(text);
    facts.stats.kind = kind;
    facts.view.layout = layout;
    let mut draft = store.draft().unwrap();
    draft.write(Part::Raw, text).unwrap();
    let receipt = draft
        .commit(facts, &indexer.finish().to_bytes(), HandleForm::Short)
        .unwrap();
    Artifact::open(store.open(receipt.handle()).unwrap()).unwrap()
}

/// Returns the artifact of a JSON document in our layout.
fn laid_out(json: &str) -> Artifact {
    let mut text = Vec::new();
    let mut layout = JsonLayout::default();
    layout.feed(json.as_bytes(), &mut text).unwrap();
    stored(&text, ContentKind::Json, Layout::Json)
}

fn plain(text: &str, kind: ContentKind) -> Artifact {
    stored(text.as_bytes(), kind, Layout::AsIs)
}

fn want(chunk_tokens: u64) -> Want {
    Want {
        chunk_tokens,
        overlap_percent: 10,
        most_chunks: 64,
    }
}

fn counter() -> std::sync::Arc<dyn TokenCounter> {
    Tokenizer::O200kBase.counter()
}

/// Returns the number of rows that a chunk does not repeat from the previous one.
fn own_rows(artifact: &Artifact, chunk: &Chunk) -> usize {
    let lines = LineRange {
        first: chunk.own_first,
        last: chunk.lines.last,
    };
    let mut rows = Rows::new(artifact.view(), Sort::of(artifact), lines).unwrap();
    std::iter::from_fn(|| rows.next_row().unwrap()).count()
}

/// Checks that every line is new in exactly one chunk, and that the bytes of a chunk match its
/// lines.
fn check_cover(artifact: &Artifact, chunks: &[Chunk]) {
    let view = artifact.view();
    let mut next = 1;
    for chunk in chunks {
        assert_eq!(chunk.own_first, next, "{chunk:?}");
        assert!(chunk.lines.first <= next && next <= chunk.lines.last + 1);
        let start = view.offset_of_line(chunk.lines.first).unwrap();
        let end = view.offset_of_line(chunk.lines.last + 1).unwrap();
        assert_eq!(chunk.bytes, (start, end), "{chunk:?}");
        next = chunk.lines.last + 1;
    }
    assert_eq!(next, view.lines() + 1);
}

/// Plans chunks and checks the properties of every plan.
fn checked(artifact: &Artifact, want: &Want) -> Plan {
    let counter = counter();
    let plan = plan(artifact, want, &*counter).unwrap();
    check_cover(artifact, &plan.chunks);
    let shown = |chunk: &Chunk| counter.count(&plan.render(artifact, chunk).unwrap());
    let mut above: Option<&Chunk> = None;
    for chunk in &plan.chunks {
        let tokens = shown(chunk);
        assert!(
            tokens <= want.chunk_tokens || own_rows(artifact, chunk) == 1,
            "{tokens} of {}: {chunk:?}",
            want.chunk_tokens
        );
        if chunk.lines.first < chunk.own_first {
            let repeated = Chunk {
                lines: LineRange {
                    first: chunk.lines.first,
                    last: chunk.own_first - 1,
                },
                bytes: (
                    chunk.bytes.0,
                    artifact.view().offset_of_line(chunk.own_first).unwrap(),
                ),
                ..chunk.clone()
            };
            let most = shown(above.unwrap()) * plan.overlap_percent / 100;
            // At either end of the repeated part, the cost is exact only to within one piece.
            let most = most + 2 * want.chunk_tokens / PIECES + 1;
            assert!(shown(&repeated) <= most, "{} of {most}", shown(&repeated));
        }
        above = Some(chunk);
    }
    plan
}

/// Splits a chunk until no part can be split further.
fn split_up(artifact: &Artifact, plan: &Plan, chunk: &Chunk, parts: &mut Vec<Chunk>) {
    let Some(halves) = plan.split(artifact, chunk).unwrap() else {
        assert_eq!(chunk.lines.first, chunk.lines.last);
        parts.push(chunk.clone());
        return;
    };
    for half in &halves {
        assert!(half.lines.first <= half.lines.last);
        split_up(artifact, plan, half, parts);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u16>().prop_map(Value::from),
        "[a-z\"\\\\{}\\[\\],: \n漢]{0,30}".prop_map(Value::from),
        "[a-z {]{900,2300}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..7).prop_map(Value::from),
            proptest::collection::hash_map("[a-z\"]{0,6}", inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

/// Generates output that is not JSON, with any lines and of any kind.
fn any_text() -> impl Strategy<Value = (Vec<u8>, ContentKind, Layout)> {
    let text = prop_oneof![
        "(20[0-9]{2}-11-21T10:00 [a-z ]{0,60}\n|\tat [a-z.]{1,30}\n|\n|[a-z,\"<>{}#]{0,40}\r?\n|x{900,2300}\n){0,60}"
            .prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..900),
    ];
    let kinds = proptest::sample::select(vec![
        (ContentKind::Log, Layout::AsIs),
        (ContentKind::Csv, Layout::AsIs),
        (ContentKind::Tsv, Layout::AsIs),
        (ContentKind::Ndjson, Layout::AsIs),
        (ContentKind::Markdown, Layout::AsIs),
        (ContentKind::Json, Layout::AsIs),
        (ContentKind::Json, Layout::Json),
        (ContentKind::Html, Layout::Markup),
        (ContentKind::Binary, Layout::AsIs),
    ]);
    (text, kinds).prop_map(|(text, (kind, layout))| (text, kind, layout))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn text_is_covered_within_the_budget(
        (text, kind, layout) in any_text(),
        tokens in 20u64..600,
        overlap_percent in 0u64..70,
    ) {
        let artifact = stored(&text, kind, layout);
        let want = Want { overlap_percent, ..want(tokens) };
        let plan = checked(&artifact, &want);
        prop_assert!(plan.chunks.is_empty() == text.is_empty());
        let mut parts = Vec::new();
        for chunk in &plan.chunks {
            split_up(&artifact, &plan, chunk, &mut parts);
        }
        let mut own: Vec<u64> = parts.iter().filter(|part| part.own_first == part.lines.first)
            .map(|part| part.own_first).collect();
        own.dedup();
        prop_assert_eq!(own, (1..=artifact.view().lines()).collect::<Vec<_>>());
    }

    #[test]
    fn json_is_covered_and_its_rows_are_the_document(value in any_json(), tokens in 20u64..600) {
        let artifact = laid_out(&value.to_string());
        let plan = checked(&artifact, &want(tokens));
        prop_assert_eq!(plan.overlap_percent, 0);
        let mut joined = String::new();
        let mut parts = Vec::new();
        for chunk in &plan.chunks {
            for row in plan.render(&artifact, chunk).unwrap().lines() {
                let mark = row.find(['|', '+']).unwrap();
                joined.push_str(&row[mark + 1..]);
            }
            split_up(&artifact, &plan, chunk, &mut parts);
        }
        prop_assert_eq!(serde_json::from_str::<Value>(&joined).unwrap(), value);
        check_cover(&artifact, &parts);
    }

    #[test]
    fn paths_lead_to_what_the_rows_say(value in any_json(), tokens in 20u64..300) {
        let artifact = laid_out(&value.to_string());
        let plan = checked(&artifact, &want(tokens));
        for chunk in &plan.chunks {
            let begins = chunk.begins.as_deref().unwrap();
            let found = follow(&value, begins);
            prop_assert!(found.is_some(), "{:?}", chunk);
            let shown = plan.render(&artifact, chunk).unwrap();
            if let Some(first) = first_value(&shown).filter(|_| begins.ends_with(']')) {
                prop_assert_eq!(found, Some(&first), "{:?}", chunk);
            }
            let path = chunk.path.as_deref().unwrap();
            prop_assert!(follow(&value, path).is_some(), "{:?}", chunk);
        }
    }
}

/// Returns the value that a chunk begins with, if it is complete and has no key.
fn first_value(shown: &str) -> Option<Value> {
    let row = shown.lines().next()?;
    let text = &row[row.find(['|', '+'])? + 1..];
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = values.next()?.ok()?;
    let rest = &text[values.byte_offset()..];
    (!row.contains('+') && !rest.starts_with(':')).then_some(first)
}

/// Returns the value at a path, if there is one; for a slice, its first element.
fn follow<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let (mut value, mut rest) = (value, path.strip_prefix('.')?);
    while !rest.is_empty() {
        if let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']')?;
            let (first, last) = index.split_once(':').unwrap_or((index, index));
            let array = value.as_array()?;
            assert!(last.parse::<usize>().unwrap() <= array.len(), "{path}");
            // If a path points after the last element, only the closing bracket follows.
            match array.get(first.parse::<usize>().unwrap()) {
                Some(one) => value = one,
                None => return Some(value),
            }
            rest = after.strip_prefix('.').unwrap_or(after);
            continue;
        }
        let mut keys = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let (key, after) = if rest.starts_with('"') {
            (keys.next()?.ok()?, &rest[keys.byte_offset()..])
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        };
        value = value.get(&key)?;
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    Some(value)
}

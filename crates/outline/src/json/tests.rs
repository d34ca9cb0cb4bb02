//! Tests that small documents have the same shape whether they are read whole or in parts.

use std::sync::Arc;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_text::Indexer;

use super::*;
use crate::tests::{texts, view_of};

fn shape(json: &str) -> String {
    texts(&outline(&view_of(json), 0).unwrap())
}

fn shape_of_lines(json: &str) -> String {
    let view = view_of(json);
    let plan = SamplePlan::spread(view.source(), 0).unwrap();
    texts(&outline_of_lines(&view, &plan).unwrap())
}

#[test]
fn elements_are_merged() {
    assert_snapshot!(
        shape(r#"{"items":[{"id":1,"tags":["a"]},{"id":2,"name":"x\ny","tags":[]}],"total":2,"ok":true}"#),
        @r#"
    object
      .items[]: array(2) of object
        .id: number: 1, 2
        .tags[]: array(0–1) of string: "a"
        .name? (1 of 2): string: "x\ny"
      .total: number: 2
      .ok: boolean: true
    "#
    );
}

#[test]
fn many_documents_and_odd_ones() {
    assert_snapshot!(shape_of_lines("{\"level\":\"info\"}\n{\"level\":\"warn\",\"a b\":null}\n"), @r#"
    2 documents, each object
      .level: string: "info", "warn"
      ."a b"? (1 of 2): null
    "#);
    assert_snapshot!(shape_of_lines("{\"a\":1}\n{bro\n{\"a\":2}\n"), @"
    2 documents (and 1 line that is none), each object
      .a: number: 1, 2
    ");
    assert_snapshot!(shape("[1, 2, \"x\", [3]]"), @r#"
    .[]: array(4) of array(1) | string: "x" | number: 1, 2
      []: number: 3
    "#);
    assert_snapshot!(shape("{\"cut\": [{\"id\": 1}, {\"i"), @"
    (as far as it can be read)
    .cut[]: array(2) of object
      .id? (1 of 2): number: 1
    ");
    assert_snapshot!(shape("{}"), @"{}");
    assert_snapshot!(shape("[[[1,2],[3]],[]]"), @".[][][]: array(2) of array(0–2) of array(1–2) of number: 1, …");
}

#[test]
fn numbers_stay_as_they_are_written() {
    assert_snapshot!(
        shape(r#"{"big":[12345678901234567890123,1e400,0.10],"one":1.0,"ids":[1,2,1,2]}"#),
        @"
    object
      .big[]: array(3) of number: 12345678901234567890123, …
      .one: number: 1.0
      .ids[]: array(4) of number (2 distinct: 1, 2)
    "
    );
}

#[test]
fn keys_that_are_data_are_one_place() {
    let versions: Vec<String> = (0..1234)
        .map(|i| format!(r#""18.{i}.0":{{"name":"react","size":{i}}}"#))
        .collect();
    let json = format!(
        r#"{{"versions":{{{}}},"times":{{"1.0":"a","1.1":"b","1.2":"c","1.3":"d","1.4":"e","1.5":"f"}}}}"#,
        versions.join(",")
    );
    assert_snapshot!(shape(&json), @r#"
    object
      .versions[]: {<1,234 keys like "18.0.0">: object} {.name: string: "react", .size: number 0–1233}
      .times[]: {<6 keys like "1.0">: string: "a", …}
    "#);
}

#[test]
fn nesting_has_an_end() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert_snapshot!(shape(&deep(200)), @"
    (as far as it can be read)
    .[][][][][][][][][][][][]: array(1) of array(1) of … of array(?)
      … deeper, or more than is told apart
    ");
    assert_snapshot!(shape(&format!("{{\"a\":{}}}", deep(100_000))), @"
    (as far as it can be read)
    .a[][][][][][][][][][][]: array(1) of array(1) of … of array(?)
      … deeper, or more than is told apart
    ");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-30i64..30).prop_map(Value::from),
        "[a-c\"\\\\{}\\[\\],: \n漢]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 400, 90, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..30).prop_map(Value::from),
            proptest::collection::hash_map("[a-d\"1]{0,4}", inner, 0..90)
                .prop_map(|map| json!(map)),
        ]
    })
}

/// Returns the outline of laid-out text that is read in parts.
fn in_parts(text: &str, part: u64, threads: usize) -> String {
    let source = text.as_bytes().to_vec();
    let plan = SamplePlan {
        threads,
        ..SamplePlan::cut(&source, 0, part, u64::MAX).unwrap()
    };
    let walker = walked(&source, &plan, TWO_SPACES).unwrap().unwrap();
    let (tree, ended) = walker.finish();
    assert!(ended);
    texts(&render::render(tree, "", None))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn parts_make_the_whole(value in any_json(), part in 1u64..200) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let whole = in_parts(&text, u64::MAX / 2, 1);
        prop_assert_eq!(&in_parts(&text, part, 1), &whole);
        prop_assert_eq!(&in_parts(&text, part, 2), &whole);
        // A document that is laid out while it is walked has the same shape.
        let (walker, fits, _) = laid_out(&value.to_string().into_bytes(), 0).unwrap();
        prop_assert!(fits);
        prop_assert_eq!(texts(&render::render(walker.finish().0, "", None)), whole);
    }

    #[test]
    fn any_text_has_some_shape(text in "[\\[\\]{}\",:a1 \n]{0,60}", step in 0u64..9) {
        let mut indexer = Indexer::as_is(Layout::Json);
        indexer.feed(text.as_bytes());
        let source = Arc::new(text.clone().into_bytes());
        let view = View::new(source, indexer.finish(), Layout::Json);
        outline(&view, step.min(text.len() as u64)).unwrap();
        shape_of_lines(&text);
    }
}

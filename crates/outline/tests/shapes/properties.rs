//! Tests the properties of every outline, whatever the text.

use proptest::prelude::*;
use spillgate_artifact::{ContentKind, TokenBudget};
use spillgate_outline::within;
use spillgate_text::Tokenizer;

use crate::support::Returned;

const KINDS: [ContentKind; 12] = [
    ContentKind::Json,
    ContentKind::Ndjson,
    ContentKind::Csv,
    ContentKind::Tsv,
    ContentKind::Markdown,
    ContentKind::Html,
    ContentKind::Xml,
    ContentKind::Diff,
    ContentKind::Log,
    ContentKind::Code,
    ContentKind::Text,
    ContentKind::Binary,
];

/// Generates texts from pieces of all formats, and from pieces without a format.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~\n\t漢é🚀\u{1b}\0]{0,12}",
        proptest::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            "\"a\": ",
            "1",
            ",",
            ",\n",
            "\n",
            "\n  ",
            "\"",
            "\\",
            "null",
            "<a b='",
            "</",
            ">",
            "<h1>",
            "<table><tr><th>",
            "<![CDATA[",
            "<!--",
            "&",
            "# x\n",
            "```\n",
            "=====\n",
            "diff --git a/x b/x\n",
            "--- a\n+++ b\n",
            "@@ -1,99999999999999999999 +1 @@\n",
            "@@ -1 +1,2 @@\n",
            "+",
            "-",
            "fn f() {\n",
            "class A:\n",
            "\"\"\"\n",
            "/*\n",
            "2026-01-01T00:00:00Z ERROR x=1\n",
            "test result: FAILED. 1 passed\n",
            "test a ... FAILED\n",
            "error[E1]: x\n",
            "Traceback (most recent call last):\n",
            "FAILED a::b\n",
            "\r\n",
            "a,b\n",
            "NAME   AGE   STATUS\n",
            "a      1     é\n",
            "| a | b |\n",
            "|---|---|\n",
            "+---+---+\n",
            "commit 0123456789abcdef\n",
            "Author: a\nDate: b\n\n    c\n",
            "0123456 a: b\n",
            "- button \"a\" [ref=e1]\n",
            "uid=1_2 table \"a\"\n",
            "  - row [ref=e2]:\n",
            "[[package]]\nname = \"a\"\n",
            "version = \"1\"\n",
            "lockfileVersion: 9\npackages:\n  a@1:\n",
            "openapi: 3.0.0\npaths:\n  /a:\n    get:\n",
            "{\"openapi\": \"3.0.0\", \"paths\": {\"/a\": {\"get\": {}}}}",
            "<testsuite><testcase name='a'><failure message='b'>c",
            "function(a){return a=>b},c;d(",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,3}".prop_map(|s| s.repeat(700)),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_of_any_kind(text in any_text(), kind in 0..KINDS.len(), budget in 32u64..300) {
        const CHARS: usize = 2 + 300;
        const MARK: usize = 24;
        let result = Returned::of_kind(&text, KINDS[kind]);
        let lines = result.lines();
        for line in &lines {
            let text = line.to_string();
            prop_assert!(text.chars().count() <= CHARS + MARK, "{text:?}");
            prop_assert!(!text.contains('\n') && text.starts_with("  "), "{text:?}");
        }
        prop_assert_eq!(&lines, &result.lines());
        let counter = Tokenizer::O200kBase.counter();
        let kept = within(&lines, TokenBudget::new(budget), &*counter);
        prop_assert!(counter.count(&kept.join("\n")) <= budget);
    }
}

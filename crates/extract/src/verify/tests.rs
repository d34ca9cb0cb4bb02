//! Tests which quotes in answers are found, and what is marked.

use insta::assert_snapshot;
use proptest::prelude::*;
use spillgate_testkit::{log, records};

use super::*;
use crate::testing::artifact;

/// Returns the marked answer, followed by a line for each citation and a line for the unverified
/// values.
fn told(text: &str, answer: &str) -> String {
    let grounded = ground(&artifact(text), answer).unwrap();
    assert_eq!(unmarked(&grounded.text), answer);
    let citations = grounded.citations.iter().map(|one| {
        let path = one.path.as_deref().unwrap_or("-");
        let (first, last) = (one.lines.first, one.lines.last);
        let quote = one
            .quote
            .as_ref()
            .map(|quote| format!(" {:?} {quote:?}", one.matched.unwrap()));
        format!(
            "\nL{first}-{last} {:?} {path}{}",
            one.bytes,
            quote.unwrap_or_default()
        )
    });
    let citations: String = citations.collect();
    format!("{}\n{citations}\n{:?}", grounded.text, grounded.unverified)
}

fn unmarked(text: &str) -> String {
    let found = regex::Regex::new(r" \[found at L[0-9-]+\]").unwrap();
    let text = found.replace_all(text, "");
    text.replace(UNVERIFIED, "").replace(NO_SUCH_LINE, "")
}

/// Returns the marked answer alone.
fn marks(text: &str, answer: &str) -> String {
    ground(&artifact(text), answer).unwrap().text
}

#[test]
fn values_of_a_log() {
    assert_snapshot!(told(&log(600), "The worker says \"disk quota exceeded\" [L501] with `code=E4217`, not \"E4218\" [L12]. See [L700]."), @r#"
    The worker says "disk quota exceeded" [L501] with `code=E4217`, not "E4218" [unverified] [L12]. See [L700] [no such line].

    L501-501 (31643, 31724) - Exact "disk quota exceeded"
    L501-501 (31643, 31724) - Exact "code=E4217"
    L12-12 (689, 753) -
    ["E4218"]
    "#);
}

#[test]
fn a_wrong_line_is_corrected() {
    assert_snapshot!(told(&log(600), "It is \"E4217\" [L42], as [L3-4] show."), @r#"
    It is "E4217" [found at L501] [L42], as [L3-4] show.

    L501-501 (31643, 31724) - Exact "E4217"
    L3-4 (121, 247) -
    []
    "#);
}

#[test]
fn values_of_json() {
    let answer = "Item 31 is {\"site\": \"s3\", …\n> {\"site\":\"s3\",\"left\":31} [lines 385–388]\n\
                  ```json\n\"name\": \"item 31\",\n\"name\": \"item 77\"\n```\n";
    assert_snapshot!(told(&records(40), answer), @r#"
    Item 31 is {"site" [found at L390]: "s3", …
    > {"site":"s3","left":31} [found at L415-418] [lines 385–388]
    ```json
    "name": "item 31",
    "name": "item 77" [unverified]
    ```


    L390-390 (2663, 2675) .items[29].stock.site Exact "site"
    L415-418 (2834, 2865) .items[31].stock Normalised "{\"site\":\"s3\",\"left\":31}"
    L409-409 (2786, 2803) .items[31].name Exact "\"name\": \"item 31\","
    ["\"name\": \"item 77\""]
    "#);
}

#[test]
fn escapes_of_json() {
    let json = r#"{"log":"first line\nsecond \"quoted\" line\nC:\\new\\dir","name":"caf\u00e9"}"#;
    assert_snapshot!(told(json, "`second \"quoted\" line` and \"first line\" and 'café' in “C:\\new\\dir”"), @r#"
    `second "quoted" line` and "first line" and 'café' in “C:\new\dir”

    L1-1 (0, 77) - Normalised "second \"quoted\" line"
    L1-1 (0, 77) - Exact "first line"
    L1-1 (0, 77) - Normalised "café"
    L1-1 (0, 77) - Normalised "C:\\new\\dir"
    []
    "#);
}

/// Answers about the text of [`what_is_marked`], each with the marked answer that is expected.
const MARKED: [(&str, &str); 22] = [
    ("E4217 on host-7", "E4217 on host-7"),
    (
        "\"E4217\" [L2]. \"user bob\" [L2]",
        "\"E4217\" [found at L1] [L2]. \"user bob\" [L2]",
    ),
    (
        "He wrote \"é 42\nuser bob@example.org\" there",
        "He wrote \"é 42\nuser bob@example.org\" there",
    ),
    (
        "He wrote \"é 42 and\nuser alice\" there",
        "He wrote \"é 42 and [unverified]\nuser alice [unverified]\" there",
    ),
    ("E421 on host-8", "E421 [unverified] on host-8 [unverified]"),
    (
        "It is bob@example.com.",
        "It is bob@example.com [unverified].",
    ),
    (
        "See /data/vol7/x.log, /data/vol8.",
        "See /data/vol7/x.log, /data/vol8 [unverified].",
    ),
    (
        "at 10:00:01 or 10:00:02",
        "at 10:00:01 or 10:00:02 [unverified]",
    ),
    (
        "137 lines in all, 42 too",
        "137 [unverified] lines in all, 42 too",
    ),
    (
        "the 1st, 100th and a_b",
        "the 1st, 100th and a_b [unverified]",
    ),
    (
        "don't say 'host-9' or 'host-7'",
        "don't say 'host-9' [unverified] or 'host-7'",
    ),
    ("\"E4217.\" \"…on host-7\"", "\"E4217.\" \"…on host-7\""),
    ("`42` \"x\" ''", "`42` \"x\" ''"),
    (
        "> code=E4217\n> code=E4218 [L1]",
        "> code=E4217\n> code=E4218 [unverified] [L1]",
    ),
    ("> \"user bob\" (L2)", "> \"user bob\" (L2)"),
    (
        "```\n1: code=E4217\n2: code=E4217\n```",
        "```\n1: code=E4217\n2: code=E4217 [unverified]\n```",
    ),
    (
        "\"an open quote, `host-9",
        "\"an open quote, `host-9 [unverified]",
    ),
    (
        "[L1] [L0] [L2-3] [1-2] [1-9]",
        "[L1] [L0] [no such line] [L2-3] [no such line] [1-2] [1-9 [unverified]]",
    ),
    (
        "\"host-7 [L1]\" and \"[L2]\"",
        "\"host-7 [L1]\" and \"[L2]\"",
    ),
    (
        "NO RELEVANT DATA FOUND for E9",
        "NO RELEVANT DATA FOUND for E9",
    ),
    (
        "line 2, lines 1-2, L1, line 300",
        "line 2, lines 1-2, L1, line 300 [unverified]",
    ),
    (
        "https://a.org/x (http://b.org)",
        "https://a.org/x [unverified] (http://b.org [unverified])",
    ),
];

#[test]
fn what_is_marked() {
    let text =
        "code=E4217 on host-7 at 10:00:01, path /data/vol7/x.log, é 42\nuser bob@example.org\n";
    for (answer, want) in MARKED {
        assert_eq!(marks(text, answer), want);
    }
}

#[test]
fn lines_that_are_named() {
    let cases: [(&str, &[(u64, u64)]); 9] = [
        ("[L12]", &[(12, 12)]),
        ("[L12-15]", &[(12, 15)]),
        ("[L12, L40-44]", &[(12, 12), (40, 44)]),
        ("[lines 12–15 and 18]", &[(12, 15), (18, 18)]),
        ("(line 12)", &[(12, 12)]),
        ("[L15-L12]", &[(12, 15)]),
        ("[12-15]", &[(12, 15)]),
        ("a[12-15] [12-99] [12] (12)", &[]),
        ("[L99999999999999999999999]", &[(u64::MAX, u64::MAX)]),
    ];
    for (answer, want) in cases {
        let parsed = answer::parse(answer, 50, false);
        let lines: Vec<(u64, u64)> = parsed.named.into_iter().flat_map(|one| one.lines).collect();
        assert_eq!(lines, want, "{answer}");
    }
}

#[test]
fn far_away_and_over_windows() {
    let filler = log(40_000);
    let text = format!("{filler}the needle is\n    XK-9914 here\n{filler}");
    assert!(text.len() > 4 << 20);
    assert_snapshot!(told(&text, "\"needle is XK-9914 here\" and \"XK-9914 here\", \"XK-991\""), @r#"
    "needle is XK-9914 here" and "XK-9914 here", "XK-991" [unverified]

    L40001-40002 (2532045, 2532076) - Normalised "needle is XK-9914 here"
    L40002-40002 (2532059, 2532076) - Exact "XK-9914 here"
    ["XK-991"]
    "#);
}

#[test]
fn hostile_answers_end_soon() {
    let text = log(2000);
    let many: Vec<String> = (0..60_000).map(|i| format!("\"v{i}x\" 'q' `")).collect();
    let answers = [
        many.join(" "),
        "“".repeat(400_000),
        "'a ".repeat(300_000),
        "` `` ``` ".repeat(100_000),
        "[L1,".repeat(200_000),
        "\"\u{202e}\u{200b}".repeat(100_000),
        "```\n".repeat(100_000),
        format!("\"{}\"", "x".repeat(1_000_000)),
        "[L1] ".repeat(100_000),
    ];
    let artifact = artifact(&text);
    for answer in answers {
        let grounded = ground(&artifact, &answer).unwrap();
        assert_eq!(unmarked(&grounded.text), answer);
        assert!(grounded.unverified.len() <= MOST_TOLD + 1);
        assert!(grounded.citations.len() <= MOST_TOLD);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn marks_are_all_that_is_added(
        answer in "(\"|'|`|```|> |\n|“|”|[a-zé漢]{0,6}|[0-9]{0,4}|\\[L[0-9]{1,3}(-[0-9]{1,3})?\\]|\\(|\\)|/|\\\\|\u{202e}| ){0,40}",
    ) {
        let text = log(20);
        let grounded = ground(&artifact(&text), &answer).unwrap();
        prop_assert_eq!(unmarked(&grounded.text), answer);
        for one in grounded.citations {
            prop_assert!(one.lines.first >= 1 && one.lines.last <= 20);
            prop_assert!(one.bytes.0 < one.bytes.1 && one.bytes.1 <= text.len() as u64);
        }
    }

    /// Tests that any sequence of whole words of the output is verified, in any kind of quotes
    /// whose marks do not occur in it.
    #[test]
    fn what_is_there_verifies(from in 0usize..600, words in 1usize..9, is_json: bool) {
        let text = if is_json { records(30) } else { log(60) };
        let artifact = artifact(&text);
        let view = artifact.view().source().bytes(0, u64::MAX).unwrap();
        let view = String::from_utf8(view).unwrap();
        let all: Vec<&str> = view.split_whitespace().collect();
        let from = from % all.len();
        let quote = all[from..all.len().min(from + words)].join(" ");
        let grounded = ground(&artifact, &format!("It says `{quote}`")).unwrap();
        prop_assert_eq!(grounded.unverified, Vec::<String>::new());
    }

    #[test]
    fn a_liar_is_caught(token in "[A-Za-z0-9]{11,30}[0-9]", is_json: bool, way in 0usize..6) {
        let text = if is_json { records(30) } else { log(60) };
        let answer = match way {
            0 => format!("The id is \"{token}\" [L3]."),
            1 => format!("The id is {token} [L3]."),
            2 => format!("> id {token}"),
            3 => format!("```\n{token}\n```"),
            4 => format!("`{token}`, INFO \"worker-1\""),
            _ => format!("id: {token}, the rest is `batch`"),
        };
        let grounded = ground(&artifact(&text), &answer).unwrap();
        prop_assert!(grounded.unverified.iter().any(|one| one.contains(&token)));
        prop_assert!(grounded.text.contains(UNVERIFIED));
    }
}

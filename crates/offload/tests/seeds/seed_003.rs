//! Tests of what the funnel design requires (docs/spec/sources.md): three layers of observation.

use insta::assert_snapshot;
use spillgate_artifact::Handle;
use spillgate_offload::{FUNNEL_PROMPT, ObservationSummary, Offloader, Outcome, Profile, Rule};
use spillgate_store::Lifetime;

use super::{file_store, in_store, offer, offloader, shown, without_handles};

fn funnel(text: &str) -> Option<String> {
    shown(&offloader(Profile::Funnel), "content_search", text)
}

/// Returns the lines before the guidance.
fn receipt(text: &str) -> String {
    let shown = without_handles(&funnel(text).unwrap());
    shown.split_once("🎬").unwrap().0.to_owned()
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|i| format!("line {i}\n")).collect()
}

/// Layer 2: "`_is_large_output` … Thresholds: 50 lines OR 2000 chars". Both are strict. Lines are
/// newlines + 1.
#[test]
fn the_thresholds() {
    for (text, is_large) in [
        ("x\n".repeat(49), false),
        ("x\n".repeat(50), true),
        ("x".repeat(2000), false),
        ("x".repeat(2001), true),
        ("漢".repeat(2000), false),
        ("漢".repeat(2001), true),
    ] {
        let (lines, chars) = (text.matches('\n').count() + 1, text.chars().count());
        assert_eq!(
            funnel(&text).is_some(),
            is_large,
            "{lines} lines, {chars} chars"
        );
    }
}

/// Layers 1 to 3: receipt, "first 10 lines (head)", "truncation indicator in the middle", "last 5
/// lines (tail)", and the guidance, whose emoji are mis-encoded in the design.
#[test]
fn the_whole_message() {
    let text = funnel(&numbered(100)).unwrap();
    assert_snapshot!(without_handles(&text), @"
    📊 LARGE OUTPUT DETECTED:
      - Total: 101 lines, 792 chars
      - Full output saved to: HANDLE
      - Preview (head/tail):
    line 1
    line 2
    line 3
    line 4
    line 5
    line 6
    line 7
    line 8
    line 9
    line 10
    ... [86 lines truncated] ...
    line 96
    line 97
    line 98
    line 99
    line 100

    🎬 STRATEGIC GUIDANCE (Layer 3: The Director)
    ============================================================
    The full output has been saved to a file. DO NOT attempt to:
      ❌ Read the entire file into context
      ❌ Use create_file with truncated data

    INSTEAD, use streaming tools to process the saved file:
      ✅ Use grep/awk/sed to extract specific patterns
      ✅ Use jq for JSON processing
      ✅ Write a Python script to parse and analyze
      ✅ Use head/tail to sample different sections

    Your role is to DIRECT these tools, not parse the data yourself.
    ============================================================
    ");
}

/// Layer 1, "Tool-specific extraction (e.g., JSON search results get
/// match/file counts)": the design's 101 results in 32 files.
#[test]
fn search_results_are_counted() {
    let results: Vec<String> = (0..101)
        .map(|i| {
            format!(
                r#"{{"file":"src/f{}.py","line":{i},"match":"def main"}}"#,
                i % 32
            )
        })
        .collect();
    let json = format!("[{}]", results.join(","));
    assert_snapshot!(first_lines(&receipt(&json), 4), @"
    📊 LARGE OUTPUT DETECTED:
      - Total: 1 lines, 5108 chars
      - Matches: 101 results
      - Files: 32 files
    ");
    let grep: String = (0..101)
        .map(|i| format!("src/f{}.py:{i}:# def main\n", i % 32))
        .collect();
    assert_snapshot!(first_lines(&receipt(&grep), 4), @"
    📊 LARGE OUTPUT DETECTED:
      - Total: 102 lines, 2481 chars
      - Matches: 101 results
      - Files: 32 files
    ");
}

/// Counts appear only if they are not 0, and only for lists of results with `file`
/// (docs/spec/texts.md, "Funnel profile").
#[test]
fn other_outputs_have_no_matches() {
    let log = "2026-11-21T10:00:00Z INFO a:1:b\n".repeat(100);
    let numbers = format!("[{}]", vec!["12345"; 900].join(","));
    let object = format!(
        r#"{{"results":[{}]}}"#,
        vec![r#"{"file":"a"}"#; 300].join(",")
    );
    for text in [log, numbers, object] {
        let receipt = receipt(&text);
        assert!(
            !receipt.contains("Matches:") && !receipt.contains("Files:"),
            "{receipt}"
        );
    }
}

/// Corrections (docs/spec/sources.md, "Corrections"): a preview line is cut at 500
/// characters, and the count of truncated lines is never zero or less.
#[test]
fn one_long_line_is_cut() {
    // JSON on one line is one line of the saved file, however many lines its view has.
    let json = format!("[{}]", vec![r#"{"a":1}"#; 600].join(","));
    assert!(receipt(&json).contains("Total: 1 lines"));
    assert!(receipt(&json).lines().count() <= 6, "{}", receipt(&json));
    let shown = receipt(&format!("{}\nend", "w".repeat(5000)));
    assert!(!shown.contains("lines truncated"), "{shown}");
    let longest = shown.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() < 530, "{longest:?}");
    for (lines, end, cut) in [(14, "x", 0), (15, "", 0), (15, "x", 1), (16, "", 2)] {
        let text = format!("{}\n{}{end}", " ".repeat(2000), numbered(lines - 1));
        let shown = receipt(&text);
        let marker = format!("... [{cut} lines truncated] ...");
        assert_eq!(shown.contains(&marker), cut > 0, "{lines} lines\n{shown}");
        assert_eq!(shown.contains("lines truncated"), cut > 0);
    }
}

/// Layer 2, `_save_large_output_to_file`: `<dir>/<tool>_<timestamp>_<hash>.txt` with the whole
/// output, readable by other programs.
#[test]
fn the_saved_file_has_all_of_it() {
    let (_base, store) = file_store(Lifetime::Durable);
    let rule = Rule {
        profile: Some(Profile::Funnel),
        ..Rule::default()
    };
    let offloader = in_store(store, rule);
    let text = numbered(300);
    let path = saved_to(&offloader, "../content search", &text);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let name = path.rsplit('/').next().unwrap();
    let pattern = regex::Regex::new(r"^contentsearch_\d{8}_\d{6}_[0-9a-f]{8}\.txt$").unwrap();
    assert!(pattern.is_match(name), "{name}");
}

fn saved_to(offloader: &Offloader, tool: &str, text: &str) -> String {
    let shown = shown(offloader, tool, text).unwrap();
    let saved = shown.split_once("Full output saved to: ").unwrap().1;
    saved.lines().next().unwrap().to_owned()
}

/// Layer 1, `ObservationSummary`: the fields of the design.
#[test]
fn the_summary_has_the_seeds_fields() {
    let offloader = offloader(Profile::Funnel);
    let text = "src/a.py:1:x\n".repeat(60);
    let Outcome::Offloaded(stored) = offer(&offloader, "content_search", &text) else {
        panic!("61 lines are over 50");
    };
    let handle: Handle = stored.receipt.handle();
    let summary = ObservationSummary::of(&offloader.artifact(handle).unwrap()).unwrap();
    let json = serde_json::to_string_pretty(&summary).unwrap();
    assert_snapshot!(without_handles(&json), @r#"
    {
      "total_lines": 61,
      "total_chars": 780,
      "total_matches": 60,
      "files_with_matches": 1,
      "status_flag": "success",
      "full_output_saved_to": "HANDLE",
      "metadata": {
        "handle": "HANDLE",
        "kind": "text",
        "tokens": 420
      }
    }
    "#);
}

/// Layer 3: the section of the system prompt.
#[test]
fn the_prompt_teaches_the_principle() {
    assert_snapshot!(FUNNEL_PROMPT, @r#"
    ## The Principle of Large Output Handling

    When a tool's output is too large, you see a receipt instead of it: "📊 LARGE OUTPUT DETECTED", with its size, the path of a file that holds all of it, and its first and last lines.

    1. Recognize the pattern. When you see LARGE OUTPUT DETECTED, do not try to parse the preview: it is a trailer, not the data.

    2. Act as a Director. Use streaming tools to process the saved file:
       - grep/awk/sed for pattern extraction
       - jq for JSON processing
       - Python scripts for complex logic
       - head/tail for sampling

    3. Never do these:
       - Read the entire file into context
       - Use create_file with truncated data

    Example of a good response, for search results in JSON:

        jq -r '.[] | "\(.file):\(.line) - \(.match)"' SAVED_FILE > formatted.txt
    "#);
}

/// Item 1 of the design's section "Testing": "Small outputs pass through unchanged".
#[test]
fn small_outputs_pass() {
    let offloader = offloader(Profile::Funnel);
    let Outcome::Inline(fits) = offer(&offloader, "tool", "a\nb\n") else {
        panic!("three lines fit");
    };
    let mut raw = Vec::new();
    fits.write_raw(&mut raw).unwrap();
    assert_eq!(raw, b"a\nb\n");
}

fn first_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().take(count).collect();
    lines.join("\n")
}

//! Tests of what the reject design requires (docs/spec/sources.md): errors that say what to do instead,
//! never partial data. These tests cover the limit and the messages; those of the tools themselves are
//! in `spillgate-workspace-tools`.

use insta::assert_snapshot;
use spillgate_offload::{Profile, Rule};

use super::{offloader, shown, with_rule, without_handles};

/// 3.3 "Token Limits": 25,000 tokens at four bytes each, so 100,003 bytes pass and
/// 100,004 fail.
#[test]
fn the_limit() {
    let offloader = offloader(Profile::Reject);
    for (bytes, is_rejected) in [(100_003, false), (100_004, true)] {
        let text = "x".repeat(bytes);
        let found = shown(&offloader, "read_file", &text).is_some();
        assert_eq!(found, is_rejected, "{bytes} bytes");
    }
    // Bytes, not characters.
    assert!(shown(&offloader, "read_file", &"漢".repeat(33_335)).is_some());
}

/// 4.1, 4.2, 5.1 and 5.2: "What happened", tokens, limit, and what to do instead.
#[test]
fn the_messages() {
    let offloader = offloader(Profile::Reject);
    let file = "x".repeat(4 * 74_829);
    let tools = [
        "read_file",
        "execute_shell",
        "grep_content",
        "web_fetch",
        "glob_files",
        "another",
    ];
    let all: Vec<String> = tools
        .iter()
        .map(|tool| without_handles(&shown(&offloader, tool, &file).unwrap()))
        .collect();
    assert_snapshot!(all.join("\n\n"), @r#"
    Error: File content (~74829 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.

    Error: Command output (~74829 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.

    Error: Search returned ~74829 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.

    Error: Page content (~74829 tokens) exceeds maximum allowed tokens (25000). Please use save_to parameter to save content to a file, then use grep_content to search it.

    Error: File list (~74829 tokens) exceeds maximum allowed tokens (25000). Please use a more specific pattern.

    Error: Tool output (~74829 tokens) exceeds maximum allowed tokens (25000). Please ask the tool for less, or look into what was stored: spillgate_search(handle="HANDLE", words=WORDS); or, with the same handle: spillgate_grep(pattern=REGEX), spillgate_read(start=LINE, lines=N).
    "#);
}

/// 2.1 and 5.3: "No partial data".
#[test]
fn no_partial_data() {
    let offloader = offloader(Profile::Reject);
    let secret = "needle-in-the-data ".repeat(9000);
    for tool in ["read_file", "another"] {
        let error = shown(&offloader, tool, &secret).unwrap();
        assert!(!error.contains("needle"), "{error}");
        assert!(error.len() < 700, "{} bytes", error.len());
    }
}

/// 3.3: the limit is configurable, and the message states it.
#[test]
fn another_limit() {
    let offloader = with_rule(Rule {
        profile: Some(Profile::Reject),
        max_tokens: Some(100),
        ..Rule::default()
    });
    assert!(shown(&offloader, "read_file", &"x".repeat(403)).is_none());
    let error = shown(&offloader, "read_file", &"x".repeat(404)).unwrap();
    assert!(
        error
            .starts_with("Error: File content (~101 tokens) exceeds maximum allowed tokens (100).")
    );
}

/// Rejected results are not lost either (docs/spec/behaviour.md, "Invariants", 3): the model sees
/// no data, and all of it is stored.
#[test]
fn what_is_rejected_is_stored() {
    let offloader = offloader(Profile::Reject);
    shown(&offloader, "read_file", &"x".repeat(200_000)).unwrap();
    assert_eq!(offloader.store().list().unwrap().len(), 1);
}

/// Returns errors with the hints of the older system.
fn detailed(results: &[(&str, String)]) -> String {
    let offloader = with_rule(Rule {
        profile: Some(Profile::Reject),
        detailed_recovery: Some(true),
        ..Rule::default()
    });
    let all: Vec<String> = results
        .iter()
        .map(|(tool, text)| without_handles(&shown(&offloader, tool, text).unwrap()))
        .collect();
    all.join("\n\n")
}

/// 5.3 and 6.3: the hints of the older system, if enabled. They describe the structure and not the
/// data, and name the tools that the reader can call.
#[test]
fn detailed_recovery() {
    let body = "    def process(self, item):\n        return self.needle(item)\n\n";
    let code = format!("import os\n\n\nclass DataProcessor:\n{}", body.repeat(2000));
    let told = detailed(&[("read_file", code)]);
    assert!(!told.contains("needle"));
    assert_snapshot!(told, @r#"
    Error: File content (~31508 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.

    --- Recovery Options ---
    Tool: read_file | 6005 lines, 126,033 chars (code)

    Structure:
      - class DataProcessor (line 4)
      - def process(self, item) (line 5)
      - def process(self, item) (line 8)
      - def process(self, item) (line 11)
      - def process(self, item) (line 14)
      - def process(self, item) (line 17)
      - def process(self, item) (line 20)
      - def process(self, item) (line 23)
      - def process(self, item) (line 26)
      - def process(self, item) (line 29)
      (… 1991 more)

    Commands:
      • spillgate_search(handle="HANDLE", words=WORDS)
      • or, with the same handle: spillgate_grep(pattern=REGEX), spillgate_read(start=LINE, lines=N)
    "#);
}

/// Detailed recovery for other tools and other kinds of text.
#[test]
fn detailed_recovery_of_other_tools() {
    let rows: Vec<String> = (0..9000)
        .map(|id| format!("{{\"id\":{id},\"state\":\"open\"}}"))
        .collect();
    let json = format!("[{}]", rows.join(","));
    let line = "2026-11-21T10:00:01Z INFO worker-17 processed a batch\n";
    let log = format!(
        "{}2026-11-21T10:09:01Z ERROR worker-3 lost it\n",
        line.repeat(3000)
    );
    assert_snapshot!(detailed(&[("list_rows", json), ("journal", log)]), @r#"
    Error: Tool output (~60472 tokens) exceeds maximum allowed tokens (25000). Please ask the tool for less.

    --- Recovery Options ---
    Tool: list_rows | 1 lines, 241,891 chars (json)

    Structure:
      - (laid out as 36002 lines)
      - .[]: array(9,000) of object
      -   .id: number 0–8999
      -   .state: string: "open"

    Commands:
      • spillgate_query(handle="HANDLE", filter=JQ_FILTER)
      • or, with the same handle: spillgate_search(words=WORDS), spillgate_grep(pattern=REGEX), spillgate_read(start=LINE, lines=N)

    Error: Tool output (~40511 tokens) exceeds maximum allowed tokens (25000). Please ask the tool for less.

    --- Recovery Options ---
    Tool: journal | 3002 lines, 162,044 chars (log)

    Structure:
      - levels: ERROR 1, INFO 3,000
      - from 2026-11-21T10:00:01Z to 2026-11-21T10:09:01Z
      - 3,000× (line 1) <*> INFO worker-<*> processed a batch
      - 1× (line 3001) <*> ERROR worker-<*> lost it

    Commands:
      • spillgate_search(handle="HANDLE", words=WORDS)
      • or, with the same handle: spillgate_grep(pattern=REGEX), spillgate_read(start=LINE, lines=N)
    "#);
}

/// The hints never cost more than half of the result.
#[test]
fn detailed_recovery_of_little_is_none() {
    let offloader = with_rule(Rule {
        profile: Some(Profile::Reject),
        max_tokens: Some(10),
        detailed_recovery: Some(true),
        ..Rule::default()
    });
    let error = shown(&offloader, "journal", &"a line of it\n".repeat(12)).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(
        error.contains("or look into what was stored: spillgate_"),
        "{error}"
    );
}

//! Seed 004: errors that teach, never partial data. The tools themselves are
//! another crate's; here are the limit and the messages.

use insta::assert_snapshot;
use spillgate_offload::{Profile, Rule};

use super::{offloader, shown, with_rule, without_handles};

/// 3.3 "Token Limits": 25,000 tokens at four bytes each; wire.md: "100,003 bytes
/// pass and 100,004 fail".
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

/// 4.1, 4.2, 5.1 and 5.2: "What happened", tokens, limit, what to do instead.
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

/// 3.3: the limit can be another one; the message says it.
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

/// SPEC's promise holds here as well: the model sees no data, and none is lost.
#[test]
fn what_is_rejected_is_stored() {
    let offloader = offloader(Profile::Reject);
    shown(&offloader, "read_file", &"x".repeat(200_000)).unwrap();
    assert_eq!(offloader.store().list().unwrap().len(), 1);
}

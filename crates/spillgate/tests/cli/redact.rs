//! Tests of `spillgate redact`.

use std::fs;

use insta::assert_snapshot;

use crate::tool::Tool;

const ENV: &str = "# settings\nexport AWS_ACCESS_KEY_ID=AKIAQ3EGXZ7LKTPNWB5M\nDB_PASSWORD=hunter2x\nPORT=5432\n\
    OTHER=AKIAQ3EGXZ7LKTPNWB5N AKIAQ3EGXZ7LKTPNWB5M\n";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn secrets_are_listed_but_not_shown() {
    let tool = Tool::new();
    let path = |name: &str| tool.home().join(name).display().to_string();
    let (env, clean) = (path("a.env"), path("clean.txt"));
    fs::write(&env, ENV).unwrap();
    fs::write(&clean, "checksum 9f86d081884c7d659a2feaa0c55ad015\n").unwrap();
    let home = tool.home().display().to_string();
    let masked = |text: &str| text.replace(&home, "HOME");

    let checked = tool.run(&["redact", "--check", &env, &clean], b"");
    assert_eq!(checked.status.code(), Some(1));
    assert_snapshot!(masked(&text(&checked.stdout)), @"
    HOME/a.env:2:26: aws-access-key
    HOME/a.env:3:13: password
    HOME/a.env:5:7: aws-access-key 2
    HOME/a.env:5:28: aws-access-key
    ");
    assert_snapshot!(masked(&text(&checked.stderr)), @"4 secrets in 1 file");
    let checked = tool.run(&["redact", "--check", &clean], b"");
    assert_eq!(
        (checked.status.code(), checked.stdout),
        (Some(0), Vec::new())
    );

    let input = tool.run(&["redact", "--check", "--json", "-"], ENV.as_bytes());
    assert_eq!(input.status.code(), Some(1));
    let first = text(&input.stdout);
    assert_snapshot!(first.lines().next().unwrap(), @r#"{"column":26,"end":56,"file":"standard input","line":2,"number":1,"rule":"aws-access-key","start":36}"#);

    let missing = tool.run(&["redact", "--check", &path("none"), &home, &env], b"");
    assert_eq!(missing.status.code(), Some(2));
    assert_snapshot!(masked(&text(&missing.stderr)), @"
    error: HOME/none: No such file or directory
    error: HOME is a directory
    hint: pass files, or `-` for standard input
    4 secrets in 1 file
    ");
    assert_eq!(text(&missing.stdout).lines().count(), 4);
}

#[test]
fn a_file_is_printed_with_marks() {
    let tool = Tool::new();
    let shown = tool.run(&["redact"], ENV.as_bytes());
    assert!(shown.status.success());
    assert_snapshot!(text(&shown.stdout), @"
    # settings
    export AWS_ACCESS_KEY_ID=[redacted: aws-access-key]
    DB_PASSWORD=[redacted: password]
    PORT=5432
    OTHER=[redacted: aws-access-key 2] [redacted: aws-access-key]
    ");
    let object = tool.json(&["redact"], ENV.as_bytes());
    assert_snapshot!(object["secrets"], @r#"{"aws-access-key":3,"password":1}"#);
    let again = tool.run(&["redact", "--check"], &shown.stdout);
    assert_eq!(again.status.code(), Some(0));
}

#[test]
fn the_rules_are_listed() {
    let tool = Tool::new();
    let rules = text(&tool.run(&["redact", "--list-rules"], b"").stdout);
    for rule in ["aws-access-key", "private-key", "password"] {
        assert!(rules.lines().any(|line| line == rule), "{rule}");
    }
    let error = tool.run(&["redact", "--list-rules", "x"], b"");
    assert_eq!(error.status.code(), Some(2));
}

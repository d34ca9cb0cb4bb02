//! Tests that commands keep secrets out of what a model reads, and give the user the stored bytes.

use insta::assert_snapshot;
use serde_json::json;

use super::tool::{Tool, feed, masked, sha256};

pub(crate) const KEY: &str = "AKIAQ3EGXZ7LKTPNWB5M";
const TOKEN: &str = "xoxb-481516234210-815162342481-aB3dE5gH7jK9mN1pQ3sT5vX7";

/// Records with a key in the third and a token in the fourth one.
fn document() -> String {
    let record = |n: u32| {
        let note = match n {
            3 => format!("upload with\n{KEY} failed"),
            4 => format!("posted as {TOKEN}"),
            _ => format!("nothing about {n}"),
        };
        json!({"id": n, "note": note, "env": {"DB_PASSWORD": if n == 5 { "kW8!mQz2#rTn" } else { "" }}})
    };
    serde_json::to_string(&(0..400).map(record).collect::<Vec<_>>()).unwrap()
}

fn output(tool: &Tool, args: &[&str]) -> String {
    let output = tool.run(args, b"");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

#[test]
fn no_command_shows_a_secret() {
    let tool = Tool::new();
    let document = document();
    let preview = feed(tool.command(&["put"]), document.as_bytes());
    let preview = String::from_utf8(preview.stdout).unwrap();
    let handle = tool.put(document.as_bytes());
    let filters = [
        ".[3].note",
        ".[3].note[0:24]",
        ".[3].note | explode",
        ".[3].note | length",
        ".[] | select(.note | test(\"AKIA\"))",
        ".[] | select(.note | contains(\"Q3EG\")) | .id",
        ".[] | select(.env.DB_PASSWORD | startswith(\"kW8\")) | .id",
        ".[5].env.DB_PASSWORD",
        "[.[].note] | map(split(\"\")) | .[4]",
        ".[4].note | @base64",
        ".[4] | tojson",
        "[.[] | .note | ascii_downcase] | .[3:5]",
        ".[4].note | gsub(\"[0-9]\"; \"x\")",
    ];
    let commands = [
        vec!["read", &handle, "--start", "1", "--lines", "60"],
        vec!["read", &handle, "--bytes", "200..900"],
        vec!["grep", &handle, "AKIA|xoxb|DB_PASSWORD"],
        vec!["grep", &handle, "note", "--context", "2"],
        vec!["search", &handle, "which upload failed"],
        vec!["search", &handle, "DB_PASSWORD"],
        vec!["outline", &handle],
        vec!["cat", &handle],
        vec!["show", &handle],
        vec!["cat", "--raw", &handle],
        vec!["ls"],
        vec!["stats"],
    ];
    let queries = filters.map(|filter| vec!["query", &handle, filter]);
    for args in commands.into_iter().chain(queries) {
        let shown = output(&tool, &args) + &preview;
        for secret in [
            KEY,
            TOKEN,
            "kW8!mQz2",
            "Q3EGXZ7L",
            "815162342481",
            "65,75,73,65",
        ] {
            assert!(!shown.contains(secret), "{args:?}: {shown}");
        }
    }
    let query = |filter| output(&tool, &["query", &handle, filter]);
    assert_snapshot!(query(".[3].note, .[4].note, .[5].env.DB_PASSWORD, (.[4].note | length)"), @r#"
    "upload with\n[redacted: aws-access-key] failed"
    "posted as [redacted: slack-token]"
    "[redacted: password]"
    33
    "#);
    assert_snapshot!(query("[.[] | select(.note | test(\"AKIA|Q3EG\"))] | length"), @"0");
    assert_snapshot!(masked(&output(&tool, &["stats"]), &handle).lines().last().unwrap(), @"SECRETS IN STORED OUTPUTS: aws-access-key 2, password 2, slack-token 2");
}

#[test]
fn raw_bytes_need_a_terminal_or_a_setting() {
    let tool = Tool::new();
    let document = document();
    let handle = tool.put(document.as_bytes());
    let (error, code) = tool.error(&["cat", "--raw", &handle]);
    assert_eq!(code, 1);
    assert_snapshot!(masked(&format!("{}\n{}", error["message"], error["hint"]), &handle), @r#"
    "the output HANDLE has secrets, and this is no terminal"
    "leave out --raw to get the text with marks in place of the secrets, use a terminal, or set raw_anywhere = true in [secrets]"
    "#);
    let config = tool.home().join("spillgate.toml");
    std::fs::write(&config, "[secrets]\nraw_anywhere = true\n").unwrap();
    let config = config.to_str().unwrap();
    let raw = tool
        .run(&["cat", "--config", config, "--raw", &handle], b"")
        .stdout;
    assert_eq!(sha256(&raw), sha256(document.as_bytes()));
    // An output without secrets needs neither.
    let clean = "nothing here\n".repeat(900);
    let handle = tool.put(clean.as_bytes());
    assert_eq!(
        tool.run(&["cat", "--raw", &handle], b"").stdout,
        clean.as_bytes()
    );
    assert_eq!(tool.run(&["cat", &handle], b"").stdout, clean.as_bytes());
}

#[test]
fn look_ups_follow_the_mode_of_the_settings() {
    let tool = Tool::new();
    let config = tool.home().join("spillgate.toml");
    let path = config.to_str().unwrap();
    let text = format!("first line\nkey {KEY}\n{}", "nothing here\n".repeat(900));
    let handle = tool.put(text.as_bytes());
    let mut shown = Vec::new();
    for mode in ["off", "mark", "all", "block"] {
        std::fs::write(&config, format!("redact = \"{mode}\"\n")).unwrap();
        let told = |args: &[&str]| {
            let output = output(
                &tool,
                &[&args[..1], &["--config", path], &args[1..]].concat(),
            );
            output
                .lines()
                .find(|line| line.contains("key") || line.contains("error"))
                .map(str::to_owned)
        };
        for args in [
            &["read", &handle, "--lines", "2"][..],
            &["grep", &handle, "key"],
            &["cat", &handle],
            &["cat", "--raw", &handle],
        ] {
            let line = told(args).unwrap_or_default();
            shown.push(format!(
                "{mode} {}: {line}",
                args[..args.len() - 1].join(" ")
            ));
        }
        let small = format!("key {KEY}\n");
        let run = tool.run(
            &["run", "--json", "--config", path, "--", "printf", &small],
            b"",
        );
        let object: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let is_shown = object["text"].as_str().unwrap().contains(KEY);
        shown.push(format!(
            "{mode} run: code {}, key {is_shown}",
            object["exit_code"]
        ));
    }
    assert_snapshot!(masked(&shown.join("\n"), &handle), @r#"
    off read HANDLE --lines: key AKIAQ3EGXZ7LKTPNWB5M
    off grep HANDLE: 2:key AKIAQ3EGXZ7LKTPNWB5M
    off cat: key AKIAQ3EGXZ7LKTPNWB5M
    off cat --raw: key AKIAQ3EGXZ7LKTPNWB5M
    off run: code 0, key true
    mark read HANDLE --lines: key [redacted: aws-access-key]
    mark grep HANDLE: 2:key [redacted: aws-access-key]
    mark cat: key [redacted: aws-access-key]
    mark cat --raw: error: the output HANDLE has secrets, and this is no terminal
    mark run: code 0, key true
    all read HANDLE --lines: key [redacted: aws-access-key]
    all grep HANDLE: 2:key [redacted: aws-access-key]
    all cat: key [redacted: aws-access-key]
    all cat --raw: error: the output HANDLE has secrets, and this is no terminal
    all run: code 0, key false
    block read HANDLE --lines: error: the output has secrets, and `redact = "block"` shows no part of it; the user can read it at a terminal with `spillgate cat --raw HANDLE`
    block grep HANDLE: error: the output has secrets, and `redact = "block"` shows no part of it; the user can read it at a terminal with `spillgate cat --raw HANDLE`
    block cat: error: the output has secrets, and `redact = "block"` shows no part of it; the user can read it at a terminal with `spillgate cat --raw HANDLE`
    block cat --raw: error: the output HANDLE has secrets, and this is no terminal
    block run: code 0, key false
    "#);
}

#[test]
fn what_a_terminal_would_overwrite_is_hidden_too() {
    let tool = Tool::new();
    let text = format!(
        "{}token {KEY}\rdone                             \n{}",
        "a line\n".repeat(900),
        "b line\n".repeat(900)
    );
    let handle = tool.put(text.as_bytes());
    for args in [
        vec!["continue", handle.as_str(), "--offset", "5000"],
        vec!["cat", &handle],
        vec!["cat", "--raw", &handle],
        vec!["grep", &handle, "AKIA"],
    ] {
        let shown = output(&tool, &args);
        assert!(!shown.contains("AKIA"), "{args:?}: {shown}");
    }
    let (error, _) = tool.error(&["cat", "--raw", &handle]);
    assert_eq!(error["kind"], "secrets");
}

#[test]
fn a_command_line_with_a_secret_is_shown_with_a_mark() {
    let tool = Tool::new();
    let script = format!("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done # {KEY}");
    let shown = output(&tool, &["run", "--", "sh", "-c", &script]);
    assert!(shown.contains("stored whole as"), "{shown}");
    for args in [
        &["ls", "--json"][..],
        &["show", "last"],
        &["show", "--json", "last"],
    ] {
        let told = output(&tool, args);
        assert!(!told.contains(KEY), "{told}");
    }
    let told = output(&tool, &["show", "last"]);
    assert!(told.contains("[redacted: aws-access-key]"), "{told}");
}

#[test]
fn rules_of_the_user_and_their_mistakes() {
    let tool = Tool::new();
    let config = tool.home().join("spillgate.toml");
    let path = config.to_str().unwrap();
    let text = format!("{KEY} acme_0123abcd\n").repeat(300);
    let mut shown = Vec::new();
    for settings in [
        "[[secrets.rules]]\nid = \"acme-token\"\npattern = 'acme_[0-9a-f]{8}'\n",
        "[secrets]\noff = [\"aws-access-key\"]\n",
        "redact = \"off\"\n",
        "redact = \"hide\"\n",
        "[secrets]\noff = [\"aws\"]\n",
        "[[secrets.rules]]\nid = \"Acme Token\"\npattern = 'a+'\n",
        "[[secrets.rules]]\nid = \"acme\"\npattern = 'a('\n",
        "[[secrets.rules]]\nid = \"acme\"\npattern = 'a*'\n",
    ] {
        std::fs::write(&config, settings).unwrap();
        let output = tool.run(&["put", "--config", path], text.as_bytes());
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let told = told.replace(path, "FILE");
        let line = told
            .lines()
            .find(|line| line.contains("acme_") || line.contains("redacted:"));
        shown.push(format!("{settings}→ {}\n", line.unwrap_or(&told)));
    }
    assert_snapshot!(shown.join("\n"), @r#"
    [[secrets.rules]]
    id = "acme-token"
    pattern = 'acme_[0-9a-f]{8}'
    →    1 [redacted: aws-access-key] [redacted: acme-token]

    [secrets]
    off = ["aws-access-key"]
    →    1 AKIAQ3EGXZ7LKTPNWB5M acme_0123abcd

    redact = "off"
    →    1 AKIAQ3EGXZ7LKTPNWB5M acme_0123abcd

    redact = "hide"
    → error: FILE:1: `redact`: "hide" is none of off, mark, all, block
    hint: docs/configuration.md lists what each setting can be


    [secrets]
    off = ["aws"]
    → error: FILE:2: `secrets.off`: there is no rule with the id "aws": `spillgate redact --list-rules` lists all rules
    hint: `spillgate redact --list-rules` lists the built-in rules; docs/redaction.md shows a rule of your own


    [[secrets.rules]]
    id = "Acme Token"
    pattern = 'a+'
    → error: FILE:1: `secrets`: the rule id "Acme Token" is not valid: use 1 to 48 lower-case letters, digits and hyphens
    hint: `spillgate redact --list-rules` lists the built-in rules; docs/redaction.md shows a rule of your own


    [[secrets.rules]]
    id = "acme"
    pattern = 'a('
    → error: FILE:1: `secrets`: the pattern of the rule "acme" is not valid: regex parse error:
        a(
         ^
    error: unclosed group
    hint: `spillgate redact --list-rules` lists the built-in rules; docs/redaction.md shows a rule of your own


    [[secrets.rules]]
    id = "acme"
    pattern = 'a*'
    → error: FILE:1: `secrets`: the pattern of the rule "acme" matches the empty text: make it match at least one byte
    hint: `spillgate redact --list-rules` lists the built-in rules; docs/redaction.md shows a rule of your own
    "#);
}

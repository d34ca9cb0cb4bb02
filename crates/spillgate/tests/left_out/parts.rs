//! The answers of the program that lacks all parts.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn spillgate(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spillgate"))
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The exit code and standard error.
fn told(output: &Output) -> String {
    let code = output.status.code().unwrap();
    format!("{code}\n{}", String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_command_that_is_left_out_names_its_feature() {
    let home = tempfile::tempdir().unwrap();
    let all: Vec<String> = [
        &["agent", "run", "--help"][..],
        &["auth", "https://mcp.example.com"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["tools", "--root", ".", "--list"],
        &["fs-mcp"],
        &["ui", "--open"],
        &["mcp", "--http", "0", "--", "true"],
        &["--store", "s3://bucket/prefix", "ls"],
    ]
    .iter()
    .map(|arguments| {
        let answer = told(&spillgate(home.path(), arguments));
        format!("$ spillgate {}\n{answer}", arguments.join(" "))
    })
    .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    $ spillgate agent run --help
    2
    error: this build has no `agent`: it was made without the feature `agent`
    hint: `cargo install --locked --path crates/spillgate --features agent` builds it; `--features full` brings everything

    $ spillgate auth https://mcp.example.com
    2
    error: this build has no `auth`: it was made without the feature `login`
    hint: `cargo install --locked --path crates/spillgate --features login` builds it; `--features full` brings everything

    $ spillgate serve --listen 127.0.0.1:0
    2
    error: this build has no `serve`: it was made without the feature `serve`
    hint: `cargo install --locked --path crates/spillgate --features serve` builds it; `--features full` brings everything

    $ spillgate tools --root . --list
    2
    error: this build has no `tools`: it was made without the feature `tools`
    hint: `cargo install --locked --path crates/spillgate --features tools` builds it; `--features full` brings everything

    $ spillgate fs-mcp
    2
    error: this build has no `fs-mcp`: it was made without the feature `tools`
    hint: `cargo install --locked --path crates/spillgate --features tools` builds it; `--features full` brings everything

    $ spillgate ui --open
    2
    error: this build has no `ui`: it was made without the feature `ui`
    hint: `cargo install --locked --path crates/spillgate --features ui` builds it; `--features full` brings everything

    $ spillgate mcp --http 0 -- true
    2
    error: this build has no `mcp --http`: it was made without the feature `serve`
    hint: `cargo install --locked --path crates/spillgate --features serve` builds it; `--features full` brings everything

    $ spillgate --store s3://bucket/prefix ls
    2
    error: this build has no `--store s3://bucket/prefix`: it was made without the feature `objects`
    hint: `cargo install --locked --path crates/spillgate --features objects` builds it; `--features full` brings everything
    ");
}

#[test]
fn the_help_lists_the_commands_that_are_left_out() {
    let home = tempfile::tempdir().unwrap();
    let help = spillgate(home.path(), &["--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    for command in ["agent", "auth", "serve", "tools", "ui"] {
        let is_listed = help
            .lines()
            .any(|line| line.trim_start().starts_with(&format!("{command} ")));
        assert!(is_listed, "{command} is not in:\n{help}");
    }
}

#[test]
fn the_settings_of_a_part_that_is_left_out_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("spillgate.toml");
    std::fs::write(
        &file,
        "[http]\nlisten = \"127.0.0.1:1\"\n[guarded]\nmax_tokens = 500\n",
    )
    .unwrap();
    let output = spillgate(home.path(), &["--config", file.to_str().unwrap(), "config"]);
    assert_eq!(told(&output), "0\n");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("127.0.0.1:1") && shown.contains("500"),
        "{shown}"
    );
}

#[test]
fn a_collector_is_named_in_vain() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_spillgate"))
        .args(["mcp", "--", "true"])
        .env_clear()
        .env("HOME", home.path())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
        .stdin(Stdio::null())
        .output();
    let answer = told(&output.unwrap());
    assert!(answer.contains("lacks the feature `telemetry`"), "{answer}");
}

#[test]
fn an_audit_log_for_a_collector_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("c.toml");
    std::fs::write(&config, "[audit]\nto = \"otlp\"\n").unwrap();
    let config = config.display().to_string();
    let answer = told(&spillgate(home.path(), &["--config", &config, "ls"]));
    assert!(
        answer.contains("without the feature `telemetry`"),
        "{answer}"
    );
}

#[test]
fn a_pdf_document_says_what_is_not_read() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("a.pdf");
    std::fs::write(
        &file,
        b"%PDF-1.4\n1 0 obj\n<< /Type /Pages /Count 3 >>\nendobj\n%%EOF\n",
    )
    .unwrap();
    let output = spillgate(home.path(), &["outline", file.to_str().unwrap()]);
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r"
      PDF document 1.4, 3 pages
      this build of Spillgate does not read its text: it lacks the feature `pdf`
    ");
}

#[test]
fn the_version_says_that_features_are_left_out() {
    let home = tempfile::tempdir().unwrap();
    let output = spillgate(home.path(), &["--version"]);
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @"
    spillgate 0.1.0
    features: none beyond the default
    ");
}

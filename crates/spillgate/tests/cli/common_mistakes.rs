//! Tests of the errors that people meet who are new to the command line.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use spillgate_testkit::log;

use crate::tool::Tool;

/// Returns what each line prints on standard error at 80 columns, and its exit code.
fn said(tool: &Tool, lines: &[&str]) -> String {
    let mut told = String::new();
    for line in lines {
        let script = format!(
            "cd $HOME; $SPILLGATE {line} 2>err >/dev/null; echo [$?]; sed 's/session-[-0-9a-f]*/SESSION/' err | fold -s -w 80 | sed 's/ *$//'"
        );
        let output = tool.shell(&script).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (code, text) = text.split_once('\n').unwrap();
        told.push_str(&format!("$ spillgate {line}   {code}\n{text}\n"));
    }
    told.replace(tool.home().to_str().unwrap(), "/HOME")
}

/// Returns a tool with a stored output and some files in its home.
fn with_files() -> Tool {
    let tool = Tool::new();
    tool.put(log(5000).as_bytes());
    fs::write(tool.home().join("notes.md"), "# Notes\n").unwrap();
    fs::write(tool.home().join("bad.toml"), "quota = \"5 potatoes\"\n").unwrap();
    tool
}

#[test]
fn outputs_that_are_named_wrongly() {
    let tool = with_files();
    assert_snapshot!(said(&tool, &[
        "grep error last",
        "read kqvx",
        "read ./session-5fc6",
        "cat notes.md",
        "read .",
        "--store /no/store read last",
    ]), @"
    $ spillgate grep error last   [2]
    error: no stored output has a handle that begins with `error`, and there is no
    file /HOME/error
    hint: the output comes before the pattern: spillgate grep last error

    $ spillgate read kqvx   [1]
    error: no stored output has a handle that begins with `kqvx`, and there is no
    file /HOME/kqvx
    hint: `spillgate ls` lists what is stored; `last` is the newest output

    $ spillgate read ./session-5fc6   [1]
    error: no stored output has a handle that begins with `./SESSION`, and there is
    no file /HOME/session-5fc6
    hint: `spillgate ls` lists what is stored; `last` is the newest output

    $ spillgate cat notes.md   [2]
    error: `notes.md` is not a handle; a handle is a word of 14 lowercase letters,
    or looks like SESSION<uuid>/<uuid>
    hint: `spillgate read notes.md` reads a file without storing it, as grep,
    query, search and outline do; `spillgate put notes.md` stores a large one

    $ spillgate read .   [1]
    error: . is a directory
    hint: name a file in it, or a stored output; `spillgate ls` lists those

    $ spillgate --store /no/store read last   [1]
    error: nothing is stored in /no/store
    hint: store an output with `spillgate run -- COMMAND` or `spillgate put`
    ");
}

#[test]
fn files_and_commands_that_do_not_exist() {
    let tool = with_files();
    assert_snapshot!(said(&tool, &[
        "put missing.log",
        "put .",
        "run 'ls | head'",
        "run -- no-such-command",
        "run -- ./notes.md",
        "run -- .",
        "run -- -h",
        "run",
        "export last -o notes.md",
        "export last -o no/such/file",
    ]), @"
    $ spillgate put missing.log   [1]
    error: missing.log: No such file or directory
    hint: check the path; `spillgate run -- COMMAND` stores what a command prints

    $ spillgate put .   [1]
    error: .: is a directory
    hint: name the files in it; `spillgate run -- ls -R DIR` stores a list

    $ spillgate run 'ls | head'   [127]
    error: the command `ls | head` could not be started: No such file or directory
    hint: a whole line needs a shell: spillgate run -- sh -c 'ls | head'

    $ spillgate run -- no-such-command   [127]
    error: the command `no-such-command` could not be started: No such file or
    directory
    hint: check its name and the PATH; an alias or a function needs its shell:
    spillgate run -- bash -ic no-such-command

    $ spillgate run -- ./notes.md   [126]
    error: the command `./notes.md` could not be started: Permission denied
    hint: check that it may be executed: chmod +x ./notes.md

    $ spillgate run -- .   [126]
    error: the command `.` could not be started: Permission denied
    hint: it is a directory; name a program in it

    $ spillgate run -- -h   [127]
    error: the command `-h` could not be started: No such file or directory
    hint: options of `run` stand before `--`, the command after it: spillgate run
    --quiet -- ls

    $ spillgate run   [2]
    error: the following required arguments were not provided:
      <CMD>...

    Usage: spillgate run <CMD>...
    hint: for example: spillgate run -- cargo test
    `spillgate help run` shows how it is used

    $ spillgate export last -o notes.md   [1]
    error: notes.md exists already
    hint: --force replaces it

    $ spillgate export last -o no/such/file   [1]
    error: no/such cannot be written to: No such file or directory
    hint: name a file in a directory that exists and that you may write to
    ");
}

#[test]
fn arguments_that_are_wrong() {
    let tool = with_files();
    assert_snapshot!(said(&tool, &[
        "read last --lines 3-5",
        "read last --tail 5",
        "read last -5",
        "read last 10 20",
        "ls last",
        "config max_tokens",
        "diff last",
        "read last --start 99999",
        "grep last '('",
        "grep last",
        "query last '.items[0'",
        "query last .a .b",
        "search last",
        "put --max-tokens 1k notes.md",
    ]), @r#"
    $ spillgate read last --lines 3-5   [2]
    error: invalid value '3-5' for '--lines <N>': write a whole number
    hint: for example: spillgate read last --start 120 --lines 40
    `spillgate help read` shows how it is used

    $ spillgate read last --tail 5   [2]
    error: unexpected argument '5' found

    Usage: spillgate read [OPTIONS] <HANDLE|FILE>
    hint: the last 5 lines: spillgate read last --tail --lines 5
    `spillgate help read` shows how it is used

    $ spillgate read last -5   [2]
    error: unexpected argument '-5' found

    Usage: spillgate read [OPTIONS] <HANDLE|FILE>
    hint: the last 5 lines: spillgate read last --tail --lines 5
    `spillgate help read` shows how it is used

    $ spillgate read last 10 20   [2]
    error: unexpected argument '10' found

    Usage: spillgate read [OPTIONS] <HANDLE|FILE>
    hint: for example: spillgate read last --start 120 --lines 40
    `spillgate help read` shows how it is used

    $ spillgate ls last   [2]
    error: unexpected argument 'last' found

    Usage: spillgate ls [OPTIONS]
    hint: `spillgate show HANDLE` describes one output; `spillgate help ls` shows
    how it is used

    $ spillgate config max_tokens   [2]
    error: unexpected argument 'max_tokens' found

    Usage: spillgate config [OPTIONS]
    hint: one setting: spillgate config | grep NAME
    `spillgate help config` shows how it is used

    $ spillgate diff last   [0]
    both are the same output; `spillgate ls` lists the others

    $ spillgate read last --start 99999   [1]
    error: line 99999 is past the end: there are 5000 lines
    hint: ask for a position before the end

    $ spillgate grep last '('   [2]
    error: the pattern is not a valid regular expression: unclosed group
        (
        ^
    hint: escape characters that are meant literally, as in \( or \.

    $ spillgate grep last   [2]
    error: the following required arguments were not provided:
      <REGEX>

    Usage: spillgate grep <HANDLE|FILE> <REGEX>
    hint: for example: spillgate grep last 'error|warning' -C 2
    `spillgate help grep` shows how it is used

    $ spillgate query last '.items[0'   [1]
    error: the filter is not valid jq: closing bracket expected
      .items[0
              ^
    try: .items[0]
    hint: filters are jq: .items[] | select(.price > 5) | .name

    $ spillgate query last .a .b   [2]
    error: unexpected argument '.b' found

    Usage: spillgate query [OPTIONS] <HANDLE|FILE> <FILTER>
    hint: for example: spillgate query last '.items | length'
    `spillgate help query` shows how it is used

    $ spillgate search last   [2]
    error: the following required arguments were not provided:
      <WORDS>...

    Usage: spillgate search <HANDLE|FILE> <WORDS>...
    hint: for example: spillgate search last why did the build fail
    `spillgate help search` shows how it is used

    $ spillgate put --max-tokens 1k notes.md   [2]
    error: invalid value '1k' for '--max-tokens <N>': write a whole number
    hint: `spillgate help put` shows how it is used
    "#);
}

#[test]
fn commands_that_are_wrong() {
    let tool = with_files();
    assert_snapshot!(said(&tool, &[
        "serach last why",
        "rnu -- ls",
        "nothinglike last",
        "rm",
        "rm --all",
        "rm --older-than 7",
        "wrap claude",
        "wrap claude-code",
        "unwrap claude-code",
        "unwrap claude-code --hooks",
        "unwrap claude-code --server files",
        "hook claude-code",
        "--config missing.toml ls",
        "--config bad.toml ls",
        "--store /no/store ls",
        "--store /proc/x put < /proc/self/maps --max-tokens 1",
        "man raed",
    ]), @r#"
    $ spillgate serach last why   [2]
    error: unrecognized subcommand 'serach'

      tip: some similar subcommands exist: 'serve', 'extract', 'search'

    Usage: spillgate [OPTIONS] <COMMAND>
    hint: did you mean `spillgate search`? `spillgate help` lists the commands

    $ spillgate rnu -- ls   [2]
    error: unrecognized subcommand 'rnu'

    Usage: spillgate [OPTIONS] <COMMAND>
    hint: did you mean `spillgate run`? `spillgate help` lists the commands

    $ spillgate nothinglike last   [2]
    error: unrecognized subcommand 'nothinglike'

      tip: some similar subcommands exist: 'continue', 'outline'

    Usage: spillgate [OPTIONS] <COMMAND>
    hint: `spillgate help` lists the commands

    $ spillgate rm   [2]
    error: the following required arguments were not provided:
      <HANDLES>...

    Usage: spillgate rm <HANDLES>...
    hint: for example: spillgate rm last
    `spillgate help rm` shows how it is used

    $ spillgate rm --all   [2]
    error: this would remove 1 stored output (309.2 KiB)
    hint: --yes removes them without asking

    $ spillgate rm --older-than 7   [2]
    error: invalid value '7' for '--older-than <TIME>': write a number and a unit,
    such as 30m, 12h, 7d or 2weeks
    hint: for example: spillgate rm last
    `spillgate help rm` shows how it is used

    $ spillgate wrap claude   [2]
    error: invalid value 'claude' for '<CLIENT>'
      [possible values: claude-code, codex, gemini, cursor, vscode, windsurf, zed,
    opencode, goose, copilot]

      tip: a similar value exists: 'claude-code'
    hint: `spillgate help wrap` shows how it is used

    $ spillgate wrap claude-code   [1]
    error: Claude Code has no configuration file; looked for
    /HOME/.claude.json
    hint: add a server in the client first, choose another --scope, or name the
    file with --file; --hooks covers the client's own tools, such as its shell

    $ spillgate unwrap claude-code   [0]
    nothing to change

    $ spillgate unwrap claude-code --hooks   [2]
    error: unexpected argument '--hooks' found

    Usage: spillgate unwrap <CLIENT>
    hint: `spillgate unwrap CLIENT` removes the hooks, too

    $ spillgate unwrap claude-code --server files   [1]
    error: Claude Code has no configuration file; looked for
    /HOME/.claude.json, /HOME/.mcp.json
    hint: add a server in the client first, choose another --scope, or name the
    file with --file

    $ spillgate hook claude-code   [0]
    spillgate hook: the event: it is empty. The client runs this command, with an
    event as JSON on standard input; `spillgate wrap CLIENT --hooks` sets it up

    $ spillgate --config missing.toml ls   [1]
    error: there is no configuration file missing.toml
    hint: check --config and SPILLGATE_CONFIG

    $ spillgate --config bad.toml ls   [1]
    error: bad.toml:1: `quota`: "5 potatoes" is not a number of bytes
    hint: write a number of bytes such as "10 GiB"

    $ spillgate --store /no/store ls   [0]
    there is no store in /no/store yet

    $ spillgate --store /proc/x put < /proc/self/maps --max-tokens 1   [1]
    error: /proc/x: No such file or directory
    hint: check that the directory exists and that you may write to it, or name
    another one with --store DIR

    $ spillgate man raed   [2]
    error: there is no command `raed`
    hint: `spillgate help` lists the commands
    "#);
}

#[test]
fn without_a_command_the_help_is_printed() {
    let tool = Tool::new();
    let output = tool.run::<&str>(&[], b"");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("Keeps oversized tool outputs"), "{text}");
    assert!(
        text.contains("\nExamples:\n") && !text.contains("error:"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(2));
}

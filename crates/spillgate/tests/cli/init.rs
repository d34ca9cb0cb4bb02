//! Tests of `spillgate init` in the shells that are installed.

use std::process::Command;

use insta::assert_snapshot;

use crate::tool::{Tool, feed};

/// How each shell is started, how it reads the script, and what shows that completions are there.
const SHELLS: [(&str, &[&str], &str, &str); 3] = [
    (
        "bash",
        &["--norc", "--noprofile", "-c"],
        "eval \"$($SPILLGATE init bash)\"",
        "complete -p spillgate",
    ),
    (
        "zsh",
        &["-f", "-c"],
        "autoload -U compinit && compinit -u -D; eval \"$($SPILLGATE init zsh)\"",
        "echo $_comps[spillgate] $_comps[spill]",
    ),
    (
        "fish",
        &["--no-config", "-c"],
        "$SPILLGATE init fish | source",
        "complete -c spillgate",
    ),
];

#[test]
fn the_function_runs_commands_in_every_shell() {
    for (shell, flags, read, complete) in SHELLS {
        if Command::new(shell).arg("--version").output().is_err() {
            assert_ne!(shell, "bash");
            continue;
        }
        let tool = Tool::new();
        let status = match shell {
            "fish" => "$status",
            _ => "$?",
        };
        let line = format!(
            "{read}; spill seq 1 20000; echo code {status}; \
             spill sh -c 'echo \"$1\"; exit 3' x 'a  b'; echo code {status}; {complete}"
        );
        let mut command = tool.shell("true");
        let variables: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command = Command::new(shell);
        command.args(flags).arg(&line).envs(variables);
        let output = feed(command, b"");
        let text = String::from_utf8(output.stdout).unwrap();
        let (preview, rest) = text.split_once("code 0\n").expect(&text);
        assert!(
            preview.starts_with("[spillgate] seq ended: exit code 0 after "),
            "{shell}: {preview}"
        );
        let rest = rest
            .strip_prefix("a  b\ncode 3\n")
            .unwrap_or_else(|| panic!("{shell}: {text}"));
        assert!(rest.contains("spillgate"), "{shell}: {rest}");
        assert!(
            output.stderr.is_empty(),
            "{shell}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn the_scripts_begin_with_the_function() {
    let tool = Tool::new();
    let heads = SHELLS.map(|(shell, ..)| {
        let script = String::from_utf8(tool.run(&["init", shell], b"").stdout).unwrap();
        let script = script.replace(env!("CARGO_BIN_EXE_spillgate"), "/SPILLGATE");
        assert!(script.contains("max-tokens"), "{shell}");
        script.lines().take(4).collect::<Vec<_>>().join("\n")
    });
    assert_snapshot!(heads.join("\n\n"), @r#"
spill() { /SPILLGATE run -- "$@"; }
if declare -F _command >/dev/null; then complete -F _command spill; else complete -c -f spill; fi
_spillgate() {
    local i cur prev opts cmd

spill() { /SPILLGATE run -- "$@" }
if (( $+functions[compdef] )); then compdef _precommand spill; fi
if (( $+functions[compdef] )); then
#compdef spillgate

function spill --description 'Run a command; store and shorten a large output'
    /SPILLGATE run -- $argv
end
complete --command spill --no-files --arguments '(__fish_complete_subcommand)'
"#);
    assert!(tool.json(&["init", "bash"], b"")["script"].is_string());
}

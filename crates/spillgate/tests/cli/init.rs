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

/// Runs `line` in a shell that has read the script of `spillgate init`.
fn in_shell(tool: &Tool, shell: &str, line: &str) -> Option<String> {
    let (_, flags, read, _) = SHELLS.iter().find(|(name, ..)| *name == shell).unwrap();
    if Command::new(shell).arg("--version").output().is_err() {
        assert_ne!(shell, "bash");
        return None;
    }
    let variables = tool.shell("true");
    let variables = variables.get_envs();
    let variables: Vec<_> = variables
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    let mut command = Command::new(shell);
    let script = format!("{read}; {line}");
    command
        .args(*flags)
        .arg(script)
        .envs(variables)
        .current_dir(tool.home());
    let output = feed(command, b"");
    assert!(
        output.stderr.is_empty(),
        "{shell}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn shells_complete_the_names_of_outputs() {
    let tool = Tool::new();
    std::fs::write(tool.home().join("a-file.log"), "").unwrap();
    let handle = tool.put(spillgate_testkit::log(5000).as_bytes());
    let run = tool.json(&["run", "seq", "9000"], b"");
    let newest = run["handle"].as_str().unwrap().to_owned();
    for (shell, command, typed, has_files) in [
        ("bash", "read", "", true),
        ("bash", "rm", "", false),
        ("bash", "grep", "last", false),
        ("fish", "query", "", true),
        ("fish", "cat", "", false),
        ("zsh", "", "", false),
    ] {
        let line = match shell {
            "bash" => format!(
                "COMP_WORDS=(spillgate {command} '{typed}'); COMP_CWORD=2; COMP_LINE='spillgate {command} {typed}'; \
                 _spillgate_handles spillgate '{typed}' {command}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            ),
            "fish" => format!("complete -C 'spillgate {command} {typed}'"),
            // The functions of zsh can only be called while it completes a line.
            _ => {
                "_describe() { print -rl -- $outputs }; _files() { }; _spillgate_handles".to_owned()
            }
        };
        let Some(offered) = in_shell(&tool, shell, &line) else {
            continue;
        };
        let named = |name: &str| offered.lines().any(|line| line.starts_with(name));
        assert!(named("last"), "{shell} {command}: {offered}");
        assert_eq!(
            named(&handle),
            typed.is_empty(),
            "{shell} {command}: {offered}"
        );
        assert_eq!(
            named("a-file.log"),
            has_files,
            "{shell} {command}: {offered}"
        );
        if typed.is_empty() {
            let at = |name: &str| offered.find(name);
            assert!(at(&newest) < at(&handle), "{shell}: {offered}");
            assert_eq!(
                offered.replace('\\', "").contains("ago: seq 9000"),
                shell != "bash",
                "{shell}: {offered}"
            );
        }
    }
}

#[test]
fn zsh_asks_for_outputs_where_a_command_takes_one() {
    let script = Tool::new().run(&["completions", "zsh"], b"").stdout;
    let script = String::from_utf8(script).unwrap();
    assert!(script.starts_with("#compdef spillgate\n"));
    // One of `read`, `grep`, `query`, `search`, `extract`, `outline`, `cat`, `show`, `verify`, `export`, `rm`,
    // `pin` and `share`, and two of `diff`.
    let asked = script
        .lines()
        .filter(|line| line.contains(":_spillgate_handles'"));
    assert_eq!(asked.count(), 15);
}

//! `spillgate init`: prints what a shell reads at its start, so that people can run commands with
//! previews of large outputs: the function `spill`, and completions.

use clap_complete::Shell;
use serde_json::json;
use spillgate_untrusted::shell_word;

use crate::args::{Init, InitShell};
use crate::clients::own_program;
use crate::complete::script;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn init(init: &Init, out: &Output) -> Result<u8, Failure> {
    let program = shell_word(&own_program()?);
    let (shell, function) = match init.shell {
        InitShell::Bash => (
            Shell::Bash,
            format!(
                "spill() {{ {program} run -- \"$@\"; }}\n\
                 if declare -F _command >/dev/null; then complete -F _command spill; else complete -c -f spill; fi\n"
            ),
        ),
        InitShell::Zsh => (
            Shell::Zsh,
            format!(
                "spill() {{ {program} run -- \"$@\" }}\n\
                 if (( $+functions[compdef] )); then compdef _precommand spill; fi\n"
            ),
        ),
        InitShell::Fish => (
            Shell::Fish,
            format!(
                "function spill --description 'Run a command; store and shorten a large output'\n    \
                 {program} run -- $argv\nend\n\
                 complete --command spill --no-files --arguments '(__fish_complete_subcommand)'\n"
            ),
        ),
    };
    let completions = script(shell, &program);
    let mut text = function.into_bytes();
    // Outside the completion system of zsh, the script would print errors.
    let around: [&[u8]; 2] = match shell {
        Shell::Zsh => [b"if (( $+functions[compdef] )); then\n", b"\nfi\n"],
        _ => [b"", b""],
    };
    text.extend([around[0], completions.as_bytes(), around[1]].concat());
    match out.json {
        true => out.object(&json!({"script": String::from_utf8_lossy(&text)}))?,
        false => out.raw(&text)?,
    }
    Ok(0)
}

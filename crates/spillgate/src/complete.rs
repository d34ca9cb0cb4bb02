//! Completion scripts, which complete the names of stored outputs as well.
//!
//! `clap_complete` writes the scripts; what is added here asks this program for the outputs. The
//! hidden argument [`HANDLES`] lists them.

use std::fmt::Write;
use std::ops::ControlFlow;

use clap_complete::Shell;
use spillgate_artifact::{Clock, SystemClock};

use crate::cmd::ls::{age, called};
use crate::examples::command;
use crate::failure::Failure;
use crate::wiring::App;

/// The argument that makes this program list the stored outputs for a shell: a handle, a tab and
/// what made the output, newest first.
pub(crate) const HANDLES: &str = "__handles";

/// Most outputs that a shell offers.
const MOST: usize = 100;

/// Characters of what made an output.
const CALL: usize = 60;

/// Commands whose arguments are stored outputs, and whether they take files, too.
const COMMANDS: [(&str, bool); 13] = [
    ("read", true),
    ("grep", true),
    ("query", true),
    ("search", true),
    ("outline", true),
    ("extract", false),
    ("cat", false),
    ("show", false),
    ("diff", false),
    ("verify", false),
    ("export", false),
    ("rm", false),
    ("pin", false),
];

/// Returns the stored outputs as lines for a shell.
pub(crate) fn handles(app: &App) -> Result<String, Failure> {
    let mut listed = Vec::new();
    app.store.newest(&mut |one| {
        listed.push(one);
        match listed.len() < MOST {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    let now = SystemClock.now();
    let mut lines = String::new();
    for one in &listed {
        let (manifest, age) = (&one.manifest, age(&one.manifest.facts, now));
        let call = called(manifest, CALL);
        writeln!(lines, "{}\t{age} ago: {call}", manifest.handle).expect("writing to a string");
    }
    if !listed.is_empty() {
        lines.push_str("last\tthe newest output\n");
    }
    Ok(lines)
}

/// Returns the completions for a shell. `program` starts this program, quoted for the shell.
pub(crate) fn script(shell: Shell, program: &str) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "spillgate", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + &bash(program),
        Shell::Zsh => zsh(&script, program),
        Shell::Fish => script + &fish(program),
        _ => script,
    }
}

/// Runs the function of `clap_complete` first, which also completes options.
fn bash(program: &str) -> String {
    let names = |with_files: bool| -> String {
        let names = COMMANDS.iter().filter(|(_, files)| *files == with_files);
        names.map(|(name, _)| *name).collect::<Vec<_>>().join("|")
    };
    let (with_files, without) = (names(true), names(false));
    format!(
        "
_spillgate_handles() {{
    _spillgate \"$@\"
    local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\" files=
    [[ \"$cur\" == -* || \"$prev\" == --* ]] && return
    [[ $COMP_CWORD -lt 2 ]] && return
    case \"${{COMP_WORDS[1]}}\" in
        {with_files}) [[ $COMP_CWORD -eq 2 ]] || return; files=1 ;;
        {without}) ;;
        *) return ;;
    esac
    COMPREPLY=($(compgen -W \"$({program} {HANDLES} 2>/dev/null | cut -f1)\" -- \"$cur\"))
    [[ -n \"$files\" ]] && COMPREPLY+=($(compgen -f -- \"$cur\"))
}}
complete -F _spillgate_handles -o nosort -o bashdefault -o default spillgate
"
    )
}

/// Lets the arguments that are outputs be completed by a function.
fn zsh(script: &str, program: &str) -> String {
    let is_output = |line: &str| {
        let line = line.trim_start_matches(['\'', '*', ':', ' ']);
        [
            "handle --",
            "handles --",
            "target --",
            "older --",
            "newer --",
        ]
        .iter()
        .any(|name| line.starts_with(name))
    };
    let mut text = String::new();
    for line in script.lines() {
        let end = line.rfind(":_default").or_else(|| line.rfind(":_files"));
        match end.filter(|_| is_output(line)) {
            Some(end) => {
                let rest = line[end + 1..].trim_start_matches(|c| c != '\'');
                text.push_str(&format!("{}:_spillgate_handles{rest}", &line[..end]));
            }
            None => text.push_str(line),
        }
        text.push('\n');
        // The file of a completion begins with `#compdef`.
        if line.starts_with("#compdef") {
            text.push_str(&format!(
                "
(( $+functions[_spillgate_handles] )) ||
_spillgate_handles() {{
    local -a outputs
    outputs=(${{(f)\"$({program} {HANDLES} 2>/dev/null | sed -e 's/:/\\\\:/g' -e 's/\\t/:/')\"}})
    _describe -V 'stored output' outputs
    _files
}}
"
            ));
        }
    }
    text
}

fn fish(program: &str) -> String {
    let mut text = String::new();
    for (name, with_files) in COMMANDS {
        let only = if with_files { "" } else { " --no-files" };
        writeln!(
            text,
            "complete -c spillgate -n \"__fish_spillgate_using_subcommand {name}\"{only} --keep-order --arguments '({program} {HANDLES} 2>/dev/null)'"
        )
        .expect("writing to a string");
    }
    text
}

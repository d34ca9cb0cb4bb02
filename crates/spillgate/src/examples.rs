//! The examples at the end of the help of each command.

use clap::{Command, CommandFactory};

use crate::args::Args;

/// Examples of commands whose arguments do not have their own.
const EXAMPLES: [(&str, &str); 20] = [
    (
        "run",
        "\
  spillgate run -- cargo test             the output, or a preview if it is large
  spillgate run --split -- make           standard error stays apart
  spillgate run -- sh -c 'ls -R | head'   a pipeline needs a shell",
    ),
    (
        "read",
        "\
  spillgate read last --start 120 --lines 40
  spillgate read last --tail
  spillgate read build.log -n             a file, with line numbers
  spillgate read last --path .content     the text of a string in a JSON document",
    ),
    (
        "grep",
        "\
  spillgate grep last 'error|warning' -C 2
  spillgate grep last -i -w timeout -m 5  whole words, at most 5 lines
  spillgate grep app.log -c ERROR         a file; only the number of lines
  spillgate grep last -o -N '[0-9.]+ ms'  only what matches, without line numbers

Exit codes: 0 a line matches, 1 no line matches, 2 an error.",
    ),
    (
        "query",
        "\
  spillgate query last '.items | length'
  spillgate query last '.items[] | select(.price > 30) | .name' -r
  spillgate query sales.csv 'group_by(.city) | map({city: .[0].city, n: length})'",
    ),
    (
        "search",
        "\
  spillgate search last why did the build fail
  spillgate search server.log 'connection refused'
  spillgate search --all which test is flaky",
    ),
    (
        "extract",
        "\
  spillgate extract last which tests failed and why --model openai/gpt-5-mini
  spillgate extract last the version of openssl --mode search",
    ),
    (
        "outline",
        "\
  spillgate outline last
  spillgate outline package-lock.json --max-tokens 1000",
    ),
    (
        "continue",
        "\
  spillgate continue last-build
  spillgate continue last-build --offset 24000",
    ),
    (
        "cat",
        "\
  spillgate cat last | wc -l
  spillgate cat --raw last > copy.bin     the bytes as they came in",
    ),
    (
        "ls",
        "\
  spillgate ls -n 10
  spillgate ls --failed --since 2h
  spillgate ls --tool cargo --json | jq -r .handle",
    ),
    (
        "show",
        "\
  spillgate show last
  spillgate show last --json | jq .ending",
    ),
    (
        "diff",
        "\
  spillgate diff kqvb                     from kqvb… to the newest output
  spillgate diff kqvb wzrt",
    ),
    (
        "verify",
        "\
  spillgate verify                        all outputs
  spillgate verify last",
    ),
    (
        "export",
        "\
  spillgate export last -o build.log
  spillgate export last -o shared.log --view   with marks in place of secrets",
    ),
    (
        "rm",
        "\
  spillgate rm last
  spillgate rm --older-than 7d
  spillgate rm --all --yes",
    ),
    (
        "pin",
        "\
  spillgate pin last
  spillgate pin last --off",
    ),
    (
        "share",
        "\
  spillgate share last --with bob                     bob reads it with look-ups for a day
  spillgate share kqvb --owner alice --with bob --for 7d
  spillgate share --list --owner alice
  spillgate share kqvb --owner alice --end",
    ),
    (
        "stats",
        "\
  spillgate stats
  spillgate stats --json | jq .total.tokens_saved",
    ),
    (
        "config",
        "\
  spillgate config
  spillgate config --max-tokens 500 --json",
    ),
    (
        "prompt",
        "\
  spillgate prompt cli >> AGENTS.md       how to read stored outputs, for a coding agent
  spillgate prompt funnel",
    ),
];

/// Examples of commands that few people type.
const OTHERS: [(&str, &str); 4] = [
    (
        "agent view",
        "\
  spillgate agent view t.json             the turns, calls and results of a run
  spillgate agent view t.json --part report",
    ),
    (
        "hook",
        "\
  spillgate wrap claude-code --hooks      writes the hook into the client's settings
  spillgate hook claude-code < event.json",
    ),
    (
        "completions",
        "\
  spillgate completions bash > ~/.local/share/bash-completion/completions/spillgate
  spillgate completions zsh > ~/.zfunc/_spillgate
  spillgate completions fish > ~/.config/fish/completions/spillgate.fish",
    ),
    (
        "man",
        "\
  spillgate man grep | man -l -
  spillgate man --dir ~/.local/share/man/man1",
    ),
];

/// Returns the first example of a command, without its explanation.
pub(crate) fn first(command: &str) -> Option<&'static str> {
    let (_, examples) = EXAMPLES.iter().find(|(name, _)| *name == command)?;
    let line = examples.lines().next()?.trim();
    Some(line.split_once("  ").map_or(line, |(line, _)| line))
}

/// Returns the commands of the program with the examples in their help.
pub(crate) fn command() -> Command {
    let examples = EXAMPLES.iter().chain(&OTHERS);
    let command = examples.fold(Args::command(), |command, (path, examples)| {
        with(command, path, examples)
    });
    plain(command)
}

/// Removes the backquotes around the names of environment variables, which documentation comments
/// need and a terminal does not.
fn plain(command: Command) -> Command {
    let command = command.mut_args(|one| {
        let help = one.get_help().map(|help| help.ansi().to_string());
        match help.filter(|help| help.contains("[env: `")) {
            Some(help) => one.help(help.replace("[env: `", "[env: ").replace("`]", "]")),
            None => one,
        }
    });
    command.mut_subcommands(plain)
}

/// Adds examples to the subcommand that `path` names, or to a subcommand of it.
fn with(command: Command, path: &'static str, examples: &str) -> Command {
    let first = path.split(' ').next().unwrap_or(path);
    if command.find_subcommand(first).is_none() {
        // A command that is left out has no subcommands.
        return command;
    }
    match path.split_once(' ') {
        Some((outer, inner)) => command.mut_subcommand(outer, |one| with(one, inner, examples)),
        None => command.mut_subcommand(path, |one| {
            one.after_help(format!("Examples:\n  {examples}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the help of a command and of the commands below it.
    fn helps(command: &mut Command, helps: &mut Vec<(String, String)>) {
        if command.is_hide_set() || command.get_name() == "help" {
            return;
        }
        let help = command.render_long_help().to_string();
        helps.push((command.get_name().to_owned(), help));
        for below in command.get_subcommands_mut() {
            self::helps(below, helps);
        }
    }

    /// Returns the commands of this program in a line of examples, without what a shell does around
    /// them.
    fn commands(line: &str) -> Vec<Vec<String>> {
        // What follows two spaces explains the command.
        let line = line.trim();
        let line = line.split_once("  ").map_or(line, |(line, _)| line);
        let parts = line.split("spillgate ").skip(1);
        let words = parts.filter_map(|part| {
            let end = ["; ", " | ", " > ", " >> ", " < ", " && ", ")\""]
                .iter()
                .filter_map(|end| {
                    part.find(end)
                        .filter(|at| part[..*at].matches('\'').count() % 2 == 0)
                })
                .min();
            shlex::split(&part[..end.unwrap_or(part.len())])
        });
        words.collect()
    }

    #[test]
    fn every_help_has_examples_that_can_be_typed() {
        let (mut all, mut typed) = (Vec::new(), 0);
        let mut command = super::command().term_width(0);
        command.build();
        helps(&mut command, &mut all);
        assert!(all.len() > 30, "{}", all.len());
        for (name, help) in all {
            let Some((_, examples)) = help.split_once("\nExamples:\n") else {
                panic!("the help of `{name}` has no examples");
            };
            let examples = examples.split("\n\n").next().unwrap();
            let before = typed;
            assert!(!help.contains("[env: `"), "{name}");
            let is_example = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
            for line in examples.lines().filter(is_example) {
                assert!(line.chars().count() <= 120, "{line}");
                for words in commands(line) {
                    let words = std::iter::once("spillgate".to_owned()).chain(words);
                    let parsed = super::command().try_get_matches_from(words);
                    assert!(parsed.is_ok(), "{line}\n{}", parsed.unwrap_err());
                    typed += 1;
                }
            }
            assert!(typed > before, "the examples of `{name}` name no command");
        }
    }
}

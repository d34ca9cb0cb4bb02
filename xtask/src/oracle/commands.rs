//! Collects what the command line prints: each input is stored under each profile, and each
//! look-up reads the stored output.

use anyhow::Result;

use super::inputs::Input;
use super::sides::{Said, Side};

/// The profiles; each gets every input.
pub(crate) const PROFILES: [&str; 6] = [
    "preview",
    "handle",
    "continuation",
    "funnel",
    "reject",
    "truncate",
];

/// Ways to store an input. `@` stands for the path of a file with the input's bytes.
const TAKEN: [&str; 7] = [
    "put",
    "put --json --max-tokens 300",
    "put --max-bytes 5000 --detailed-recovery --profile reject",
    "run --max-tokens 300 -- cat @",
    "run --json --max-tokens 300 -- cat @",
    "run --max-tokens 300 -- sh -c 'cat @; exit 3'",
    "run --profile truncate --max-lines 10 -- cat @",
];

/// Look-ups into the stored output; `H` stands for its handle.
const LOOK_UPS: [&str; 32] = [
    "read H",
    "read H --start 5 --lines 10",
    "read H --tail --lines 7",
    "read H --bytes 10..900",
    "read H --max-tokens 60",
    "read H --start 99999999",
    "read H --json --lines 3",
    "grep H e --max-tokens 200",
    "grep H -i -B 1 -A 2 error|fail|item --max-tokens 300",
    "grep H ^\\s*$ --max-tokens 100",
    "grep H (",
    "grep H --json item --max-tokens 200",
    "query H . --max-tokens 200",
    "query H length",
    "query H .items[3].nam",
    "query H .[0:2] -r",
    "query H -s map(.id?)|add",
    "query H [",
    "search H error failed cannot --max-tokens 300",
    "search H item name price",
    "search H --json line",
    "outline H",
    "outline H --json",
    "cat H",
    "cat --raw H",
    "show H",
    "show H --json",
    "show H --line 3",
    "verify H",
    "ls --json",
    "stats --json",
    "pin H",
];

/// Commands that follow all look-ups.
const LAST: [&str; 4] = ["rm H", "rm --force H", "read H", "ls"];

/// Runs all commands on one input; returns their outputs.
pub(crate) fn ask(side: &mut Side<'_>, input: &Input) -> Result<Vec<Said>> {
    let file = side.file("input", &input.bytes)?;
    let mut said = Vec::new();
    for profile in PROFILES {
        said.push(side.run(
            &["put", "--max-tokens", "400", "--profile", profile],
            &input.bytes,
        )?);
    }
    // A continuation has its own id, which the message names.
    let id = said[2]
        .text
        .split('"')
        .find(|word| word.starts_with("call_"))
        .map(str::to_owned);
    if let Some(id) = id {
        said.push(side.run(&["continue", &id], &[])?);
    }
    for line in TAKEN {
        let words = words(line);
        let words: Vec<String> = words.iter().map(|word| word.replace('@', &file)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let stdin: &[u8] = if words[0] == "put" { &input.bytes } else { &[] };
        said.push(side.run(&words, stdin)?);
    }
    let Some(handle) = side.stored(&input.bytes)? else {
        return Ok(said);
    };
    for line in LOOK_UPS.iter().chain(&LAST) {
        let words = words(line);
        let words: Vec<&str> = words
            .iter()
            .map(|word| if word == "H" { handle.as_str() } else { word })
            .collect();
        let mut one = side.run(&words, &[])?;
        if words[0] == "ls" {
            // Artifacts that were stored in the same moment are listed in the order of their
            // handles, which are random. So the lines are sorted without the names of handles.
            let text = side.plain.without_names(&one.text);
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            one.text = lines.join("\n");
        }
        said.push(one);
    }
    Ok(said)
}

/// Returns the texts of the program itself: help, errors, settings.
pub(crate) fn texts(side: &mut Side<'_>) -> Result<Vec<Said>> {
    let mut said = vec![side.run(&["--help"], &[])?];
    let help = said[0].text.clone();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = listed.map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    for command in commands.filter(|command| !command.is_empty()) {
        said.push(side.run(&[command, "--help"], &[])?);
        said.push(side.run(&[command, "--no-such-option"], &[])?);
    }
    for line in [
        "config",
        "config --json",
        "completions bash",
        "completions zsh",
        "completions fish",
        "man",
        "prompt",
        "ls",
        "stats",
        "read nothing",
        "read session-x/y",
        "put --max-tokens x",
        "--config missing.toml ls",
        "doctor",
        "wrap",
        "wrap --dry-run",
        "unwrap",
        "query nothing .",
        "nothing",
        "",
    ] {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        said.push(side.run(&words, &[])?);
    }
    Ok(said)
}

/// Splits a line into words. A text in single quotes is one word.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_may_have_spaces() {
        assert_eq!(
            super::words("run -- sh -c 'cat @; exit 3'"),
            ["run", "--", "sh", "-c", "cat @; exit 3"]
        );
        assert!(super::words("").is_empty());
    }
}

//! Suggests the calls with which a model can get the rest of an answer that was cut or refused.

use serde_json::json;
use spillgate_artifact::ContentKind;
use spillgate_offload::{Recovery, Structure, call};

use crate::rules::{Rules, Writable};
use crate::save::SaveTarget;
use crate::workspace_tools::Shared;

/// Maximum number of lines that a suggested call asks for.
const PAGE: u64 = 100;

/// Bytes of an answer reserved for notes such as `[Lines 1-100 of 200]`.
const NOTES: u64 = 200;

/// Maximum number of matches that a suggested call asks for.
const ROWS: u64 = 40;

/// Maximum size of the row of a match in bytes, as `grep_content` formats it, if the path has a
/// usual length.
const ROW: u64 = 2200;

/// Bytes assumed for the path of a file.
const NAME: u64 = 300;

/// Bytes that a suggested command keeps of each line if lines are long.
const CUT: u64 = 500;

/// Maximum bytes of an answer without its notes.
fn room(rules: &Rules) -> u64 {
    rules.most_bytes().saturating_sub(NOTES)
}

/// The number of matches that fit an answer, however long their lines are.
pub(super) fn rows(rules: &Rules) -> u64 {
    (room(rules) / ROW).min(ROWS)
}

/// The number of paths that fit an answer.
pub(super) fn names(rules: &Rules) -> u64 {
    (room(rules) / NAME).min(PAGE)
}

/// Maximum length, in characters, of a command that a suggestion repeats.
const COMMAND_CHARS: usize = 100;

/// A pattern for the words with which most programs report failures.
const FAILURES: &str = "error|fail|warn|fatal|panic";

/// A file that calls are suggested for.
pub(super) struct FileCalls<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Option<u64>,
    /// The longest line seen, in bytes.
    pub(super) longest: u64,
    pub(super) rules: &'a Rules,
}

impl FileCalls<'_> {
    /// Adds the calls for this file to the recovery block.
    pub(super) fn named(&self, structure: &Structure, recovery: Recovery) -> Recovery {
        if structure.kind == ContentKind::Binary {
            // od prints four characters per byte, and an offset for each line.
            let bytes = (room(self.rules) / 5).min(256);
            return recovery.command(self.shell(&format!("head -c {bytes}"), " | od -c"));
        }
        let grep =
            first_pattern(structure).and_then(|pattern| search(self.rules, &pattern, self.name));
        recovery
            .command(grep)
            .command(self.page(0))
            .command(self.last_page(structure))
            .command(self.bytes())
    }

    /// The number of lines of a page that fits even if every line is as long as the longest line
    /// seen.
    fn lines_of_page(&self) -> u64 {
        (room(self.rules) / (self.longest + 1)).min(PAGE)
    }

    /// The call for a page from the 0-based line `offset` on.
    fn page(&self, offset: u64) -> Option<String> {
        let limit = self.lines_of_page();
        let arguments = [
            ("file_path", json!(self.name)),
            ("offset", json!(offset)),
            ("limit", json!(limit)),
        ];
        (limit > 0).then(|| call("read_file", &arguments))
    }

    /// The call for the last page of a log, because callers usually need the end of a log.
    fn last_page(&self, structure: &Structure) -> Option<String> {
        let limit = self.lines_of_page();
        match self.lines {
            _ if structure.kind != ContentKind::Log || limit == 0 => None,
            Some(lines) if lines > limit => self.page(lines - limit),
            Some(_) => None,
            // The lines have not been counted. `tail` reads from the end and needs no count.
            None => self.shell(&format!("tail -n {limit}"), ""),
        }
    }

    /// The call for the first bytes if lines are too long for a page.
    fn bytes(&self) -> Option<String> {
        if self.page(0).is_some() {
            return None;
        }
        let bytes = (room(self.rules) / 3).min(4000);
        self.shell(&format!("head -c {bytes}"), "")
    }

    /// The call for a command on this file, if there is a shell.
    fn shell(&self, command: &str, then: &str) -> Option<String> {
        self.rules.has_shell().then_some(())?;
        let quoted = self.name.replace('\'', r"'\''");
        let command = format!("{command} -- '{quoted}'{then}");
        Some(call("execute_shell", &[("command", json!(command))]))
    }
}

/// The pattern to search for: the first definition, heading or key; in logs, the usual words
/// for failures.
pub(super) fn first_pattern(structure: &Structure) -> Option<String> {
    let mut texts = structure.entries.iter().map(|entry| entry.text.trim());
    match structure.kind {
        ContentKind::Code => texts.find_map(defined).map(str::to_owned),
        ContentKind::Markdown => texts.next().map(|_| "^#+ ".to_owned()),
        ContentKind::Json | ContentKind::Ndjson => {
            texts.find_map(key).map(|key| format!("\"{key}\""))
        }
        ContentKind::Log => Some(format!("(?i){FAILURES}")),
        _ => None,
    }
}

/// The name that a definition introduces: `DataProcessor` in `class DataProcessor(Base)`.
fn defined(text: &str) -> Option<&str> {
    const KEYWORDS: [&str; 22] = [
        "fn",
        "def",
        "class",
        "struct",
        "enum",
        "union",
        "trait",
        "interface",
        "fun",
        "func",
        "function",
        "type",
        "mod",
        "module",
        "namespace",
        "protocol",
        "object",
        "record",
        "const",
        "let",
        "var",
        "impl",
    ];
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = text.split(|c| !is_name(c)).filter(|word| !word.is_empty());
    words
        .by_ref()
        .find(|word| KEYWORDS.contains(word))
        .and_then(|_| words.find(|word| !KEYWORDS.contains(word)))
        .filter(|name| name.len() > 1)
}

/// The key on a line of a JSON outline: `state` in `.[].state: string`.
fn key(text: &str) -> Option<&str> {
    let path = text.split([':', ' ', '?']).next()?;
    let key = path.rsplit('.').next()?.trim_end_matches("[]");
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (path.starts_with('.') && !key.is_empty() && key.chars().all(is_plain)).then_some(key)
}

/// The call for a search of a file whose results fit an answer.
fn search(rules: &Rules, pattern: &str, file: &str) -> Option<String> {
    let rows = rows(rules);
    let arguments = [
        ("pattern", json!(pattern)),
        ("path", json!(file)),
        ("max_results", json!(rows)),
    ];
    (rows > 0).then(|| call("grep_content", &arguments))
}

/// The calls that run a command again with less output. `longest` is the length in bytes of the
/// longest line of its output. Commands that would mean something else in parentheses get no
/// suggestion.
pub(super) fn of_command(
    command: &str,
    longest: u64,
    has_ended: bool,
    rules: &Rules,
) -> Vec<String> {
    let joined = command.replace("&&", "").replace(">&", "");
    let is_simple = command.chars().count() <= COMMAND_CHARS
        && !joined.contains(['\n', '#', '&'])
        && !command.contains("<<")
        && !command.trim_end().ends_with('\\');
    // `grep -n` adds a line number and a separator to each line. 12 bytes are reserved for them.
    let of_lines = |longest: u64| room(rules) / (longest + 12);
    let (lines, cut) = match of_lines(longest) {
        lines if lines >= PAGE / 10 => (lines.min(PAGE), String::new()),
        _ => (of_lines(CUT).min(PAGE), format!(" | cut -c 1-{CUT}")),
    };
    if !is_simple || lines == 0 {
        return Vec::new();
    }
    // If a command was stopped, its output has no end to show.
    let part = if has_ended { "tail" } else { "head" };
    let filters = [
        format!("{part} -n {lines}{cut}"),
        format!("grep -n -i -E '{FAILURES}' | head -n {lines}{cut}"),
    ];
    filters
        .iter()
        .map(|filter| format!("({command}) 2>&1 | {filter}"))
        .map(|command| call("execute_shell", &[("command", json!(command))]))
        .collect()
}

/// The name of a new file in which a page can be saved; `None` if nothing can be saved.
pub(super) fn saved_to(shared: &Shared) -> Option<String> {
    /// Names to try before giving up.
    const TRIES: u32 = 50;
    let writable = &shared.rules.writable;
    let directory = match writable {
        Writable::Nowhere => return None,
        Writable::Anywhere => String::new(),
        Writable::Below(directories) => {
            let directory = directories.first()?.to_str()?;
            format!("{}/", directory.trim_end_matches('/'))
        }
    };
    let names = (1..=TRIES).map(|number| match number {
        1 => format!("{directory}page.md"),
        number => format!("{directory}page-{number}.md"),
    });
    let is_free = |name: &String| {
        let place = SaveTarget::new(&shared.workspace, writable, name);
        place.and_then(|place| place.check()).is_ok()
    };
    names.into_iter().find(is_free)
}

/// The calls that save a page to `file` and then search that file.
pub(super) fn of_page(
    shared: &Shared,
    (url, is_raw): (&str, bool),
    file: &str,
    pattern: Option<String>,
) -> Vec<String> {
    let mut arguments = vec![("url", json!(url)), ("save_to", json!(file))];
    arguments.extend(is_raw.then_some(("raw", json!(true))));
    let mut calls = vec![call("web_fetch", &arguments)];
    calls.extend(pattern.and_then(|pattern| search(&shared.rules, &pattern, file)));
    calls
}

//! Calls that lead on from a refusal.

use serde_json::json;
use spillgate_artifact::ContentKind;
use spillgate_offload::{Recovery, Structure, call};

use crate::rules::{Rules, Writable};
use crate::save::SaveTarget;
use crate::workspace_tools::Shared;

/// Lines that a call asks for.
const PAGE: u64 = 100;

/// Bytes of an answer beside what it is about: `[Lines 1-100 of 200]` and other notes.
const NOTES: u64 = 200;

/// The most matches that a call asks for.
const ROWS: u64 = 40;

/// Bytes of a match at most, as `grep_content` tells it, with a name of usual length.
const ROW: u64 = 2200;

/// Bytes of the name of a file that are counted on.
const NAME: u64 = 300;

/// Bytes that are left of a line where lines are long.
const CUT: u64 = 500;

/// Bytes that an answer may have beside its notes.
fn room(rules: &Rules) -> u64 {
    rules.most_bytes().saturating_sub(NOTES)
}

/// Matches that an answer holds, however long their lines are.
pub(super) fn rows(rules: &Rules) -> u64 {
    (room(rules) / ROW).min(ROWS)
}

/// Names of files that an answer holds.
pub(super) fn names(rules: &Rules) -> u64 {
    (room(rules) / NAME).min(PAGE)
}

/// Characters of a command that is named again.
const COMMAND_CHARS: usize = 100;

/// What failed, in most programs' words.
const FAILURES: &str = "error|fail|warn|fatal|panic";

/// A file that calls can be about.
pub(super) struct FileCalls<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Option<u64>,
    /// Bytes of the longest line that was seen.
    pub(super) longest: u64,
    pub(super) rules: &'a Rules,
}

impl FileCalls<'_> {
    /// The block with the calls for this file.
    pub(super) fn named(&self, structure: &Structure, recovery: Recovery) -> Recovery {
        if structure.kind == ContentKind::Binary {
            // od shows each byte in four, and where each line begins.
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

    /// Lines of a page that passes even if all are as long as the longest that was seen.
    fn lines_of_page(&self) -> u64 {
        (room(self.rules) / (self.longest + 1)).min(PAGE)
    }

    /// A page from the 0-based line `offset` on.
    fn page(&self, offset: u64) -> Option<String> {
        let limit = self.lines_of_page();
        let arguments = [
            ("file_path", json!(self.name)),
            ("offset", json!(offset)),
            ("limit", json!(limit)),
        ];
        (limit > 0).then(|| call("read_file", &arguments))
    }

    /// The end of a log is what is asked for most.
    fn last_page(&self, structure: &Structure) -> Option<String> {
        let limit = self.lines_of_page();
        match self.lines {
            _ if structure.kind != ContentKind::Log || limit == 0 => None,
            Some(lines) if lines > limit => self.page(lines - limit),
            Some(_) => None,
            // Nobody has counted them: the shell finds the end from the end.
            None => self.shell(&format!("tail -n {limit}"), ""),
        }
    }

    /// Lines that are too long for a page can be cut by the shell.
    fn bytes(&self) -> Option<String> {
        if self.page(0).is_some() {
            return None;
        }
        let bytes = (room(self.rules) / 3).min(4000);
        self.shell(&format!("head -c {bytes}"), "")
    }

    /// A command on this file, where there is a shell.
    fn shell(&self, command: &str, then: &str) -> Option<String> {
        self.rules.has_shell().then_some(())?;
        let quoted = self.name.replace('\'', r"'\''");
        let command = format!("{command} -- '{quoted}'{then}");
        Some(call("execute_shell", &[("command", json!(command))]))
    }
}

/// What to search for: the first definition, heading, key or column; what failed in
/// what programs print.
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

/// The name that a definition gives: `DataProcessor` of `class DataProcessor(Base)`.
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

/// The key that an outline's line of JSON is about: `state` of `.[].state: string`.
fn key(text: &str) -> Option<&str> {
    let path = text.split([':', ' ', '?']).next()?;
    let key = path.rsplit('.').next()?.trim_end_matches("[]");
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (path.starts_with('.') && !key.is_empty() && key.chars().all(is_plain)).then_some(key)
}

/// A search of a file that gives no more than an answer holds.
fn search(rules: &Rules, pattern: &str, file: &str) -> Option<String> {
    let rows = rows(rules);
    let arguments = [
        ("pattern", json!(pattern)),
        ("path", json!(file)),
        ("max_results", json!(rows)),
    ];
    (rows > 0).then(|| call("grep_content", &arguments))
}

/// The command again, with less of its output, where its lines have so many bytes at
/// most. What would mean something else between parentheses is left alone.
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
    // grep puts the line's number before it.
    let of_lines = |longest: u64| room(rules) / (longest + 12);
    let (lines, cut) = match of_lines(longest) {
        lines if lines >= PAGE / 10 => (lines.min(PAGE), String::new()),
        _ => (of_lines(CUT).min(PAGE), format!(" | cut -c 1-{CUT}")),
    };
    if !is_simple || lines == 0 {
        return Vec::new();
    }
    // What printed for ever has no end that could be shown.
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

/// A file that is not there yet, into which a page can be saved, if it can.
pub(super) fn saved_to(shared: &Shared) -> Option<String> {
    /// Names that are tried.
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

/// The page into `file`, and then that file.
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

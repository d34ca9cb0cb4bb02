//! Which calls lead on?

use serde_json::json;
use spillgate_artifact::ContentKind;
use spillgate_offload::{Recovery, Structure, call};

use crate::rules::{Rules, Writable};

/// Lines that a call asks for, as the seed's do.
const PAGE: u64 = 100;

/// Characters of a command that is named again.
const COMMAND_CHARS: usize = 100;

/// What failed, in most programs' words.
const FAILURES: &str = "error|fail|warn|fatal|panic";

/// A file that calls can be about.
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Option<u64>,
    /// Bytes of the longest line that was seen.
    pub(super) longest: u64,
    pub(super) rules: &'a Rules,
}

impl File<'_> {
    /// The block with the calls for this file.
    pub(super) fn named(&self, structure: &Structure, recovery: Recovery) -> Recovery {
        if structure.kind == ContentKind::Binary {
            return recovery.command(self.shell("head -c 256", " | od -c"));
        }
        let grep = first_pattern(structure).map(|pattern| {
            call(
                "grep_content",
                &[("pattern", json!(pattern)), ("path", json!(self.name))],
            )
        });
        recovery
            .command(grep)
            .command(self.page(0))
            .command(self.last_page(structure))
            .command(self.bytes())
    }

    /// A page from the 0-based line `offset` on, of so many lines that it passes even
    /// if all are as long as the longest that was seen.
    fn page(&self, offset: u64) -> Option<String> {
        let limit = (self.rules.most_bytes() / (self.longest + 1)).min(PAGE);
        let arguments = [
            ("file_path", json!(self.name)),
            ("offset", json!(offset)),
            ("limit", json!(limit)),
        ];
        (limit > 0).then(|| call("read_file", &arguments))
    }

    /// The end of a log is what is asked for most.
    fn last_page(&self, structure: &Structure) -> Option<String> {
        match self.lines {
            _ if structure.kind != ContentKind::Log => None,
            Some(lines) if lines > PAGE => self.page(lines - PAGE),
            Some(_) => None,
            // Nobody has counted them: the shell finds the end from the end.
            None => self.shell("tail -n 100", ""),
        }
    }

    /// Lines that are too long for a page can be cut by the shell.
    fn bytes(&self) -> Option<String> {
        match self.page(0) {
            Some(_) => None,
            None => self.shell("head -c 4000", ""),
        }
    }

    /// A command on this file, where there is a shell.
    fn shell(&self, command: &str, then: &str) -> Option<String> {
        self.rules.shell.as_ref()?;
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

/// The command again, with less of its output. What would mean something else between
/// parentheses is left alone.
pub(super) fn of_command(command: &str) -> Vec<String> {
    let joined = command.replace("&&", "").replace(">&", "");
    let is_simple = command.chars().count() <= COMMAND_CHARS
        && !joined.contains(['\n', '#', '&'])
        && !command.contains("<<")
        && !command.trim_end().ends_with('\\');
    if !is_simple {
        return Vec::new();
    }
    let filters = [
        "tail -n 100".to_owned(),
        format!("grep -n -i -E '{FAILURES}' | head -n 100"),
    ];
    filters
        .iter()
        .map(|filter| format!("({command}) 2>&1 | {filter}"))
        .map(|command| call("execute_shell", &[("command", json!(command))]))
        .collect()
}

/// Where a page can be saved, if anywhere.
pub(super) fn saved_to(rules: &Rules) -> Option<String> {
    const NAME: &str = "page.md";
    match &rules.writable {
        Writable::Nowhere => None,
        Writable::Anywhere => Some(NAME.to_owned()),
        Writable::Below(directories) => {
            let directory = directories.first()?.to_str()?;
            Some(format!("{}/{NAME}", directory.trim_end_matches('/')))
        }
    }
}

/// The page into `file`, and then that file.
pub(super) fn of_page(url: &str, file: &str, pattern: Option<String>) -> Vec<String> {
    let mut calls = vec![call(
        "web_fetch",
        &[("url", json!(url)), ("save_to", json!(file))],
    )];
    calls.extend(pattern.map(|pattern| {
        let path = ("path", json!(file));
        call("grep_content", &[("pattern", json!(pattern)), path])
    }));
    calls
}

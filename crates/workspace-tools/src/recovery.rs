//! Recovery blocks: text appended to refusals if `detailed_recovery` is on.
//!
//! The format is specified in docs/spec/texts.md, "Recovery block".
//!
//! A block summarizes the refused content, with bounded work, and suggests calls that the model can
//! make with the enabled tools. Each function returns the text to append to a refusal
//! ([`ToolError::with`](crate::tool_result::ToolError::with)), or an empty string if
//! `detailed_recovery` is off.

mod calls;
mod top_counts;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, LazyLock};

use encoding_rs::{Encoding, UTF_8};
use serde_json::{Value, json};
use spillgate_artifact::{ContentKind, TokenBudget};
use spillgate_offload::{RECOVERY_TOKENS, Recovery, Structure, call, grouped};
use spillgate_text::{TokenCounter, Tokenizer};
use tokio::task::spawn_blocking;

use crate::walk::shown;
use crate::workspace_tools::Shared;
use calls::{FileCalls, first_pattern};
pub(crate) use top_counts::TopCounts;

/// Maximum bytes of a file or an output that are examined.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Maximum number of files or directories that a list names.
pub(crate) const TOP: usize = 10;

/// Counts tokens. Loaded when the first recovery block is made.
static COUNTER: LazyLock<Arc<dyn TokenCounter>> = LazyLock::new(|| Tokenizer::default().counter());

/// The recovery block for a refused file. `name` is the path that the tools accept, relative to the
/// root; `lines` is the number of lines, if it is known already. Reads at most [`MOST_BYTES`] of
/// the file, by position, so the file's cursor does not move.
pub(crate) fn for_file(shared: &Shared, name: &str, file: &File, lines: Option<u64>) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let text = beginning(
        file,
        usize::try_from(size).unwrap_or(MOST_BYTES).min(MOST_BYTES),
    );
    let is_whole = text.len() as u64 >= size;
    let text = as_read(text);
    let in_sample = count_lines(&text);
    let longest = longest(&text);
    let known = lines.or(is_whole.then_some(in_sample));
    let bytes = format!("{} bytes", grouped(size));
    let figures = match known {
        _ if text.contains(&0) => vec![bytes],
        Some(lines) if is_whole => vec![counted(lines, "line"), chars(&text)],
        known => known
            .map(|lines| counted(lines, "line"))
            .into_iter()
            .chain([bytes])
            .collect(),
    };
    let calls = FileCalls {
        name,
        lines: known,
        longest,
        rules: &shared.rules,
    };
    let recovery = Recovery::new("File", name, &figures);
    with_structure(shared, recovery, text, is_whole, |structure, recovery| {
        calls.named(structure, recovery)
    })
}

/// A command's output that was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusedOutput<'a> {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// The beginning of the output, of which [`MOST_BYTES`] are examined.
    pub(crate) head: &'a [u8],
    /// Whether the command ended by itself.
    pub(crate) has_ended: bool,
}

/// The recovery block for a command whose output was refused.
pub(crate) fn for_command(shared: &Shared, command: &str, printed: &RefusedOutput<'_>) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let RefusedOutput { bytes, lines, .. } = *printed;
    let figures = [counted(lines, "line"), format!("{} bytes", grouped(bytes))];
    let text = printed.head[..printed.head.len().min(MOST_BYTES)].to_vec();
    let is_whole = text.len() as u64 >= bytes;
    let calls = calls::of_command(command, longest(&text), printed.has_ended, &shared.rules);
    let recovery = Recovery::new("Command", command, &figures);
    with_structure(shared, recovery, text, is_whole, |_, recovery| {
        calls.into_iter().fold(recovery, Recovery::command)
    })
}

/// A path from the root, and a count for it.
pub(crate) type PathCount = (Vec<u8>, u64);

/// A search that was refused.
#[derive(Debug, Clone)]
pub(crate) struct RefusedSearch<'a> {
    pub(crate) pattern: &'a str,
    /// The searched path, from the root.
    pub(crate) path: String,
    /// The `mode` argument, if it is not the default: `count`.
    pub(crate) mode: Option<&'static str>,
    /// Further arguments of the search, such as `hidden`.
    pub(crate) more: Vec<(&'static str, Value)>,
}

impl RefusedSearch<'_> {
    /// Formats a call of `tool` that repeats this search in `path`, with the arguments `other`
    /// added.
    fn again(&self, tool: &str, path: &str, other: Vec<(&'static str, Value)>) -> String {
        let same = [("pattern", json!(self.pattern)), ("path", json!(path))];
        let all = same.into_iter().chain(self.more.clone()).chain(other);
        call(tool, &all.collect::<Vec<_>>())
    }
}

/// The recovery block for a refused search. Takes the number of matches, if known, the number of
/// files, and the files with the most matches in descending order.
pub(crate) fn for_search(
    shared: &Shared,
    asked: &RefusedSearch<'_>,
    (matches, files): (Option<u64>, u64),
    top: &[PathCount],
) -> String {
    let rules = &shared.rules;
    if !rules.detailed_recovery {
        return String::new();
    }
    let of_matches = matches.map(|matches| noun(matches, "match", "matches"));
    let figures: Vec<_> = of_matches
        .into_iter()
        .chain([counted(files, "file")])
        .collect();
    let entries = count_entries(top, |count| noun(count, "match", "matches"));
    let mut recovery = Recovery::new("Search", asked.pattern, &figures).entries(entries);
    let (rows, names) = (calls::rows(rules), calls::names(rules));
    let page = |most: u64, there: u64| (there > most).then(|| ("max_results", json!(most)));
    if let Some((file, count)) = other(top, &asked.path) {
        let part = page(rows, count).into_iter().collect();
        recovery = recovery.command(asked.again("grep_content", file, part));
    }
    if asked.mode.is_none() && files > 1 {
        let mut by_file = vec![("mode", json!("count"))];
        by_file.extend(page(names, files));
        recovery = recovery.command(asked.again("grep_content", &asked.path, by_file));
    }
    let most = if asked.mode.is_none() { rows } else { names };
    let mut part: Vec<_> = asked
        .mode
        .map(|mode| ("mode", json!(mode)))
        .into_iter()
        .collect();
    part.push(("max_results", json!(most)));
    let first = asked.again("grep_content", &asked.path, part);
    render(shared, &recovery.command((most > 0).then_some(first)))
}

/// The recovery block for a refused file list. Takes the number of files, and the directories that
/// contain the most of these files, in descending order.
pub(crate) fn for_list(
    shared: &Shared,
    asked: &RefusedSearch<'_>,
    files: u64,
    top: &[PathCount],
) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let figures = [counted(files, "file")];
    let entries = count_entries(top, |count| counted(count, "file"));
    let mut recovery = Recovery::new("Pattern", asked.pattern, &figures).entries(entries);
    let names = calls::names(&shared.rules);
    // Below another path, a pattern that contains a directory would match other files.
    let page = ("max_results", json!(names));
    if !asked.pattern.contains('/')
        && let Some((directory, count)) = other(top, &asked.path)
    {
        let part = (count > names).then(|| page.clone());
        let part = part.into_iter().collect();
        recovery = recovery.command(asked.again("glob_files", directory, part));
    }
    let first = asked.again("glob_files", &asked.path, vec![page]);
    render(shared, &recovery.command((names > 0).then_some(first)))
}

/// The first entry whose name is valid UTF-8, not empty and not the path that was asked for.
fn other<'t>(top: &'t [PathCount], path: &str) -> Option<(&'t str, u64)> {
    let mut named = top.iter().filter_map(|(name, count)| {
        let name = std::str::from_utf8(name).ok()?;
        Some((name, *count))
    });
    named.find(|(name, _)| !name.is_empty() && *name != path)
}

/// Formats each entry on a line.
fn count_entries(top: &[PathCount], count: impl Fn(u64) -> String) -> impl Iterator<Item = String> {
    let told = top.iter().take(TOP).map(move |(name, there)| {
        let name = match name.as_slice() {
            b"" => ".".to_owned(),
            name => shown(name),
        };
        format!("{name} ({})", count(*there))
    });
    told.collect::<Vec<_>>().into_iter()
}

/// The recovery block for a refused web page. `text` is the text of the page, or its source if
/// `is_raw`.
pub(crate) fn for_page(shared: &Shared, url: &str, text: &str, is_raw: bool) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let whole = text.as_bytes();
    let sample = whole[..whole.len().min(MOST_BYTES)].to_vec();
    let figures = [counted(count_lines(whole), "line"), chars(whole)];
    let is_whole = sample.len() == whole.len();
    let recovery = Recovery::new("Page", url, &figures);
    with_structure(
        shared,
        recovery,
        sample,
        is_whole,
        |structure, recovery| match calls::saved_to(shared) {
            Some(file) => calls::of_page(shared, (url, is_raw), &file, first_pattern(structure))
                .into_iter()
                .fold(recovery, Recovery::command),
            None => recovery,
        },
    )
}

/// Makes a recovery block on a blocking thread, because it takes a while. Returns an empty string
/// if the rules do not ask for recovery blocks.
pub(crate) async fn apart(
    shared: &Arc<Shared>,
    block: impl FnOnce(&Shared) -> String + Send + 'static,
) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let shared = Arc::clone(shared);
    // If making the block fails, the refusal is returned without it.
    spawn_blocking(move || block(&shared))
        .await
        .unwrap_or_default()
}

/// Renders a recovery block with the structure of `text`, and with the calls that `calls` chooses
/// for this structure.
fn with_structure(
    shared: &Shared,
    recovery: Recovery,
    text: Vec<u8>,
    is_whole: bool,
    calls: impl FnOnce(&Structure, Recovery) -> Recovery,
) -> String {
    let seen = text.len();
    let structure = Structure::of_text(text, is_whole).unwrap_or(Structure {
        kind: ContentKind::Text,
        entries: Vec::new(),
        more: 0,
    });
    let of = (!is_whole).then(|| format!(" of the first {}", size(seen)));
    render(
        shared,
        &calls(&structure, recovery.structure(&structure, of.as_deref())),
    )
}

/// Renders a recovery block within the limit of an answer, which may be configured very small.
fn render(shared: &Shared, recovery: &Recovery) -> String {
    let most = RECOVERY_TOKENS.min(shared.rules.max_tokens);
    let reachable = recovery.clone().of_tools(|tool| shared.rules.allows(tool));
    reachable.render(TokenBudget::new(most), &**COUNTER)
}

/// Reads the first bytes of a file; fewer if it ends earlier or cannot be read.
fn beginning(file: &File, most: usize) -> Vec<u8> {
    let mut text = vec![0; most];
    let mut filled = 0;
    while filled < text.len() {
        match file.read_at(&mut text[filled..], filled as u64) {
            Ok(0) | Err(_) => break,
            Ok(read) => filled += read,
        }
    }
    text.truncate(filled);
    text
}

/// Decodes UTF-16, as `read_file` does.
fn as_read(text: Vec<u8>) -> Vec<u8> {
    match Encoding::for_bom(&text) {
        Some((encoding, _)) if encoding != UTF_8 => {
            let (decoded, _) = encoding.decode_with_bom_removal(&text);
            decoded.into_owned().into_bytes()
        }
        _ => text,
    }
}

/// Counts lines, including a last one without a newline.
fn count_lines(text: &[u8]) -> u64 {
    let ends = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
    ends + u64::from(text.last().is_some_and(|&last| last != b'\n'))
}

/// The length in bytes of the longest line as an answer shows it. Replacing invalid UTF-8 makes a
/// line longer.
fn longest(text: &[u8]) -> u64 {
    let lines = text.split(|&byte| byte == b'\n');
    let longest = lines.map(<[u8]>::len).max().unwrap_or(0) as u64;
    let is_cut = |error: std::str::Utf8Error| error.error_len().is_none();
    match std::str::from_utf8(text).map_or_else(is_cut, |_| true) {
        true => longest,
        false => longest * 3,
    }
}

fn counted(count: u64, unit: &str) -> String {
    noun(count, unit, &format!("{unit}s"))
}

fn noun(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

/// Formats a size in the unit that gives a whole number.
fn size(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes => format!("{} KiB", bytes.div_ceil(1 << 10)),
    }
}

fn chars(text: &[u8]) -> String {
    let chars = String::from_utf8_lossy(text).chars().count();
    format!("{} chars", grouped(chars as u64))
}

#[cfg(test)]
mod tests;

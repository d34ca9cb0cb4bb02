//! What does a refusal end with where `detailed_recovery` is on? (Seed 004, 5.3, 6.3)
//!
//! What was refused is looked at once more, in bounded work, and calls are named that
//! the reader can make with the tools that the rules give. Each function gives the
//! text to stand behind a refusal ([`Refused::with`](crate::answer::Refused::with)),
//! and nothing where the rules do not ask for it.

mod calls;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, LazyLock};

use serde_json::json;
use spillgate_artifact::{ContentKind, TokenBudget};
use spillgate_measure::{TokenCounter, Tokenizer};
use spillgate_offload::{RECOVERY_TOKENS, Recovery, Structure, call, grouped};

use crate::guarded::Shared;
use calls::{File as FileCalls, first_pattern};

/// Bytes of a file or an output that are looked at.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Files or directories that a list names.
const TOP: usize = 10;

/// Loaded at the first block only.
static COUNTER: LazyLock<Arc<dyn TokenCounter>> = LazyLock::new(|| Tokenizer::default().counter());

/// A file that was refused. `name` is its name for the tools, relative to the root;
/// `lines` how many lines it has, where that is known already. No more than
/// [`MOST_BYTES`] of it are read, by position: the file's own cursor stays.
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
    let in_sample = count_lines(&text);
    let longest = text.split(|&byte| byte == b'\n').map(<[u8]>::len).max();
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
        longest: longest.unwrap_or(0) as u64,
        rules: &shared.rules,
    };
    let recovery = Recovery::new("File", name, &figures);
    with_structure(shared, recovery, text, is_whole, |structure, recovery| {
        calls.named(structure, recovery)
    })
}

/// A command's output that was refused: its figures as they were counted, and the
/// beginning of it, of which [`MOST_BYTES`] are looked at.
pub(crate) fn for_command(
    shared: &Shared,
    command: &str,
    bytes: u64,
    lines: u64,
    head: &[u8],
) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let figures = [counted(lines, "line"), format!("{} bytes", grouped(bytes))];
    let text = head[..head.len().min(MOST_BYTES)].to_vec();
    let is_whole = text.len() as u64 >= bytes;
    let recovery = Recovery::new("Command", command, &figures);
    with_structure(shared, recovery, text, is_whole, |_, recovery| {
        calls::of_command(command)
            .into_iter()
            .fold(recovery, Recovery::command)
    })
}

/// A search that was refused: what was asked for, what was found, and the files with
/// the most matches, most first.
pub(crate) fn for_search(
    shared: &Shared,
    pattern: &str,
    path: &str,
    (matches, files): (u64, u64),
    top: &[(String, u64)],
) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let figures = [format!("{matches} matches"), counted(files, "file")];
    let entries = top.iter().take(TOP);
    let entries = entries.map(|(file, count)| format!("{file} ({count} matches)"));
    let mut recovery = Recovery::new("Search", pattern, &figures).entries(entries);
    let pattern = ("pattern", json!(pattern));
    let mut asked = vec![
        vec![("path", json!(path)), ("mode", json!("count"))],
        vec![("path", json!(path)), ("max_results", json!(50))],
    ];
    if let Some((file, _)) = top.iter().find(|(file, _)| file != path) {
        asked.insert(0, vec![("path", json!(file))]);
    }
    for more in asked {
        let arguments: Vec<_> = [pattern.clone()].into_iter().chain(more).collect();
        recovery = recovery.command(call("grep_content", &arguments));
    }
    render(shared, &recovery)
}

/// A list of files that was refused: the pattern, how many there are, and the
/// directories with the most of them, most first.
pub(crate) fn for_list(
    shared: &Shared,
    pattern: &str,
    path: &str,
    files: u64,
    top: &[(String, u64)],
) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let entries = top.iter().take(TOP);
    let entries = entries.map(|(directory, count)| format!("{directory} ({count} files)"));
    let mut recovery =
        Recovery::new("Pattern", pattern, &[format!("{files} files")]).entries(entries);
    let pattern = ("pattern", json!(pattern));
    if let Some((directory, _)) = top.iter().find(|(directory, _)| directory != path) {
        let arguments = [pattern.clone(), ("path", json!(directory))];
        recovery = recovery.command(call("glob_files", &arguments));
    }
    let arguments = [pattern, ("path", json!(path)), ("max_results", json!(100))];
    render(shared, &recovery.command(call("glob_files", &arguments)))
}

/// A page of the web that was refused, as the text that would have been told.
pub(crate) fn for_page(shared: &Shared, url: &str, text: &str) -> String {
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
        |structure, recovery| match calls::saved_to(&shared.rules) {
            Some(file) => calls::of_page(url, &file, first_pattern(structure))
                .into_iter()
                .fold(recovery, Recovery::command),
            None => recovery,
        },
    )
}

/// The block with what is in `text`, and with the calls that follow from it.
fn with_structure(
    shared: &Shared,
    recovery: Recovery,
    text: Vec<u8>,
    is_whole: bool,
    calls: impl FnOnce(&Structure, Recovery) -> Recovery,
) -> String {
    let structure = Structure::of_text(text, is_whole).unwrap_or(Structure {
        kind: ContentKind::Text,
        entries: Vec::new(),
        more: 0,
    });
    let of = (!is_whole).then(|| format!(" of the first {} MiB", MOST_BYTES >> 20));
    render(
        shared,
        &calls(&structure, recovery.structure(&structure, of.as_deref())),
    )
}

/// Within the limit of an answer, too, where somebody set a very small one.
fn render(shared: &Shared, recovery: &Recovery) -> String {
    let most = RECOVERY_TOKENS.min(shared.rules.max_tokens);
    recovery.render(TokenBudget::new(most), &**COUNTER)
}

/// The first bytes of a file; fewer where it ends or cannot be read.
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

/// Lines, the last one without an end as well.
fn count_lines(text: &[u8]) -> u64 {
    let ends = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
    ends + u64::from(text.last().is_some_and(|&last| last != b'\n'))
}

fn counted(count: u64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

fn chars(text: &[u8]) -> String {
    let chars = String::from_utf8_lossy(text).chars().count();
    format!("{} chars", grouped(chars as u64))
}

#[cfg(test)]
mod tests;

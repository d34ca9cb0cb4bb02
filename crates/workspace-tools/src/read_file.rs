//! `read_file`: reads a text file, whole or by lines.

mod pages;
mod refusal;

use std::fs::File;
use std::io::{self, Read};

use encoding_rs::{UTF_16BE, UTF_16LE};
use serde_json::json;
use spillgate_artifact::{ByteSource, Interrupt};
use spillgate_files::{Arguments, FileSource, Identity};
use spillgate_text::{Encoding, Newline, SAMPLE_BYTES, Sample};

use crate::definition::{Definition, schema};
use crate::recovery::for_file;
use crate::rules::Rules;
use crate::tool_result::{Body, Reply, ToolError};
use crate::walk::TIME_LIMIT;
use crate::workspace::shown;
use crate::workspace_tools::Shared;
use pages::FilePages;
use refusal::ReadError;

/// Names that models use for the path argument.
const FILE_PATH: [&str; 4] = ["file_path", "path", "file", "filename"];

pub(crate) fn definition(rules: &Rules) -> Definition {
    let tokens = rules.max_tokens;
    Definition {
        name: "read_file",
        description: format!(
            "Reads a text file. More than {tokens} tokens (bytes / 4) are refused, never cut: \
             give offset and limit then, or use grep_content. Some lines of a file begin with \
             [Lines a-b of T], counted from 1."
        ),
        schema: schema(
            json!({
                "file_path": {
                    "type": "string",
                    "description": "Path from the root, or an absolute path below it.",
                },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Lines to skip: 10 begins with line 11. Default 0.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "How many lines. Default all that follow.",
                },
            }),
            &["file_path"],
        ),
        is_read_only: true,
        is_open_world: false,
    }
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReadRequest {
    /// The path as the model wrote it.
    name: String,
    /// Lines to skip.
    offset: u64,
    /// The number of lines to return; `None` for all lines that follow.
    limit: Option<u64>,
}

impl ReadRequest {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let name = arguments.any_of(&FILE_PATH)?;
        let name = name.ok_or_else(|| {
            ToolError::new("file_path is missing. Give the path of a file from the root.")
        })?;
        Ok(Self {
            name,
            offset: arguments.number("offset")?.unwrap_or(0),
            limit: arguments.limit("limit")?,
        })
    }

    fn is_whole(&self) -> bool {
        self.offset == 0 && self.limit.is_none()
    }
}

pub(crate) fn call(shared: &Shared, arguments: &Arguments, stop: &Interrupt) -> Reply {
    let asked = ReadRequest::of(arguments)?;
    let file = shared.workspace.file(&asked.name).map_err(ToolError::new)?;
    let text = answer(shared, &asked, &file, stop);
    text.map(Body::Text).map_err(|why| {
        let block = match why {
            ReadError::Large { .. } => block(shared, &asked.name, &file),
            _ => String::new(),
        };
        why.refused(&shown(&asked.name), &shared.rules).with(&block)
    })
}

/// The recovery block for a file that is too large, if the rules ask for one.
fn block(shared: &Shared, name: &str, file: &File) -> String {
    if !shared.rules.detailed_recovery {
        return String::new();
    }
    let relative = shared.workspace.relative(name).ok();
    let relative = relative.and_then(|path| path.into_os_string().into_string().ok());
    // The number of lines is known if an earlier call read a page of the file.
    let found = file.metadata().ok().map(|found| Identity::from(&found));
    let grid = found.and_then(|found| shared.workspace.lines().get(&found));
    let lines = grid.map(|grid| grid.lines());
    for_file(shared, relative.as_deref().unwrap_or(name), file, lines)
}

fn answer(
    shared: &Shared,
    asked: &ReadRequest,
    file: &File,
    stop: &Interrupt,
) -> Result<String, ReadError> {
    let found = file.metadata()?;
    let source = FileSource {
        file: file.try_clone()?,
        len: found.len(),
    };
    let pages = FilePages {
        shared,
        file,
        found: Some(Identity::from(&found)),
        source: &source,
        time: TIME_LIMIT,
    };
    pages.answer(asked, stop)
}

/// Reads the first bytes of a file. The flag is true if these are all of its bytes although its
/// size says otherwise: it reports no size (`/proc`), or it was truncated.
fn sample(file: &File, source: &dyn ByteSource, most: u64) -> io::Result<(Vec<u8>, bool)> {
    let looked_at = source.len().min(SAMPLE_BYTES as u64);
    if looked_at > 0 {
        let mut head = vec![0; usize::try_from(looked_at).unwrap_or(SAMPLE_BYTES)];
        let filled = source.fill_at(&mut head, 0)?;
        head.truncate(filled);
        return Ok((head, (filled as u64) < looked_at));
    }
    let mut all = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut all)?;
    Ok((all, true))
}

/// The newline of an encoding.
fn newline(encoding: &Encoding) -> Newline {
    match encoding.other() {
        Some(other) if other == UTF_16LE => Newline::Utf16Le,
        Some(other) if other == UTF_16BE => Newline::Utf16Be,
        _ => Newline::Byte,
    }
}

/// Detects the encoding of a text.
fn encoding(head: &[u8], bytes: u64) -> Result<Encoding, ReadError> {
    let sample = Sample {
        head,
        complete: head.len() as u64 >= bytes,
    };
    Encoding::of(sample).map_err(|kind| ReadError::Binary { kind, bytes })
}

#[cfg(test)]
mod tests;

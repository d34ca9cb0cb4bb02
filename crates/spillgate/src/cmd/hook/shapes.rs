//! The shapes of the results of a client's tools: where the text is, and how a preview takes its
//! place.
//!
//! A client ignores a result whose shape is not the tool's own, so everything but the text stays as
//! it is.

use std::fs::File;
use std::io::{Cursor, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::failure::Failure;

/// The name of the client's shell.
pub(super) const SHELL: &str = "Bash";

/// Beginning of the names of tools of MCP servers.
const MCP: &str = "mcp__";

/// The member of the shell's response that holds its output.
const STDOUT: &str = "stdout";

/// The members of the shell's response that name the file with all of its output.
const KEPT_IN: &str = "persistedOutputPath";
const KEPT_SIZE: &str = "persistedOutputSize";

/// The shape of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The response of the shell.
    Shell,
    /// A text in this member of the response.
    Member(&'static str),
    /// Content blocks in this member of the response.
    Content(&'static str),
    /// The result of an MCP server: a text, or content blocks.
    Mcp,
}

/// Returns the shape of the responses of a tool; `None` if they pass. Files pass, because a model
/// must quote a file exactly to edit it.
pub(super) fn of(tool: &str) -> Option<Shape> {
    match tool {
        SHELL => Some(Shape::Shell),
        "WebFetch" => Some(Shape::Member("result")),
        "Grep" => Some(Shape::Member("content")),
        "Agent" | "Task" => Some(Shape::Content("content")),
        tool if tool.starts_with(MCP) => Some(Shape::Mcp),
        _ => None,
    }
}

/// Returns whether a tool is one of our look-up tools, whose pages are within a limit of their own.
pub(super) fn is_ours(tool: &str) -> bool {
    let name = tool
        .strip_prefix(MCP)
        .and_then(|rest| rest.split_once("__"));
    name.is_some_and(|(_, tool)| tool.starts_with("spillgate_") || tool == "tool_output")
}

/// A response whose text can be replaced.
#[derive(Debug)]
pub(super) struct Shaped {
    shape: Shape,
    pub(super) response: Value,
}

/// The whole text of a response.
pub(super) struct Text {
    pub(super) bytes: u64,
    pub(super) reader: Box<dyn Read>,
}

impl Shaped {
    /// Returns the response if it has this shape.
    pub(super) fn read(shape: Shape, response: Value) -> Option<Self> {
        let shaped = Self { shape, response };
        let is_so = match shape {
            Shape::Shell => {
                let is = |member: &str| shaped.response[member] == true;
                shaped.response[STDOUT].is_string() && !is("interrupted") && !is("isImage")
            }
            Shape::Member(member) => shaped.response[member].is_string(),
            Shape::Content(_) => shaped.blocks().is_some(),
            Shape::Mcp => shaped.response.is_string() || shaped.blocks().is_some(),
        };
        is_so.then_some(shaped)
    }

    /// Returns the content blocks, if there is a text among them.
    fn blocks(&self) -> Option<&Vec<Value>> {
        let blocks = match self.shape {
            Shape::Content(member) => self.response.get(member)?,
            _ => &self.response,
        };
        let blocks = blocks.as_array()?;
        blocks
            .iter()
            .any(|one| text_of(one).is_some())
            .then_some(blocks)
    }

    /// Opens the whole text; `None` if only a part of it can be read.
    pub(super) fn open(&self, transcript: &str) -> Result<Option<Text>, Failure> {
        let kept = match self.shape {
            Shape::Shell => self.response[KEPT_IN].as_str().map(Path::new),
            Shape::Mcp => self.response.as_str().and_then(kept_in),
            _ => None,
        };
        if let Some(path) = kept {
            let file = kept_file(path, transcript)?;
            return Ok(file.map(|(file, bytes)| Text {
                bytes,
                reader: Box::new(file.take(bytes)),
            }));
        }
        let text = match self.shape {
            Shape::Shell => self.response[STDOUT].as_str().map(str::to_owned),
            Shape::Member(member) => self.response[member].as_str().map(str::to_owned),
            Shape::Content(_) | Shape::Mcp => match &self.response {
                Value::String(text) => Some(text.clone()),
                _ => self.blocks().map(|blocks| {
                    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
                    texts.join("\n")
                }),
            },
        };
        Ok(text.map(|text| Text {
            bytes: text.len() as u64,
            reader: Box::new(Cursor::new(text.into_bytes())),
        }))
    }

    /// Puts the preview in place of the text. Blocks that are no text stay.
    pub(super) fn replace(&mut self, preview: &str) {
        match self.shape {
            Shape::Shell => {
                self.response[STDOUT] = json!(preview);
                if let Some(members) = self.response.as_object_mut() {
                    // Otherwise the client would show the file in place of the preview.
                    members.remove(KEPT_IN);
                    members.remove(KEPT_SIZE);
                }
            }
            Shape::Member(member) => self.response[member] = json!(preview),
            Shape::Content(_) | Shape::Mcp => {
                let Some(blocks) = self.blocks() else {
                    self.response = json!(preview);
                    return;
                };
                let block = json!({"type": "text", "text": preview});
                let others = blocks.iter().filter(|one| text_of(one).is_none());
                let blocks: Value = std::iter::once(&block).chain(others).cloned().collect();
                match self.shape {
                    Shape::Content(member) => self.response[member] = blocks,
                    _ => self.response = blocks,
                }
            }
        }
    }
}

/// Returns the text of a content block.
fn text_of(block: &Value) -> Option<&str> {
    match block["type"] == "text" {
        true => block["text"].as_str(),
        false => None,
    }
}

/// Returns the file that holds the result of an MCP server which the client finds too large. The
/// client puts a notice in place of such a result.
fn kept_in(notice: &str) -> Option<&Path> {
    let rest = notice.strip_prefix("Error: result (")?;
    let (first, _) = rest.split_once('\n')?;
    let (_, path) = first.split_once("Output has been saved to ")?;
    Some(Path::new(path.trim_end_matches('.')))
}

/// Opens a file with a result of this session, and returns its size. `None` if the file is anywhere
/// but in the session's own directory of results, or is no regular file: responses come from
/// servers, too, and may name any file.
fn kept_file(path: &Path, transcript: &str) -> Result<Option<(File, u64)>, Failure> {
    let results = Path::new(transcript)
        .with_extension("")
        .join("tool-results");
    if transcript.is_empty() || !path.is_absolute() || path.parent() != Some(&results) {
        return Ok(None);
    }
    // Neither follows a link nor waits for the other end of a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let opened = File::options()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path);
    let Ok(file) = opened else { return Ok(None) };
    let found = file.metadata()?;
    Ok(found.is_file().then_some((file, found.len())))
}

//! A tool's result in the event of a client: its text, and the answer that puts a preview in its
//! place. Also what the readers of several clients share: content blocks, and files of a client.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;
use serde_json::{Value, json};
use spillgate_artifact::Ending;

use crate::failure::Failure;

/// How often a file is read that the client may still write, and how long we wait in between.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// A result whose text can be replaced.
pub(super) struct Found {
    pub(super) text: Text,
    /// How a command ended, if the client tells it apart from the output.
    pub(super) ending: Option<Ending>,
    /// What the model must know besides the preview: lines before it and after it.
    pub(super) before: Option<&'static str>,
    pub(super) after: Option<String>,
    /// Returns the answer that has the client show this text.
    pub(super) answer: Box<dyn FnOnce(&str) -> Value>,
}

/// The whole text of a result.
pub(super) struct Text {
    pub(super) bytes: u64,
    pub(super) reader: Box<dyn Read>,
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self {
            bytes: text.len() as u64,
            reader: Box::new(Cursor::new(text.into_bytes())),
        }
    }
}

impl Text {
    /// Reads the first `bytes` of a file.
    pub(super) fn of_file((file, bytes): (File, u64)) -> Self {
        Self {
            bytes,
            reader: Box::new(file.take(bytes)),
        }
    }
}

impl Found {
    pub(super) fn new(text: Text, answer: impl FnOnce(&str) -> Value + 'static) -> Self {
        Self {
            text,
            ending: None,
            before: None,
            after: None,
            answer: Box::new(answer),
        }
    }

    /// Returns the answer with this preview, and what the model must know besides.
    pub(super) fn answered(self, preview: &str) -> Value {
        let mut text = String::new();
        if let Some(line) = self.before {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(preview);
        if let Some(line) = self.after {
            text.truncate(text.trim_end_matches('\n').len());
            text.push('\n');
            text.push_str(&line);
        }
        (self.answer)(&text)
    }
}

/// Returns how a command with this exit code ended.
pub(super) fn exited(code: i32) -> Ending {
    Ending {
        exit_code: Some(code),
        ..Ending::default()
    }
}

/// Returns the text of a content block.
pub(super) fn text_of(block: &Value) -> Option<&str> {
    match block["type"] == "text" {
        true => block["text"].as_str(),
        false => None,
    }
}

/// Returns the texts of content blocks, joined; `None` if `blocks` holds no text.
pub(super) fn joined(blocks: &Value) -> Option<String> {
    let texts: Vec<&str> = blocks.as_array()?.iter().filter_map(text_of).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Returns whether all content blocks are texts.
pub(super) fn are_texts(blocks: &Value) -> bool {
    let blocks = blocks.as_array();
    blocks.is_some_and(|blocks| blocks.iter().all(|block| text_of(block).is_some()))
}

/// Returns the content blocks with one text in place of all texts. Other blocks stay.
pub(super) fn with_text(blocks: &Value, text: &str) -> Value {
    let block = json!({"type": "text", "text": text});
    let others = blocks.as_array().into_iter().flatten();
    let others = others.filter(|one| text_of(one).is_none());
    std::iter::once(&block).chain(others).cloned().collect()
}

/// Opens a file in which the client keeps a result, and returns its size. `None` if the file is not
/// directly in `directory`, is no regular file, or belongs to another user: results come from
/// servers, too, and may name any file.
pub(super) fn kept_file(path: &Path, directory: &Path) -> Result<Option<(File, u64)>, Failure> {
    if !path.is_absolute() || path.parent() != Some(directory) {
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
    let is_clients = found.is_file() && found.uid() == rustix::process::getuid().as_raw();
    Ok(is_clients.then_some((file, found.len())))
}

/// Waits until a file is written to its end: until it ends with `end` and no longer grows. Returns
/// its size; `None` if it is not complete in time.
pub(super) fn complete(file: &File, end: &str) -> io::Result<Option<u64>> {
    let mut before = None;
    for _ in 0..ATTEMPTS {
        let bytes = file.metadata()?.len();
        if before == Some(bytes) && ends_with(file, bytes, end.as_bytes())? {
            return Ok(Some(bytes));
        }
        before = Some(bytes);
        std::thread::sleep(PAUSE);
    }
    Ok(None)
}

fn ends_with(file: &File, bytes: u64, end: &[u8]) -> io::Result<bool> {
    let Some(from) = bytes.checked_sub(end.len() as u64) else {
        return Ok(false);
    };
    let mut found = vec![0; end.len()];
    match file.read_exact_at(&mut found, from) {
        Ok(()) => Ok(found == end),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

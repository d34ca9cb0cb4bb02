//! Reads prompt files.
//!
//! ```text
//! #!/usr/bin/env -S spillgate agent
//! ---
//! models: anthropic/claude-sonnet-4-5
//! tools: [fs]
//! ---
//! You answer questions about a directory of files.
//! ```

use spillgate_config::{MAX_FILE_BYTES, Node, NodeKind, Position, yaml};
use std::path::{Path, PathBuf};

use crate::keys::Settings;
use crate::problem::{FileError, Problems};
use crate::read::read;

/// A prompt file: the prompt of an agent with its settings.
#[derive(Debug, Clone)]
pub struct PromptFile {
    /// The file.
    pub path: PathBuf,
    /// The settings in its frontmatter. Variables are not expanded, because prompt files are
    /// shared.
    pub settings: Settings,
    /// The system prompt: the text below the frontmatter.
    pub system: String,
    pub(crate) root: Node,
}

impl PromptFile {
    /// Reads the file `path`.
    pub fn read(path: &Path) -> Result<Self, Problems> {
        Self::parse(&read_text(path)?, path)
    }

    /// Parses `text`, the text of the file `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Problems> {
        let whole = |what: String| FileError::whole(path, what);
        check_size(text, path)?;
        let parts = Parts::of(text)
            .map_err(|(place, what)| whole(what).at(place).hint("end it with a line `---`"))?;
        let root = match parts.front {
            None => Node::empty(),
            Some((front, line)) => {
                yaml::parse(front, line).map_err(|error| whole(error.what).at(error.at))?
            }
        };
        let root = as_table(root, path)?;
        let mut problems = Problems::default();
        let settings = problems.take(read(&root, path, &[]));
        if parts.body.trim().is_empty() {
            let hint = "write below the frontmatter what the agent must do";
            problems.add(whole("it has no prompt".to_owned()).hint(hint));
        }
        problems.sort();
        problems.or(Self {
            path: path.to_owned(),
            settings: settings.unwrap_or_default(),
            system: parts.body.trim().to_owned(),
            root,
        })
    }
}

/// Returns the top-level table, with `toolOutput: false` normalized to a table.
pub(crate) fn as_table(mut root: Node, path: &Path) -> Result<Node, Problems> {
    if matches!(root.kind, NodeKind::Null) {
        root.kind = NodeKind::Table(Vec::new());
    }
    let at = root.at;
    if !matches!(root.kind, NodeKind::Table(_)) {
        let what = "it must be a table of keys and values";
        return Err(FileError::whole(path, what).at(at).into());
    }
    spell_out(&mut root);
    Ok(root)
}

/// Normalizes `toolOutput: false` to `toolOutput: {enabled: false}`, here and in `defaults`.
fn spell_out(table: &mut Node) {
    for member in table.members_mut().into_iter().flatten() {
        match (
            spillgate_config::camel(&member.key).as_str(),
            &member.node.kind,
        ) {
            ("toolOutput", NodeKind::Bool(_)) => {
                crate::guarded::switch(member);
            }
            ("defaults", _) => spell_out(&mut member.node),
            _ => {}
        }
    }
}

/// Reads the text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Problems> {
    use std::io::Read;

    let wrong = |what: String| Problems::from(FileError::whole(path, what));
    let failed = |error: std::io::Error| wrong(format!("it cannot be read: {error}"));
    let file = std::fs::File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(wrong("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let most = MAX_FILE_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(too_large(path));
    }
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        wrong(format!("it is not UTF-8 text from byte {byte} on"))
    })
}

pub(crate) fn check_size(text: &str, path: &Path) -> Result<(), Problems> {
    match text.len() > MAX_FILE_BYTES {
        true => Err(too_large(path)),
        false => Ok(()),
    }
}

fn too_large(path: &Path) -> Problems {
    let what = format!("it is larger than {MAX_FILE_BYTES} bytes");
    FileError::whole(path, what).into()
}

/// The parts of a prompt file.
struct Parts<'t> {
    /// The frontmatter and its first line number.
    front: Option<(&'t str, usize)>,
    body: &'t str,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Result<Self, (Position, String)> {
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = Lines {
            rest: text,
            line: 0,
        };
        let mut line = lines.next();
        if line.is_some_and(|line| line.starts_with("#!")) {
            line = lines.next();
        }
        let body = match line {
            None => "",
            // The body starts with `line`, because a `#!` line before it is not part of the body.
            Some(line) => &text[text.len() - lines.rest.len() - line.len()..],
        };
        while line.is_some_and(|line| line.trim().is_empty()) {
            line = lines.next();
        }
        if !line.is_some_and(is_fence) {
            return Ok(Self { front: None, body });
        }
        let (front, first) = (lines.rest, lines.line + 1);
        let opened = Position {
            line: lines.line,
            column: 1,
        };
        while let Some(line) = lines.next() {
            if is_fence(line) {
                let end = front.len() - lines.rest.len() - line.len();
                return Ok(Self {
                    front: Some((&front[..end], first)),
                    body: lines.rest,
                });
            }
        }
        Err((
            opened,
            "the frontmatter that begins here does not end".to_owned(),
        ))
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Iterates over lines with their ends, and counts them.
struct Lines<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let end = match self.rest.find('\n') {
            None if self.rest.is_empty() => return None,
            None => self.rest.len(),
            Some(newline) => newline + 1,
        };
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.line += 1;
        Some(line)
    }
}

#[cfg(test)]
mod tests;

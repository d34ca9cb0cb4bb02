//! The tools `Read` and `Grep`, and their definitions.

use std::sync::Arc;

use serde_json::json;
use spillgate_artifact::{Interrupt, LineRange, TokenBudget};
use spillgate_text::TokenCounter;

use crate::arguments::Arguments;
use crate::grep::Grep;
use crate::page::PageBudget;
use crate::read::Read;
use crate::{FileError, Files};

/// A tool definition, as a model sees it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// `Read` or `Grep`.
    pub name: &'static str,
    /// What the tool does.
    pub description: &'static str,
    /// JSON Schema of the arguments.
    pub schema: serde_json::Value,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileToolResult {
    /// The page, or the error.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl FileToolResult {
    /// The lines that the page shows, as ranges in order. They are parsed from the line numbers at
    /// the start of each row, which the content of a text cannot forge.
    #[must_use]
    pub fn lines(&self) -> Vec<LineRange> {
        let mut stretches: Vec<LineRange> = Vec::new();
        for row in self.text.lines().filter(|_| !self.is_error) {
            let row = row.trim_start_matches(' ');
            let digits = row.bytes().take_while(u8::is_ascii_digit).count();
            let is_row = row[digits..].starts_with([' ', '→', '-']);
            let (true, Ok(line)) = (is_row, row[..digits].parse::<u64>()) else {
                continue;
            };
            match stretches.last_mut() {
                Some(last) if last.last + 1 == line => last.last = line,
                _ => stretches.push(LineRange {
                    first: line,
                    last: line,
                }),
            }
        }
        stretches
    }
}

/// `Read` and `Grep` over some files.
#[derive(Debug, Clone)]
pub struct FileTools {
    /// Opens the files by name.
    pub files: Arc<dyn Files>,
    /// Maximum tokens of an answer. Fewer than 128 count as 128, because a smaller page has no room
    /// for a line besides the name and the hint.
    pub budget: TokenBudget,
    /// The counter for the budget.
    pub counter: Arc<dyn TokenCounter>,
}

impl FileTools {
    /// The definitions of the tools.
    #[must_use]
    pub fn definitions() -> Vec<Tool> {
        let file = json!({"type": "string", "description": "Name of the file."});
        let whole = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
        vec![
            Tool {
                name: "Read",
                description: "Shows lines of a file with their numbers. An answer that had to be cut ends with how to read on. Lines over 1000 characters are broken into several.",
                schema: json!({
                    "type": "object",
                    "properties": {
                        "file": file,
                        "start": whole("Lines to skip, from the side that is read. Default 0."),
                        "lines": whole("How many lines. Default all."),
                        "headOrTail": {
                            "type": "string",
                            "enum": ["head", "tail"],
                            "description": "Read from the beginning or from the end. Default head.",
                        },
                    },
                    "required": ["file"],
                }),
            },
            Tool {
                name: "Grep",
                description: "Shows the lines of a file that match a regular expression, with lines around them: 12→ is a match, 13- stands beside one. An answer that had to be cut ends with how to go on.",
                schema: json!({
                    "type": "object",
                    "properties": {
                        "file": file,
                        "regex": {
                            "type": "string",
                            "maxLength": 10_000,
                            "description": "Rust regex syntax, matched within a line: no lookaround, no backreferences.",
                        },
                        "before": whole("Lines to show before a match. Default 10."),
                        "after": whole("Lines to show after a match. Default 10."),
                        "caseSensitive": {"type": "boolean", "description": "Default false."},
                        "start": whole("Lines to skip. Default 0."),
                    },
                    "required": ["file", "regex"],
                }),
            },
        ]
    }

    /// Answers a call. `arguments` is JSON as a model wrote it. `interrupt` cancels the call.
    #[must_use]
    pub fn call(&self, name: &str, arguments: &str, interrupt: &Interrupt) -> FileToolResult {
        let is_read = match name {
            "Read" => true,
            "Grep" => false,
            _ => return wrong("there is no such tool; there are Read and Grep".to_owned()),
        };
        let answer = Arguments::parse(arguments)
            .map_err(String::from)
            .and_then(|arguments| self.answer(is_read, &arguments, interrupt));
        match answer {
            Ok(text) => FileToolResult {
                text,
                is_error: false,
            },
            Err(text) => wrong(PageBudget::new("", self.budget, &*self.counter).cut(text)),
        }
    }

    fn answer(
        &self,
        is_read: bool,
        arguments: &Arguments,
        interrupt: &Interrupt,
    ) -> Result<String, String> {
        let file = arguments.text("file")?;
        let page = PageBudget::new(file, self.budget, &*self.counter);
        // Invalid arguments are reported before anything is opened.
        let (read, grep) = match is_read {
            true => (Some(Read::of(arguments)?), None),
            false => (None, Some(Grep::of(arguments)?)),
        };
        let opened = self.files.open(file, interrupt);
        let opened = opened.map_err(|error| error.to_string())?;
        let view = opened.lines();
        let answer = match (read, grep) {
            (Some(read), _) => read.page(view, &page),
            (None, grep) => grep
                .expect("invariant: a call is one of the two")
                .page(view, &page),
        };
        let unreadable = |error| FileError::Unreadable {
            name: file.to_owned(),
            error,
        };
        answer.map_err(|error| unreadable(error).to_string())?
    }
}

fn wrong(text: String) -> FileToolResult {
    FileToolResult {
        text,
        is_error: true,
    }
}

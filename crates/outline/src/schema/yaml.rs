//! Reads an API description in YAML, line by line.
//!
//! Paths, methods and schemas are recognised by their indentation, without a YAML parser, because
//! the outline needs their offsets. Long texts in the document are indented further than the keys
//! that are looked for, and are skipped.

use std::io;

use spillgate_text::View;

use super::{Api, Listed, METHODS, operation_text};
use crate::parts::SamplePlan;

/// Maximum number of paths, and of schemas, that are kept.
const MOST: usize = 20_000;
/// Maximum number of bytes that are read of a line, or collected for a schema.
const LONGEST: usize = 400;
/// Levels of keys that are examined: `components`, `schemas`, the name, `properties`, the field.
const LEVELS: usize = 5;

/// Reads the document.
pub(super) fn read(view: &View, plan: &SamplePlan) -> io::Result<Api> {
    let mut reading = Reading {
        api: Api {
            schemas_key: ".components.schemas",
            ..Api::default()
        },
        open: Vec::new(),
        block: None,
    };
    plan.each_line(view.source(), |line, offset| {
        reading.line(line[..line.len().min(LONGEST)].trim_ascii_end(), offset);
    })?;
    Ok(reading.api)
}

struct Reading {
    api: Api,
    /// The keys that enclose the current line, outermost first, with their indentation.
    open: Vec<(usize, String)>,
    /// The indentation of a key whose block text (`|` or `>`) may continue on the next line.
    block: Option<usize>,
}

impl Reading {
    fn line(&mut self, line: &[u8], offset: u64) {
        let indent = line.iter().take_while(|&&byte| byte == b' ').count();
        let bare = &line[indent..];
        if bare.is_empty() || bare.starts_with(b"#") || self.block.is_some_and(|at| indent > at) {
            return;
        }
        self.block = None;
        let Some((key, value)) = key_of(bare) else {
            return;
        };
        if value.starts_with(['|', '>']) {
            self.block = Some(indent);
        }
        while self.open.last().is_some_and(|(at, _)| *at >= indent) {
            self.open.pop();
        }
        self.open.push((indent, key));
        if self.open.len() <= LEVELS {
            let path: Vec<String> = self.open.iter().map(|(_, key)| key.clone()).collect();
            let path: Vec<&str> = path.iter().map(|key| &**key).collect();
            self.key(&path, value, offset);
        }
    }

    fn key(&mut self, path: &[&str], value: &str, offset: u64) {
        let api = &mut self.api;
        let value = unquoted(value);
        let listed = |name: &str| Listed {
            name: name.to_owned(),
            text: String::new(),
            offset: Some(offset),
        };
        match *path {
            ["openapi" | "swagger"] => value.clone_into(&mut api.version),
            ["info", "title"] => value.clone_into(&mut api.title),
            ["info", "version"] => value.clone_into(&mut api.release),
            ["servers", "url"] if api.server.is_empty() => value.clone_into(&mut api.server),
            ["paths", name] if api.paths.len() < MOST => api.paths.push(listed(name)),
            ["paths", _, method] if METHODS.contains(&method) => {
                api.operations += 1;
                if let Some(last) = api.paths.last_mut() {
                    let joint = if last.text.is_empty() { "" } else { ", " };
                    last.text.push_str(&format!("{joint}{method}"));
                }
            }
            ["paths", _, method, "operationId"] if METHODS.contains(&method) => {
                if let Some(last) = api.paths.last_mut()
                    && last.text.ends_with(method)
                {
                    let length = last.text.len() - method.len();
                    last.text.truncate(length);
                    last.text.push_str(&operation_text(method, Some(value)));
                }
            }
            ["components", "schemas", name] if api.schemas.len() < MOST => {
                api.schemas.push(listed(name));
            }
            ["definitions", name] if api.schemas.len() < MOST => {
                api.schemas_key = ".definitions";
                api.schemas.push(listed(name));
            }
            ["components", "schemas", _, "type"] | ["definitions", _, "type"] => {
                if let Some(last) = api.schemas.last_mut() {
                    last.text = format!("{value}{}", last.text);
                }
            }
            ["components", "schemas", _, "properties", field]
            | ["definitions", _, "properties", field] => {
                if let Some(last) = api.schemas.last_mut()
                    && last.text.len() < LONGEST
                {
                    let joint = if last.text.contains('{') { ", " } else { " {" };
                    let text = last.text.trim_end_matches('}').to_owned();
                    last.text = format!("{text}{joint}{field}}}");
                }
            }
            _ => {}
        }
    }
}

/// Returns the key of a line and the text after it.
fn key_of(line: &[u8]) -> Option<(String, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let line = line.strip_prefix("- ").unwrap_or(line).trim_start();
    let (key, value) = if let Some(rest) = line.strip_prefix(['"', '\'']) {
        let end = rest.find(['"', '\''])?;
        (&rest[..end], rest[end + 1..].strip_prefix(':')?)
    } else {
        let end = line.find(": ").or_else(|| {
            let last = line.len().checked_sub(1)?;
            line.ends_with(':').then_some(last)
        })?;
        (&line[..end], &line[end + 1..])
    };
    Some((key.to_owned(), value.trim()))
}

fn unquoted(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

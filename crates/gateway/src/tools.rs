//! The gateway's own tools: read and grep in what was stored.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use spillgate_artifact::{ByteRange, Handle, TokenBudget};
use spillgate_lookup::{Case, GrepQuery, ReadQuery, Span};
use spillgate_offload::{Offloader, RetrieveError};

/// Marks results of ours, so that a Spillgate in front of this one does not
/// offload a retrieval (SPEC 2, invariant 5).
pub(crate) const RETRIEVAL_MARK: &str = "spillgate/retrieval";

const READ: &str = "spillgate_read";
const GREP: &str = "spillgate_grep";

/// Matches on a page unless asked otherwise.
const MATCHES: usize = 50;

/// Whether a tool of that name is answered by the gateway.
pub(crate) fn is_ours(name: &str) -> bool {
    name == READ || name == GREP
}

/// The tools as `tools/list` shows them; at most 500 tokens together (SPEC 4.1).
pub(crate) fn definitions() -> [Value; 2] {
    let handle = json!({"type": "string", "description": "from a [spillgate] message"});
    let budget = json!({"type": "integer"});
    [
        json!({
            "name": READ,
            "description": "Read lines or bytes of a tool output that was stored because of its size.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "handle": handle,
                    "start": {"type": "integer", "description": "first line, from 1"},
                    "lines": {"type": "integer"},
                    "tail": {"type": "boolean", "description": "the last lines instead"},
                    "bytes": {"type": "string", "description": "A..B instead of lines"},
                    "max_tokens": budget,
                },
                "required": ["handle"],
            },
            "annotations": {"readOnlyHint": true},
        }),
        json!({
            "name": GREP,
            "description": "Find lines that match a regular expression in a stored tool output.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "handle": handle,
                    "pattern": {"type": "string"},
                    "ignore_case": {"type": "boolean"},
                    "before": {"type": "integer", "description": "context lines"},
                    "after": {"type": "integer"},
                    "start": {"type": "integer", "description": "first line, from 1"},
                    "max_matches": {"type": "integer"},
                    "max_tokens": budget,
                },
                "required": ["handle", "pattern"],
            },
            "annotations": {"readOnlyHint": true},
        }),
    ]
}

/// The handle that a call names, if it is one.
pub(crate) fn handle_of(arguments: Option<&RawValue>) -> Option<Handle> {
    Arguments::parse(arguments).handle().ok()
}

/// The result of a call of one of our tools, as JSON. `page` is what a page may
/// cost unless the call says otherwise.
pub(crate) fn call(
    offloader: &Offloader,
    page: TokenBudget,
    tool: &str,
    arguments: Option<&RawValue>,
) -> String {
    let arguments = Arguments::parse(arguments);
    let answer = match tool {
        GREP => grep(offloader, page, &arguments),
        _ => read(offloader, page, &arguments),
    };
    let is_error = answer.is_err();
    let text = answer.unwrap_or_else(|message| message);
    let mut result = json!({
        "content": [{"type": "text", "text": text}],
        "_meta": {RETRIEVAL_MARK: true},
    });
    if is_error {
        result["isError"] = json!(true);
    }
    result.to_string()
}

fn read(offloader: &Offloader, page: TokenBudget, arguments: &Arguments) -> Result<String, String> {
    let handle = arguments.handle()?;
    let lines = arguments.number("lines")?.filter(|&lines| lines > 0);
    let bytes = arguments
        .text("bytes")
        .map(|text| text.parse::<ByteRange>());
    let span = match bytes.transpose().map_err(|error| error.to_string())? {
        Some(range) => Span::Bytes(range),
        None if arguments.flag("tail") => Span::Tail {
            lines: lines.unwrap_or(u64::MAX),
        },
        None => Span::Lines {
            start: arguments.number("start")?.unwrap_or(1),
            lines,
        },
    };
    let query = ReadQuery {
        span,
        budget: arguments.budget(page)?,
    };
    let next = |span: Span| match span {
        Span::Bytes(range) => format!("{READ}(handle=\"{handle}\", bytes=\"{range}\")"),
        Span::Lines { start, lines } => {
            let lines = lines
                .map(|lines| format!(", lines={lines}"))
                .unwrap_or_default();
            format!("{READ}(handle=\"{handle}\", start={start}{lines})")
        }
        Span::Tail { lines } => format!("{READ}(handle=\"{handle}\", tail=true, lines={lines})"),
    };
    let shown = offloader.present_read(handle, query, &next);
    shown.map(|shown| shown.text().to_owned()).map_err(told)
}

fn grep(offloader: &Offloader, page: TokenBudget, arguments: &Arguments) -> Result<String, String> {
    let handle = arguments.handle()?;
    let pattern = arguments
        .text("pattern")
        .or_else(|| arguments.text("regex"))
        .ok_or("`pattern` is missing: give a regular expression")?;
    let matches = arguments.number("max_matches")?.filter(|&n| n > 0);
    let query = GrepQuery {
        case: match arguments.flag("ignore_case") {
            true => Case::Insensitive,
            false => Case::Sensitive,
        },
        before: arguments.number("before")?.unwrap_or(0),
        after: arguments.number("after")?.unwrap_or(0),
        start: arguments.number("start")?.unwrap_or(1),
        max_matches: matches.map_or(MATCHES, |n| usize::try_from(n).unwrap_or(usize::MAX)),
        ..GrepQuery::new(&pattern, arguments.budget(page)?)
    };
    let next = |start: u64| {
        let pattern = Value::from(pattern.as_str());
        format!("{GREP}(handle=\"{handle}\", pattern={pattern}, start={start})")
    };
    let shown = offloader.present_grep(handle, &query, &next);
    shown.map(|shown| shown.text().to_owned()).map_err(told)
}

/// An error as the model is told it: bounded, for it may quote the caller.
fn told(error: RetrieveError) -> String {
    const LONGEST: usize = 600;
    let message = match error {
        RetrieveError::Store(spillgate_store::StoreError::Absent { handle, why }) => {
            format!("No stored tool output found for handle {handle}. {why}")
        }
        other => other.to_string(),
    };
    message.chars().take(LONGEST).collect()
}

/// A call's arguments, taken as they are meant: numbers as strings, 0 for "not
/// set", and arguments that nobody declared are all seen from models (SPEC 2.6).
struct Arguments(Map<String, Value>);

impl Arguments {
    fn parse(arguments: Option<&RawValue>) -> Self {
        let parsed = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self(match parsed {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        })
    }

    fn handle(&self) -> Result<Handle, String> {
        let text = self
            .text("handle")
            .ok_or("`handle` is missing: give the one that a [spillgate] message names")?;
        text.parse()
            .map_err(|error: spillgate_artifact::HandleError| error.to_string())
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn flag(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(set)) => *set,
            Some(Value::String(text)) => text == "true" || text == "1",
            Some(Value::Number(number)) => number.as_u64().is_some_and(|n| n > 0),
            _ => false,
        }
    }

    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let not_one =
            |given: &Value| Err(format!("`{name}` must be a whole number, not {given:.60}"));
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(given @ Value::String(text)) => match text.trim().parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => not_one(given),
            },
            Some(given @ Value::Number(number)) => {
                let whole = number.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0);
                match number.as_u64().or(whole.map(|n| n as u64)) {
                    Some(number) => Ok(Some(number)),
                    None => not_one(given),
                }
            }
            Some(given) => not_one(given),
        }
    }

    fn budget(&self, page: TokenBudget) -> Result<TokenBudget, String> {
        let asked = self.number("max_tokens")?.filter(|&tokens| tokens > 0);
        Ok(asked.map_or(page, TokenBudget::new))
    }
}

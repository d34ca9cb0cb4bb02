//! Answers calls of the retrieval tools.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_artifact::{ByteRange, Handle, Interrupt, TokenBudget};
use spillgate_extract::{Extractor, ToolOutput, Watch};
use spillgate_lookup::{Case, GrepQuery, ReadQuery, Span};
use spillgate_offload::{History, Offloader, Presentation, RetrieveError};
use spillgate_query::{Engine, Query, QueryNext};
use spillgate_search::SearchQuery;

use crate::arguments::{Arguments, quoted};
use crate::definitions::{CONTINUE, GREP, QUERY, READ, SEARCH, TOOL_OUTPUT};

/// The mark of our results. A Spillgate in front of this one does not store a result with this mark
/// (docs/spec/behaviour.md, "Invariants", 5).
pub const RETRIEVAL_MARK: &str = "spillgate/retrieval";

/// Prefix of the names of our tools. `get_continuation` and `tool_output` have no prefix, because
/// their names are specified.
pub const PREFIX: &str = "spillgate_";

/// Number of lines that `tail` returns if the call gives no number.
const TAIL: u64 = 40;

/// Number of matches on a page if the call gives no number.
pub const MATCHES: usize = 50;

/// The error of a search without a handle if the outputs of the session are not known.
const NO_SESSION: &str = "`handle` is missing: this server does not know which outputs belong to \
    your session; give the handle that a [spillgate] message names";

/// Returns the handle that a call names, if it is valid.
pub fn handle_of(arguments: Option<&RawValue>) -> Option<Handle> {
    Arguments::parse(arguments).handle().ok()
}

/// The retrieval tools and the components that they use.
#[derive(Debug, Clone)]
pub struct RetrievalTools {
    /// Stores results and finds them again.
    pub offloader: Offloader,
    /// Maximum tokens of a page if the call gives no number.
    pub page: TokenBudget,
    /// Runs jq filters.
    pub engine: Engine,
    /// Answers `tool_output`; `None` if the tool is not offered.
    pub extractor: Option<Extractor>,
    /// The stored results of the session that calls. `None` if it is not known which results belong
    /// to it.
    pub session: Option<Arc<History>>,
}

impl RetrievalTools {
    /// Returns the result of a call of one of our tools, as JSON. The call ends early if `wait` is
    /// cancelled or if its time limit passes.
    pub fn call(&self, tool: &str, arguments: Option<&RawValue>, wait: &Interrupt) -> String {
        let answer = self.answer(tool, arguments, wait);
        let is_error = answer.is_err();
        let shown = answer.unwrap_or_else(|wrong| self.offloader.presented(wrong.text));
        result_of(&shown, is_error)
    }

    /// Returns the answer to a call of one of our tools, for callers that do not speak MCP. The call
    /// ends early if `wait` is cancelled or if its time limit passes.
    pub fn answer(
        &self,
        tool: &str,
        arguments: Option<&RawValue>,
        wait: &Interrupt,
    ) -> Result<Presentation, NoAnswer> {
        let arguments = Arguments::parse(arguments);
        let path = arguments.text("path");
        let opens_path = [READ, GREP, SEARCH].contains(&tool) && arguments.text("handle").is_some();
        let path = path.as_deref().filter(|_| opens_path);
        let tools = Self {
            offloader: self.offloader.within(wait).inside(path),
            ..self.clone()
        };
        match tool {
            READ => tools.read(&arguments),
            GREP => tools.grep(&arguments),
            QUERY => tools.query(&arguments),
            SEARCH => tools.search(&arguments),
            CONTINUE => Ok(tools.more(&arguments)?),
            _ => Err(unknown(tool).into()),
        }
    }

    /// Returns the result of a call of `tool_output`, as JSON. Errors have the JSON structure that
    /// is specified for this tool.
    pub async fn tool_output(&self, arguments: Option<&RawValue>, watch: &dyn Watch) -> String {
        let Some(extractor) = &self.extractor else {
            return result_of(&self.offloader.presented(unknown(TOOL_OUTPUT)), true);
        };
        let arguments = Arguments::parse(arguments);
        let [handle, extract, mode] =
            ["handle", "extract", "mode"].map(|name| arguments.text(name));
        let ToolOutput { shown, is_error } = extractor
            .tool_output(
                handle.as_deref(),
                extract.as_deref(),
                mode.as_deref(),
                watch,
            )
            .await;
        result_of(&shown, is_error)
    }

    fn read(&self, arguments: &Arguments) -> Result<Presentation, NoAnswer> {
        let handle = arguments.handle()?;
        let lines = arguments.number("lines")?.filter(|&lines| lines > 0);
        let bytes = arguments
            .text("bytes")
            .map(|text| text.parse::<ByteRange>());
        let span = match bytes.transpose().map_err(|error| error.to_string())? {
            Some(range) => Span::Bytes(range),
            None if arguments.flag("tail") => Span::Tail {
                lines: lines.unwrap_or(TAIL),
            },
            None => Span::Lines {
                start: arguments.number("start")?.unwrap_or(1),
                lines,
            },
        };
        let query = ReadQuery {
            span,
            budget: arguments.budget(self.page)?,
        };
        let next = |span: Span| {
            let place = match span {
                Span::Bytes(range) => format!("bytes=\"{range}\""),
                Span::Lines { start, lines: None } => format!("start={start}"),
                Span::Lines {
                    start,
                    lines: Some(lines),
                } => format!("start={start}, lines={lines}"),
                Span::Tail { lines } => format!("tail=true, lines={lines}"),
            };
            let budget = arguments.repeated(["max_tokens"]);
            let path = path_again(arguments);
            format!("{READ}(handle=\"{handle}\"{path}, {place}{budget})")
        };
        let shown = self.offloader.present_read(handle, query, &next);
        Ok(shown?)
    }

    fn grep(&self, arguments: &Arguments) -> Result<Presentation, NoAnswer> {
        let handle = arguments.handle()?;
        let pattern = arguments
            .text("pattern")
            .or_else(|| arguments.text("regex"))
            .ok_or("`pattern` is missing: give a regular expression")?;
        let matches = arguments.number("max_matches")?.filter(|&n| n > 0);
        let query = GrepQuery {
            case: if arguments.flag("ignore_case") {
                Case::Insensitive
            } else {
                Case::Sensitive
            },
            before: arguments.number("before")?.unwrap_or(0),
            after: arguments.number("after")?.unwrap_or(0),
            widens: arguments
                .number("before")?
                .or(arguments.number("after")?)
                .is_none(),
            start: arguments.number("start")?.unwrap_or(1),
            max_matches: matches.map_or(MATCHES, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            ..GrepQuery::new(&pattern, arguments.budget(self.page)?)
        };
        let next = |start: u64| {
            let pattern = again(&pattern, "PATTERN");
            let others = arguments.repeated([
                "ignore_case",
                "before",
                "after",
                "max_matches",
                "max_tokens",
            ]);
            let path = path_again(arguments);
            format!("{GREP}(handle=\"{handle}\"{path}, pattern={pattern}{others}, start={start})")
        };
        let shown = self.offloader.present_grep(handle, &query, &next);
        Ok(shown?)
    }

    fn query(&self, arguments: &Arguments) -> Result<Presentation, NoAnswer> {
        let handle = arguments.handle()?;
        let filter = arguments
            .text("filter")
            .or_else(|| arguments.text("query"))
            .ok_or("`filter` is missing: give a jq filter such as `.items[] | .name`")?;
        let asked = Query {
            start: arguments.number("start")?.unwrap_or(0),
            byte: arguments.number("byte")?.unwrap_or(0),
            raw: arguments.flag("raw"),
            ..Query::new(&filter, arguments.budget(self.page)?)
        };
        let next = |next: QueryNext| {
            let filter = again(&filter, "FILTER");
            let others = arguments.repeated(["raw", "max_tokens"]);
            let byte = match next.byte {
                0 => String::new(),
                byte => format!(", byte={byte}"),
            };
            let start = next.start;
            format!("{QUERY}(handle=\"{handle}\", filter={filter}{others}, start={start}{byte})")
        };
        let shown = self
            .offloader
            .present_query(handle, &asked, &self.engine, &next);
        shown.map_err(|error| match &error {
            RetrieveError::Query(wrong) => {
                let what = self.offloader.query_error(handle, wrong, self.page);
                let text = format!("{what}\nhint: {}", wrong.hint());
                let error = Some(error);
                NoAnswer { text, error }
            }
            _ => error.into(),
        })
    }

    fn search(&self, arguments: &Arguments) -> Result<Presentation, NoAnswer> {
        let handle = match arguments.text("handle") {
            Some(_) => Some(arguments.handle()?),
            None if self.session.is_none() => return Err(NO_SESSION.into()),
            None => None,
        };
        let words = ["words", "query", "question"]
            .into_iter()
            .find_map(|name| arguments.text(name))
            .ok_or("`words` are missing: give words or a question")?;
        let asked = SearchQuery::new(&words, arguments.budget(self.page)?);
        let shown = match (handle, &self.session) {
            (Some(handle), _) => self.offloader.present_search(handle, &asked),
            (None, session) => {
                let all = session.as_ref().map(|session| session.handles());
                let all = all.unwrap_or_default();
                self.offloader.present_search_several(&all, &asked)
            }
        };
        Ok(shown?)
    }

    /// Answers `get_continuation` with the next slice, or with an error in the JSON of this tool.
    fn more(&self, arguments: &Arguments) -> Result<Presentation, String> {
        let id = arguments
            .text("tool_call_id")
            .or_else(|| arguments.text("id"));
        let offset = arguments.spelled("offset");
        let shown = self
            .offloader
            .continuation(&id.unwrap_or_default(), offset.as_deref());
        shown.map_err(|error| error.to_json())
    }
}

/// Returns an answer, or an error, as a tool's result in JSON.
#[must_use]
pub fn result_of(shown: &Presentation, is_error: bool) -> String {
    let mut result = json!({
        "content": [{"type": "text", "text": shown.text()}],
        "_meta": {RETRIEVAL_MARK: true},
    });
    if is_error {
        result["isError"] = json!(true);
    }
    result.to_string()
}

fn unknown(tool: &str) -> String {
    let known = [READ, GREP, QUERY, SEARCH].join(", ");
    format!("there is no tool `{}`; there are {known}", quoted(tool))
}

/// Formats the argument `path` for the suggested call of the next page; empty if the call has none.
fn path_again(arguments: &Arguments) -> String {
    let path = arguments.text("path");
    let path = path.map(|path| format!(", path={}", again(&path, "PATH")));
    path.unwrap_or_default()
}

/// Formats a pattern or a filter for the suggested call of the next page. Replaces a long one by
/// the argument's name, so that the page stays within its budget.
fn again(pattern: &str, name: &str) -> String {
    const LONGEST: usize = 100;
    let quoted = Value::from(pattern).to_string();
    if quoted.len() > LONGEST {
        return name.to_owned();
    }
    quoted
}

/// Why a call has no answer.
#[derive(Debug)]
pub struct NoAnswer {
    /// What the caller of the tool reads.
    pub text: String,
    /// The look-up that failed; `None` if the call itself is wrong.
    pub error: Option<RetrieveError>,
}

impl From<String> for NoAnswer {
    fn from(text: String) -> Self {
        Self { text, error: None }
    }
}

impl From<&str> for NoAnswer {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<RetrieveError> for NoAnswer {
    fn from(error: RetrieveError) -> Self {
        let text = shown(&error);
        let error = Some(error);
        Self { text, error }
    }
}

/// Returns an error as the model sees it.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands in `map_err`, which passes the error on"
)]
pub fn error_text(error: RetrieveError) -> String {
    shown(&error)
}

/// Returns an error as the model sees it. Its length is bounded, because it may quote the caller's
/// text. The end is kept, because an error about a pattern gives its reason there.
fn shown(error: &RetrieveError) -> String {
    const LONGEST_END: usize = 300;
    let message = match error {
        RetrieveError::Store(spillgate_store::StoreError::Absent { handle, why }) => {
            format!("No stored tool output found for handle {handle}. {why}")
        }
        other => other.to_string(),
    };
    let length = message.chars().count();
    if length <= 2 * LONGEST_END {
        return message;
    }
    let head: String = message.chars().take(LONGEST_END).collect();
    let tail: String = message.chars().skip(length - LONGEST_END).collect();
    format!("{head} … {}", tail.trim_start())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_query::Child;
    use spillgate_testkit::{log, records};

    use super::*;
    use crate::fixture::{offloader, stored, stored_bytes};

    /// Returns tools that cannot run filters, because the program for filters is missing.
    fn tools(offloader: &Offloader) -> RetrievalTools {
        RetrievalTools {
            offloader: offloader.clone(),
            page: TokenBudget::new(2500),
            engine: Engine::new(Child {
                program: "/nowhere/spillgate".into(),
                arguments: Vec::new(),
            }),
            extractor: None,
            session: None,
        }
    }

    /// Returns the text of an answer, with `HANDLE` for the handle. Errors begin with `error: `.
    fn answer(offloader: &Offloader, tool: &str, arguments: &Value) -> String {
        let handle = arguments["handle"].as_str().unwrap_or_default().to_owned();
        let arguments = serde_json::value::to_raw_value(arguments).unwrap();
        let result = tools(offloader).call(tool, Some(&arguments), &Interrupt::default());
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result["_meta"][RETRIEVAL_MARK], true);
        let text = result["content"][0]["text"].as_str().unwrap();
        let fault = if result["isError"] == true {
            "error: "
        } else {
            ""
        };
        let told = format!("{fault}{text}");
        match handle.parse::<Handle>() {
            Ok(_) => told.replace(&handle, "HANDLE"),
            Err(_) => told,
        }
    }

    #[test]
    fn arguments_are_taken_as_they_are_meant() {
        let offloader = offloader();
        let handle = stored(&offloader, &log(600)).to_string();
        let wanted = json!({"handle": handle, "start": 501, "lines": 1});
        let wanted = answer(&offloader, READ, &wanted);
        assert_snapshot!(wanted, @"
        [lines 501-501 of 600]
        2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
        ");
        for given in [
            json!({"handle": handle, "start": "501", "lines": "1"}),
            json!({"handle": handle, "start": 501.0, "lines": " 1.0 "}),
            json!({"handle": format!(" \"{handle}\"\n"), "start": 501, "lines": 1}),
            json!({"handle": handle, "start": 501, "lines": 1, "max_tokens": 0, "tail": "false"}),
            json!({"handle": handle, "start": 501, "lines": 1, "bytes": "", "why": {"a": [1]}}),
            json!({"handle": handle, "start": 501, "lines": 1, "tail": null, "max_tokens": ""}),
        ] {
            assert_eq!(answer(&offloader, READ, &given), wanted, "{given}");
        }
        let first = answer(&offloader, READ, &json!({"handle": handle}));
        for start in [json!(0), json!("0"), json!(null), json!(1)] {
            let given = json!({"handle": handle, "start": start, "lines": 0});
            assert_eq!(answer(&offloader, READ, &given), first, "{given}");
        }
    }

    #[test]
    fn binary_content_is_named_instead_of_shown() {
        let offloader = offloader();
        let mut png =
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0".to_vec();
        png.extend((0..400_000u32).map(|at| (at * 7919 % 251) as u8));
        let handle = stored_bytes(&offloader, &png).to_string();
        let calls = [
            (READ, json!({"handle": handle})),
            (GREP, json!({"handle": handle, "pattern": "IHDR"})),
            (SEARCH, json!({"handle": handle, "words": "IHDR"})),
        ];
        for (tool, given) in calls {
            assert_eq!(
                answer(&offloader, tool, &given),
                "[binary content, not shown as text]\n  PNG image, 640×480 pixels\n",
                "{tool}"
            );
        }
    }

    #[test]
    fn matches_in_json_stand_in_their_record() {
        let offloader = offloader();
        let handle = stored(&offloader, &records(3000)).to_string();
        let grep = |given: Value| answer(&offloader, GREP, &given);
        assert_snapshot!(grep(json!({"handle": handle, "pattern": "item 31\\W"})), @r#"
        [1 of 1 matching lines, with what is around them; before and after set the lines shown]
        407-    {
        408-      "id": 31,
        409:      "name": "item 31",
        410-      "price": 93.50,
        411-      "tags": [
        412-        "a",
        413-        "b"
        414-      ],
        415-      "stock": {
        416-        "site": "s3",
        417-        "left": 31
        418-      }
        419-    },
        "#);
        assert_snapshot!(grep(json!({"handle": handle, "pattern": "item 31\\W", "before": 0})), @r#"
        [1 of 1 matching lines]
        409:      "name": "item 31",
        "#);
    }

    /// Returns invalid calls.
    fn wrong_calls(handle: &str) -> Vec<(&'static str, Value)> {
        let unknown = "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/\
                       5f3c2b1a-0000-4000-8000-000000000001";
        vec![
            (READ, json!({})),
            (READ, json!({"handle": "../../etc/passwd"})),
            (READ, json!({"handle": unknown})),
            (READ, json!({"handle": handle, "start": 1.5})),
            (READ, json!({"handle": handle, "lines": -1})),
            (READ, json!({"handle": handle, "lines": vec![7; 500]})),
            (READ, json!({"handle": handle, "start": 100_000})),
            (READ, json!({"handle": handle, "bytes": "9..3"})),
            (GREP, json!({"handle": handle})),
            (QUERY, json!({"handle": handle})),
            (QUERY, json!({"handle": handle, "filter": "."})),
            (SEARCH, json!({"handle": handle})),
            (SEARCH, json!({"handle": handle, "words": "?!"})),
            (CONTINUE, json!({"tool_call_id": "call_9"})),
            (CONTINUE, json!({"tool_call_id": handle, "offset": -1})),
            ("spillgate_fly", json!({"handle": handle})),
            (GREP, json!({"handle": handle, "pattern": "(unclosed"})),
            (
                GREP,
                json!({"handle": handle, "pattern": "x".repeat(5000) + "("}),
            ),
        ]
    }

    #[test]
    fn what_is_wrong_is_said() {
        let offloader = offloader();
        let handle = stored(&offloader, &log(600)).to_string();
        let all: Vec<String> = wrong_calls(&handle)
            .iter()
            .map(|(tool, arguments)| answer(&offloader, tool, arguments))
            .collect();
        assert!(
            all.iter()
                .all(|text| text.starts_with("error: ") && text.len() < 700)
        );
        assert_snapshot!(all.join("\n---\n"), @r#"
        error: `handle` is missing: give the one that a [spillgate] message names
        ---
        error: `../../etc/passwd` is not a handle; a handle is a word of 14 lowercase letters, or looks like session-<uuid>/<uuid>
        ---
        error: No stored tool output found for handle HANDLE. It was never stored here.
        ---
        error: `start` must be a whole number from 0 on, not `1.5`
        ---
        error: `lines` must be a whole number from 0 on, not `-1`
        ---
        error: `lines` must be a whole number from 0 on, not `[7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7`
        ---
        error: line 100000 is past the end: there are 600 lines
        ---
        error: `9..3` is not a byte range; write START..END, for example 4096..8192 or 4096..
        ---
        error: `pattern` is missing: give a regular expression
        ---
        error: `filter` is missing: give a jq filter such as `.items[] | .name`
        ---
        error: the process that runs filters could not be started: No such file or directory (os error 2)
        hint: see whether the program may start processes
        ---
        error: `words` are missing: give words or a question
        ---
        error: the question has no word to look for
        ---
        error: {"error": "No cached result for tool_call_id 'call_9'"}
        ---
        error: {"error": "offset must be a non-negative integer"}
        ---
        error: there is no tool `spillgate_fly`; there are spillgate_read, spillgate_grep, spillgate_query, spillgate_search
        ---
        error: the pattern is not a valid regular expression: regex parse error:
            (unclosed
            ^
        error: unclosed group
        ---
        error: the pattern is not a valid regular expression: regex parse error:
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx … ^
        error: unclosed group
        "#);
    }

    #[test]
    fn without_a_handle_the_session_is_searched() {
        let offloader = offloader();
        let [first, second, other] = ["disk", "network", "disk"]
            .map(|what| stored(&offloader, &format!("{}{what} quota of vol7\n", log(600))));
        let session = History::default();
        for handle in [first, second] {
            session.note(&offloader.store().manifest(handle).unwrap(), true);
        }
        let ours = RetrievalTools {
            session: Some(Arc::new(session)),
            ..tools(&offloader)
        };
        let strangers = RetrievalTools {
            session: Some(Arc::default()),
            ..tools(&offloader)
        };
        let answer = |tools: &RetrievalTools, arguments: Value| {
            let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
            let result = tools.call(SEARCH, Some(&arguments), &Interrupt::default());
            let result: Value = serde_json::from_str(&result).unwrap();
            let text = result["content"][0]["text"].as_str().unwrap().to_owned();
            assert!(!text.contains(&other.to_string()), "{text}");
            text.replace(&first.to_string(), "FIRST")
                .replace(&second.to_string(), "SECOND")
        };
        let asked = json!({"words": "network quota of vol7", "max_tokens": 100, "handle": ""});
        let all = [&ours, &strangers, &tools(&offloader)].map(|tools| answer(tools, asked.clone()));
        assert_snapshot!(all.join("---\n"), @"
        [SECOND: cat]
        [2 of 2 passages]
        601:network quota of vol7
        501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
        [FIRST: cat]
        [2 of 2 passages]
        601:disk quota of vol7
        501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
        ---
        No passage: no output is stored.
        ---
        `handle` is missing: this server does not know which outputs belong to your session; give the handle that a [spillgate] message names
        ");
        // Whoever knows a handle may name it.
        let named = json!({"words": "quota", "handle": other.to_string()});
        assert!(answer(&strangers, named).contains("quota"));
    }

    #[test]
    fn a_path_opens_the_text_of_a_string() {
        let offloader = offloader();
        let document = json!({"content": log(600), "id": 7}).to_string();
        let handle = stored(&offloader, &document).to_string();
        let all: Vec<String> = [
            (READ, json!({"path": ".content", "start": 501, "lines": 1})),
            (READ, json!({"path": ".content", "max_tokens": 100})),
            (
                GREP,
                json!({"path": ".content", "pattern": "^2026.*ERROR", "max_matches": 1}),
            ),
            (GREP, json!({"path": ".contnt", "pattern": "x"})),
            (READ, json!({"path": ".id"})),
            (SEARCH, json!({"words": "disk quota", "max_tokens": 60})),
        ]
        .into_iter()
        .map(|(tool, mut arguments)| {
            arguments["handle"] = json!(handle);
            answer(&offloader, tool, &arguments)
        })
        .collect();
        assert_snapshot!(all.join("\n---\n"), @r#"
        [lines 501-501 of 600]
        2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7

        ---
        [lines 1-3 of 600]
        2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok
        2026-11-21T10:00:01Z INFO worker-1 processed batch id=7919 ok
        2026-11-21T10:00:02Z INFO worker-2 processed batch id=15838 ok
        next: spillgate_read(handle="HANDLE", path=".content", start=4, max_tokens=100)
        ---
        [1 of 1 matching lines]
        501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7

        ---
        error: there is no text at `.contnt`: the document has no such key; the nearest: `.content`, `.id`
        ---
        error: there is no text at `.id`: it is a number; `query` shows it
        ---
        [1 of 1 passage]
        .content (lines of this text)
        501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
        "#);
    }

    #[test]
    fn a_page_says_how_to_go_on() {
        let offloader = offloader();
        let handle = stored(&offloader, &log(600)).to_string();
        let next = |tool: &str, more: &Value| {
            let mut arguments = more.clone();
            arguments["handle"] = json!(handle);
            let text = answer(&offloader, tool, &arguments);
            text.lines().last().unwrap_or_default().to_owned()
        };
        let all: Vec<String> = [
            (READ, json!({"max_tokens": 300})),
            (READ, json!({"max_tokens": 300, "lines": "100"})),
            (READ, json!({"max_tokens": 300, "bytes": "100..20000"})),
            (READ, json!({"max_tokens": 300, "tail": true, "lines": 100})),
            (GREP, json!({"pattern": "worker \"?", "max_matches": 2})),
            (GREP, json!({"pattern": "INFO"})),
            (
                GREP,
                json!({"pattern": "info", "ignore_case": true, "before": "2", "after": 0, "start": 7}),
            ),
            (GREP, json!({"pattern": format!("INFO|{}", "x".repeat(3000))})),
        ]
        .iter()
        .map(|(tool, more)| next(tool, more))
        .collect();
        assert_snapshot!(all.join("\n"), @r#"
        next: spillgate_read(handle="HANDLE", start=12, max_tokens=300)
        next: spillgate_read(handle="HANDLE", start=12, lines=89, max_tokens=300)
        next: spillgate_read(handle="HANDLE", bytes="817..20000", max_tokens=300)
        next: spillgate_read(handle="HANDLE", start=512, max_tokens=300)
        [0 of 0 matching lines]
        next: spillgate_grep(handle="HANDLE", pattern="INFO", start=51)
        next: spillgate_grep(handle="HANDLE", pattern="info", ignore_case=true, before=2, start=57)
        next: spillgate_grep(handle="HANDLE", pattern=PATTERN, start=51)
        "#);
    }

    #[test]
    fn the_least_budget_gives_a_page() {
        let offloader = offloader();
        let handle = stored(&offloader, &log(600)).to_string();
        let pattern = "INFO|".repeat(20);
        for (tool, max_tokens) in [(READ, 1), (GREP, 1), (READ, 130), (GREP, 130)] {
            let given = json!({"handle": handle, "pattern": pattern, "max_tokens": max_tokens});
            let text = answer(&offloader, tool, &given);
            assert!(text.lines().last().unwrap().starts_with("next: "), "{text}");
        }
    }
}

//! `cargo xtask eval --model`: asks a real small model questions in two ways, with a text that is cut
//! to its window and with Spillgate's preview and look-ups, and counts right answers and tokens.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::build::Build;
use super::cases::{Case, Check, Document, Half, Task};
use super::judge::Page;
use crate::models::{self, LARGE};
use crate::report::say;
use crate::server::Server;

/// The model's window, in its own tokens.
const WINDOW: u32 = 4096;

/// Most tokens of a reply.
const REPLY: u32 = 200;

/// Tokens of the cut text. The rest of the window is for the question, the reply and the marks
/// between messages.
const CUT: usize = 3500;

/// Most tokens of a look-up's page.
const PAGE: &str = "500";

/// Most look-ups for a question: with the preview, their pages fill the window.
const LOOKUPS: usize = 3;

/// Bytes at each end of a document that are tokenized to cut it: more than [`CUT`] tokens.
const END: usize = 40_000;

const SYSTEM: &str = "Answer the question about the output of a tool. Reply with the answer alone: the value, the \
    name or the sentence that the output has.";

/// A way to ask, by its name in the results.
const WAYS: [&str; 2] = ["cut text", "preview and look-ups"];

/// What a way costs and whether its answer is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcome {
    is_right: bool,
    /// Tokens of all prompts and replies.
    tokens: u64,
}

/// Asks `count` questions in both ways and prints a table. Answers that `results` has are not asked
/// for again. A line is added to it after each answer.
pub(crate) fn run(
    build: &Build,
    documents: &[Document],
    count: usize,
    results: &Path,
) -> Result<String> {
    models::install(&LARGE)?;
    let mut known = recorded(results, |line| {
        let is_right = line["right"].as_bool()?;
        let tokens = line["tokens"].as_u64()?;
        Some(Outcome { is_right, tokens })
    })?;
    let asked = chosen(documents, count);
    let server = Server::start(&LARGE, Some(WINDOW))?;
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(results)
        .with_context(|| format!("cannot write {}", results.display()))?;
    for (number, (document, case, check)) in asked.iter().enumerate() {
        for way in WAYS {
            let key = (case.id.clone(), way.to_owned());
            if known.contains_key(&key) {
                continue;
            }
            build.go_on()?;
            let bytes = document.bytes()?;
            let mut ask = |path: &str, body: &Value| post(server.address(), path, body);
            let (answer, tokens) = if way == WAYS[0] {
                with_cut_text(
                    &mut ask,
                    &String::from_utf8_lossy(&bytes),
                    &case.wordings[0],
                )?
            } else {
                let preview = build.preview(&bytes)?.text;
                let handle = build.stored(&bytes)?;
                let mut look_up =
                    |name: &str, arguments: &Value| looked_up(build, &handle, name, arguments);
                with_lookups(&mut ask, &mut look_up, &preview, &case.wordings[0])?
            };
            let score = Page::new(&answer).score(&check.wanted, check.compare, check.measure);
            let is_right = score >= 1.0;
            // The answer itself is not written: developers do not look at the reported half.
            let line = json!({"id": case.id, "way": way, "right": is_right, "tokens": tokens});
            writeln!(file, "{line}")?;
            known.insert(key, Outcome { is_right, tokens });
        }
        say(&format!("{} of {} questions\n", number + 1, asked.len()))?;
    }
    Ok(table(&known, &asked))
}

/// Chooses questions of the reported half, evenly spread over the documents and types.
fn chosen(documents: &[Document], count: usize) -> Vec<(&Document, &Case, &Check)> {
    let cases = documents
        .iter()
        .flat_map(|document| document.cases.iter().map(move |case| (document, case)));
    let all: Vec<_> = cases
        .filter(|(_, case)| case.half == Half::Reported)
        .filter_map(|(document, case)| match &case.task {
            Task::Show(checks) => Some((document, case, checks.first()?)),
            Task::Absence(_) => None,
        })
        .collect();
    let count = count.min(all.len());
    (0..count).map(|at| all[at * all.len() / count]).collect()
}

/// Returns the outcomes that a file has, by question or task and way. `outcome` reads one of them.
pub(super) fn recorded<T>(
    results: &Path,
    outcome: impl Fn(&Value) -> Option<T>,
) -> Result<HashMap<(String, String), T>> {
    if !results.exists() {
        return Ok(HashMap::new());
    }
    let lines = fs::read_to_string(results)?;
    let entry = |line: &str| -> Option<((String, String), T)> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        Some(((text("id")?, text("way")?), outcome(&line)?))
    };
    // The last line may be incomplete if the run was killed.
    Ok(lines.lines().filter_map(entry).collect())
}

fn table(
    known: &HashMap<(String, String), Outcome>,
    asked: &[(&Document, &Case, &Check)],
) -> String {
    let mut table =
        String::from("| way | questions | right | tokens a question |\n|---|---:|---:|---:|\n");
    for way in WAYS {
        let of_way = asked
            .iter()
            .filter_map(|(_, case, _)| known.get(&(case.id.clone(), way.to_owned())));
        let outcomes: Vec<_> = of_way.collect();
        let right = outcomes.iter().filter(|one| one.is_right).count();
        let tokens: u64 = outcomes.iter().map(|one| one.tokens).sum();
        let all = outcomes.len().max(1) as f64;
        table.push_str(&format!(
            "| {way} | {} | {:.1} | {:.0} |\n",
            outcomes.len(),
            100.0 * right as f64 / all,
            tokens as f64 / all
        ));
    }
    table
}

/// Sends a request to a path of the model's server.
pub(super) type Ask<'a> = dyn FnMut(&str, &Value) -> Result<Value> + 'a;

/// Makes a look-up: its name and its arguments.
type LookUp<'a> = dyn FnMut(&str, &Value) -> String + 'a;

/// Asks with the beginning and the end of the text; returns the answer and the tokens.
fn with_cut_text(ask: &mut Ask<'_>, text: &str, question: &str) -> Result<(String, u64)> {
    let mut part = |text: &str, from_end: bool, most: usize| -> Result<(String, bool)> {
        let tokens = ask("/tokenize", &json!({"content": text}))?["tokens"].take();
        let tokens = tokens.as_array().context("no tokens in the reply")?.clone();
        let kept = match from_end {
            _ if tokens.len() <= most => return Ok((text.to_owned(), true)),
            true => &tokens[tokens.len() - most..],
            false => &tokens[..most],
        };
        let content = ask("/detokenize", &json!({"tokens": kept}))?["content"].take();
        Ok((content.as_str().unwrap_or_default().to_owned(), false))
    };
    let is_short = text.len() <= END;
    let (head, is_whole) = part(&text[..text.floor_char_boundary(END)], false, CUT)?;
    let shown = if is_short && is_whole {
        head
    } else {
        let start = text.ceil_char_boundary(text.len().saturating_sub(END));
        let (head, _) = part(&text[..text.floor_char_boundary(END)], false, CUT / 2)?;
        let (tail, _) = part(&text[start..], true, CUT / 2)?;
        format!("{head}\n… cut …\n{tail}")
    };
    let request = json!({
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": format!("{shown}\n\nQuestion: {question}")},
        ],
        "max_tokens": REPLY,
    });
    let reply = ask("/v1/chat/completions", &request)?;
    let answer = reply["choices"][0]["message"]["content"].as_str();
    Ok((answer.unwrap_or_default().to_owned(), tokens_of(&reply)))
}

/// Asks with the preview and up to [`LOOKUPS`] look-ups; returns the answer and the tokens. If the
/// conversation exceeds the window, the oldest page is left out.
fn with_lookups(
    ask: &mut Ask<'_>,
    look_up: &mut LookUp<'_>,
    preview: &str,
    question: &str,
) -> Result<(String, u64)> {
    let mut messages = vec![
        json!({"role": "system", "content": SYSTEM}),
        json!({"role": "user", "content": format!("{preview}\n\nQuestion: {question}\nLook it up first.")}),
    ];
    let (mut made, mut tokens) = (0, 0);
    loop {
        let mut request = json!({"messages": messages, "max_tokens": REPLY});
        // A small model calls again if it is offered tools, even if it may not.
        if made < LOOKUPS {
            request["tools"] = tools();
        }
        let reply = match ask("/v1/chat/completions", &request) {
            Ok(reply) => reply,
            Err(error) => {
                let oldest = messages
                    .iter_mut()
                    .find(|one| one["role"] == "tool" && one["content"] != LEFT_OUT);
                let Some(oldest) = oldest.filter(|_| is_too_long(&error)) else {
                    return Err(error);
                };
                oldest["content"] = json!(LEFT_OUT);
                continue;
            }
        };
        tokens += tokens_of(&reply);
        let message = &reply["choices"][0]["message"];
        let call = &message["tool_calls"][0];
        if made == LOOKUPS || call.is_null() {
            let answer = message["content"].as_str().unwrap_or_default();
            return Ok((answer.to_owned(), tokens));
        }
        made += 1;
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let arguments = serde_json::from_str(arguments).unwrap_or_default();
        let name = call["function"]["name"].as_str().unwrap_or_default();
        // As with the cut text, the question stands after what answers it: a small model follows
        // what it read last.
        let then = match made {
            LOOKUPS => "Reply with the answer alone.",
            _ => "Reply with the answer alone, or look up something else.",
        };
        let page = look_up(name, &arguments);
        let page = format!("{page}\n\nQuestion: {question}\n{then}");
        messages.push(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": page}));
    }
}

/// What stands for a page that no longer fits into the window.
const LEFT_OUT: &str = "(left out)";

/// Returns whether the server refused a prompt because of its length.
fn is_too_long(error: &anyhow::Error) -> bool {
    let text = error.to_string();
    text.contains("exceed_context_size") || text.contains("exceeds the available context size")
}

/// Returns the tokens of a prompt and its reply.
pub(super) fn tokens_of(reply: &Value) -> u64 {
    reply["usage"]["total_tokens"].as_u64().unwrap_or_default()
}

fn tools() -> Value {
    let tool = |name: &str, purpose: &str, argument: &str, kind: &str| {
        json!({"type": "function", "function": {
            "name": name,
            "description": purpose,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": kind}},
                "required": [argument],
            },
        }})
    };
    json!([
        tool(
            "search",
            "Finds the passages of the output that answer a question.",
            "words",
            "string"
        ),
        tool(
            "grep",
            "Finds the lines of the output that match a regular expression.",
            "regex",
            "string"
        ),
        tool(
            "read",
            "Reads the output from a line on.",
            "start",
            "integer"
        ),
    ])
}

/// Makes a look-up through the command line. An error is what the model sees.
fn looked_up(build: &Build, handle: &str, name: &str, arguments: &Value) -> String {
    let text = |key: &str| match &arguments[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let words = match name {
        "search" => {
            ["search", handle, "--max-tokens", PAGE, "--", &text("words")].map(str::to_owned)
        }
        "grep" => ["grep", handle, "--max-tokens", PAGE, "--", &text("regex")].map(str::to_owned),
        "read" => [
            "read",
            handle,
            "--max-tokens",
            PAGE,
            "--start",
            &text("start"),
        ]
        .map(str::to_owned),
        _ => return format!("There is no tool {name}; the tools are search, grep and read."),
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    build
        .run(&words, &[])
        .unwrap_or_else(|error| format!("{error:#}"))
}

/// Sends a request to the model's server. It speaks HTTP/1.0, so that the reply ends with the
/// connection.
pub(super) fn post(address: &str, path: &str, body: &Value) -> Result<Value> {
    let body = body.to_string();
    let mut server = TcpStream::connect(address).context("the model's server does not answer")?;
    write!(
        server,
        "POST {path} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reply = Vec::new();
    server.read_to_end(&mut reply)?;
    let reply = String::from_utf8_lossy(&reply);
    let (head, body) = reply
        .split_once("\r\n\r\n")
        .context("a reply without a body")?;
    if head.split(' ').nth(1) != Some("200") {
        bail!("the model's server replied {body:.500}");
    }
    serde_json::from_str(body).context("a reply that is not JSON")
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn says(text: &str) -> Value {
        json!({"choices": [{"message": {"content": text}}], "usage": {"total_tokens": 10}})
    }

    fn calls(words: &str) -> Value {
        let arguments = json!({"words": words}).to_string();
        let call = json!({"id": "1", "function": {"name": "search", "arguments": arguments}});
        json!({"choices": [{"message": {"tool_calls": [call]}}], "usage": {"total_tokens": 10}})
    }

    /// Asks with scripted replies. Returns the answer and the tokens, the words that were looked
    /// up, and the last request.
    fn asked(replies: Vec<Result<Value>>) -> ((String, u64), Vec<String>, Value) {
        let mut replies = replies.into_iter();
        let (mut last, mut looked_up) = (Value::Null, Vec::new());
        let mut ask = |_: &str, request: &Value| {
            last = request.clone();
            replies.next().expect("a request too many")
        };
        let mut look_up = |_: &str, arguments: &Value| {
            looked_up.push(arguments["words"].as_str().unwrap_or_default().to_owned());
            "a page".to_owned()
        };
        let answer = with_lookups(&mut ask, &mut look_up, "preview", "why?").unwrap();
        (answer, looked_up, last)
    }

    #[test]
    fn an_answer_ends_the_look_ups() {
        let ((answer, tokens), looked_up, last) = asked(vec![Ok(calls("a")), Ok(says("x"))]);
        assert_eq!((answer.as_str(), tokens), ("x", 20));
        assert_eq!(looked_up, ["a"]);
        let page = last["messages"][3]["content"].as_str().unwrap();
        assert!(page.starts_with("a page\n\nQuestion: "), "{page}");
    }

    #[test]
    fn after_the_last_look_up_the_model_must_answer() {
        let mut replies: Vec<_> = (0..LOOKUPS).map(|_| Ok(calls("a"))).collect();
        replies.push(Ok(calls("one too many")));
        let (_, looked_up, last) = asked(replies);
        assert_eq!(looked_up.len(), LOOKUPS);
        assert!(last["tools"].is_null());
    }

    #[test]
    fn a_page_is_left_out_if_the_window_is_full() {
        let full = Err(anyhow!(
            "the model's server replied exceed_context_size_error"
        ));
        let (_, _, last) = asked(vec![Ok(calls("a")), full, Ok(says("x"))]);
        assert_eq!(last["messages"][3]["content"], LEFT_OUT);
    }

    #[test]
    fn a_long_text_is_cut_in_the_middle() {
        // A token of this model is a letter.
        let mut prompt = String::new();
        let mut ask = |path: &str, body: &Value| {
            Ok(match path {
                "/tokenize" => {
                    let text = body["content"].as_str().unwrap_or_default();
                    json!({"tokens": text.chars().map(String::from).collect::<Vec<_>>()})
                }
                "/detokenize" => {
                    let tokens = body["tokens"].as_array().cloned().unwrap_or_default();
                    json!({"content": tokens.iter().filter_map(Value::as_str).collect::<String>()})
                }
                _ => {
                    prompt = body["messages"][1]["content"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                    says("x")
                }
            })
        };
        let text = format!("a{}z", "é".repeat(END));
        let (answer, tokens) = with_cut_text(&mut ask, &text, "why?").unwrap();
        assert_eq!((answer.as_str(), tokens), ("x", 10));
        assert!(prompt.starts_with("aé"), "{prompt:.40}");
        assert!(prompt.ends_with("z\n\nQuestion: why?"));
        assert!(prompt.chars().count() < CUT + 60);
    }
}

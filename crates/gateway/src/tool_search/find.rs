//! The answer to a search for tools.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use spillgate_mcp::ObjectView;
use spillgate_search::{NamedEntry, Operation, RankedEntry, rank_entries};
use spillgate_text::TokenCounter;
use spillgate_untrusted::{is_hidden, line};

use super::form::form;
use super::repair::{Repaired, repaired};
use super::{CALL, FIND};

/// Most tokens of the answer to a search.
const MOST_TOKENS: u64 = 1500;
/// Most tokens of the definition of the tool that a search names.
const MOST_TOKENS_OF_ONE: u64 = 8000;
/// Most tools that a search shows.
const MOST_TOOLS: usize = 8;
/// Most tools whose calls a search shows.
const MOST_CALLS: usize = 5;
/// Most bytes of the name of a tool that a search finds: the protocol allows 128.
const MOST_NAME: usize = 128;
/// Most characters of a description in a list.
const SHORT: usize = 150;
/// Most characters of the description of the tool that a search names.
const LONG: usize = 4000;
/// Most characters of the arguments of a call that an error is looked up for.
const MOST_WORDS: usize = 300;
/// Most permitted values of an argument that are ranked.
const MOST_VALUES: usize = 20;
/// Most servers that an answer names.
const MOST_SERVERS: usize = 20;
/// Most tools that an error lists.
const MOST_NEAREST: usize = 5;

/// The end of an answer with calls.
const NEXT: &str = "Now make the right one of these calls, with your values in place of <…>.\n";

/// Returns the end of an answer after which the client's list contains these tools. The best one comes last,
/// because a small model does what it read last; without names, it is likelier to describe the call.
fn next_listed(tools: &[&Tool]) -> String {
    let names: Vec<&str> = tools.iter().rev().map(|tool| &*tool.name).collect();
    let has_places = tools.iter().any(|tool| tool.call(true).contains('<'));
    let values = match has_places {
        true => ", with your values in place of <…>",
        false => "",
    };
    format!("Now call {}{values}.\n", names.join(" or "))
}

/// Share of the best score from which a tool may well be the right one. Of 220 tasks, most of them in
/// everyday words, the right tool has 0.8 of the best score in 176; a small model seldom chooses well among many.
const CLOSE: f64 = 0.8;
/// Most tools by which a search lets the list grow.
const MOST_LISTED: usize = 2;

/// Weights of the fields of a tool in the ranking. With 3 for the name, fewer tasks in everyday words
/// have the right tool first (`docs/decisions/0041-a-list-that-grows.md`).
const NAME: f64 = 1.5;
const TITLE: f64 = 2.0;
const SERVER: f64 = 1.0;
const DESCRIPTION: f64 = 1.0;
const PARAMETERS: f64 = 0.5;

/// What the score of a tool without arguments counts for a task with values.
const NO_PLACE: f64 = 0.85;
/// What the score of a tool with arguments counts for each kind of value of the task that none of them takes.
const NO_PLACE_FOR_KIND: f64 = 0.5;
/// What the score of a tool that takes one value of a kind counts for a task with several of it.
const NO_PLACE_FOR_SEVERAL: f64 = 0.6;

/// A kind of values that a task names and some tools take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Path,
    Url,
    /// A selector of an element of a page, or its reference in a snapshot.
    Element,
    /// Numbers, where a task names several.
    Numbers,
}

impl Kind {
    /// Returns the kind of a word without the marks around it.
    fn of(word: &str) -> Option<Self> {
        let is_path =
            word.starts_with(['/', '~']) || word.starts_with("./") || word.contains(":\\");
        let is_selector = word
            .strip_prefix('#')
            .is_some_and(|id| id.starts_with(char::is_alphabetic));
        match word {
            _ if word.contains("://") => Some(Self::Url),
            _ if is_file_name(word) => Some(Self::Path),
            _ if is_selector || is_reference(word) => Some(Self::Element),
            _ if is_path => Some(Self::Path),
            _ => None,
        }
    }

    /// Returns texts one of which is in the schema, in lower case, of a tool that takes such a value.
    fn places(self) -> &'static [&'static str] {
        match self {
            Self::Path => &[
                "path",
                "file",
                "director",
                "folder",
                "repo",
                "root",
                "source",
                "destination",
                "location",
            ],
            Self::Url => &["url", "\"uri", "link", "address"],
            Self::Element => &["element", "selector", "target"],
            Self::Numbers => &["\"number\"", "\"integer\""],
        }
    }
}

/// Whether a word refers to an element as browsers' snapshots do: `e12`, or `f1e3` in a frame.
fn is_reference(word: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.rsplit_once('e').is_some_and(|(frame, element)| {
        let is_frame =
            |rest: &str| rest.is_empty() || rest.strip_prefix(['f', 's']).is_some_and(number);
        number(element) && is_frame(frame)
    })
}

/// Whether a word is the name of a file, or a path that ends with one: letters, digits and an extension.
fn is_file_name(word: &str) -> bool {
    const LONGEST: usize = 4;
    const DOMAINS: [&str; 5] = ["com", "org", "net", "dev", "io"];
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.trim_end_matches('.');
    name.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.chars().any(char::is_alphanumeric)
            && !stem.contains('@')
            && end.starts_with(|c: char| c.is_ascii_lowercase())
            && end.len() <= LONGEST
            && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !DOMAINS.contains(&end)
    })
}

/// Returns a word of a task without the marks around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| matches!(c, ',' | ';' | ':' | '!' | '?' | '\'' | '(' | ')'))
}

/// Returns the kinds of the values that a task names outside quotes, each once.
fn kinds(task: &str) -> Vec<Kind> {
    let unquoted = without_quotes(task);
    let words = || unquoted.split_whitespace().map(bare);
    let mut kinds = Vec::new();
    for kind in words().filter_map(Kind::of) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if words().filter(|word| word.parse::<f64>().is_ok()).count() > 1 {
        kinds.push(Kind::Numbers);
    }
    kinds
}

/// Returns the kind of which a task names several different values outside quotes.
fn several(task: &str) -> Option<Kind> {
    let unquoted = without_quotes(task);
    let words = || unquoted.split_whitespace().map(bare);
    let values = |kind| words().filter(move |word| Kind::of(word) == Some(kind));
    [Kind::Element, Kind::Path].into_iter().find(|kind| {
        let first = values(*kind).next();
        values(*kind).any(|word| Some(word) != first)
    })
}

/// A tool of a server.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    /// The client's name for it.
    pub(crate) name: String,
    /// The name of its server.
    pub(crate) server: String,
    title: String,
    description: String,
    schema: Value,
    annotations: Value,
}

impl Tool {
    /// Parses a definition; `None` if it has no name, or one that cannot stand in a line of an answer:
    /// it could forge the entry of another tool.
    pub(crate) fn of(server: &str, definition: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(definition).ok()?;
        let members = ObjectView::of(raw)?;
        let value = |name| {
            let value = members.get(name);
            value
                .and_then(|raw| serde_json::from_str(raw.get()).ok())
                .unwrap_or_default()
        };
        let annotations: Value = value("annotations");
        let title = members.text("title");
        let title = title.or_else(|| annotations["title"].as_str().map(str::to_owned));
        let name = members.text("name")?;
        let is_plain = |c: char| !c.is_whitespace() && !is_hidden(c);
        if name.is_empty() || name.len() > MOST_NAME || !name.chars().all(is_plain) {
            return None;
        }
        Some(Self {
            name,
            server: server.to_owned(),
            title: title.unwrap_or_default(),
            description: members.text("description").unwrap_or_default(),
            schema: value("inputSchema"),
            annotations,
        })
    }

    /// Returns what the annotations say about the effects of a call, for example ` [read-only]`.
    fn effects(&self) -> &'static str {
        let hint = |name: &str| self.annotations[name].as_bool();
        match (hint("readOnlyHint"), hint("destructiveHint")) {
            (Some(true), _) => " [read-only]",
            (_, Some(true)) => " [destructive]",
            _ => "",
        }
    }

    /// Returns one line with the name and a short description.
    fn line(&self, most: usize) -> String {
        let text = match self.description.trim() {
            "" => &self.title,
            text => text,
        };
        let text = line(text, most);
        let dash = if text.is_empty() { "" } else { " — " };
        format!("{}{dash}{text}{}", self.name, self.effects())
    }

    /// Returns the form of a call, in lines of its own; without one, the schema of the arguments. The
    /// call is one of the tool itself if it `is_listed`.
    fn call(&self, is_listed: bool) -> String {
        let Some(form) = form(&self.schema) else {
            return format!("  arguments: {}\n", self.arguments());
        };
        let mut text = self.call_with(&form.required, is_listed);
        if !form.optional.is_empty() {
            text.push_str(&format!("  optional: {}\n", form.optional));
        }
        text
    }

    /// Returns a call with these arguments, in a line of its own.
    fn call_with(&self, arguments: &str, is_listed: bool) -> String {
        let call = format!(
            "{{\"name\": {}, \"arguments\": {arguments}}}",
            Value::from(&*self.name)
        );
        match is_listed {
            // The shape in which small models write calls.
            true => format!("  {call}\n"),
            false => format!("  {CALL} {call}\n"),
        }
    }

    /// Returns the schema of the arguments as short as it can be written.
    fn arguments(&self) -> String {
        let mut schema = self.schema.clone();
        if let Value::Object(members) = &mut schema {
            members.remove("$schema");
        }
        schema.to_string()
    }

    /// Returns the required arguments that an object in JSON does not have. One with a default is not
    /// missing: some servers list it as required, but do without it.
    pub(crate) fn missing(&self, arguments: &str) -> Vec<&str> {
        let given = ObjectView::of_text(arguments);
        let has_default = |name: &str| !self.schema["properties"][name]["default"].is_null();
        let is_missing = |name: &&str| {
            given.as_ref().is_none_or(|all| all.get(name).is_none()) && !has_default(name)
        };
        let required = self.schema["required"].as_array().into_iter().flatten();
        required
            .filter_map(Value::as_str)
            .filter(is_missing)
            .collect()
    }

    /// Returns the names of the arguments that still have a placeholder of the form as their value, or in
    /// it: small models copy these. `arguments` is an object in JSON.
    pub(crate) fn unfilled(&self, arguments: &str) -> Vec<String> {
        let given: Option<Map<String, Value>> = match arguments.contains('<') {
            true => serde_json::from_str(arguments).ok(),
            false => None,
        };
        let (Some(given), Some(form)) = (given, form(&self.schema)) else {
            return Vec::new();
        };
        let unfilled = given
            .into_iter()
            .filter(|(_, value)| form.is_unfilled(value));
        unfilled.map(|(name, _)| name).collect()
    }

    /// Returns the arguments of a call without the second `arguments` into which some models put
    /// them; `None` if the required ones are not there either.
    pub(crate) fn unwrapped(&self, arguments: &str) -> Option<String> {
        let inner = ObjectView::of_text(arguments)?.get("arguments")?.get();
        let has_all = inner.starts_with('{') && self.missing(inner).is_empty();
        has_all.then(|| inner.to_owned())
    }

    /// Returns the error for a call without required arguments. If it has them under other names, the
    /// error contains the right call. The call is one of the tool itself if it `is_listed`.
    pub(crate) fn incomplete(&self, arguments: &str, missing: &[&str], is_listed: bool) -> String {
        let needs = quoted(missing.iter().copied());
        let head = format!("nothing was called: {} needs {needs}", self.name);
        match repaired(&self.schema, arguments, missing) {
            Some(Repaired { arguments, wrong }) => format!(
                "{head} and has no {}. Now make this call:\n{}",
                quoted(wrong.iter().map(|name| &**name)),
                self.call_with(&arguments, is_listed)
            ),
            None => format!("{head}:\n{}{NEXT}", self.call(is_listed)),
        }
    }

    /// Returns the names of the arguments; a `*` marks those that are required.
    fn argument_names(&self) -> String {
        let required = self.schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let names = self.schema["properties"].as_object().into_iter().flatten();
        let names = names.map(|(name, _)| match is_required(name) {
            true => format!("{name}*"),
            false => name.clone(),
        });
        line(&names.collect::<Vec<_>>().join(", "), SHORT)
    }

    /// Returns whether it takes several values of a kind: a list, or more than one argument.
    fn takes_several(&self, kind: Kind) -> bool {
        let has_place = |text: &str| {
            let text = text.to_lowercase();
            kind.places().iter().any(|place| text.contains(place))
        };
        let arguments = self.schema["properties"].as_object().into_iter().flatten();
        let places = arguments.map(|(name, schema)| match schema["type"].as_str() {
            Some("array") if has_place(name) || has_place(&schema.to_string()) => 2,
            Some("string") => usize::from(
                has_place(name) || has_place(schema["description"].as_str().unwrap_or_default()),
            ),
            _ => 0,
        });
        places.sum::<usize>() > 1
    }

    /// Returns what the score counts for a task that may have values, some of them of these kinds.
    fn weight_for(&self, has_values: bool, kinds: &[Kind], several: Option<Kind>) -> f64 {
        let arguments = self.schema["properties"].as_object();
        let has_none = arguments.is_none_or(serde_json::Map::is_empty);
        if kinds.is_empty() {
            return if has_none && has_values {
                NO_PLACE
            } else {
                1.0
            };
        }
        let schema = self.schema.to_string().to_lowercase();
        let takes = |kind: &Kind| kind.places().iter().any(|place| schema.contains(place));
        let without = kinds.iter().filter(|kind| !takes(kind));
        let weight: f64 = without.map(|_| NO_PLACE_FOR_KIND).product();
        match several.is_some_and(|kind| takes(&kind) && !self.takes_several(kind)) {
            true => weight * NO_PLACE_FOR_SEVERAL,
            false => weight,
        }
    }

    /// Returns the names, descriptions and permitted values of the arguments, for the ranking.
    fn parameters(&self) -> String {
        let mut text = String::new();
        for (name, schema) in self.schema["properties"].as_object().into_iter().flatten() {
            let description = schema["description"].as_str().unwrap_or_default();
            write!(text, "{name} {description} ").expect("writing to a string");
            let values = schema["enum"].as_array().into_iter().flatten();
            for value in values.filter_map(Value::as_str).take(MOST_VALUES) {
                write!(text, "{value} ").expect("writing to a string");
            }
        }
        text
    }
}

/// Returns the names of arguments, in a line.
fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{}`", line(name, 60))).collect();
    line(&names.join(", "), SHORT)
}

/// Returns the error for a call with placeholders in place of these arguments.
pub(crate) fn unfilled(name: &str, arguments: &[String]) -> String {
    let what = quoted(arguments.iter().map(|name| &**name));
    format!(
        "nothing was called: placeholders are left in {what}. Now call {name} with the values of the task.\n"
    )
}

/// Returns a task without its values, which say nothing about the tool: quoted texts, paths and
/// numbers go, and URLs and selectors (`#name`) are named by their kind. If nothing is left, returns the
/// task.
fn purpose(query: &str) -> String {
    let unquoted = without_quotes(query);
    let words = unquoted.split_whitespace().filter_map(|word| {
        let bare = bare(word);
        match Kind::of(bare) {
            Some(Kind::Url) => Some("url"),
            Some(Kind::Element) => Some("element"),
            Some(Kind::Path) if is_file_name(bare) => Some("file"),
            Some(Kind::Path | Kind::Numbers) => None,
            None if bare.bytes().all(|byte| byte.is_ascii_digit()) => None,
            None => Some(word),
        }
    });
    let words: Vec<&str> = words.collect();
    match words.iter().any(|word| !["url", "file"].contains(word)) {
        true => words.join(" "),
        false => query.to_owned(),
    }
}

/// Returns a text without what it quotes. A quote begins outside a word and ends outside a word, so
/// that an apostrophe quotes nothing.
fn without_quotes(text: &str) -> String {
    let (mut left, mut rest) = (String::new(), text);
    while let Some(open) = rest.find(['"', '`', '“', '\'']) {
        let (before, quote) = rest.split_at(open);
        let mut inner = quote.chars();
        let mark = inner.next().unwrap_or_default();
        let inner = inner.as_str();
        let close = if mark == '“' { '”' } else { mark };
        let begins = !before.ends_with(char::is_alphanumeric);
        let end = inner.match_indices(close).find(|(at, found)| {
            let after = &inner[at + found.len()..];
            !after.starts_with(char::is_alphanumeric)
        });
        left.push_str(before);
        rest = if let Some((at, found)) = end.filter(|_| begins) {
            left.push(' ');
            &inner[at + found.len()..]
        } else {
            left.push(mark);
            inner
        };
    }
    left + rest
}

/// A tool that matches a task.
#[derive(Debug, Clone, Copy)]
struct Match<'t> {
    tool: &'t Tool,
    /// Whether it may well be the right one, compared with the best.
    is_close: bool,
}

/// Returns the tools that match a task, best first.
fn ranked<'t>(query: &str, tools: &'t [Arc<Tool>]) -> Vec<Match<'t>> {
    let purpose = purpose(query);
    let has_values = purpose.split_whitespace().ne(query.split_whitespace());
    let kinds = kinds(query);
    let several = several(query);
    let weight = |tool: &Tool| tool.weight_for(has_values, &kinds, several);
    match ranked_by_words(&purpose, &weight, tools) {
        none if none.is_empty() => ranked_by_words(query, &weight, tools),
        ranked => ranked,
    }
}

/// Returns the tools that match any of the words, best first; the score of each counts its `weight`.
fn ranked_by_words<'t>(
    query: &str,
    weight: &dyn Fn(&Tool) -> f64,
    tools: &'t [Arc<Tool>],
) -> Vec<Match<'t>> {
    let parameters: Vec<String> = tools.iter().map(|tool| tool.parameters()).collect();
    let entries: Vec<_> = tools
        .iter()
        .zip(&parameters)
        .map(|(tool, parameters)| {
            let is_read_only = tool.annotations["readOnlyHint"].as_bool();
            NamedEntry {
                fields: vec![
                    (&*tool.name, NAME),
                    (&*tool.title, TITLE),
                    (&*tool.server, SERVER),
                    (&*tool.description, DESCRIPTION),
                    (parameters, PARAMETERS),
                ],
                operation: Operation::of_tool(&tool.name, &tool.description, is_read_only),
                weight: weight(tool),
            }
        })
        .collect();
    let ranked = rank_entries(query, &entries);
    let best = ranked.iter().map(|entry| entry.score).fold(0.0, f64::max);
    let is_close =
        |entry: &RankedEntry| entry.is_named || entry.score >= CLOSE * best && !entry.is_told_apart;
    let matches = ranked.iter().map(|entry| Match {
        tool: &tools[entry.at],
        is_close: is_close(entry),
    });
    matches.collect()
}

/// What a search has found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The answer for the model.
    pub(crate) text: String,
    /// The names of the tools by which the client's list grows.
    pub(crate) listed: Vec<String>,
}

impl From<String> for Found {
    fn from(text: String) -> Self {
        Self {
            text,
            listed: Vec::new(),
        }
    }
}

/// Returns the answer to a search: the tools that match best. The first ones come with their calls if
/// they fit the budget, or the client's list grows by them if it `lists` them. If the query is the
/// name of a tool, returns the whole definition of it.
pub(crate) fn found(
    query: &str,
    tools: &[Arc<Tool>],
    lists: &dyn Fn(&Tool) -> bool,
    counter: &dyn TokenCounter,
) -> Found {
    let named = tools.iter().find(|tool| tool.name == query.trim());
    if let Some(tool) = named.filter(|tool| lists(tool)) {
        return Found {
            text: format!(
                "{}\n{}{}",
                tool.line(LONG),
                tool.call(true),
                next_listed(&[tool])
            ),
            listed: vec![tool.name.clone()],
        };
    }
    if let Some(tool) = named {
        let arguments = within(counter, tool.arguments(), MOST_TOKENS_OF_ONE);
        let call = match form(&tool.schema) {
            Some(_) => tool.call(false),
            None => String::new(),
        };
        let line = tool.line(LONG);
        return format!("{line}\n{call}  schema of the arguments: {arguments}").into();
    }
    let ranked = ranked(query, tools);
    if ranked.is_empty() {
        let all = overview(tools, counter);
        // A small model does what it read last.
        return format!(
            "no tool matches. {all}\nCall {FIND} again with what the tool has to do, such as \"read a file\", or with a name.\n"
        )
        .into();
    }
    let shown = &ranked[..ranked.len().min(MOST_TOOLS)];
    let (of, all) = (shown.len(), tools.len());
    let whole = match shown.iter().all(|one| lists(one.tool)) {
        true => String::new(),
        false => format!("; {FIND} with the name of one gives its whole definition"),
    };
    let mut text = format!("{of} of {all} tools, best first{whole}.\n");
    let (entries, others) = entries(shown, lists, counter);
    text.push_str(&entries);
    if !others.is_empty() {
        text.push_str(&format!("Also: {}\n", others.join(", ")));
    }
    let (listed, by_name): (Vec<&Tool>, Vec<&Tool>) = shown
        .iter()
        .map(|one| one.tool)
        .filter(|tool| !others.contains(&&*tool.name))
        .partition(|tool| lists(tool));
    // A small model does what it read last.
    if !by_name.is_empty() {
        text.push_str(NEXT);
    }
    if !listed.is_empty() {
        text.push_str(&next_listed(&listed));
    }
    Found {
        text,
        listed: listed.iter().map(|tool| tool.name.clone()).collect(),
    }
}

/// Returns the first tools with their calls, within the budget, and the names of the others. A tool
/// that matches much less than the best does not come into a list: small models would take it.
fn entries<'t>(
    shown: &[Match<'t>],
    lists: &dyn Fn(&Tool) -> bool,
    counter: &dyn TokenCounter,
) -> (String, Vec<&'t str>) {
    let (mut text, mut others) = (String::new(), Vec::new());
    let mut left = MOST_TOKENS;
    for (at, Match { tool, is_close }) in shown.iter().enumerate() {
        let head = tool.line(SHORT);
        let whole = format!("{head}\n{}", tool.call(lists(tool)));
        let names = match tool.argument_names() {
            names if names.is_empty() => format!("{head}\n"),
            names => format!("{head}\n  arguments: {names}\n"),
        };
        let has_room = match lists(tool) {
            true => at < MOST_LISTED && *is_close,
            false => at < MOST_CALLS,
        };
        let fits = |entry: &String| has_room && counter.count(entry) <= left;
        let Some(entry) = [whole, names].into_iter().find(fits) else {
            others.push(&*tool.name);
            continue;
        };
        left -= counter.count(&entry);
        text.push_str(&entry);
    }
    (text, others)
}

/// Returns the text if it has at most this many tokens, otherwise its beginning.
fn within(counter: &dyn TokenCounter, mut text: String, most: u64) -> String {
    let tokens = counter.count(&text);
    if tokens > most {
        // Three bytes per token are fewer than usual, so the beginning fits.
        let bytes = usize::try_from(most * 3).unwrap_or(usize::MAX);
        text.truncate(text.floor_char_boundary(bytes));
        text.push_str(&format!("… (cut: {tokens} tokens)"));
    }
    text
}

/// Returns the names of all tools by server, or, if they are too many, how many each server has.
fn overview(tools: &[Arc<Tool>], counter: &dyn TokenCounter) -> String {
    let mut servers: Vec<(&str, Vec<&str>)> = Vec::new();
    for tool in tools {
        match servers
            .iter_mut()
            .find(|(server, _)| *server == tool.server)
        {
            Some((_, names)) => names.push(&tool.name),
            None => servers.push((&tool.server, vec![&tool.name])),
        }
    }
    servers.truncate(MOST_SERVERS);
    let names = servers.iter().map(|(server, names)| {
        let server = line(server, SHORT);
        format!("\n{server}: {}", names.join(", "))
    });
    let names = format!("The tools are:{}", names.collect::<String>());
    if counter.count(&names) <= MOST_TOKENS {
        return names;
    }
    let counts = servers
        .iter()
        .map(|(server, names)| format!("{} ({})", line(server, SHORT), names.len()));
    format!("Tools of: {}", counts.collect::<Vec<_>>().join(", "))
}

/// Returns the error for a name that no tool has, with the nearest tools. `arguments` are those of
/// the call, in JSON.
pub(crate) fn unknown(
    name: &str,
    arguments: &str,
    tools: &[Arc<Tool>],
    counter: &dyn TokenCounter,
) -> String {
    let lower = name.to_lowercase();
    let distance = |tool: &Tool| strsim::osa_distance(&lower, &tool.name.to_lowercase());
    let most = lower.chars().count() / 3;
    let mut near: Vec<(usize, &Tool)> = match lower.len() <= 128 {
        true => tools.iter().map(|tool| (distance(tool), &**tool)).collect(),
        false => Vec::new(),
    };
    near.retain(|(distance, _)| *distance <= most);
    near.sort_by_key(|(distance, _)| *distance);
    let mut nearest: Vec<&Tool> = near.iter().map(|(_, tool)| *tool).collect();
    // A wrong name is often that of a server; then the arguments say more.
    let words = arguments.replace(
        |c: char| c.is_ascii_punctuation() && c != '_' && c != '-',
        " ",
    );
    let words = format!("{name} {}", line(&words, MOST_WORDS));
    for Match { tool, .. } in ranked(&words, tools) {
        if !nearest.iter().any(|one| one.name == tool.name) {
            nearest.push(tool);
        }
    }
    nearest.truncate(MOST_NEAREST);
    let is_close = true;
    let nearest: Vec<Match> = nearest
        .into_iter()
        .map(|tool| Match { tool, is_close })
        .collect();
    let quoted = line(name, 60);
    match &*nearest {
        [] => format!("there is no tool `{quoted}`; {FIND} finds tools by words"),
        some => format!(
            "there is no tool `{quoted}`; {FIND} finds tools by words. The nearest are:\n{}{NEXT}",
            entries(some, &|_| false, counter).0
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spillgate_text::Tokenizer;

    use super::*;

    #[test]
    fn a_tool_that_takes_no_such_value_counts_less() {
        let tool = |name: &str, argument: &str, kind: &str| {
            let schema = json!({"type": "object", "properties": {argument: {"type": kind}}});
            let tool =
                json!({"name": name, "description": "Print the text", "inputSchema": schema});
            Arc::new(Tool::of("s", &tool.to_string()).unwrap())
        };
        let tools = [
            tool("print", "message", "string"),
            tool("print_file", "filePath", "string"),
            tool("print_page", "url", "string"),
            tool("print_node", "targetElement", "string"),
            tool("print_lines", "last", "integer"),
        ];
        let firsts = [
            "print the text",
            "print the text of /srv/a.txt",
            "print the text of https://example.com/a",
            "print the text of #main",
            "print the text of f1e12",
            "print the text of 12 and 14",
            "print the text of issue #7",
            "print the text \"/srv/a.txt\"",
        ]
        .map(|task| format!("{task}: {}", ranked(task, &tools)[0].tool.name));
        insta::assert_snapshot!(firsts.join("\n"), @r#"
        print the text: print
        print the text of /srv/a.txt: print_file
        print the text of https://example.com/a: print_page
        print the text of #main: print_node
        print the text of f1e12: print_node
        print the text of 12 and 14: print_lines
        print the text of issue #7: print
        print the text "/srv/a.txt": print
        "#);
    }

    #[test]
    fn a_tool_that_takes_one_value_counts_less_for_several() {
        let tool = |name: &str, properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            let tool = json!({"name": name, "description": "Print", "inputSchema": schema});
            Arc::new(Tool::of("s", &tool.to_string()).unwrap())
        };
        let text = json!({"type": "string"});
        let tools = [
            tool(
                "print",
                json!({"path": text, "pathLimit": {"type": "integer"}}),
            ),
            tool("print_many", json!({"paths": {"type": "array"}})),
            tool("print_two", json!({"target": text, "endTarget": text})),
        ];
        let firsts = [
            "print /srv/a",
            "print /srv/a and /srv/b",
            "print /srv/a and print /srv/a again",
            "print e1",
            "print e1 and e2",
        ]
        .map(|task| format!("{task}: {}", ranked(task, &tools)[0].tool.name));
        insta::assert_snapshot!(firsts.join("\n"), @r"
        print /srv/a: print
        print /srv/a and /srv/b: print_many
        print /srv/a and print /srv/a again: print
        print e1: print_two
        print e1 and e2: print_two
        ");
    }

    #[test]
    fn a_tool_whose_name_has_other_words_is_not_listed() {
        let tool = |name: &str, description: &str| {
            let tool = json!({"name": name, "description": description, "inputSchema": {}});
            Arc::new(Tool::of("s", &tool.to_string()).unwrap())
        };
        let tools = [
            tool("git_commit", "Records staged changes"),
            tool("git_reset", "Unstages all staged changes"),
        ];
        let listed = ["commit the staged changes", "the staged changes"].map(|task| {
            let mut listed =
                found(task, &tools, &|_| true, &*Tokenizer::Heuristic.counter()).listed;
            listed.sort();
            format!("{task}: {}", listed.join(" "))
        });
        insta::assert_snapshot!(listed.join("\n"), @r"
        commit the staged changes: git_commit
        the staged changes: git_commit git_reset
        ");
    }

    #[test]
    fn values_of_a_task_are_no_words_of_a_tool() {
        for (task, want) in [
            ("rename a file", "rename a file"),
            (
                "find all files below /home/me/notes whose names end in .txt",
                "find all files below whose names end in .txt",
            ),
            (
                "open https://example.com/read/file in the browser",
                "open url in the browser",
            ),
            (r#"what is known about "invoices"?"#, "what is known about"),
            ("add 17 and 25, don't ask", "add and don't ask"),
            (r#"an "open quote"#, r#"an "open quote"#),
            (
                "commit with the message 'Fix Ada's totals', 'now' and don't push",
                "commit with the message and don't push",
            ),
            (r"read C:\notes\a.txt and ./b", "read file and"),
            (
                "show README.md of example.com in v1.2, not 3.5.",
                "show file of example.com in v1.2, not 3.5.",
            ),
            (
                "mail ada@host.io about a.b.tgz",
                "mail ada@host.io about file",
            ),
            ("notes.txt", "notes.txt"),
            (
                "press #buy, then close issue #7",
                "press element then close issue #7",
            ),
            ("/home/me", "/home/me"),
            ("\"invoices\"", "\"invoices\""),
            ("", ""),
        ] {
            assert_eq!(purpose(task), want, "{task}");
        }
    }
}

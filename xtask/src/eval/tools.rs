//! `cargo xtask eval --tools`: gives a real small model tasks in two ways, with the right tool alone
//! and with the gateway's search over the tools of five real servers, and counts right calls.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::model::{Ask, post, recorded, tokens_of};
use crate::attack::{Room, Session};
use crate::models::{self, LARGE};
use crate::report::say;
use crate::server::Server;
use crate::workspace;

/// The model's window, in its own tokens: several answers of a search fit.
const WINDOW: u32 = 12_288;

/// Most tokens of a reply.
const REPLY: u32 = 200;

/// Most replies to a task: a search, a call, and some that repair these.
const REPLIES: usize = 6;

/// Most characters of a result that the model sees.
const RESULT: usize = 8000;

/// How often to look whether the servers have started, and how long to wait in between.
const TRIES: usize = 120;
const PAUSE: Duration = Duration::from_millis(500);

const SYSTEM: &str =
    "Do the task of the user with a tool. All values that you need are in the task.";

/// What follows an empty reply.
const GO_ON: &str = "Your reply was empty. Do the task with a tool.";

/// The tools of the gateway's search.
const FIND: &str = "spillgate_find_tools";
const CALL: &str = "spillgate_call_tool";

/// The ways in which a task is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    /// The right tool is the only one.
    Alone,
    /// The tools are those that the gateway lists with `--tool-list search`.
    Search,
    /// The same with `--tool-list found`, fetched again after each search.
    Found,
}

impl Way {
    const ALL: [Self; 3] = [Self::Alone, Self::Search, Self::Found];

    fn name(self) -> &'static str {
        match self {
            Self::Alone => "right tool alone",
            Self::Search => "tool search",
            Self::Found => "list of found tools",
        }
    }

    /// Returns the value of `--tool-list`.
    fn list(self) -> &'static str {
        match self {
            Self::Alone => "all",
            Self::Search => "search",
            Self::Found => "found",
        }
    }
}

/// A task and the calls that do it.
#[derive(Debug)]
struct Task {
    id: String,
    half: String,
    ask: String,
    right: Vec<Right>,
}

/// A call that does a task.
#[derive(Debug)]
struct Right {
    tool: String,
    /// The accepted values of each argument that must be given. Objects may have more members.
    wanted: Map<String, Value>,
}

impl Task {
    /// Parses a line of the file of tasks.
    fn of(line: &str) -> Result<Self> {
        let line: Value = serde_json::from_str(line)?;
        let text = |key: &str| {
            line[key]
                .as_str()
                .map(str::to_owned)
                .context(key.to_owned())
        };
        let right = |right: &Value| -> Result<Right> {
            Ok(Right {
                tool: right["tool"].as_str().context("tool")?.to_owned(),
                wanted: right["wanted"].as_object().context("wanted")?.clone(),
            })
        };
        let all = line["right"].as_array().context("right")?;
        Ok(Self {
            id: text("id")?,
            half: text("half")?,
            ask: text("ask")?,
            right: all.iter().map(right).collect::<Result<_>>()?,
        })
    }

    /// Returns the tools that do the task.
    fn tools(&self) -> impl Iterator<Item = &str> {
        self.right.iter().map(|right| &*right.tool)
    }

    /// Returns how a call that its tool accepts does the task.
    fn judged(&self, tool: &str, arguments: &Value) -> Class {
        let mut of_tool = self
            .right
            .iter()
            .filter(|right| right.tool == tool)
            .peekable();
        if of_tool.peek().is_none() {
            return Class::WrongTool;
        }
        let is_right = |right: &Right| {
            let accepted = |(name, values): (&String, &Value)| {
                let mut values = values.as_array().into_iter().flatten();
                values.any(|value| contains(&arguments[name], value))
            };
            right.wanted.iter().all(accepted)
        };
        match of_tool.any(is_right) {
            true => Class::Right,
            false => Class::WrongValues,
        }
    }
}

/// Whether a value is the wanted one, but for members of objects that are not wanted, for how a
/// number is written, and for a slash at the end of a path.
fn contains(given: &Value, wanted: &Value) -> bool {
    match (given, wanted) {
        (Value::Object(given), Value::Object(wanted)) => {
            let has = |(name, value)| given.get(name).is_some_and(|given| contains(given, value));
            wanted.iter().all(has)
        }
        (Value::Array(given), Value::Array(wanted)) => {
            let mut pairs = given.iter().zip(wanted);
            given.len() == wanted.len() && pairs.all(|(given, wanted)| contains(given, wanted))
        }
        (Value::Number(given), Value::Number(wanted)) => given.as_f64() == wanted.as_f64(),
        (Value::String(given), Value::String(wanted)) => given.trim_end_matches('/') == wanted,
        _ => given == wanted,
    }
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Right,
    /// The model answered without a call.
    NoCall,
    /// The model did not search, though it had to.
    NoSearch,
    /// No search found the right tool.
    NotFound,
    /// A search found the right tool, but no tool was called.
    FoundOnly,
    /// A tool was called by a name that no tool has, or that is not in the list.
    WrongName,
    /// A wrong tool was called, though the right one was offered, too.
    WrongTool,
    /// A wrong tool was called, and no search had brought the right one into the list.
    NotListed,
    /// The arguments do not fit the schema.
    WrongArguments,
    /// The arguments fit the schema, but are not those of the task.
    WrongValues,
    BrokenJson,
}

impl Class {
    const ALL: [Self; 11] = [
        Self::Right,
        Self::NoCall,
        Self::NoSearch,
        Self::NotFound,
        Self::FoundOnly,
        Self::WrongName,
        Self::WrongTool,
        Self::NotListed,
        Self::WrongArguments,
        Self::WrongValues,
        Self::BrokenJson,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::NoCall => "no call",
            Self::NoSearch => "no search",
            Self::NotFound => "right tool not found",
            Self::FoundOnly => "found, not called",
            Self::WrongName => "wrong name",
            Self::WrongTool => "wrong tool",
            Self::NotListed => "wrong tool, right one not listed",
            Self::WrongArguments => "wrong arguments",
            Self::WrongValues => "wrong values",
            Self::BrokenJson => "broken JSON",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// What came of a task in one way.
#[derive(Debug)]
struct Outcome {
    class: Class,
    /// Tokens of all prompts and replies.
    tokens: u64,
    replies: u64,
}

/// What `--tools` is asked for.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) half: Option<&'a str>,
    pub(crate) way: Option<&'a str>,
    /// Most tasks of a half.
    pub(crate) count: Option<usize>,
    pub(crate) results: &'a Path,
}

/// Gives all tasks in both ways and returns a table. Tasks that the results file has are not given
/// again. A line is added to it after each task.
pub(crate) fn run(
    binary: &Path,
    interrupted: &Arc<AtomicBool>,
    wanted: &Wanted<'_>,
) -> Result<String> {
    models::install(&LARGE)?;
    let folder = workspace::root().join("evaluation/tools");
    let tasks = fs::read_to_string(folder.join("tasks.jsonl"))?;
    let tasks: Vec<Task> = tasks.lines().map(Task::of).collect::<Result<_>>()?;
    let mut of_half = HashMap::new();
    let tasks: Vec<&Task> = tasks
        .iter()
        .filter(|task| wanted.half.is_none_or(|half| half == task.half))
        .filter(|task| {
            let number = of_half.entry(&task.half).or_insert(0);
            *number += 1;
            wanted.count.is_none_or(|count| *number <= count)
        })
        .collect();
    ensure!(!tasks.is_empty(), "--half takes `tuned` or `reported`");
    let ways: Vec<Way> = match wanted.way {
        None => Way::ALL.to_vec(),
        Some("alone") => vec![Way::Alone],
        Some("search") => vec![Way::Search],
        Some("found") => vec![Way::Found],
        Some(_) => bail!("--way takes `alone`, `search` or `found`"),
    };
    let room = Room::new("eval-tools", binary, interrupted)?;
    let config = configured(&room, &fs::read_to_string(folder.join("servers.json"))?)?;
    let needed: Vec<&str> = tasks.iter().flat_map(|task| task.tools()).collect();
    let definitions = definitions(&room, &config, &needed)?;
    let server = Server::start(&LARGE, Some(WINDOW))?;
    let mut known = recorded(wanted.results, |line| {
        Some(Outcome {
            class: Class::of(line["class"].as_str()?)?,
            tokens: line["tokens"].as_u64()?,
            replies: line["replies"].as_u64()?,
        })
    })?;
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(wanted.results)
        .with_context(|| format!("cannot write {}", wanted.results.display()))?;
    // One way after the other, because the model's server keeps the beginning of the last prompt.
    for (way, (number, task)) in ways
        .into_iter()
        .flat_map(|way| tasks.iter().enumerate().map(move |task| (way, task)))
    {
        let key = (task.id.clone(), way.name().to_owned());
        if known.contains_key(&key) {
            continue;
        }
        room.go_on()?;
        // A session of its own, because a list keeps what was found.
        let mut session = Session::start(&room, gateway(&room, &config, way.list()))?;
        let offered = match way {
            Way::Alone => alone(task, &definitions)?,
            Way::Search | Way::Found => {
                wait(&mut session, task)?;
                listed(&mut session)?
            }
        };
        let mut agent = Agent {
            ask: &mut |path, body| post(server.address(), path, body),
            session: &mut session,
            definitions: &definitions,
            way,
            said: Vec::new(),
        };
        let outcome = agent.does(task, offered)?;
        let mut line = json!({
            "id": task.id, "half": task.half, "way": way.name(), "class": outcome.class.name(),
            "tokens": outcome.tokens, "replies": outcome.replies,
        });
        // Developers do not look at what was said to the reported half.
        if task.half == "tuned" {
            line["said"] = json!(agent.said);
        }
        writeln!(file, "{line}")?;
        known.insert(key, outcome);
        say(&format!(
            "{}: {} of {}\n",
            way.name(),
            number + 1,
            tasks.len()
        ))?;
    }
    Ok(table(&tasks, &known))
}

/// Writes the configuration of the five servers; returns its path. `template` has names in place
/// of directories.
fn configured(room: &Room, template: &str) -> Result<String> {
    let (peers, work) = (workspace::peers(), room.work());
    let (files, repository) = (work.join("files"), work.join("repository"));
    fs::create_dir_all(&files)?;
    let mut git = Command::new("git");
    git.args(["init", "--quiet"]).arg(&repository);
    crate::command::run(&mut git)?;
    let mut text = format!("{{\"mcpServers\": {template}}}");
    for (name, path) in [
        ("NODE", peers.join("bin/node")),
        ("NPM", peers.join("node/node_modules/.bin")),
        ("PYTHON", peers.join("python/bin")),
        ("DIR", files),
        ("REPO", repository),
        ("WORK", work.clone()),
    ] {
        text = text.replace(&format!("\"{name}"), &format!("\"{}", path.display()));
    }
    let file = work.join("servers.json");
    fs::write(&file, text)?;
    Ok(file.to_string_lossy().into_owned())
}

/// Returns the command of a gateway with this list of tools.
fn gateway(room: &Room, config: &str, list: &str) -> Command {
    room.spillgate(&["mcp", "--config", config, "--tool-list", list])
}

/// Returns the definitions of the servers' tools by name, as soon as the needed ones are there.
fn definitions(room: &Room, config: &str, needed: &[&str]) -> Result<BTreeMap<String, Value>> {
    let mut session = Session::start(room, gateway(room, config, "all"))?;
    for _ in 0..TRIES {
        let all = asked(&mut session, "tools/list", &json!({}))?;
        let tools = all["tools"].as_array().context("a list without tools")?;
        let named = tools.iter().map(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            (name.to_owned(), tool.clone())
        });
        let mut named: BTreeMap<String, Value> = named.collect();
        if needed.iter().all(|name| named.contains_key(*name)) {
            named.retain(|name, _| !name.starts_with("spillgate_"));
            return Ok(named);
        }
        thread::sleep(PAUSE);
    }
    bail!("the servers did not start: not all tools of the tasks are listed")
}

/// Waits until a call by name knows the needed tools. It is not complete, so that nothing is called
/// and no list grows.
fn wait(session: &mut Session, task: &Task) -> Result<()> {
    for name in task.tools() {
        let mut tries = 0;
        while called(
            session,
            CALL,
            &json!({"name": format!("{name}?"), "arguments": {}}),
        )?
        .0
        .lines()
        .all(|line| line.split_whitespace().next() != Some(name))
        {
            tries += 1;
            ensure!(tries < TRIES, "the gateway does not know {name}");
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Returns the gateway's list in the form of a chat request.
fn listed(session: &mut Session) -> Result<Vec<Value>> {
    let all = asked(session, "tools/list", &json!({}))?;
    let tools = all["tools"].as_array().context("a list without tools")?;
    Ok(tools.iter().map(function).collect())
}

/// Returns the tools of a task in the form of a chat request.
fn alone(task: &Task, definitions: &BTreeMap<String, Value>) -> Result<Vec<Value>> {
    let first = task.right.first().context("a task without a tool")?;
    let definition = definitions.get(&first.tool);
    let definition = definition.with_context(|| format!("there is no tool {}", first.tool))?;
    Ok(vec![function(definition)])
}

fn function(definition: &Value) -> Value {
    json!({"type": "function", "function": {
        "name": definition["name"],
        "description": definition["description"],
        "parameters": definition["inputSchema"],
    }})
}

/// Sends a request to the gateway; returns the result.
fn asked(session: &mut Session, method: &str, params: &Value) -> Result<Value> {
    let mut answer = session.ask(method, params)?.answer;
    let answer = answer.as_mut().context("the gateway did not answer")?;
    match &answer["error"] {
        Value::Null => Ok(answer["result"].take()),
        error => bail!("{method}: {error}"),
    }
}

/// Calls a tool; returns its text and whether it is an error.
fn called(session: &mut Session, name: &str, arguments: &Value) -> Result<(String, bool)> {
    let params = json!({"name": name, "arguments": arguments});
    let heard = session.ask("tools/call", &params)?;
    let answer = heard.answer.context("the gateway did not answer")?;
    if let Some(error) = answer["error"]["message"].as_str() {
        return Ok((error.to_owned(), true));
    }
    let blocks = answer["result"]["content"].as_array();
    let texts = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block["text"].as_str());
    let text: Vec<&str> = texts.collect();
    Ok((text.join("\n"), answer["result"]["isError"] == true))
}

/// The loop between the model and the tools.
struct Agent<'a> {
    ask: &'a mut Ask<'a>,
    /// The gateway.
    session: &'a mut Session,
    definitions: &'a BTreeMap<String, Value>,
    way: Way,
    /// What the model said and what it was told, for developers.
    said: Vec<String>,
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// A call in a reply, or what is there instead.
enum Reply {
    Call { name: String, arguments: Value },
    BrokenJson,
    Text,
}

impl Agent<'_> {
    /// Lets the model do a task until it calls a tool with arguments that fit its schema.
    fn does(&mut self, task: &Task, mut offered: Vec<Value>) -> Result<Outcome> {
        let mut messages = vec![
            json!({"role": "system", "content": SYSTEM}),
            json!({"role": "user", "content": task.ask}),
        ];
        let mut outcome = Outcome {
            class: match self.way {
                Way::Alone => Class::NoCall,
                Way::Search | Way::Found => Class::NoSearch,
            },
            tokens: 0,
            replies: 0,
        };
        for _ in 0..REPLIES {
            let request = json!({"messages": messages, "max_tokens": REPLY, "tools": offered});
            let reply = (self.ask)("/v1/chat/completions", &request)?;
            outcome.tokens += tokens_of(&reply);
            outcome.replies += 1;
            let message = &reply["choices"][0]["message"];
            let (name, arguments) = match read_reply(message) {
                Reply::Call { name, arguments } => (name, arguments),
                Reply::BrokenJson => {
                    outcome.class = Class::BrokenJson;
                    self.said.push(message.to_string());
                    return Ok(outcome);
                }
                // Agents ask again after an empty reply.
                Reply::Text if message["content"].as_str().is_some_and(is_blank) => {
                    self.said.push(message.to_string());
                    messages.push(json!({"role": "user", "content": GO_ON}));
                    continue;
                }
                Reply::Text => {
                    self.said.push(message.to_string());
                    return Ok(outcome);
                }
            };
            self.said.push(format!("{name} {arguments}"));
            let (class, told) = self.told(task, &offered, &name, &arguments)?;
            // A later search does not undo what an earlier one has found.
            if !(class == Class::NotFound && outcome.class != Class::NoSearch) {
                outcome.class = class;
            }
            let Some(told) = told else {
                return Ok(outcome);
            };
            if self.way == Way::Found {
                offered = listed(self.session)?;
            }
            let told = &told[..told.floor_char_boundary(RESULT)];
            self.said.push(told.to_owned());
            let id = format!("call_{}", outcome.replies);
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"id": id, "type": "function", "function": function});
            messages.push(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
            // A small model follows what it read last.
            let told = format!("{told}\n\nTask: {}", task.ask);
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": told}));
        }
        Ok(outcome)
    }

    /// Returns how far the task is after a call, and what the model is told; `None` if the call
    /// ends the task. A call that its tool accepts is not made.
    fn told(
        &mut self,
        task: &Task,
        offered: &[Value],
        name: &str,
        arguments: &Value,
    ) -> Result<(Class, Option<String>)> {
        if !offered.iter().any(|tool| tool["function"]["name"] == name) {
            // Clients refuse a name that they have not listed.
            let names = offered
                .iter()
                .filter_map(|tool| tool["function"]["name"].as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            let what = format!("Error: there is no tool {name}. The tools are {names}.");
            return Ok((Class::WrongName, Some(what)));
        }
        let is_passed = match self.way {
            Way::Alone => true,
            Way::Search => name == CALL,
            Way::Found => !name.starts_with("spillgate_"),
        };
        if !is_passed {
            let (page, _) = called(self.session, name, arguments)?;
            let names = page.split(|c: char| !c.is_alphanumeric() && !"_-".contains(c));
            let mut names = names.collect::<Vec<_>>().into_iter();
            let is_right = |name| task.right.iter().any(|right| right.tool == name);
            let class = match name == FIND {
                true if names.any(is_right) => Class::FoundOnly,
                true => Class::NotFound,
                false => Class::NoSearch,
            };
            return Ok((class, Some(page)));
        }
        let (tool, inner) = match self.way {
            Way::Alone | Way::Found => (name.to_owned(), arguments.clone()),
            Way::Search => direct(arguments),
        };
        let schema = self.definitions.get(&tool).map(|tool| &tool["inputSchema"]);
        let is_valid = match schema {
            Some(schema) => jsonschema::validator_for(schema)?.is_valid(&inner),
            None => false,
        };
        if is_valid {
            // The gateway refuses placeholders that it has shown.
            if self.way == Way::Found && inner.to_string().contains("\"<") {
                let (page, _) = called(self.session, name, arguments)?;
                if page.starts_with("nothing was called") {
                    return Ok((Class::WrongArguments, Some(page)));
                }
            }
            let is_listed = |name| offered.iter().any(|tool| tool["function"]["name"] == name);
            let class = match task.judged(&tool, &inner) {
                // A call by name needs no list.
                Class::WrongTool if self.way == Way::Found && !task.tools().any(is_listed) => {
                    Class::NotListed
                }
                class => class,
            };
            return Ok((class, None));
        }
        let class = match schema {
            Some(_) => Class::WrongArguments,
            None => Class::WrongName,
        };
        let (page, is_error) = called(self.session, name, arguments)?;
        Ok((class, is_error.then_some(page)))
    }
}

/// Returns the tool and the arguments of a call by name, as the gateway reads them.
fn direct(arguments: &Value) -> (String, Value) {
    let name = arguments["name"].as_str().unwrap_or_default().to_owned();
    let inner = match &arguments["arguments"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        Value::Null => {
            let mut inner = arguments.clone();
            if let Some(members) = inner.as_object_mut() {
                members.remove("name");
                members.remove("arguments");
            }
            inner
        }
        inner => inner.clone(),
    };
    (name, inner)
}

/// Reads the first call of a reply. A call of a tool that was not offered is only in the text.
fn read_reply(message: &Value) -> Reply {
    let function = &message["tool_calls"][0]["function"];
    if let Some(name) = function["name"].as_str() {
        let arguments = function["arguments"].as_str().unwrap_or_default();
        return match serde_json::from_str::<Value>(arguments) {
            Ok(arguments) if arguments.is_object() => Reply::Call {
                name: name.to_owned(),
                arguments,
            },
            _ => Reply::BrokenJson,
        };
    }
    let text = message["content"].as_str().unwrap_or_default();
    let starts = text.match_indices('{').map(|(at, _)| at);
    for at in starts {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let Some(Ok(found)) = values.next() else {
            continue;
        };
        if let (Some(name), true) = (found["name"].as_str(), found["arguments"].is_object()) {
            return Reply::Call {
                name: name.to_owned(),
                arguments: found["arguments"].clone(),
            };
        }
    }
    match text.contains("\"name\"") && text.contains("\"arguments\"") {
        true => Reply::BrokenJson,
        false => Reply::Text,
    }
}

/// Returns a row for each half and way, with the failures by class.
fn table(tasks: &[&Task], known: &HashMap<(String, String), Outcome>) -> String {
    let mut table = String::from(
        "| half | way | tasks | right | tokens a task | replies a task | failures |\n\
         |---|---|---:|---:|---:|---:|---|\n",
    );
    for half in ["tuned", "reported"] {
        for way in Way::ALL {
            let of_way = tasks
                .iter()
                .filter(|task| task.half == half)
                .filter_map(|task| known.get(&(task.id.clone(), way.name().to_owned())));
            let outcomes: Vec<&Outcome> = of_way.collect();
            if outcomes.is_empty() {
                continue;
            }
            let all = outcomes.len() as f64;
            let of_class = |class| outcomes.iter().filter(|one| one.class == class).count();
            let mean = |figure: fn(&Outcome) -> u64| {
                outcomes.iter().map(|one| figure(one)).sum::<u64>() as f64 / all
            };
            let failures: Vec<String> = Class::ALL[1..]
                .iter()
                .filter(|class| of_class(**class) > 0)
                .map(|class| format!("{} {}", of_class(*class), class.name()))
                .collect();
            table.push_str(&format!(
                "| {half} | {} | {all} | {:.0} % | {:.0} | {:.1} | {} |\n",
                way.name(),
                100.0 * of_class(Class::Right) as f64 / all,
                mean(|one| one.tokens),
                mean(|one| one.replies),
                failures.join(", "),
            ));
        }
    }
    table
}

//! Rewrites server entries so that they start the gateway, and restores the original entries.

use std::path::Path;

use serde_json::{Value, json};

use crate::Client;
use crate::dialect::Dialect;
use crate::entry::{Entry, Started};
use crate::lookups::{LOOKUPS_IN, allow_ours, forget_ours, lists_them};
use crate::remote::{BEARER, Remote, URL_VARIABLE};

/// How to start the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// The program: a path, or a name on `PATH`.
    pub program: String,
    /// Arguments for `spillgate mcp` besides those that describe the server.
    pub arguments: Vec<String>,
    /// Whether a separate entry offers the lookup tools instead of each server.
    pub lookups: bool,
}

impl Gateway {
    /// Returns a copy of the settings with which the gateway of each server lists the lookup tools
    /// itself.
    pub(crate) fn without_lookups(&self) -> Self {
        Self {
            lookups: false,
            ..self.clone()
        }
    }

    fn words(&self, client: Client, file: &Path, name: &str) -> Vec<String> {
        let mut words = vec!["mcp".to_owned()];
        match name.starts_with('-') {
            true => words.push(format!("--name={name}")),
            false => words.extend(["--name".to_owned(), name.to_owned()]),
        }
        if self.lookups {
            let place = format!("{client}={}", file.display());
            words.extend([LOOKUPS_IN.to_owned(), place]);
        }
        words.extend(self.arguments.iter().cloned());
        words
    }

    /// Returns the entry changed so that it starts the gateway, which in turn starts the entry's
    /// program.
    pub(crate) fn before(
        &self,
        of: (Client, &Path),
        dialect: &Dialect,
        name: &str,
        entry: &Entry,
        started: &Started,
    ) -> Entry {
        let mut entry = entry.clone();
        let mut words = self.words(of.0, of.1, name);
        words.extend(["--".to_owned(), started.program.clone()]);
        words.extend(started.arguments.iter().cloned());
        set_command(dialect, &mut entry, &self.program, &words);
        self.listed(of.0, entry)
    }

    /// Adds the lookup tools to the entry's list of allowed tools, if the gateway of this server
    /// offers them.
    fn listed(&self, client: Client, mut entry: Entry) -> Entry {
        if !self.lookups {
            allow_ours(client, &mut entry);
        }
        entry
    }

    /// Returns the entry changed so that it starts the gateway, which connects to the remote
    /// server.
    pub(crate) fn instead(
        &self,
        (client, file): (Client, &Path),
        dialect: &Dialect,
        name: &str,
        entry: &Entry,
        remote: &Remote,
    ) -> Entry {
        let mut entry = entry.clone();
        let mut words = self.words(client, file, name);
        match remote.url_is_secret {
            true => words.extend(["--url-env", URL_VARIABLE].map(str::to_owned)),
            false => words.extend(["--url".to_owned(), remote.url.clone()]),
        }
        if remote.sse {
            words.push("--sse".to_owned());
        }
        for header in &remote.headers {
            let pair = format!("{}={}", header.name, header.variable);
            words.extend(["--header-env".to_owned(), pair]);
        }
        if let Some(variable) = &remote.bearer {
            words.extend(["--bearer-env".to_owned(), variable.clone()]);
        }
        let gone = ["env_http_headers", BEARER, "oauth"];
        for field in [remote.field.as_str(), dialect.headers]
            .into_iter()
            .chain(gone)
        {
            entry.remove(field);
        }
        set_command(dialect, &mut entry, &self.program, &words);
        set_variables(dialect, &mut entry, remote);
        match dialect.stdio {
            Some(stdio) if entry.contains_key("type") || client == Client::ClaudeCode => {
                entry.insert("type".to_owned(), json!(stdio));
            }
            Some(_) => {}
            None => drop(entry.remove("type")),
        }
        self.listed(client, entry)
    }
}

/// Moves possible secrets into the environment variables of the entry, which only the started
/// program can see.
fn set_variables(dialect: &Dialect, entry: &mut Entry, remote: &Remote) {
    let url = remote.url_is_secret.then_some((URL_VARIABLE, &remote.url));
    let headers = remote.headers.iter();
    let given = headers
        .clone()
        .filter_map(|header| Some((header.variable.as_str(), header.value.as_ref()?)));
    for (variable, value) in url.into_iter().chain(given) {
        let variables = entry.entry(dialect.env).or_insert(Value::Null);
        // If the field does not exist or is null, this creates a table; a field of another type was
        // refused before.
        variables[variable] = json!(value);
    }
    let outside = headers.filter(|header| header.value.is_none());
    let mut outside: Vec<&String> = outside.map(|header| &header.variable).collect();
    outside.extend(&remote.bearer);
    if !outside.is_empty() {
        entry.insert("env_vars".to_owned(), json!(outside));
    }
}

pub(crate) fn set_command(
    dialect: &Dialect,
    entry: &mut Entry,
    program: &str,
    arguments: &[String],
) {
    if let Some(args) = dialect.args {
        entry.insert(dialect.command.to_owned(), json!(program));
        entry.insert(args.to_owned(), json!(arguments));
    } else {
        let words: Vec<&str> = std::iter::once(program)
            .chain(arguments.iter().map(String::as_str))
            .collect();
        entry.insert(dialect.command.to_owned(), json!(words));
    }
}

/// Reconstructs the original entry from the gateway's command line, for entries that have no record
/// or that were changed since. Returns `None` if the command line lacks necessary information.
pub(crate) fn peeled(
    client: Client,
    dialect: &Dialect,
    entry: &Entry,
    started: &Started,
) -> Option<Entry> {
    let words = &started.arguments;
    let mut entry = entry.clone();
    if lists_them(dialect, &entry) {
        forget_ours(client, &mut entry);
    }
    if let Some(at) = words.iter().position(|word| word == "--") {
        let (program, arguments) = words[at + 1..].split_first()?;
        set_command(dialect, &mut entry, program, arguments);
        return Some(entry);
    }
    let after = |flag: &str| {
        let pairs = words.windows(2).filter(|pair| pair[0] == flag);
        pairs.map(|pair| &pair[1]).collect::<Vec<_>>()
    };
    let url = match (after("--url").first(), after("--url-env").first()) {
        (Some(url), _) => json!(url),
        (None, Some(variable)) => variables(dialect, &mut entry)?.remove(*variable)?,
        (None, None) => return None,
    };
    let sse = words.iter().any(|word| word == "--sse");
    entry.remove(dialect.command);
    if let Some(args) = dialect.args {
        entry.remove(args);
    }
    let mut headers = Entry::new();
    let mut outside = Entry::new();
    for pair in after("--header-env") {
        let (name, variable) = pair.split_once('=')?;
        let variables = variables(dialect, &mut entry);
        match variables.and_then(|variables| variables.remove(variable)) {
            Some(value) => drop(headers.insert(name.to_owned(), value)),
            None if client == Client::Codex => {
                outside.insert(name.to_owned(), json!(variable));
            }
            None => return None,
        }
    }
    if entry.get(dialect.env).is_some_and(|env| *env == json!({})) {
        entry.remove(dialect.env);
    }
    entry.insert(url_field(client, dialect, sse).to_owned(), url);
    if let Some(variable) = after("--bearer-env").first() {
        entry.insert(BEARER.to_owned(), json!(variable));
    }
    for (field, table) in [(dialect.headers, headers), ("env_http_headers", outside)] {
        if !table.is_empty() {
            entry.insert(field.to_owned(), Value::Object(table));
        }
    }
    if client == Client::Codex {
        entry.remove("env_vars");
    }
    if entry.contains_key("type") {
        entry.insert("type".to_owned(), json!(remote_type(client, sse)));
    }
    Some(entry)
}

fn variables<'e>(dialect: &Dialect, entry: &'e mut Entry) -> Option<&'e mut Entry> {
    entry.get_mut(dialect.env)?.as_object_mut()
}

fn url_field(client: Client, dialect: &Dialect, sse: bool) -> &'static str {
    match client {
        Client::Gemini if sse => "url",
        _ => dialect.urls[0],
    }
}

fn remote_type(client: Client, sse: bool) -> &'static str {
    match (client, sse) {
        (Client::Opencode, _) => "remote",
        (_, true) => "sse",
        (Client::Goose, false) => "streamable_http",
        (_, false) => "http",
    }
}

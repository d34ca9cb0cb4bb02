//! Classifies the server entries in a client's configuration: local program, remote server, already
//! behind the gateway, and so on.

use std::path::Path;

use serde_json::{Map, Value};

use crate::Client;
use crate::dialect::Dialect;
use crate::lookups::only_offers;
use crate::remote::{Remote, obstacle};

/// A server's entry: its fields and their values.
pub(crate) type Entry = Map<String, Value>;

/// The kind of an entry.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    /// A program that the client starts.
    Started(Started),
    /// A remote server.
    Remote(Remote),
    /// A server that is already behind the gateway.
    Wrapped(Started),
    /// The entry that offers the lookup tools.
    Lookups(Started),
    /// An entry that the gateway cannot wrap, with the reason.
    Left(String),
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

/// Classifies an entry of `client`.
pub(crate) fn kind(client: Client, dialect: &Dialect, entry: &Entry) -> Kind {
    let started = started(dialect, entry);
    if let Some(started) = started.clone().filter(is_gateway) {
        return match only_offers(&started) {
            true => Kind::Lookups(started),
            false => Kind::Wrapped(started),
        };
    }
    if let Some(why) = left_alone(client, entry) {
        return Kind::Left(why);
    }
    let env = entry.get(dialect.env);
    if env.is_some_and(|env| !env.is_object() && !env.is_null()) {
        return Kind::Left(format!("`{}` is no table", dialect.env));
    }
    let url = dialect
        .urls
        .iter()
        .find_map(|field| Some((*field, entry.get(*field)?.as_str()?)));
    match (started, url) {
        (Some(started), _) => Kind::Started(started),
        (None, Some((field, url))) => match obstacle(entry, url) {
            Some(why) => Kind::Left(why),
            None => Remote::new(client, dialect, entry, field, url)
                .map_or_else(Kind::Left, Kind::Remote),
        },
        (None, None) => Kind::Left(match client {
            Client::Zed => "an extension of Zed starts it".into(),
            Client::Goose => "it is a part of goose".into(),
            _ => "it has neither a command nor an address".into(),
        }),
    }
}

pub(crate) fn started(dialect: &Dialect, entry: &Entry) -> Option<Started> {
    let texts = |value: &Value| -> Option<Vec<String>> {
        let elements = value.as_array()?.iter();
        elements
            .map(|one| one.as_str().map(str::to_owned))
            .collect()
    };
    let command = entry.get(dialect.command)?;
    let Some(args) = dialect.args else {
        let mut words = texts(command)?.into_iter();
        return Some(Started {
            program: words.next()?,
            arguments: words.collect(),
        });
    };
    Some(Started {
        program: command.as_str()?.to_owned(),
        arguments: match entry.get(args) {
            None | Some(Value::Null) => Vec::new(),
            Some(arguments) => texts(arguments)?,
        },
    })
}

fn is_gateway(started: &Started) -> bool {
    let name = Path::new(&started.program).file_stem();
    name.is_some_and(|name| name == "spillgate")
        && started
            .arguments
            .first()
            .is_some_and(|first| first == "mcp")
}

/// Returns whether the entry is disabled.
pub(crate) fn is_off(entry: &Entry) -> bool {
    let is = |field: &str, value: bool| entry.get(field) == Some(&Value::Bool(value));
    is("disabled", true) || is("enabled", false)
}

fn left_alone(client: Client, entry: &Entry) -> Option<String> {
    let is = |field: &str, value: bool| entry.get(field) == Some(&Value::Bool(value));
    if is_off(entry) {
        return Some("it is disabled".into());
    }
    let kind = entry
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let ours = ["", "stdio", "local", "remote", "http", "sse"];
    let spellings = ["streamable_http", "streamable-http", "streamableHttp"];
    if !ours.contains(&kind) && !spellings.contains(&kind) {
        return Some(match client {
            Client::Goose => format!("`type: {kind}`: it is a part of goose"),
            _ => format!("the gateway knows no `type` {kind:?}"),
        });
    }
    if client == Client::Vscode && entry.contains_key("dev") {
        return Some("`dev` has VS Code watch or debug the server's own process".into());
    }
    if client == Client::Vscode && is("sandboxEnabled", true) {
        return Some(
            "its sandbox (`sandboxEnabled`) would also confine the gateway, which then could not write to its store".into(),
        );
    }
    if client == Client::Zed
        && entry
            .get("source")
            .is_some_and(|source| source == "extension")
    {
        return Some("an extension of Zed starts it".into());
    }
    if client == Client::Zed && entry.get("command").is_some_and(Value::is_object) {
        return Some(
            "`command` has the form of older versions; open Zed once, it rewrites it".into(),
        );
    }
    None
}

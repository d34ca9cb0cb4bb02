//! The entry in a client's configuration that offers the lookup tools, and the lists by which a
//! client hides tools.
//!
//! A separate entry (`spillgate mcp --lookups`) offers the lookup tools once, for any number of
//! servers behind the gateway (ADR 19). The gateways of the other servers in the file then do not
//! list these tools; the flag `--lookups-in CLIENT=FILE` tells them which file contains the entry.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::document::{Change, Edit};
use crate::entry::{Entry, Kind, Started, is_off, kind, started};
use crate::file::Opened;
use crate::places::all_permissions;
use crate::plan::{Found, at, in_file, servers};
use crate::record::Kept;
use crate::rewrite::{Gateway, set_command};
use crate::{Client, ClientsError, ServerTable, Surroundings, dialect};

/// The flag of a gateway that only offers the lookup tools and has no server.
pub(crate) const LOOKUPS: &str = "--lookups";

/// The flag of a gateway whose lookup tools another entry offers.
pub(crate) const LOOKUPS_IN: &str = "--lookups-in";

/// The name of the entry, and the alternative if the name is taken.
const NAMES: [&str; 2] = ["spillgate", "spillgate_lookups"];

/// The lookup tools. A client's lists of hidden tools are searched for these names.
const TOOLS: [&str; 4] = [
    "spillgate_read",
    "spillgate_grep",
    "spillgate_query",
    "spillgate_search",
];

/// Whether a file has a separate entry that offers the lookup tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookups {
    /// The entry of this name offers the lookup tools.
    Offered(String),
    /// The entry of this name would offer the lookup tools, but is disabled.
    Off(String),
    /// There is no such entry.
    Missing,
}

/// Returns whether a separate entry of `file`, in one of the tables `places`, offers the lookup
/// tools to `client`. A file that does not exist has no entry.
pub fn lookups(
    client: Client,
    file: &Path,
    places: &[ServerTable],
) -> Result<Lookups, ClientsError> {
    let Some(Opened { values, .. }) = Opened::open(file)? else {
        return Ok(Lookups::Missing);
    };
    let places: Vec<ServerTable> = in_file(places, file).cloned().collect();
    Ok(of_servers(client, &servers(client, &values, &places)))
}

/// Like [`lookups`], for a file whose servers were already read. An enabled entry takes precedence
/// over a disabled one.
pub(crate) fn of_servers(client: Client, all: &[Found<'_>]) -> Lookups {
    let dialect = dialect::of(client);
    let ours = all.iter().filter_map(|found| {
        let entry = found.entry?;
        let is_ours = matches!(kind(client, &dialect, entry), Kind::Lookups(_));
        is_ours.then(|| (found.name.to_owned(), is_off(entry)))
    });
    let mut ours: Vec<(String, bool)> = ours.collect();
    ours.sort_by_key(|(_, off)| *off);
    match ours.into_iter().next() {
        Some((name, false)) => Lookups::Offered(name),
        Some((name, true)) => Lookups::Off(name),
        None => Lookups::Missing,
    }
}

/// Returns whether a gateway's arguments make it offer only the lookup tools.
pub(crate) fn only_offers(started: &Started) -> bool {
    let own = started.arguments.iter().take_while(|word| *word != "--");
    own.into_iter().any(|word| word == LOOKUPS)
}

/// Returns the new entry that offers the lookup tools, its keys below `table`, and the edit that
/// inserts it.
pub(crate) fn added(
    client: Client,
    values: &Value,
    table: &[String],
    gateway: &Gateway,
) -> Option<(Vec<String>, Entry, Edit)> {
    let servers = at(values, table)?.as_object()?;
    let name = NAMES
        .into_iter()
        .find(|name| !servers.contains_key(*name))?;
    let entry = entry(client, &dialect::of(client), name, gateway);
    let edit = Edit {
        at: table.to_vec(),
        changes: vec![Change {
            field: name.to_owned(),
            to: Some(Value::Object(entry.clone())),
        }],
    };
    let place = [table, &[name.to_owned()]].concat();
    Some((place, entry, edit))
}

fn entry(client: Client, dialect: &Dialect, name: &str, gateway: &Gateway) -> Entry {
    let mut entry = Entry::new();
    let mut words = vec!["mcp".to_owned(), LOOKUPS.to_owned()];
    words.extend(gateway.arguments.iter().cloned());
    match client {
        Client::ClaudeCode | Client::Vscode | Client::Opencode => {
            entry.insert("type".to_owned(), json!(dialect.stdio));
        }
        Client::Goose => {
            entry.insert("enabled".to_owned(), json!(true));
            entry.insert("type".to_owned(), json!(dialect.stdio));
            entry.insert("name".to_owned(), json!(name));
        }
        _ => {}
    }
    set_command(dialect, &mut entry, &gateway.program, &words);
    entry
}

/// Returns the edit that removes the entry.
pub(crate) fn removed(place: &[String]) -> Option<Edit> {
    let (name, table) = place.split_last()?;
    Some(Edit {
        at: table.to_vec(),
        changes: vec![Change {
            field: name.clone(),
            to: None,
        }],
    })
}

/// Returns the name of the list of allowed servers or tools in which `client` must name the entry
/// `name`, and the edit that adds this name. The list is Gemini's list of servers, or the
/// permissions of Claude Code if they name tools of other servers.
pub(crate) fn allowed(client: Client, values: &Value, name: &str) -> Option<(String, Kept, Edit)> {
    let (table, field, wanted) = match client {
        Client::Gemini => ("mcp", "allowed", name.to_owned()),
        Client::ClaudeCode => ("permissions", "allow", format!("mcp__{name}")),
        _ => return None,
    };
    let list = values.get(table)?.get(field)?.as_array()?;
    let is_of_servers = |one: &Value| {
        let text = one.as_str().unwrap_or_default();
        client == Client::Gemini || text.starts_with("mcp__")
    };
    if !list.iter().any(is_of_servers) || list.iter().any(|one| *one == *wanted) {
        return None;
    }
    let longer: Vec<&Value> = list.iter().collect();
    let longer = json!([&longer[..], &[&Value::from(wanted)]].concat());
    let entry = |list: &Value| Entry::from_iter([(field.to_owned(), list.clone())]);
    let kept = Kept {
        at: vec![table.to_owned()],
        before: entry(&json!(list)),
        after: entry(&longer),
        is_list: true,
    };
    let edit = set(&kept.at, field, longer);
    Some((format!("{table}.{field}"), kept, edit))
}

/// Returns the name of a list to which Spillgate added elements, and the edit that removes these
/// elements from it.
pub(crate) fn shortened(values: &Value, kept: &Kept) -> Option<(String, Edit)> {
    let (field, after) = kept.after.iter().next()?;
    let had = kept.before.get(field)?.as_array()?;
    let added =
        |one: &Value| after.as_array().is_some_and(|all| all.contains(one)) && !had.contains(one);
    let now = at(values, &kept.at)?.get(field)?.as_array()?;
    let rest: Vec<&Value> = now.iter().filter(|one| !added(one)).collect();
    let name = format!("{}.{field}", kept.at.join("."));
    Some((name, set(&kept.at, field, json!(rest))))
}

fn set(at: &[String], field: &str, to: Value) -> Edit {
    Edit {
        at: at.to_vec(),
        changes: vec![Change {
            field: field.to_owned(),
            to: Some(to),
        }],
    }
}

/// Returns the name of the list of servers by which Gemini hides the entry `name`.
pub(crate) fn hides_server(client: Client, values: &Value, name: &str) -> Option<String> {
    let list = |field: &str| values.get("mcp")?.get(field)?.as_array();
    if client != Client::Gemini {
        return None;
    }
    let misses =
        list("allowed").is_some_and(|all| !all.is_empty() && !all.iter().any(|one| one == name));
    let bans = list("excluded").is_some_and(|all| all.iter().any(|one| one == name));
    match (misses, bans) {
        (true, _) => Some("mcp.allowed".to_owned()),
        (false, true) => Some("mcp.excluded".to_owned()),
        (false, false) => None,
    }
}

/// How the client's permissions keep its model from calling the lookup tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forbidden {
    /// `permissions.deny` in this file forbids the lookup tools.
    Denied(PathBuf),
    /// `permissions.allow` in this file names tools of other servers, but not the lookup tools. The
    /// client then asks before each call, or refuses the call if it cannot ask.
    NotAllowed(PathBuf),
}

/// Returns how the permissions of `client` keep its model from calling the lookup tools of the
/// entry `name`; `None` if they do not. Fails if a file cannot be read.
pub fn forbidden(
    client: Client,
    name: &str,
    of: &Surroundings,
) -> Result<Option<Forbidden>, ClientsError> {
    let server = format!("mcp__{name}");
    let is_whole = |one: &str| one == server || one == format!("{server}__*");
    let is_tool = |one: &str, tool: &str| one == format!("{server}__{tool}");
    let mut allowed = Vec::new();
    let mut lacking = None;
    for file in all_permissions(client, of) {
        let Some(Opened { values, .. }) = Opened::open(&file)? else {
            continue;
        };
        let list = |field: &str| -> Vec<String> {
            let list = values.get("permissions").and_then(|all| all.get(field));
            let list = list.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|one| one.as_str().map(str::to_owned))
                .collect()
        };
        let denies = |one: &String| {
            one == "mcp__*" || is_whole(one) || TOOLS.iter().any(|tool| is_tool(one, tool))
        };
        if list("deny").iter().any(denies) {
            return Ok(Some(Forbidden::Denied(file)));
        }
        let allows = list("allow");
        if allows.iter().any(|one| one.starts_with("mcp__")) {
            lacking.get_or_insert(file);
        }
        allowed.extend(allows);
    }
    let has = |tool: &str| {
        allowed
            .iter()
            .any(|one| is_whole(one) || is_tool(one, tool))
    };
    let lacking = lacking.filter(|_| !TOOLS.iter().all(|tool| has(tool)));
    Ok(lacking.map(Forbidden::NotAllowed))
}

/// Returns the field of an entry that limits which tools of the server `client` shows to its model.
fn allowing(client: Client) -> Option<&'static str> {
    match client {
        Client::Gemini => Some("includeTools"),
        Client::Codex => Some("enabled_tools"),
        Client::Goose => Some("available_tools"),
        _ => None,
    }
}

fn denying(client: Client) -> Option<&'static str> {
    match client {
        Client::Gemini => Some("excludeTools"),
        Client::Codex => Some("disabled_tools"),
        _ => None,
    }
}

/// Returns the name of the list by which an entry hides a lookup tool.
pub(crate) fn hidden(client: Client, entry: &Entry) -> Option<String> {
    let list = |field: Option<&'static str>| Some((field?, entry.get(field?)?.as_array()?));
    let has = |all: &[Value], tool: &str| all.iter().any(|one| one == tool);
    if let Some((field, allowed)) = list(allowing(client)).filter(|(_, all)| !all.is_empty())
        && TOOLS.iter().any(|tool| !has(allowed, tool))
    {
        return Some(field.to_owned());
    }
    let (field, denied) = list(denying(client))?;
    TOOLS
        .iter()
        .any(|tool| has(denied, tool))
        .then(|| field.to_owned())
}

/// Adds the lookup tools to the list of allowed tools in an entry, unless the list is empty.
pub(crate) fn allow_ours(client: Client, entry: &mut Entry) {
    let list = allowing(client).and_then(|field| entry.get_mut(field)?.as_array_mut());
    if let Some(list) = list.filter(|list| !list.is_empty()) {
        for tool in TOOLS.map(Value::from) {
            if !list.contains(&tool) {
                list.push(tool);
            }
        }
    }
}

/// Removes the lookup tools from the list of allowed tools, for entries without a record.
pub(crate) fn forget_ours(client: Client, entry: &mut Entry) {
    let list = allowing(client).and_then(|field| entry.get_mut(field)?.as_array_mut());
    if let Some(list) = list {
        list.retain(|tool| !TOOLS.iter().any(|ours| tool == ours));
    }
}

/// Returns whether an entry starts a gateway that lists the lookup tools itself.
pub(crate) fn lists_them(dialect: &Dialect, entry: &Entry) -> bool {
    let words = started(dialect, entry).map(|started| started.arguments);
    let mut own = words.iter().flatten().take_while(|word| *word != "--");
    !own.any(|word| word == LOOKUPS_IN)
}

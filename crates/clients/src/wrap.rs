//! Wraps the servers of a file with the gateway.

use std::path::Path;

use serde_json::Value;

use crate::document::{Edit, difference};
use crate::entry::{Entry, Kind, kind};
use crate::file::{Opened, Seen, digest};
use crate::lookups::{Lookups, added, allowed, of_servers};
use crate::places::permissions;
use crate::plan::{Found, Outcome, Plan, State, Then, at, in_file, servers};
use crate::record::{Kept, Record, Records};
use crate::rewrite::Gateway;
use crate::unwrap::undo;
use crate::{Client, ClientsError, Scope, ServerTable, Surroundings, dialect};

const NO_LOGIN: &str = "none of its headers contains a login; if the client has logged in to it by OAuth, the gateway cannot use that login: run `spillgate auth";

/// Plans to put the servers of `file` in the tables `places` behind `gateway`. A non-empty `only`
/// restricts the plan to these names. Returns `None` if the file does not exist.
pub fn wrap(
    client: Client,
    file: &Path,
    places: &[ServerTable],
    only: &[String],
    gateway: &Gateway,
    records: &Records,
) -> Result<Option<Plan>, ClientsError> {
    let Some(Opened { seen, values }) = Opened::open(file)? else {
        return Ok(None);
    };
    let places: Vec<ServerTable> = in_file(places, file).cloned().collect();
    let (mut outcomes, mut kept, mut edits) = (Vec::new(), Vec::new(), Vec::new());
    let all = servers(client, &values, &places);
    let has_lookups = of_servers(client, &all) != Lookups::Missing;
    let names = all.iter().map(|found| found.name.to_owned()).collect();
    for found in all {
        if !only.is_empty() && !only.iter().any(|name| name == found.name) {
            continue;
        }
        let (state, note, after) = judge(client, file, &found, gateway);
        outcomes.push(Outcome {
            server: found.name.to_owned(),
            scope: found.scope,
            state,
            note,
        });
        if let (Some(before), Some(after)) = (found.entry, after) {
            edits.extend(to_become(client, &found.at, before, &after));
            kept.push(Kept {
                at: found.at,
                before: before.clone(),
                after,
                is_list: false,
            });
        }
    }
    let needs_lookups = gateway.lookups && !has_lookups && !kept.is_empty();
    if needs_lookups {
        let new = entry_of_lookups(client, &values, &places, &kept, gateway).unwrap_or_default();
        outcomes.extend(new.outcomes);
        kept.extend(new.kept);
        edits.extend(new.edits);
    }
    let after = match seen.edited(&edits) {
        // The new entry cannot be inserted into this file, so each server lists the tools instead.
        Err(ClientsError::Form { .. }) if needs_lookups => {
            let each = gateway.without_lookups();
            return wrap(client, file, &places, only, &each, records);
        }
        edited => edited?,
    };
    let then = remember(client, &seen, &values, &after, kept, records)?;
    let parts = (seen, after, then);
    Ok(Some(plan(file, outcomes, names, records, parts)))
}

pub(crate) fn plan(
    file: &Path,
    outcomes: Vec<Outcome>,
    names: Vec<String>,
    records: &Records,
    (seen, after, then): (Seen, Vec<u8>, Then),
) -> Plan {
    let backup = match &then {
        Then::Save { record, .. } => Some(records.backup_of(record)),
        _ => None,
    };
    Plan {
        file: file.to_owned(),
        outcomes,
        names,
        wraps: true,
        exact: false,
        backup,
        after,
        seen,
        removes: false,
        then,
    }
}

/// The planned edits that do not concern the entries of servers, with their outcomes.
#[derive(Default)]
struct New {
    outcomes: Vec<Outcome>,
    kept: Vec<Kept>,
    edits: Vec<Edit>,
}

impl New {
    /// Adds `name` to the client's list of allowed servers or tools, if it has one.
    fn allow(&mut self, client: Client, values: &Value, name: &str) {
        let Some((list, kept, edit)) = allowed(client, values, name) else {
            return;
        };
        self.outcomes.push(Outcome {
            server: list,
            scope: Scope::User,
            state: State::Added,
            note: Some(format!("allows the tools of {name:?}")),
        });
        self.kept.push(kept);
        self.edits.push(edit);
    }
}

/// Adds the entry that offers the lookup tools, beside the first server that needs it.
fn entry_of_lookups(
    client: Client,
    values: &Value,
    places: &[ServerTable],
    wrapped: &[Kept],
    gateway: &Gateway,
) -> Option<New> {
    let (_, table) = wrapped.first()?.at.split_last()?;
    let place = places.iter().find(|place| place.table == table)?;
    let (at, after, edit) = added(client, values, table, gateway)?;
    let name = at.last()?.clone();
    let mut new = New::default();
    new.outcomes.push(Outcome {
        server: name.clone(),
        scope: place.scope,
        state: State::Added,
        note: Some("it offers the look-up tools".into()),
    });
    new.edits.push(edit);
    new.kept.push(Kept {
        at,
        before: Entry::new(),
        after,
        is_list: false,
    });
    if client == Client::Gemini {
        new.allow(client, values, &name);
    }
    Some(new)
}

/// Plans to allow the tools of the entry `name` in the client's permissions, if these are in a
/// separate file and name tools of MCP servers. `None` if nothing needs to change.
pub fn permit(
    client: Client,
    name: &str,
    of: &Surroundings,
    records: &Records,
) -> Result<Option<Plan>, ClientsError> {
    let Some(file) = permissions(client, of) else {
        return Ok(None);
    };
    let Some(Opened { seen, values }) = Opened::open(&file)? else {
        return Ok(None);
    };
    let mut new = New::default();
    new.allow(client, &values, name);
    if new.edits.is_empty() {
        return Ok(None);
    }
    let after = seen.edited(&new.edits)?;
    let then = remember(client, &seen, &values, &after, new.kept, records)?;
    let parts = (seen, after, then);
    Ok(Some(plan(&file, new.outcomes, Vec::new(), records, parts)))
}

/// Returns the edits that turn one entry into another.
pub(crate) fn to_become(client: Client, at: &[String], from: &Entry, to: &Entry) -> Vec<Edit> {
    difference(at, from, to, &dialect::of(client).order())
}

fn judge(
    client: Client,
    file: &Path,
    found: &Found<'_>,
    gateway: &Gateway,
) -> (State, Option<String>, Option<Entry>) {
    let dialect = dialect::of(client);
    let Some(entry) = found.entry else {
        return (State::Left("it is no table".into()), None, None);
    };
    match kind(client, &dialect, entry) {
        Kind::Wrapped(_) | Kind::Lookups(_) => (State::Already, None, None),
        Kind::Left(why) => (State::Left(why), None, None),
        Kind::Started(started) => {
            let after = gateway.before((client, file), &dialect, found.name, entry, &started);
            (State::Wrapped, None, Some(after))
        }
        Kind::Remote(remote) => {
            let note = (!remote.logs_in())
                .then(|| format!("{NO_LOGIN} {}` for the gateway's", found.name));
            let after = gateway.instead((client, file), &dialect, found.name, entry, &remote);
            (State::Wrapped, note, Some(after))
        }
    }
}

/// Builds the record from which the change can be undone later.
pub(crate) fn remember(
    client: Client,
    seen: &Seen,
    values: &Value,
    after: &[u8],
    new: Vec<Kept>,
    records: &Records,
) -> Result<Then, ClientsError> {
    if new.is_empty() {
        return Ok(Then::Leave);
    }
    let had = records.load(&seen.file)?;
    let now = digest(&seen.bytes);
    let (original, mut entries) = match &had {
        _ if !seen.exists => (Vec::new(), Vec::new()),
        Some(record) if record.written == now => (records.backup(record)?, record.entries.clone()),
        // The file was changed since, so its content without Spillgate's entries is derived from
        // the current text.
        Some(record) if record.original != now => {
            let still = |kept: &&Kept| {
                if kept.is_list {
                    return true;
                }
                let entry = at(values, &kept.at).and_then(Value::as_object);
                let dialect = dialect::of(client);
                entry.is_some_and(|entry| {
                    let kind = kind(client, &dialect, entry);
                    matches!(kind, Kind::Wrapped(_) | Kind::Lookups(_))
                })
            };
            let entries: Vec<Kept> = record.entries.iter().filter(still).cloned().collect();
            (undo(client, seen, values, &entries)?, entries)
        }
        _ => (seen.bytes.clone(), Vec::new()),
    };
    entries.extend(new);
    let record = Record {
        client,
        file: seen.file.clone(),
        original: digest(&original),
        written: digest(after),
        // A file to which the user has added something is not removed with our entries.
        created: !seen.exists || original.is_empty() && had.as_ref().is_some_and(|had| had.created),
        entries,
    };
    Ok(Then::Save {
        record,
        original,
        had,
    })
}

//! How do the servers of a file get behind the gateway?

use std::path::Path;

use serde_json::Value;

use crate::document::{Edit, difference};
use crate::entry::{Entry, Kind, kind};
use crate::file::{Opened, Seen, digest};
use crate::plan::{Found, Outcome, Plan, State, Then, at, in_file, servers};
use crate::record::{Kept, Record, Records};
use crate::rewrite::Gateway;
use crate::unwrap::undo;
use crate::{Client, ClientsError, Place, dialect};

const NO_LOGIN: &str = "no header of it logs in; if the client has logged in to it by OAuth, that login is the client's own: run `spillgate auth";

/// What becomes of `file` when the servers in `places` go behind `gateway`;
/// only those called as in `only`, unless that is empty. `None` where there is
/// no such file.
pub fn wrap(
    client: Client,
    file: &Path,
    places: &[Place],
    only: &[String],
    gateway: &Gateway,
    records: &Records,
) -> Result<Option<Plan>, ClientsError> {
    let Some(Opened { seen, values }) = Opened::open(file)? else {
        return Ok(None);
    };
    let places: Vec<Place> = in_file(places, file).cloned().collect();
    let (mut outcomes, mut kept, mut edits) = (Vec::new(), Vec::new(), Vec::new());
    let all = servers(client, &values, &places);
    let names = all.iter().map(|found| found.name.to_owned()).collect();
    for found in all {
        if !only.is_empty() && !only.iter().any(|name| name == found.name) {
            continue;
        }
        let (state, note, after) = judge(client, &found, gateway);
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
            });
        }
    }
    let after = seen.edited(&edits)?;
    let then = remember(client, &seen, &values, &after, kept, records)?;
    let backup = match &then {
        Then::Save { record, .. } => Some(records.backup_of(record)),
        _ => None,
    };
    Ok(Some(Plan {
        file: file.to_owned(),
        outcomes,
        names,
        wraps: true,
        exact: false,
        backup,
        after,
        seen,
        then,
    }))
}

/// The edits that make one entry of another.
pub(crate) fn to_become(client: Client, at: &[String], from: &Entry, to: &Entry) -> Vec<Edit> {
    difference(at, from, to, &dialect::of(client).order())
}

fn judge(
    client: Client,
    found: &Found<'_>,
    gateway: &Gateway,
) -> (State, Option<String>, Option<Entry>) {
    let dialect = dialect::of(client);
    let Some(entry) = found.entry else {
        return (State::Left("it is no table".into()), None, None);
    };
    match kind(client, &dialect, entry) {
        Kind::Wrapped(_) => (State::Already, None, None),
        Kind::Left(why) => (State::Left(why), None, None),
        Kind::Started(started) => {
            let after = gateway.before(&dialect, found.name, entry, &started);
            (State::Wrapped, None, Some(after))
        }
        Kind::Remote(remote) => {
            let note = (!remote.logs_in())
                .then(|| format!("{NO_LOGIN} {}` for the gateway's", found.name));
            let after = gateway.instead(client, &dialect, found.name, entry, &remote);
            (State::Wrapped, note, Some(after))
        }
    }
}

/// What is to be kept so that it can be undone.
fn remember(
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
        Some(record) if record.written == now => (records.backup(record)?, record.entries.clone()),
        // Someone changed it since: what it would be without us is worked out.
        Some(record) if record.original != now => {
            let still = |kept: &&Kept| {
                let entry = at(values, &kept.at).and_then(Value::as_object);
                let dialect = dialect::of(client);
                entry.is_some_and(|entry| matches!(kind(client, &dialect, entry), Kind::Wrapped(_)))
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
        entries,
    };
    Ok(Then::Save {
        record,
        original,
        had,
    })
}

//! How do the servers of a file come out from behind the gateway?
//!
//! A file that is still what we wrote becomes what it was, byte for byte. In
//! one that was changed since, only our entries are undone.

use std::path::Path;

use serde_json::Value;

use crate::document::{Syntax, edit, parse};
use crate::entry::{Entry, Kind, kind};
use crate::file::{Seen, digest, read};
use crate::plan::{Found, Outcome, Plan, State, Then, at, in_file, servers};
use crate::record::{Kept, Record, Records, text};
use crate::rewrite::peeled;
use crate::wrap::to_become;
use crate::{Client, ClientsError, Place, Scope, dialect};

/// What becomes of `file` when its servers come out; those in `places` and, if
/// `whole`, all others that we have a record of; only those called as in `only`,
/// unless that is empty. `None` where there is no such file.
pub fn unwrap(
    client: Client,
    file: &Path,
    places: &[Place],
    whole: bool,
    only: &[String],
    records: &Records,
) -> Result<Option<Plan>, ClientsError> {
    let Some(seen) = read(file)? else {
        return Ok(None);
    };
    let syntax = Syntax::of(&seen.file);
    let before = text(&seen.bytes).map_err(|trouble| trouble.of(file))?;
    let values = parse(syntax, before).map_err(|trouble| trouble.of(file))?;
    let record = records.load(&seen.file)?;
    let places: Vec<Place> = in_file(places, file).cloned().collect();
    let mut all = servers(client, &values, &places);
    if let Some(record) = record.as_ref().filter(|_| whole) {
        all.extend(elsewhere(&values, record, &all));
    }
    all.retain(|found| only.is_empty() || only.iter().any(|name| name == found.name));
    let (mut outcomes, mut edits, mut undone) = (Vec::new(), Vec::new(), Vec::new());
    for found in all {
        let was = record.as_ref().and_then(|record| kept(record, &found.at));
        let Some((state, to)) = judge(client, &found, was) else {
            continue;
        };
        outcomes.push(Outcome {
            server: found.name.to_owned(),
            scope: found.scope,
            state,
            note: None,
        });
        if let (Some(from), Some(to)) = (found.entry, to) {
            edits.extend(to_become(client, &found.at, from, &to));
            undone.push(found.at);
        }
    }
    let left = record.iter().flat_map(|record| &record.entries);
    let left: Vec<Kept> = left
        .filter(|kept| !undone.contains(&kept.at))
        .cloned()
        .collect();
    let as_written = record
        .as_ref()
        .filter(|record| record.written == digest(&seen.bytes));
    let backup = match as_written.filter(|_| left.is_empty() && !undone.is_empty()) {
        Some(record) => records.backup(record).ok(),
        None => None,
    };
    let exact = backup.is_some();
    let after = match (backup, edits.is_empty()) {
        (Some(backup), _) => backup,
        (None, true) => seen.bytes.clone(),
        (None, false) => {
            let edited = edit(syntax, before, &edits).map_err(|trouble| trouble.of(file))?;
            edited.into_bytes()
        }
    };
    let became = Became {
        from: digest(&seen.bytes),
        to: digest(&after),
        exact,
    };
    let then = forget(record, left, became, records)?;
    Ok(Some(Plan {
        file: file.to_owned(),
        outcomes,
        exact,
        backup: match &then {
            Then::Forget {
                record,
                keep_backup: true,
            } => Some(records.backup_of(record)),
            _ => None,
        },
        seen,
        after,
        then,
    }))
}

/// What became of the file's bytes.
struct Became {
    from: String,
    to: String,
    exact: bool,
}

fn forget(
    record: Option<Record>,
    left: Vec<Kept>,
    file: Became,
    records: &Records,
) -> Result<Then, ClientsError> {
    let Some(record) = record else {
        return Ok(Then::Leave);
    };
    if left.is_empty() {
        return Ok(Then::Forget {
            keep_backup: !file.exact,
            record,
        });
    }
    if file.from == file.to {
        return Ok(Then::Leave);
    }
    let next = Record {
        entries: left,
        // A file that was changed by others stays one that we did not write.
        written: match record.written == file.from {
            true => file.to,
            false => record.written.clone(),
        },
        ..record.clone()
    };
    Ok(Then::Save {
        original: records.backup(&record)?,
        record: next,
        had: Some(record),
    })
}

fn kept<'r>(record: &'r Record, at: &[String]) -> Option<&'r Kept> {
    record.entries.iter().find(|kept| kept.at == at)
}

/// Entries of the record that stand in none of the places looked at: another
/// directory's, in a file that has several.
fn elsewhere<'v>(values: &'v Value, record: &'v Record, known: &[Found<'v>]) -> Vec<Found<'v>> {
    let others = record.entries.iter();
    let others = others.filter(|kept| known.iter().all(|found| found.at != kept.at));
    let found = others.filter_map(|kept| {
        Some(Found {
            scope: Scope::Local,
            at: kept.at.clone(),
            name: kept.at.last()?,
            entry: Some(at(values, &kept.at)?.as_object()?),
        })
    });
    found.collect()
}

/// What an entry becomes; `None` where it is none of ours.
fn judge(client: Client, found: &Found<'_>, was: Option<&Kept>) -> Option<(State, Option<Entry>)> {
    let dialect = dialect::of(client);
    let entry = found.entry?;
    let Kind::Wrapped(started) = kind(client, &dialect, entry) else {
        return None;
    };
    let fields = || std::iter::once(dialect.command).chain(dialect.args);
    let to = match was {
        Some(was) if fields().all(|field| entry.get(field) == was.after.get(field)) => {
            Some(merged(entry, &was.after, &was.before))
        }
        _ => peeled(client, &dialect, entry, &started),
    };
    Some(match to {
        Some(to) => (State::Restored, Some(to)),
        None => (
            State::Left("its command line does not say what it was".into()),
            None,
        ),
    })
}

/// `now` with what we made of it undone, and what others made of it kept.
fn merged(now: &Entry, after: &Entry, before: &Entry) -> Entry {
    let mut to = now.clone();
    let mut fields: Vec<&String> = after.keys().chain(before.keys()).collect();
    fields.dedup();
    for field in fields {
        let was = before.get(field);
        match (now.get(field), after.get(field)) {
            (now, after) if now == after => match was {
                Some(was) => drop(to.insert(field.clone(), was.clone())),
                None => drop(to.remove(field)),
            },
            (Some(Value::Object(now)), Some(Value::Object(after))) => {
                let none = Entry::new();
                let was_table = was.and_then(Value::as_object);
                let inner = merged(now, after, was_table.unwrap_or(&none));
                match inner.is_empty() && was.is_none() {
                    true => drop(to.remove(field)),
                    false => drop(to.insert(field.clone(), Value::Object(inner))),
                }
            }
            _ => {}
        }
    }
    to
}

/// The file with these entries undone.
pub(crate) fn undo(
    client: Client,
    seen: &Seen,
    values: &Value,
    entries: &[Kept],
) -> Result<Vec<u8>, ClientsError> {
    let mut edits = Vec::new();
    for kept in entries {
        let entry = at(values, &kept.at).and_then(Value::as_object);
        let (Some(entry), Some(name)) = (entry, kept.at.last()) else {
            continue;
        };
        let found = Found {
            scope: Scope::User,
            at: kept.at.clone(),
            name,
            entry: Some(entry),
        };
        if let Some((_, Some(to))) = judge(client, &found, Some(kept)) {
            edits.extend(to_become(client, &kept.at, entry, &to));
        }
    }
    let before = text(&seen.bytes).map_err(|trouble| trouble.of(&seen.file))?;
    let undone = edit(Syntax::of(&seen.file), before, &edits);
    Ok(undone
        .map_err(|trouble| trouble.of(&seen.file))?
        .into_bytes())
}

//! Unwraps the servers of a file.
//!
//! A file that is unchanged since Spillgate wrote it is restored byte for byte. In a changed file,
//! only Spillgate's own entries are undone.

use std::path::Path;

use serde_json::Value;

use crate::document::Edit;
use crate::entry::{Entry, Kind, kind};
use crate::file::{Opened, Seen, digest, read};
use crate::hooks::{HOOKS, remove_own};
use crate::lookups::{lists_them, removed, shortened};
use crate::plan::{Found, Outcome, Plan, State, Then, at, in_file, servers};
use crate::record::{Kept, Record, Records};
use crate::rewrite::peeled;
use crate::wrap::to_become;
use crate::{Client, ClientsError, Scope, ServerTable, dialect};

/// Plans to unwrap the servers of `file`: those in the tables `places` and, if `whole` is true, all
/// others with a record. A non-empty `only` restricts the plan to these names. Returns `None` if
/// the file does not exist.
pub fn unwrap(
    client: Client,
    file: &Path,
    places: &[ServerTable],
    whole: bool,
    only: &[String],
    records: &Records,
) -> Result<Option<Plan>, ClientsError> {
    let Some(seen) = read(file)? else {
        return Ok(None);
    };
    let record = records.load(&seen.file)?;
    // Of a file that holds only our hook, there are no entries.
    if let Some(record) = record
        .as_ref()
        .filter(|of| of.created && of.entries.is_empty())
    {
        return Ok(whole.then(|| remove_own(file, seen, record.clone())));
    }
    let Some(Opened { seen, values }) = Opened::open(file)? else {
        return Ok(None);
    };
    let places: Vec<ServerTable> = in_file(places, file).cloned().collect();
    let mut all = servers(client, &values, &places);
    if let Some(record) = record.as_ref().filter(|_| whole) {
        all.extend(elsewhere(&values, record, &all));
    }
    let names = all.iter().map(|found| found.name.to_owned()).collect();
    let undoing = Undoing::chosen(client, &values, all, only, record.as_ref());
    let left = record.iter().flat_map(|record| &record.entries);
    let left: Vec<Kept> = left
        .filter(|kept| !undoing.undone.contains(&kept.at))
        .cloned()
        .collect();
    let all_undone = left.is_empty() && !undoing.undone.is_empty();
    let backup = record
        .as_ref()
        .filter(|_| all_undone)
        .and_then(|record| untouched(record, &seen, records));
    let exact = backup.is_some();
    let removes = exact && record.as_ref().is_some_and(|record| record.created);
    let after = match backup {
        Some(backup) => backup,
        None => seen.edited(&undoing.edits)?,
    };
    let became = Became {
        from: digest(&seen.bytes),
        to: digest(&after),
        exact,
    };
    let then = forget(record, left, became, records)?;
    Ok(Some(Plan {
        file: file.to_owned(),
        outcomes: undoing.outcomes,
        names,
        wraps: false,
        exact,
        backup: match &then {
            Then::Forget {
                record,
                keep_backup,
            } if *keep_backup => Some(records.backup_of(record)),
            _ => None,
        },
        seen,
        after,
        removes,
        then,
    }))
}

/// Returns the original file if the current one is unchanged since Spillgate wrote it. A damaged
/// backup is treated as missing, because the entries can still be undone one by one.
fn untouched(record: &Record, seen: &Seen, records: &Records) -> Option<Vec<u8>> {
    match record.written == digest(&seen.bytes) {
        true => records.backup(record).ok(),
        false => None,
    }
}

/// The changes to undo in a file.
#[derive(Default)]
struct Undoing {
    outcomes: Vec<Outcome>,
    edits: Vec<Edit>,
    /// The keys of the undone entries.
    undone: Vec<Vec<String>>,
}

impl Undoing {
    /// Undoes only the entries named in `only`, or all if it is empty.
    fn chosen(
        client: Client,
        values: &Value,
        mut all: Vec<Found<'_>>,
        only: &[String],
        record: Option<&Record>,
    ) -> Self {
        let keeps_lookups = needs_lookups(client, &all, only);
        all.retain(|found| {
            let is_meant = only.is_empty() || only.iter().any(|name| name == found.name);
            match is_lookups(client, found) {
                // The lookup entry is removed with the last server that needs it.
                true => !keeps_lookups,
                false => is_meant,
            }
        });
        let mut undoing = Self::of(client, all, record);
        if let Some(record) = record.filter(|_| !keeps_lookups) {
            undoing.shorten(values, record, only.is_empty());
        }
        undoing
    }

    fn of(client: Client, all: Vec<Found<'_>>, record: Option<&Record>) -> Self {
        let mut undoing = Self::default();
        for found in all {
            let was =
                record.and_then(|record| record.entries.iter().find(|kept| kept.at == found.at));
            let Some((state, to)) = judge(client, &found, was) else {
                continue;
            };
            undoing.outcomes.push(Outcome {
                server: found.name.to_owned(),
                scope: found.scope,
                state,
                note: None,
            });
            if is_lookups(client, &found) {
                undoing.edits.extend(removed(&found.at));
                undoing.undone.push(found.at);
            } else if let (Some(from), Some(to)) = (found.entry, to) {
                let edits = to_become(client, &found.at, from, &to);
                undoing.edits.extend(edits);
                undoing.undone.push(found.at);
            }
        }
        undoing
    }

    /// Plans to remove the elements that Spillgate added to lists. Hooks stay if only some servers
    /// are unwrapped.
    fn shorten(&mut self, values: &Value, record: &Record, is_all: bool) {
        let lists = record.entries.iter().filter(|kept| kept.is_list);
        for kept in lists.filter(|kept| is_all || kept.at != [HOOKS]) {
            self.undone.push(kept.at.clone());
            let Some((list, edit)) = shortened(values, kept) else {
                continue;
            };
            self.outcomes.push(Outcome {
                server: list,
                scope: Scope::User,
                state: State::Restored,
                note: None,
            });
            self.edits.push(edit);
        }
    }
}

fn is_lookups(client: Client, found: &Found<'_>) -> bool {
    let kind = |entry| kind(client, &dialect::of(client), entry);
    matches!(found.entry.map(kind), Some(Kind::Lookups(_)))
}

/// Returns whether any server that stays behind the gateway relies on the entry with the lookup
/// tools.
fn needs_lookups(client: Client, all: &[Found<'_>], only: &[String]) -> bool {
    let dialect = dialect::of(client);
    all.iter().any(|found| {
        let stays = !only.is_empty() && !only.iter().any(|name| name == found.name);
        let leaves = |entry: &Entry| {
            matches!(kind(client, &dialect, entry), Kind::Wrapped(_))
                && !lists_them(&dialect, entry)
        };
        stays && found.entry.is_some_and(leaves)
    })
}

/// The digests of a file before and after the change, and whether the file is restored exactly.
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
        // The file counts as written by Spillgate only if no other program had changed it before.
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

/// Returns the recorded entries that are not in the given tables. If a file contains the servers of
/// several directories, these are the entries of the other directories.
fn elsewhere<'v>(values: &'v Value, record: &'v Record, known: &[Found<'v>]) -> Vec<Found<'v>> {
    let others = record.entries.iter();
    let others = others.filter(|kept| !kept.is_list);
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

/// Decides how an entry is restored; returns `None` if Spillgate did not change the entry.
fn judge(client: Client, found: &Found<'_>, was: Option<&Kept>) -> Option<(State, Option<Entry>)> {
    let dialect = dialect::of(client);
    let entry = found.entry?;
    let started = match kind(client, &dialect, entry) {
        Kind::Wrapped(started) => started,
        Kind::Lookups(_) => return Some((State::Removed, None)),
        _ => return None,
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
            State::Left("its command line does not contain the original entry".into()),
            None,
        ),
    })
}

/// Returns `now` with Spillgate's changes undone and all other changes kept.
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

/// Returns the file with these entries undone.
pub(crate) fn undo(
    client: Client,
    seen: &Seen,
    values: &Value,
    entries: &[Kept],
) -> Result<Vec<u8>, ClientsError> {
    let mut edits = Vec::new();
    for kept in entries {
        if kept.is_list {
            edits.extend(shortened(values, kept).map(|(_, edit)| edit));
            continue;
        }
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
        if is_lookups(client, &found) {
            edits.extend(removed(&kept.at));
        } else if let Some((_, Some(to))) = judge(client, &found, Some(kept)) {
            edits.extend(to_become(client, &kept.at, entry, &to));
        }
    }
    seen.edited(&edits)
}

//! The planned change of a client's configuration file.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::entry::Entry;
use crate::file::{Seen, create, remove, replace};
use crate::record::{Record, Records};
use crate::{Client, ClientsError, Scope, ServerTable, unified};

/// The change of a server's entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "why")]
pub enum State {
    /// The entry is put behind the gateway.
    Wrapped,
    /// The entry is already behind the gateway.
    Already,
    /// The entry is left unchanged, for this reason.
    Left(String),
    /// The entry is restored.
    Restored,
    /// The entry is new: it offers the lookup tools.
    Added,
    /// The entry that offers the lookup tools is removed.
    Removed,
}

/// A server's entry and its change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The client's name for the server.
    pub server: String,
    /// The scope of the entry.
    pub scope: Scope,
    /// The change.
    #[serde(flatten)]
    pub state: State,
    /// A remark for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The planned change of a file.
#[derive(Debug)]
pub struct Plan {
    /// The path as the caller gave it.
    pub file: PathBuf,
    /// The changes of its servers.
    pub outcomes: Vec<Outcome>,
    /// The names of all servers that the plan considered, changed or not.
    pub names: Vec<String>,
    /// Whether the plan wraps servers; `false` if it unwraps them.
    pub wraps: bool,
    /// Whether the file is restored byte for byte.
    pub exact: bool,
    /// The path of the copy of the original file, if the plan leaves one.
    pub backup: Option<PathBuf>,
    pub(crate) seen: Seen,
    pub(crate) after: Vec<u8>,
    /// Whether the file is removed, because `wrap` created it.
    pub removes: bool,
    pub(crate) then: Then,
}

/// What happens to the record of the file when the plan is carried out.
#[derive(Debug)]
pub(crate) enum Then {
    /// No change.
    Leave,
    /// Saves a new record, possibly in place of `had`.
    Save {
        record: Record,
        original: Vec<u8>,
        had: Option<Record>,
    },
    /// Removes the record.
    Forget { record: Record, keep_backup: bool },
}

impl Plan {
    /// Returns whether the file changes.
    pub fn changes(&self) -> bool {
        self.after != self.seen.bytes || self.removes
    }

    /// Returns a diff of the current and the planned file.
    pub fn diff(&self) -> String {
        let text = |bytes| String::from_utf8_lossy(bytes);
        let nothing = Path::new("/dev/null");
        let before = match self.seen.exists {
            true => &self.file,
            false => nothing,
        };
        let after = match self.removes {
            true => nothing,
            false => &self.file,
        };
        unified(before, after, &text(&self.seen.bytes), &text(&self.after))
    }

    /// Carries out the plan. The backup and the record are written before the file.
    pub fn carry_out(&self, records: &Records) -> Result<(), ClientsError> {
        match &self.then {
            Then::Leave => self.replace(),
            Then::Save {
                record,
                original,
                had,
            } => {
                records.save(record, original)?;
                self.replace().inspect_err(|_| {
                    // The file was not changed, so the record must not change either.
                    drop(match had {
                        Some(had) => records.save_record(had),
                        None => records.forget(record, false),
                    });
                })
            }
            Then::Forget {
                record,
                keep_backup,
            } => {
                self.replace()?;
                records.forget(record, *keep_backup)
            }
        }
    }

    fn replace(&self) -> Result<(), ClientsError> {
        match self.changes() {
            true if self.removes => remove(&self.seen),
            true if !self.seen.exists => create(&self.seen.file, &self.after),
            true => replace(&self.seen, &self.after),
            false => Ok(()),
        }
    }
}

/// An entry in a file.
pub(crate) struct Found<'v> {
    pub(crate) scope: Scope,
    pub(crate) at: Vec<String>,
    pub(crate) name: &'v str,
    /// The entry; `None` if it is not a table.
    pub(crate) entry: Option<&'v Entry>,
}

/// Returns the servers in the tables `places` of a file's values.
pub(crate) fn servers<'v>(
    client: Client,
    values: &'v Value,
    places: &[ServerTable],
) -> Vec<Found<'v>> {
    let mut all = Vec::new();
    for place in places {
        let Some(table) = at(values, &place.table).and_then(Value::as_object) else {
            continue;
        };
        for (name, value) in table {
            // Version 2 of opencode keeps its table of servers under the key `servers`, where
            // version 1 may have a server of that name.
            let inner = client == Client::Opencode && place.table.len() == 1 && name == "servers";
            if inner && value.get("type").is_none() {
                continue;
            }
            all.push(Found {
                scope: place.scope,
                at: [place.table.as_slice(), std::slice::from_ref(name)].concat(),
                name,
                entry: value.as_object(),
            });
        }
    }
    all
}

/// Returns the value at the keys.
pub(crate) fn at<'v>(values: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(values, |value, key| value.get(key))
}

/// Returns those of the `places` that are in `file`.
pub(crate) fn in_file<'p>(
    places: &'p [ServerTable],
    file: &'p Path,
) -> impl Iterator<Item = &'p ServerTable> {
    places.iter().filter(move |place| place.file == file)
}

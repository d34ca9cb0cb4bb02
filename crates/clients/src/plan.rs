//! The planned changes to a file.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::entry::Entry;
use crate::file::{Seen, replace};
use crate::record::{Record, Records};
use crate::{Client, ClientsError, Scope, ServerTable, unified};

/// What becomes of a server's entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "why")]
pub enum State {
    /// It goes behind the gateway.
    Wrapped,
    /// It is behind the gateway already.
    Already,
    /// It is left as it is; why.
    Left(String),
    /// It becomes what it was.
    Restored,
    /// It is new: the entry that offers the look-up tools.
    Added,
    /// It goes again.
    Removed,
}

/// A server's entry and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What the client calls the server.
    pub server: String,
    /// Whose it is.
    pub scope: Scope,
    /// What becomes of it.
    #[serde(flatten)]
    pub state: State,
    /// What there is to know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What becomes of a file.
#[derive(Debug)]
pub struct Plan {
    /// The file, as it was named.
    pub file: PathBuf,
    /// What becomes of its servers.
    pub outcomes: Vec<Outcome>,
    /// All servers that the file has in the places looked at.
    pub names: Vec<String>,
    /// Whether its servers go behind the gateway, or come out.
    pub wraps: bool,
    /// Whether it becomes what it was, byte for byte.
    pub exact: bool,
    /// The copy of what it was, where one stays.
    pub backup: Option<PathBuf>,
    pub(crate) seen: Seen,
    pub(crate) after: Vec<u8>,
    pub(crate) then: Then,
}

/// What becomes of the record.
#[derive(Debug)]
pub(crate) enum Then {
    /// Nothing.
    Leave,
    /// There is one now, or another one.
    Save {
        record: Record,
        original: Vec<u8>,
        had: Option<Record>,
    },
    /// There is none any more.
    Forget { record: Record, keep_backup: bool },
}

impl Plan {
    /// Whether anything changes.
    pub fn changes(&self) -> bool {
        self.after != self.seen.bytes
    }

    /// The file as it is and as it is going to be.
    pub fn diff(&self) -> String {
        let text = |bytes| String::from_utf8_lossy(bytes);
        unified(&self.file, &text(&self.seen.bytes), &text(&self.after))
    }

    /// Writes it: first the backup, then the file.
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
                    // The file is what it was, and so shall the record be.
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
    /// `None` where it is no table.
    pub(crate) entry: Option<&'v Entry>,
}

/// The servers in `places` of the values of a file.
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
            // The table of opencode's version 2 stands where version 1 has its
            // servers.
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

/// The value that keys lead to.
pub(crate) fn at<'v>(values: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(values, |value, key| value.get(key))
}

/// The part of places that are in `file`.
pub(crate) fn in_file<'p>(
    places: &'p [ServerTable],
    file: &'p Path,
) -> impl Iterator<Item = &'p ServerTable> {
    places.iter().filter(move |place| place.file == file)
}

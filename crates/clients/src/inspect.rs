//! How do things stand in a client's files?

use std::path::{Path, PathBuf};

use crate::entry::{Kind, kind};
use crate::file::{Opened, digest};
use crate::plan::{State, in_file, servers};
use crate::record::Records;
use crate::{Client, ClientsError, Launch, Place, Scope, dialect};

/// How things stand in a file.
#[derive(Debug)]
pub struct FileReport {
    /// The file.
    pub file: PathBuf,
    /// Its servers.
    pub servers: Vec<ServerReport>,
    /// The copy of the file without us, if there is a record of one.
    pub backup: Option<Result<PathBuf, ClientsError>>,
    /// Whether it is what we wrote; `None` without a record.
    pub as_written: Option<bool>,
}

/// How things stand with a server.
#[derive(Debug)]
pub struct ServerReport {
    /// What the client calls it.
    pub name: String,
    /// Whose it is.
    pub scope: Scope,
    /// `Already` behind the gateway, `Left` because it cannot be, or `Wrapped`:
    /// it would go behind it if it was told to.
    pub state: State,
    /// How it is started, where it is behind the gateway.
    pub launch: Option<Launch>,
}

/// How things stand in `file`; `None` where there is no such file.
pub fn inspect(
    client: Client,
    file: &Path,
    places: &[Place],
    records: &Records,
) -> Result<Option<FileReport>, ClientsError> {
    let Some(Opened { seen, values }) = Opened::open(file)? else {
        return Ok(None);
    };
    let record = records.load(&seen.file)?;
    let dialect = dialect::of(client);
    let places: Vec<Place> = in_file(places, file).cloned().collect();
    let report = |found: crate::plan::Found<'_>| {
        let (state, launch) = match found
            .entry
            .map(|entry| (entry, kind(client, &dialect, entry)))
        {
            None => (State::Left("it is no table".into()), None),
            Some((entry, Kind::Wrapped(started))) => {
                let launch = Launch::of(client, entry, started);
                (State::Already, Some(launch))
            }
            Some((_, Kind::Left(why))) => (State::Left(why), None),
            Some((_, Kind::Started(_) | Kind::Remote(_))) => (State::Wrapped, None),
        };
        ServerReport {
            name: found.name.to_owned(),
            scope: found.scope,
            state,
            launch,
        }
    };
    let servers = servers(client, &values, &places);
    Ok(Some(FileReport {
        file: file.to_owned(),
        servers: servers.into_iter().map(report).collect(),
        backup: record.as_ref().map(|record| {
            let there = records.backup(record);
            there.map(|_| records.backup_of(record))
        }),
        as_written: record.map(|record| record.written == digest(&seen.bytes)),
    }))
}

//! Reports which servers a client's files contain, and which of them are behind the gateway.

use std::path::{Path, PathBuf};

use crate::entry::{Entry, Kind, kind};
use crate::file::{Opened, digest};
use crate::lookups::{Lookups, hidden, hides_server, lists_them, of_servers};
use crate::plan::{State, in_file, servers};
use crate::record::Records;
use crate::{Client, ClientsError, Launch, Scope, ServerTable, dialect};

/// The state of a file.
#[derive(Debug)]
pub struct FileReport {
    /// The file.
    pub file: PathBuf,
    /// The servers in the file.
    pub servers: Vec<ServerReport>,
    /// The path of the copy of the file without Spillgate's entries, if there is a record of the
    /// file.
    pub backup: Option<Result<PathBuf, ClientsError>>,
    /// Whether the file is unchanged since Spillgate wrote it; `None` without a record.
    pub as_written: Option<bool>,
    /// Whether the file has a separate entry that offers the lookup tools.
    pub lookups: Lookups,
}

/// The state of a server.
#[derive(Debug)]
pub struct ServerReport {
    /// The client's name for the server.
    pub name: String,
    /// The scope of the entry.
    pub scope: Scope,
    /// `Already` if the server is behind the gateway, `Left` if it cannot be wrapped, `Wrapped` if
    /// it would be wrapped on request.
    pub state: State,
    /// The command line that starts the server, if it is behind the gateway.
    pub launch: Option<Launch>,
    /// Whether this is the entry that offers the lookup tools.
    pub is_lookups: bool,
    /// Whether the server's gateway relies on the separate entry for the lookup tools instead of
    /// listing them itself.
    pub leaves_lookups: bool,
    /// The name of the client's list that hides the lookup tools although they are needed.
    pub hidden_by: Option<String>,
}

/// Returns the state of `file`; `None` if the file does not exist.
pub fn inspect(
    client: Client,
    file: &Path,
    places: &[ServerTable],
    records: &Records,
) -> Result<Option<FileReport>, ClientsError> {
    let Some(Opened { seen, values }) = Opened::open(file)? else {
        return Ok(None);
    };
    let record = records.load(&seen.file)?;
    let dialect = dialect::of(client);
    let places: Vec<ServerTable> = in_file(places, file).cloned().collect();
    let report = |found: crate::plan::Found<'_>| {
        let (state, launch) = match found
            .entry
            .map(|entry| (entry, kind(client, &dialect, entry)))
        {
            None => (State::Left("it is no table".into()), None),
            Some((entry, Kind::Wrapped(started) | Kind::Lookups(started))) => {
                let launch = Launch::of(client, entry, started);
                (State::Already, Some(launch))
            }
            Some((_, Kind::Left(why))) => (State::Left(why), None),
            Some((_, Kind::Started(_) | Kind::Remote(_))) => (State::Wrapped, None),
        };
        let ours = found.entry.filter(|_| launch.is_some());
        let lists = ours.filter(|entry| lists_them(&dialect, entry));
        let offers = |entry: &Entry| matches!(kind(client, &dialect, entry), Kind::Lookups(_));
        ServerReport {
            name: found.name.to_owned(),
            scope: found.scope,
            state,
            launch,
            is_lookups: ours.is_some_and(offers),
            leaves_lookups: ours.is_some() && lists.is_none(),
            hidden_by: lists.and_then(|entry| hidden(client, entry)).or_else(|| {
                hides_server(client, &values, found.name).filter(|_| ours.is_some_and(offers))
            }),
        }
    };
    let servers = servers(client, &values, &places);
    let lookups = of_servers(client, &servers);
    Ok(Some(FileReport {
        file: file.to_owned(),
        servers: servers.into_iter().map(report).collect(),
        backup: record.as_ref().map(|record| {
            let there = records.backup(record);
            there.map(|_| records.backup_of(record))
        }),
        as_written: record.map(|record| record.written == digest(&seen.bytes)),
        lookups,
    }))
}

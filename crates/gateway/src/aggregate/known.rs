//! The last known greeting and lists of each server. They are used while a server is not running,
//! and stored on disk for the next start of the gateway.
//!
//! Each server has one file with mode 0600 in a directory with mode 0700. The file name is a hash
//! of the server's command or URL and of this program's version. The values of variables and
//! headers are not part of the hash. The content comes from the server alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use spillgate_transport::{ServerSpec, Transport};

use super::Kind;
use spillgate_upstream::Server;

/// Maximum size of a file, in bytes. The largest list that was measured with a real server takes 82
/// KB.
const MOST_BYTES: u64 = 4 << 20;

/// Maximum number of files in the directory. The oldest files are removed first.
const MOST_FILES: usize = 256;

/// How long a client waits for a server that did not answer last time. It is long enough for a
/// server that answers promptly this time.
const MOMENT: Duration = Duration::from_millis(300);

/// A complete list of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct List {
    /// The entries as JSON, exactly as the server sent them.
    pub(crate) entries: Vec<String>,
    /// The other members of the list's first page.
    pub(crate) rest: Map<String, Value>,
}

/// What one server answered, by request method.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Said {
    #[serde(default)]
    greetings: BTreeMap<String, Map<String, Value>>,
    #[serde(default)]
    lists: BTreeMap<String, Arc<List>>,
    /// Methods that the server did not answer while a client waited, and has not answered since.
    #[serde(default)]
    unanswered: BTreeSet<String>,
}

impl Said {
    /// Records that the server answered a request with this method. Returns whether the server had
    /// left the previous request with this method unanswered.
    fn answers(&mut self, method: &str) -> bool {
        self.unanswered.remove(method)
    }

    /// Whether the server is unlikely to answer: it did not answer last time, or it has never
    /// answered at all.
    fn is_silent(&self, method: &str) -> bool {
        let is_nothing_known = self.greetings.is_empty() && self.lists.is_empty();
        self.unanswered.contains(method) || is_nothing_known && !self.unanswered.is_empty()
    }
}

/// What all servers answered. Lists are the same for every client, so all clients share them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    servers: Mutex<HashMap<String, (ServerSpec, Said)>>,
    directory: Option<PathBuf>,
    /// Held while a file is written, so that old data never replace newer data.
    writing: Mutex<()>,
}

impl Known {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            ..Self::default()
        }
    }

    /// Replaces the servers by those of a configuration. What is known of a server with an
    /// unchanged configuration is kept. For other servers, the stored file is read.
    pub(crate) fn adopt(&self, servers: &[Arc<Server>]) {
        let mut known = self.servers.lock();
        let adopted = servers.iter().map(|server| {
            let spec = &server.spec;
            let same = known.remove(&spec.name).filter(|(old, _)| old == spec);
            let said = same.map(|(_, said)| said);
            let said = said.or_else(|| self.read(spec)).unwrap_or_default();
            (spec.name.clone(), (spec.clone(), said))
        });
        *known = adopted.collect();
    }

    pub(crate) fn list(&self, server: &str, kind: Kind) -> Option<Arc<List>> {
        let known = self.servers.lock();
        known.get(server)?.1.lists.get(kind.list().0).cloned()
    }

    /// Returns the server's last answer to the greeting `method`.
    pub(crate) fn greeting(&self, server: &str, method: &str) -> Option<Map<String, Value>> {
        let known = self.servers.lock();
        known.get(server)?.1.greetings.get(method).cloned()
    }

    pub(crate) fn learn_list(self: &Arc<Self>, server: &str, kind: Kind, list: &Arc<List>) {
        let method = kind.list().0;
        self.learn(server, |said| match said.lists.get(method) {
            Some(same) if same == list => said.answers(method),
            _ => {
                said.answers(method);
                said.lists.insert(method.to_owned(), Arc::clone(list));
                true
            }
        });
    }

    pub(crate) fn learn_greeting(
        self: &Arc<Self>,
        server: &str,
        method: &str,
        greeting: &Map<String, Value>,
    ) {
        self.learn(server, |said| match said.greetings.get(method) {
            Some(same) if same == greeting => said.answers(method),
            _ => {
                said.answers(method);
                said.greetings.insert(method.to_owned(), greeting.clone());
                true
            }
        });
    }

    /// Returns how long a client may wait for an answer to `method` that is not known yet: `most`,
    /// or only a short time if the server did not answer last time.
    pub(crate) fn patience(&self, server: &str, method: &str, most: Duration) -> Duration {
        let known = self.servers.lock();
        match known
            .get(server)
            .is_some_and(|(_, said)| said.is_silent(method))
        {
            true => most.min(MOMENT),
            false => most,
        }
    }

    /// Records that the server did not answer while a client waited. This is valid until the server
    /// answers `method`.
    pub(crate) fn note_silence(self: &Arc<Self>, server: &str, method: &str) {
        self.learn(server, |said| said.unanswered.insert(method.to_owned()));
    }

    fn learn(self: &Arc<Self>, server: &str, change: impl FnOnce(&mut Said) -> bool) {
        let mut known = self.servers.lock();
        let has_changed = known.get_mut(server).is_some_and(|(_, said)| change(said));
        drop(known);
        if has_changed && self.directory.is_some() {
            let (known, server) = (Arc::clone(self), server.to_owned());
            drop(tokio::task::spawn_blocking(move || known.write(&server)));
        }
    }

    fn read(&self, spec: &ServerSpec) -> Option<Said> {
        let file = self.directory.as_ref()?.join(file_name(spec));
        let read = || -> io::Result<Option<Said>> {
            // The gateway created this directory, so other users cannot put links into it. Only
            // regular files are read.
            let found = fs::symlink_metadata(&file)?;
            if !found.is_file() || found.len() > MOST_BYTES {
                return Ok(None);
            }
            let mut text = Vec::new();
            fs::File::open(&file)?
                .take(MOST_BYTES)
                .read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text).ok())
        };
        match read() {
            Ok(said) => said,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::debug!(server = spec.name, %error, "the cached lists of a server could not be read");
                None
            }
        }
    }

    /// Writes to disk what is known of a server. If this fails, the only consequence is that
    /// clients wait longer after the next start.
    fn write(&self, server: &str) {
        let _one_at_a_time = self.writing.lock();
        let (spec, said) = match self.servers.lock().get(server) {
            Some(known) => known.clone(),
            None => return,
        };
        let Some(directory) = &self.directory else {
            return;
        };
        if let Err(error) = write(directory, &file_name(&spec), &said) {
            tracing::debug!(server, %error, "the lists of a server could not be cached for the next start");
        }
    }
}

fn write(directory: &Path, name: &str, said: &Said) -> io::Result<()> {
    let file = directory.join(name);
    let text = serde_json::to_vec(said)?;
    if text.len() as u64 > MOST_BYTES {
        // Remove the old file; otherwise its outdated content would be used after the next start.
        return match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    make_room(directory)?;
    let beside = directory.join(format!("{name}.{}", std::process::id()));
    let mut options = OpenOptions::new();
    // `create_new` fails if the name exists, so no link is followed.
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&beside).and_then(|mut to| {
        to.write_all(&text)?;
        fs::rename(&beside, &file)
    });
    if written.is_err() {
        drop(fs::remove_file(&beside));
    }
    written
}

/// Removes the oldest files if there are too many.
fn make_room(directory: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let found = entry.metadata()?;
        let age = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        files.push((age, entry.path()));
    }
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(MOST_FILES);
    for (_, path) in files.iter().take(surplus) {
        drop(fs::remove_file(path));
    }
    Ok(())
}

/// Returns the name of the server's file: a hash of its command or URL. Arguments and URLs may
/// contain secrets, so only the hash is stored. The values of variables and headers are not hashed.
fn file_name(spec: &ServerSpec) -> String {
    let way = match &spec.transport {
        Transport::Command(command) => json!([
            "command",
            command.program,
            command.arguments,
            command.env.keys().collect::<Vec<_>>(),
            command.directory,
        ]),
        Transport::Http(server) | Transport::Sse(server) => {
            let headers: Vec<&String> = server.headers.keys().collect();
            json!(["url", server.url, headers])
        }
    };
    let key = json!([env!("CARGO_PKG_VERSION"), way]).to_string();
    let hash = Sha256::digest(key.as_bytes());
    format!("{}.json", HEXLOWER.encode(&hash))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use spillgate_transport::ServerCommand;

    use super::*;

    fn server(program: &str, secret: &str) -> Arc<Server> {
        let command = ServerCommand {
            program: program.to_owned(),
            arguments: vec!["--token=hidden".to_owned()],
            env: BTreeMap::from([("KEY".to_owned(), secret.to_owned())]),
            ..ServerCommand::default()
        };
        Arc::new(Server::new(ServerSpec {
            name: "s".to_owned(),
            transport: Transport::Command(command),
        }))
    }

    fn directory() -> PathBuf {
        let name = format!(
            "spillgate-known-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        );
        std::env::temp_dir().join(name.replace(['(', ')'], ""))
    }

    fn kept(directory: &Path, server: &Arc<Server>) -> Arc<Known> {
        let known = Arc::new(Known::new(Some(directory.to_owned())));
        known.adopt(std::slice::from_ref(server));
        known
    }

    #[test]
    fn a_list_is_found_again_by_the_same_server_only() {
        let directory = directory();
        let (first, other) = (server("a", "secret"), server("b", "secret"));
        let known = kept(&directory, &first);
        let list = List {
            entries: vec![r#"{"name":"x", "n":1.0}"#.to_owned()],
            rest: Map::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async { known.learn_list("s", Kind::Tools, &Arc::new(list.clone())) });
        drop(runtime); // waits until pending writes are complete
        // With another value of a variable it is the same server; with another program it is a
        // different one.
        let again = kept(&directory, &server("a", "another secret"));
        assert_eq!(again.list("s", Kind::Tools).as_deref(), Some(&list));
        assert_eq!(again.list("s", Kind::Prompts), None);
        assert_eq!(kept(&directory, &other).list("s", Kind::Tools), None);
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(
                entry.metadata().unwrap().permissions().mode() & 0o777,
                0o600
            );
            let text = fs::read_to_string(entry.path()).unwrap();
            let told = format!("{text} {}", entry.path().display());
            assert!(
                !told.contains("secret") && !told.contains("hidden"),
                "{told}"
            );
            // A damaged file is ignored.
            fs::write(entry.path(), "{").unwrap();
        }
        assert_eq!(kept(&directory, &first).list("s", Kind::Tools), None);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn the_directory_does_not_grow_without_end() {
        let directory = directory();
        let said = Said::default();
        for at in 0..MOST_FILES + 20 {
            write(&directory, &format!("{at}.json"), &said).unwrap();
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), MOST_FILES);
        let long = "x".repeat(usize::try_from(MOST_BYTES).unwrap());
        let greeting = Map::from_iter([("instructions".to_owned(), Value::from(long))]);
        let large = Said {
            greetings: BTreeMap::from([("initialize".to_owned(), greeting)]),
            ..Said::default()
        };
        let last = format!("{}.json", MOST_FILES + 19);
        write(&directory, &last, &large).unwrap();
        assert!(!directory.join(last).exists());
        fs::remove_dir_all(directory).unwrap();
    }
}

//! Stores tokens in files that several gateways share.
//!
//! Each server has one file, which only its owner can read and which is always replaced as a whole.
//! A lock file beside it ensures that only one process renews a token at a time: many authorization
//! servers accept a refresh token only once and end the login when the same token is used again.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use reqwest::Url;
use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::LoginError;

/// A directory with the tokens of servers.
#[derive(Debug, Clone)]
pub struct Vault {
    directory: PathBuf,
}

/// A stored login.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Login {
    /// The server's URL.
    pub(crate) url: String,
    pub(crate) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    pub(crate) credentials: StoredCredentials,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

/// A lock on a server's file, held while its token is renewed.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "open as long as it is locked")] File);

/// A server's URL for display, without parts that may be secret.
#[must_use]
pub fn origin_of(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| "an unknown server".to_owned(),
        |url| format!("{}{}", url.origin().ascii_serialization(), url.path()),
    )
}

impl Vault {
    /// Returns the vault in this directory, which need not exist yet.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Whether a login at this server is stored.
    pub fn has(&self, url: &str) -> Result<bool, LoginError> {
        Ok(self.load(url)?.is_some())
    }

    /// Returns the servers with a stored login.
    pub fn servers(&self) -> Result<Vec<String>, LoginError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fault(&self.directory, error)),
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let logins = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut urls: Vec<String> = logins
            .filter_map(|path| Some(read(&path).ok()??.url))
            .collect();
        urls.sort();
        Ok(urls)
    }

    /// Removes the login at this server; returns whether there was one.
    pub fn remove(&self, url: &str) -> Result<bool, LoginError> {
        let path = self.path(url, "json")?;
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(fault(&path, error)),
        }
    }

    pub(crate) fn load(&self, url: &str) -> Result<Option<Login>, LoginError> {
        let path = self.path(url, "json")?;
        read(&path).map_err(|error| fault(&path, error))
    }

    pub(crate) fn save(&self, login: &Login) -> Result<(), LoginError> {
        let path = self.path(&login.url, "json")?;
        self.write(&path, login)
            .map_err(|error| fault(&path, error))
    }

    fn write(&self, path: &Path, login: &Login) -> io::Result<()> {
        self.create()?;
        // `NamedTempFile` creates files that only their owner can access.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        serde_json::to_writer(&mut file, login)?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// Waits until no other process is renewing this server's token.
    pub(crate) async fn lock(&self, url: &str) -> Result<Lock, LoginError> {
        let path = self.path(url, "lock")?;
        self.create().map_err(|error| fault(&path, error))?;
        let waiting = {
            let path = path.clone();
            move || -> io::Result<Lock> {
                let mut options = OpenOptions::new();
                let file = options.write(true).create(true).mode(0o600).open(path)?;
                file.lock()?;
                Ok(Lock(file))
            }
        };
        let locked = tokio::task::spawn_blocking(waiting).await;
        let locked = locked.unwrap_or_else(|error| Err(io::Error::other(error)));
        locked.map_err(|error| fault(&path, error))
    }

    fn create(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.directory)
    }

    /// Returns the path of a server's file. The file name is a hash, because a URL may contain any
    /// characters.
    fn path(&self, url: &str, ending: &str) -> Result<PathBuf, LoginError> {
        let mut url = Url::parse(url).map_err(|error| LoginError::Url(error.to_string()))?;
        url.set_fragment(None);
        let hash = Sha256::digest(url.as_str());
        let name = HEXLOWER.encode(&hash[..16]);
        Ok(self.directory.join(format!("{name}.{ending}")))
    }
}

fn read(path: &Path) -> io::Result<Option<Login>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).map_err(|_| {
            io::Error::new(ErrorKind::InvalidData, "it is damaged; log in again")
        })?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn fault(path: &Path, source: io::Error) -> LoginError {
    LoginError::Vault {
        path: path.display().to_string(),
        source,
    }
}

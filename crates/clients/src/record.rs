//! Records of changed files, with backups.
//!
//! Each wrapped file has a record and a backup, a copy of the file without Spillgate's entries.
//! Records and backups may hold secrets, so only their owner can read them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::file::{digest, failed, read, write_own};
use crate::{Client, ClientsError};

/// An entry before and after wrapping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The keys from the top of the file to the entry.
    pub(crate) at: Vec<String>,
    pub(crate) before: Entry,
    pub(crate) after: Entry,
    /// Whether the changed value is a list to which an element was added, and not a server's entry.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_list: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The record of the changes that Spillgate made to a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) client: Client,
    /// The real path.
    pub(crate) file: PathBuf,
    /// SHA-256 of the file without Spillgate's entries.
    pub(crate) original: String,
    /// SHA-256 of the file as Spillgate wrote it.
    pub(crate) written: String,
    pub(crate) entries: Vec<Kept>,
    /// Whether Spillgate created the file, so that `unwrap` removes it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) created: bool,
}

/// The directory of all records.
#[derive(Debug, Clone)]
pub struct Records {
    directory: PathBuf,
}

impl Records {
    /// Uses the records in `directory`, which is created on the first write.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    fn path(&self, file: &Path, ending: &str) -> PathBuf {
        let key = digest(file.as_os_str().as_encoded_bytes());
        self.directory.join(format!("{}.{ending}", &key[..16]))
    }

    fn of(&self, file: &Path) -> PathBuf {
        self.path(file, "json")
    }

    /// Returns the path of the copy without Spillgate's entries.
    pub(crate) fn backup_of(&self, record: &Record) -> PathBuf {
        let ending = format!("{}.bak", &record.original.get(..16).unwrap_or_default());
        self.path(&record.file, &ending)
    }

    pub(crate) fn load(&self, file: &Path) -> Result<Option<Record>, ClientsError> {
        let path = self.of(file);
        let Some(seen) = read(&path)? else {
            return Ok(None);
        };
        let damaged = |message: String| ClientsError::Record {
            file: path.clone(),
            message,
        };
        let record: Record =
            serde_json::from_slice(&seen.bytes).map_err(|error| damaged(error.to_string()))?;
        match record.file == file {
            true => Ok(Some(record)),
            false => Err(damaged("it belongs to another file".into())),
        }
    }

    /// Returns the recorded files of `client`.
    pub fn files(&self, client: Client) -> Result<Vec<PathBuf>, ClientsError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&self.directory, "reading it")(error)),
        };
        let mut files = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let Some(seen) = read(&path)? else { continue };
            // A damaged record is skipped here; [`Records::load`] reports it.
            let record: Option<Record> = serde_json::from_slice(&seen.bytes).ok();
            files.extend(record.filter(|of| of.client == client).map(|of| of.file));
        }
        files.sort();
        Ok(files)
    }

    /// Reads the copy without Spillgate's entries.
    pub(crate) fn backup(&self, record: &Record) -> Result<Vec<u8>, ClientsError> {
        let path = self.backup_of(record);
        let damaged = |message: &str| ClientsError::Record {
            file: path.clone(),
            message: message.to_owned(),
        };
        let seen = read(&path)?.ok_or_else(|| damaged("the backup is gone"))?;
        match digest(&seen.bytes) == record.original {
            true => Ok(seen.bytes),
            false => Err(damaged("the backup was changed")),
        }
    }

    /// Writes the copy without Spillgate's entries, then the record that names it.
    pub(crate) fn save(&self, record: &Record, original: &[u8]) -> Result<(), ClientsError> {
        write_own(&self.backup_of(record), original)?;
        self.save_record(record)
    }

    pub(crate) fn save_record(&self, record: &Record) -> Result<(), ClientsError> {
        let file = self.of(&record.file);
        let bytes = serde_json::to_vec_pretty(record).map_err(|error| ClientsError::Record {
            file: file.clone(),
            message: error.to_string(),
        })?;
        write_own(&file, &bytes)
    }

    /// Removes the record, and its backup unless `keep_backup`.
    pub(crate) fn forget(&self, record: &Record, keep_backup: bool) -> Result<(), ClientsError> {
        let remove = |path: PathBuf| match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed(&path, "removing it")(error))
            }
            _ => Ok(()),
        };
        if !keep_backup {
            remove(self.backup_of(record))?;
        }
        remove(self.of(&record.file))
    }
}

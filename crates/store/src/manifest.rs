//! Reads, checks and changes the manifest of an artifact.
//!
//! An artifact of a newer format is refused. Pinning preserves members of a manifest that this
//! version does not know.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::Value;
use spillgate_artifact::{Checks, Encryption, Facts, Handle, Manifest, Scheme};

use crate::StoreError;
use crate::disk::Disk;
use crate::key::{ArtifactKey, SALT_BYTES, Sealed};
use crate::open::{open_regular, to_json, write_whole};
use crate::sealed::salt;

/// Members that the manifest's checksum does not cover: `pinned` and `revision`, because they can
/// change, and `checks`, because it contains the checksum. A store in a bucket writes another
/// `revision` with each change.
const NOT_SUMMED: [&str; 3] = ["pinned", "revision", "checks"];

/// Creates the manifest of a new artifact, with checksums of the parts that its SHA-256 does not
/// cover. With a key, its arguments are encrypted.
pub(crate) fn of(
    handle: Handle,
    facts: Facts,
    view: Option<u32>,
    index: &[u8],
    key: Option<&ArtifactKey>,
) -> io::Result<Manifest> {
    let mut manifest = Manifest::new(handle, facts);
    if let Some(key) = key {
        seal(&mut manifest, key)?;
    }
    let sum = serde_json::to_value(&manifest).map_or(0, |value| sum(&value));
    manifest.checks = Some(Checks {
        view,
        index: crc32fast::hash(index),
        manifest: sum,
    });
    Ok(manifest)
}

/// Moves the arguments from a manifest's facts to an encrypted text. The text authenticates the
/// other members of the manifest, too.
fn seal(manifest: &mut Manifest, key: &ArtifactKey) -> io::Result<()> {
    let arguments = manifest.facts.origin.arguments.take();
    manifest.encryption = Some(Box::new(Encryption {
        scheme: Scheme::ChaCha20Poly1305,
        key: key.key.id(),
        id: key.id.clone(),
        arguments: String::new(),
    }));
    manifest.format = Manifest::ENCRYPTED;
    let salt = salt()?;
    let mut chunk = serde_json::to_vec(&arguments)?;
    let members = authenticated(&serde_json::to_value(&*manifest)?);
    key.cipher_with(Sealed::Arguments, &salt, members.as_bytes())
        .seal(0, true, &mut chunk);
    if let Some(encryption) = &mut manifest.encryption {
        encryption.arguments = BASE64.encode(&[&salt[..], &chunk].concat());
    }
    Ok(())
}

/// Decrypts the arguments of a manifest that was read from `bytes`. Returns whether the manifest is
/// what was written.
pub(crate) fn unseal(manifest: &mut Manifest, bytes: &[u8], key: &ArtifactKey) -> bool {
    let arguments = manifest.encryption.as_ref().and_then(|encryption| {
        let sealed = BASE64.decode(encryption.arguments.as_bytes()).ok()?;
        let (salt, chunk) = sealed.split_first_chunk::<SALT_BYTES>()?;
        let members = authenticated(&serde_json::from_slice(bytes).ok()?);
        let cipher = key.cipher_with(Sealed::Arguments, salt, members.as_bytes());
        let mut chunk = chunk.to_vec();
        let is_whole = cipher.open(0, true, &mut chunk);
        is_whole.then(|| serde_json::from_slice(&chunk).ok())?
    });
    match arguments {
        Some(arguments) => {
            manifest.facts.origin.arguments = arguments;
            true
        }
        None => false,
    }
}

/// Returns the members of a manifest that the encrypted arguments authenticate: those that its
/// checksum covers, except the encrypted arguments themselves.
fn authenticated(manifest: &Value) -> String {
    let mut members = summed(manifest);
    if let Some(encryption) = members.get_mut("encryption").and_then(Value::as_object_mut) {
        encryption.retain(|name, _| name != "arguments");
    }
    members.to_string()
}

/// Returns the checksum of a manifest as it is in its file, including members that only other
/// versions know.
fn sum(manifest: &Value) -> u32 {
    crc32fast::hash(summed(manifest).to_string().as_bytes())
}

fn summed(manifest: &Value) -> Value {
    let mut summed = manifest.clone();
    if let Some(members) = summed.as_object_mut() {
        members.retain(|name, _| !NOT_SUMMED.contains(&name.as_str()));
    }
    summed
}

fn damaged(path: &Path, what: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        what: what.into(),
    }
}

pub(crate) fn parse(handle: Handle, path: &Path, bytes: &[u8]) -> Result<Manifest, StoreError> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let parsed = serde_json::from_slice::<Manifest>(bytes);
    // A newer manifest may have another structure, so its format is parsed separately.
    let format = match &parsed {
        Ok(manifest) => Some(manifest.format),
        Err(_) => serde_json::from_slice(bytes)
            .ok()
            .map(|versioned: Versioned| versioned.format),
    };
    if let Some(format) = format.filter(|&format| format > Manifest::FORMAT) {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            format,
        });
    }
    let manifest = parsed.map_err(|error| damaged(path, error.to_string()))?;
    if manifest.handle != handle {
        return Err(damaged(
            path,
            format!("it describes another artifact, {}", manifest.handle),
        ));
    }
    Ok(manifest)
}

/// Checks that the manifest has not changed since it was written.
pub(crate) fn check(manifest: &Manifest, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let Some(checks) = &manifest.checks else {
        return Ok(());
    };
    let value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    match sum(&value) == checks.manifest {
        true => Ok(()),
        false => Err(damaged(path, "it is not what was written (CRC-32)")),
    }
}

/// Checks that the line index has not changed since it was written. Errors name `path`.
pub fn check_index(manifest: &Manifest, path: &Path, index: &[u8]) -> Result<(), StoreError> {
    match &manifest.checks {
        Some(checks) if checks.index != crc32fast::hash(index) => {
            let what = "the line index is not what was written (CRC-32)";
            Err(damaged(path, what))
        }
        _ => Ok(()),
    }
}

/// Rewrites the manifest `bytes` with another value of `pinned`. On a full disk it changes the
/// value in place, because overwriting existing bytes needs no space.
pub(crate) fn pin(path: &Path, bytes: &[u8], pinned: bool, disk: &Disk) -> Result<(), StoreError> {
    let mut manifest: Value =
        serde_json::from_slice(bytes).map_err(|error| damaged(path, error.to_string()))?;
    manifest["pinned"] = pinned.into();
    match write_whole(path, &to_json(&manifest), Some(disk)) {
        Err(full @ StoreError::Full { .. }) => match mark(bytes, pinned) {
            Some((at, mark)) => overwrite(path, at, mark),
            None => Err(full),
        },
        written => written,
    }
}

/// Returns the offset of the `pinned` value and its replacement, which has the same length. JSON
/// allows white space after the value, so the shorter value is padded with a space.
fn mark(manifest: &[u8], pinned: bool) -> Option<(usize, &'static [u8])> {
    let changes: [(&[u8], &[u8]); 2] = match pinned {
        true => [(b"false,", b"true ,"), (b"false", b"true ")],
        false => [(b"true ,", b"false,"), (b"true,\n", b"false,")],
    };
    let name = b"\"pinned\": ";
    let at = manifest.windows(name.len()).position(|part| part == name)? + name.len();
    let (_, mark) = changes
        .into_iter()
        .find(|(is, _)| manifest[at..].starts_with(is))?;
    Some((at, mark))
}

fn overwrite(path: &Path, at: usize, mark: &[u8]) -> Result<(), StoreError> {
    open_regular(path, OpenOptions::new().write(true))
        .and_then(|file| {
            file.write_all_at(mark, at as u64)?;
            file.sync_data()
        })
        .map_err(|error| StoreError::io(path, error))
}

//! The protocol between a store and its bucket. docs/decisions/0042-a-store-in-a-bucket.md has the
//! reasons.
//!
//! - An artifact exists if and only if its head (`manifest.json`) is a manifest. The head is created
//!   once, after all other objects, on the condition that there is none.
//! - To remove an artifact, its head is replaced by a tombstone, on the condition that it did not
//!   change since it was read. Then its other objects are removed.
//! - A writer that gives up, and a sweep that finds objects without a head, first create a head that
//!   says so. A manifest that arrives late can then no longer be created.
//!
//! Nothing here starts tasks, and it waits for time only as [`Again`] says, so that a test can run it
//! step by step.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutPayload, UpdateVersion,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_artifact::{ByteSource, FileId, Handle, Timestamp};
use spillgate_store::{
    Absent, ArtifactFiles, Gone, Piece, Remote, RemovalObserver, StoreError, Tombstone,
};

use crate::again::{Again, Tries};
use crate::layout::{Layout, Object};
use crate::swap::Swap;
use crate::trouble::{failed, strange};

/// Bytes of a part of a large body. A larger body than ten thousand of them has larger parts.
pub(crate) const PART: u64 = 8 << 20;

/// Maximum number of parts of an upload; S3 allows 10,000.
const PARTS: u64 = 9000;

/// Parts that are sent or fetched at the same time.
pub(crate) const AT_ONCE: usize = 4;

/// Requests for small objects at the same time.
const SMALL_AT_ONCE: usize = 16;

/// Maximum bytes of a manifest. Arguments of calls are in it.
const MOST_MANIFEST: u64 = 64 << 20;

/// How often a change of a head is tried again after somebody else has changed it.
const ATTEMPTS: usize = 16;

/// The objects of a store in a bucket.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) layout: Layout,
    /// How an object is replaced on the condition that it did not change.
    pub(crate) swap: Swap,
    /// The address of the store, for errors.
    pub(crate) place: Arc<str>,
    /// Bytes of a part of a large body ([`PART`]).
    pub(crate) part: u64,
    /// When an object is created again because no answer came.
    pub(crate) again: Again,
    /// Is told of each removal.
    pub(crate) observer: Option<Arc<dyn RemovalObserver>>,
}

/// What the head of an artifact is.
#[derive(Debug, Clone)]
pub(crate) enum Head {
    /// There is none.
    Missing,
    /// A manifest: the artifact exists.
    Stored(Manifested),
    /// A tombstone: the artifact is gone.
    Gone(Tombstone),
    /// The artifact was never completed, and never will be.
    Barred,
}

/// The manifest of an artifact.
#[derive(Debug, Clone)]
pub(crate) struct Manifested {
    pub(crate) bytes: Bytes,
    pub(crate) version: UpdateVersion,
    /// When the head was written, by the clock of the bucket.
    pub(crate) modified: SystemTime,
}

/// A head that is no manifest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mark {
    /// The artifact is gone.
    Gone(Tombstone),
    /// It was never completed.
    Barred,
}

impl Mark {
    fn bytes(&self) -> Bytes {
        serde_json::to_vec(&MarkFile { spillgate: self })
            .expect("invariant: plain data is JSON")
            .into()
    }
}

/// A mark as it is in its object. No manifest has a member with this name.
#[derive(Debug, Serialize, Deserialize)]
struct MarkFile<T> {
    spillgate: T,
}

/// An artifact in the list of a bucket, from the names, sizes and times of its objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) handle: Handle,
    /// When the head was written, which is when the artifact was made, used or pinned.
    pub(crate) head: Option<SystemTime>,
    /// When the index was written, which is when the artifact was made.
    pub(crate) index: Option<SystemTime>,
    /// When the newest of its objects besides the head was written.
    pub(crate) newest: Option<SystemTime>,
    /// Bytes of its pieces.
    pub(crate) bytes: u64,
}

impl Entry {
    /// Whether it looks like an artifact. A removed one has no index.
    pub(crate) fn is_artifact(&self) -> bool {
        self.head.is_some() && self.index.is_some()
    }

    /// When the artifact was used last.
    pub(crate) fn last_used(&self) -> SystemTime {
        self.head.unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

impl Bucket {
    pub(crate) fn failed(&self, doing: &str, error: &Error) -> StoreError {
        failed(&self.place, doing, error)
    }

    /// Returns the address of an object, for errors.
    pub(crate) fn address(&self, handle: Handle, object: Object) -> PathBuf {
        let path = self.layout.path(handle, object);
        PathBuf::from(format!("{}: {path}", self.place))
    }

    /// Stores the files of a new artifact. If this fails, the artifact does not exist, and will not
    /// exist later, unless the bucket can no longer be reached ([`is_unreachable`]): then nobody knows
    /// its handle, and the caller should [`Bucket::abandon`] it when there is time.
    pub(crate) async fn put(
        &self,
        handle: Handle,
        files: &ArtifactFiles,
    ) -> Result<(), StoreError> {
        let Err(error) = self.put_all(handle, files).await else {
            return Ok(());
        };
        // Trying more would only take time. The caller removes what is left when it can.
        if is_unreachable(&error) {
            return Err(error);
        }
        // If this fails, too, a sweep finds what is left.
        if self.abandon(handle).await.is_err()
            && let Ok(Head::Stored(stored)) = self.head(handle).await
            && stored.bytes == files.manifest
        {
            return Ok(());
        }
        Err(error)
    }

    async fn put_all(&self, handle: Handle, files: &ArtifactFiles) -> Result<(), StoreError> {
        let mut pieces: Vec<_> = files.pieces.iter().collect();
        // The index reserves the handle.
        pieces.sort_by_key(|(piece, _)| *piece);
        for (piece, source) in pieces {
            match piece {
                Piece::Index => self.reserve(handle, source).await?,
                _ => self.put_piece(handle, *piece, source).await?,
            }
        }
        self.create_head(handle, Bytes::from(files.manifest.clone()))
            .await
    }

    /// Creates the index, unless another artifact has or had the handle.
    async fn reserve(&self, handle: Handle, index: &Arc<dyn ByteSource>) -> Result<(), StoreError> {
        let bytes = Bytes::from(read_of(index, 0, index.len())?);
        let path = self.layout.path(handle, Object::Piece(Piece::Index));
        let mut tries = Tries::new(self.again);
        loop {
            let payload = PutPayload::from(bytes.clone());
            let put = self
                .objects
                .put_opts(&path, payload, PutMode::Create.into());
            match put.await {
                Ok(_) => return Ok(()),
                // The request may have been sent twice because the first answer was lost.
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                    return match self.head(handle).await? {
                        Head::Missing => Ok(()),
                        _ => Err(strange(
                            &self.place,
                            "storing an output",
                            "its handle is taken",
                        )),
                    };
                }
                Err(error) if tries.goes_on(&error).await => {}
                Err(error) => return Err(self.failed("storing an output", &error)),
            }
        }
    }

    async fn put_piece(
        &self,
        handle: Handle,
        piece: Piece,
        source: &Arc<dyn ByteSource>,
    ) -> Result<(), StoreError> {
        let path = self.layout.path(handle, Object::Piece(piece));
        let doing = "storing an output";
        if source.len() <= self.part {
            let bytes = read_of(source, 0, source.len())?;
            let put = self.objects.put(&path, bytes.into()).await;
            return put.map(drop).map_err(|error| self.failed(doing, &error));
        }
        let size = self.part.max(source.len().div_ceil(PARTS));
        let upload = self.objects.put_multipart_opts(&path, <_>::default());
        let mut upload = upload.await.map_err(|error| self.failed(doing, &error))?;
        let mut running = FuturesUnordered::new();
        let mut at = 0;
        let sent: Result<(), StoreError> = async {
            while at < source.len() {
                let end = source.len().min(at + size);
                running.push(upload.put_part(read_of(source, at, end)?.into()));
                at = end;
                if running.len() >= AT_ONCE {
                    finished(&mut running)
                        .await
                        .map_err(|error| self.failed(doing, &error))?;
                }
            }
            while !running.is_empty() {
                finished(&mut running)
                    .await
                    .map_err(|error| self.failed(doing, &error))?;
            }
            let Err(error) = upload.complete().await else {
                return Ok(());
            };
            // The answer may be lost. If the client then asked again, there was no upload any more.
            match self.objects.head(&path).await {
                Ok(meta) if meta.size == source.len() => Ok(()),
                _ => Err(self.failed(doing, &error)),
            }
        }
        .await;
        if sent.is_err() {
            drop(running);
            // The bucket's own rules remove parts that stay.
            drop(upload.abort().await);
        }
        sent
    }

    /// Creates the head, which makes the artifact exist.
    async fn create_head(&self, handle: Handle, bytes: Bytes) -> Result<(), StoreError> {
        let doing = "storing an output";
        let path = self.layout.path(handle, Object::Head);
        let mut tries = Tries::new(self.again);
        loop {
            let payload = PutPayload::from(bytes.clone());
            let put = self
                .objects
                .put_opts(&path, payload, PutMode::Create.into());
            let Err(error) = put.await else {
                return Ok(());
            };
            // The answer may be lost, or the request may have been sent twice because it was lost.
            match self.head(handle).await {
                Ok(Head::Stored(stored)) if stored.bytes == bytes => return Ok(()),
                Ok(Head::Barred) => {
                    return Err(strange(
                        &self.place,
                        doing,
                        "it took so long that it was taken for the rest of a failure",
                    ));
                }
                Ok(Head::Gone(_)) => {
                    return Err(strange(&self.place, doing, "its handle is taken"));
                }
                Ok(Head::Missing) if tries.goes_on(&error).await => {}
                _ => return Err(self.failed(doing, &error)),
            }
        }
    }

    /// Makes sure that the artifact never comes into existence, and removes its objects. Fails if it
    /// exists.
    pub(crate) async fn abandon(&self, handle: Handle) -> Result<(), StoreError> {
        let path = self.layout.path(handle, Object::Head);
        let mut tries = Tries::new(self.again);
        loop {
            let payload = PutPayload::from(Mark::Barred.bytes());
            let barred = self
                .objects
                .put_opts(&path, payload, PutMode::Create.into());
            let Err(error) = barred.await else {
                break;
            };
            match self.head(handle).await {
                Ok(Head::Barred) => break,
                Ok(Head::Missing) if tries.goes_on(&error).await => {}
                _ => return Err(self.failed("removing an output", &error)),
            }
        }
        self.clear(handle).await
    }

    /// Removes the objects of an artifact besides its head.
    pub(crate) async fn clear(&self, handle: Handle) -> Result<(), StoreError> {
        for object in Object::PIECES {
            let path = self.layout.path(handle, object);
            match self.objects.delete(&path).await {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(self.failed("removing an output", &error)),
            }
        }
        Ok(())
    }

    /// Reads the head of an artifact.
    pub(crate) async fn head(&self, handle: Handle) -> Result<Head, StoreError> {
        let doing = "reading a manifest";
        let path = self.layout.path(handle, Object::Head);
        let got = match self.objects.get(&path).await {
            Err(Error::NotFound { .. }) => return Ok(Head::Missing),
            got => got.map_err(|error| self.failed(doing, &error))?,
        };
        let meta = got.meta.clone();
        if meta.size > MOST_MANIFEST {
            return Err(StoreError::Damaged {
                path: self.address(handle, Object::Head),
                what: format!("a manifest of {} bytes", meta.size),
            });
        }
        let bytes = got
            .bytes()
            .await
            .map_err(|error| self.failed(doing, &error))?;
        Ok(match serde_json::from_slice::<MarkFile<Mark>>(&bytes) {
            Ok(MarkFile {
                spillgate: Mark::Gone(tombstone),
            }) => Head::Gone(tombstone),
            Ok(MarkFile {
                spillgate: Mark::Barred,
            }) => Head::Barred,
            Err(_) => Head::Stored(Manifested {
                bytes,
                version: UpdateVersion {
                    e_tag: meta.e_tag,
                    version: meta.version,
                },
                modified: meta.last_modified.into(),
            }),
        })
    }

    /// Reads the manifest of an artifact. If it does not exist, says why.
    pub(crate) async fn manifest(&self, handle: Handle) -> Result<Manifested, StoreError> {
        let why = match self.head(handle).await? {
            Head::Stored(stored) => return Ok(stored),
            Head::Gone(tombstone) => tombstone.into(),
            Head::Missing | Head::Barred => Absent::Never,
        };
        Err(StoreError::Absent { handle, why })
    }

    /// Returns the error for an object that is missing: the artifact may have been removed a moment
    /// ago.
    async fn missing(&self, handle: Handle, piece: Piece) -> StoreError {
        match self.manifest(handle).await {
            Ok(_) => StoreError::Damaged {
                path: self.address(handle, Object::Piece(piece)),
                what: "the object is missing".to_owned(),
            },
            Err(error) => error,
        }
    }

    /// Reads the bytes `start..end` of a piece, which has `size` bytes.
    pub(crate) async fn read(
        &self,
        handle: Handle,
        piece: Piece,
        (start, end): (u64, u64),
        size: u64,
    ) -> Result<Bytes, StoreError> {
        let doing = "reading an output";
        let path = self.layout.path(handle, Object::Piece(piece));
        let options = GetOptions {
            range: Some(GetRange::Bounded(start..end)),
            ..GetOptions::default()
        };
        let got = match self.objects.get_opts(&path, options).await {
            Err(Error::NotFound { .. }) => return Err(self.missing(handle, piece).await),
            got => got.map_err(|error| self.failed(doing, &error))?,
        };
        if got.meta.size != size {
            return Err(self.damaged(handle, piece, got.meta.size, size));
        }
        let bytes = got
            .bytes()
            .await
            .map_err(|error| self.failed(doing, &error))?;
        match bytes.len() as u64 == end - start {
            true => Ok(bytes),
            false => Err(strange(
                &self.place,
                doing,
                "its answer has another length than was asked for",
            )),
        }
    }

    fn damaged(&self, handle: Handle, piece: Piece, is: u64, of: u64) -> StoreError {
        StoreError::Damaged {
            path: self.address(handle, Object::Piece(piece)),
            what: format!("{is} bytes of {of}"),
        }
    }

    /// Copies a piece to `to`, except for its first `from` bytes. Several parts of a large one are fetched
    /// at the same time.
    pub(crate) async fn fetch(
        &self,
        handle: Handle,
        (piece, from): (Piece, u64),
        to: &mut (impl Write + Send),
    ) -> Result<(), StoreError> {
        let doing = "reading an output";
        let path = self.layout.path(handle, Object::Piece(piece));
        let got = match self.objects.get(&path).await {
            Err(Error::NotFound { .. }) => return Err(self.missing(handle, piece).await),
            got => got.map_err(|error| self.failed(doing, &error))?,
        };
        let size = got.meta.size;
        let unwritten = |source| StoreError::Io {
            path: "a copy of a stored output".into(),
            source,
        };
        if size <= self.part && from == 0 {
            let bytes = got
                .bytes()
                .await
                .map_err(|error| self.failed(doing, &error))?;
            if bytes.len() as u64 != size {
                return Err(self.damaged(handle, piece, bytes.len() as u64, size));
            }
            return to.write_all(&bytes).map_err(unwritten);
        }
        drop(got);
        let left = size.saturating_sub(from);
        let starts = (0..left.div_ceil(self.part)).map(|part| from + part * self.part);
        let parts = starts.map(|start| {
            let end = size.min(start + self.part);
            self.read(handle, piece, (start, end), size)
        });
        let mut parts = stream::iter(parts).buffered(AT_ONCE);
        while let Some(part) = parts.try_next().await? {
            to.write_all(&part).map_err(unwritten)?;
        }
        Ok(())
    }

    /// Removes an artifact and leaves a tombstone. `tool` finds the tool's name in its manifest.
    /// `may_go` decides by the manifest at the moment.
    pub(crate) async fn remove(
        &self,
        handle: Handle,
        (why, at): (Gone, Timestamp),
        tool: &(dyn Fn(&[u8]) -> Result<Tombstone, StoreError> + Send + Sync),
    ) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let stored = self.manifest(handle).await?;
            let tombstone = Tombstone {
                why,
                at,
                ..tool(&stored.bytes)?
            };
            if self.bury(handle, stored, tombstone).await? {
                return self.clear(handle).await;
            }
        }
        Err(self.contended())
    }

    /// Replaces a manifest by a tombstone. Returns false if somebody else changed it meanwhile.
    pub(crate) async fn bury(
        &self,
        handle: Handle,
        stored: Manifested,
        tombstone: Tombstone,
    ) -> Result<bool, StoreError> {
        let (why, bytes) = (tombstone.why, Mark::Gone(tombstone).bytes());
        let is_buried = self
            .replace(handle, stored.version, bytes, "removing an output")
            .await?;
        if let Some(observer) = self.observer.as_ref().filter(|_| is_buried) {
            let manifest = serde_json::from_slice(&stored.bytes).ok();
            observer.removed(handle, why, manifest.as_ref());
        }
        Ok(is_buried)
    }

    /// Writes the manifest again, with another revision: to pin the artifact, to end its pin or, with
    /// `None`, to record that it is used now. `check` looks at the manifest before it is changed.
    pub(crate) async fn rewrite(
        &self,
        handle: Handle,
        pinned: Option<bool>,
        check: &(dyn Fn(&[u8]) -> Result<(), StoreError> + Send + Sync),
    ) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let stored = self.manifest(handle).await?;
            check(&stored.bytes)?;
            let bytes = revised(&stored.bytes, pinned).ok_or_else(|| StoreError::Damaged {
                path: self.address(handle, Object::Head),
                what: "it is no JSON".to_owned(),
            })?;
            let doing = "changing a manifest";
            if self.replace(handle, stored.version, bytes, doing).await? {
                return Ok(());
            }
        }
        Err(self.contended())
    }

    fn contended(&self) -> StoreError {
        let what = "others change it all the time";
        strange(&self.place, "changing an output", what)
    }

    /// Replaces a head that did not change. Returns false if it did.
    async fn replace(
        &self,
        handle: Handle,
        version: UpdateVersion,
        bytes: Bytes,
        doing: &str,
    ) -> Result<bool, StoreError> {
        let path = self.layout.path(handle, Object::Head);
        let swapped = self.swap.put(&*self.objects, &path, version, bytes.clone());
        match swapped.await {
            Ok(()) => Ok(true),
            Err(error) => {
                // The answer may be lost, or the client may have asked twice because it was lost.
                let now = self.objects.get(&path).await;
                let now = match now {
                    Ok(now) => now.bytes().await.ok(),
                    Err(_) => None,
                };
                match error {
                    _ if now.as_ref() == Some(&bytes) => Ok(true),
                    Error::Precondition { .. }
                    | Error::AlreadyExists { .. }
                    | Error::NotFound { .. } => Ok(false),
                    error => Err(self.failed(doing, &error)),
                }
            }
        }
    }

    /// Returns when an object was written; `None` if there is none.
    pub(crate) async fn written(&self, path: &Path) -> Result<Option<SystemTime>, StoreError> {
        match self.objects.head(path).await {
            Ok(meta) => Ok(Some(meta.last_modified.into())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("asking for a time", &error)),
        }
    }

    /// Lists all artifacts and what is left of them, in the order of their handles.
    pub(crate) async fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let mut entries: std::collections::BTreeMap<Handle, Entry> = <_>::default();
        let mut listed = self.objects.list(Some(self.layout.root()));
        while let Some(meta) = listed
            .try_next()
            .await
            .map_err(|error| self.failed("listing the outputs", &error))?
        {
            let Some((handle, object)) = self.layout.parse(&meta.location) else {
                continue;
            };
            let entry = entries.entry(handle).or_insert(Entry {
                handle,
                head: None,
                index: None,
                newest: None,
                bytes: 0,
            });
            let modified = Some(SystemTime::from(meta.last_modified));
            match object {
                Object::Head => entry.head = modified,
                Object::Piece(piece) => {
                    entry.bytes += meta.size;
                    if piece == Piece::Index {
                        entry.index = modified;
                    }
                }
            }
            if object != Object::Head {
                entry.newest = entry.newest.max(modified);
            }
        }
        Ok(entries.into_values().collect())
    }

    /// Reads the heads of artifacts, several at the same time, in the order of `entries`.
    pub(crate) async fn heads(
        &self,
        entries: Vec<Entry>,
    ) -> Vec<(Entry, Result<Head, StoreError>)> {
        let heads = entries
            .into_iter()
            .map(|entry| async move { (entry, self.head(entry.handle).await) });
        stream::iter(heads).buffered(SMALL_AT_ONCE).collect().await
    }

    /// Returns the handles whose directories exist, of artifacts and of what is left of them.
    pub(crate) async fn handles(&self) -> Result<Vec<Handle>, StoreError> {
        let listed = self.objects.list_with_delimiter(Some(self.layout.root()));
        let listed = listed
            .await
            .map_err(|error| self.failed("listing the outputs", &error))?;
        let names = listed.common_prefixes.iter();
        Ok(names
            .filter_map(|path| Layout::handle(path.filename()?))
            .collect())
    }
}

/// Returns a manifest with another value of `pinned`, or with the same. The revision is always
/// another one: a bucket may recognise a change by the content, and a sweep must not remove what was
/// used or pinned since it looked.
fn revised(manifest: &[u8], pinned: Option<bool>) -> Option<Bytes> {
    let mut value: Value = serde_json::from_slice(manifest).ok()?;
    let members = value.as_object_mut()?;
    if let Some(pinned) = pinned {
        members.insert("pinned".to_owned(), pinned.into());
    }
    let revision = FileId::random().to_string();
    members.insert("revision".to_owned(), revision.into());
    serde_json::to_vec_pretty(&value).ok().map(Bytes::from)
}

/// Whether the bucket gave no answer.
pub(crate) fn is_unreachable(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Remote {
            why: Remote::Unreachable,
            ..
        }
    )
}

/// Waits until one of the parts is sent.
async fn finished(running: &mut FuturesUnordered<object_store::UploadPart>) -> Result<(), Error> {
    running.try_next().await.map(drop)
}

/// Reads bytes of a local file.
fn read_of(source: &Arc<dyn ByteSource>, start: u64, end: u64) -> Result<Vec<u8>, StoreError> {
    source.bytes(start, end).map_err(|source| StoreError::Io {
        path: "a stored output".into(),
        source,
    })
}

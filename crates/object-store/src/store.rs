//! The store: a bucket, with a store in files as its cache.
//!
//! A new artifact is first stored in the cache and then sent to the bucket; its receipt is returned
//! after its manifest is there. Nothing is sent before that, because a draft may still be refused, or
//! stored with marks in place of its secrets.
//!
//! Reading an artifact always begins with its manifest in the bucket, which tells whether it exists.
//! Its pieces are read from the cache, or from the bucket: a small artifact is copied to the cache as
//! a whole, a large one is read in parts.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use parking_lot::Mutex;
use spillgate_artifact::{ByteSource, Clock, Facts, Handle, HandleForm, Manifest, Timestamp};
use spillgate_store::{
    ArtifactStore, Candidate, Draft, FileStore, Gone, Listed, Part, Piece, Receipt,
    RemovalObserver, StoreError, Stored, Survey, Unreadable, Upkeep, check_index,
};
use tokio::sync::Semaphore;

use crate::bucket::{AT_ONCE, Bucket, Entry, Head, Manifested, is_unreachable};
use crate::layout::Object;
use crate::runtime::Waiting;
use crate::source::{Beginning, RangeSource};
use crate::sweep::{Done, SweepRules, tombstone_of};

/// Maximum bytes of an artifact that is copied to the cache when it is opened.
const COPIED: u64 = 8 << 20;

/// Bytes of pieces that this process may hold in memory while it sends and copies artifacts. Whoever
/// needs more waits.
const ROOM: u64 = 128 << 20;

/// Bytes of a permit for a part of [`ROOM`].
const PERMIT: u64 = 1 << 20;

/// How many artifacts the store remembers having recorded a use of.
const REMEMBERED: usize = 10_000;

/// Settings of a store in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Limits for all artifacts in the bucket.
    pub rules: SweepRules,
    /// Minimum time between two sweeps, of all replicas together.
    pub sweep_every: Duration,
}

/// Whether and how a process that maintains its store sweeps the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// It does not, because somebody waits for it.
    Never,
    /// It waits for the end of the sweep.
    Waiting,
    /// It goes on. If it ends, the sweep ends, too; a later one does the rest.
    InBackground,
}

/// Keeps artifacts in a bucket. Any number of processes on any machines may use the same bucket.
#[derive(Debug, Clone)]
pub struct BucketStore(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) bucket: Arc<Bucket>,
    cache: Arc<FileStore>,
    /// The stores of all tenants of a bucket use the same threads.
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) clock: Arc<dyn Clock>,
    options: Options,
    /// Permits for memory, of [`PERMIT`] bytes each. The stores of all tenants of a bucket share them.
    pub(crate) room: Arc<Semaphore>,
    /// When uses of artifacts were recorded.
    touched: Mutex<HashMap<Handle, Timestamp>>,
}

impl BucketStore {
    pub(crate) fn new(
        bucket: Bucket,
        cache: Arc<FileStore>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Self, StoreError> {
        let waiting = Waiting::new().map_err(|source| StoreError::Io {
            path: "the client of the bucket".into(),
            source,
        })?;
        let room = Arc::new(Semaphore::new(permits(ROOM) as usize));
        let waiting = Arc::new(waiting);
        Ok(Self::with(bucket, cache, (waiting, room), clock, options))
    }

    pub(crate) fn with(
        bucket: Bucket,
        cache: Arc<FileStore>,
        (waiting, room): (Arc<Waiting>, Arc<Semaphore>),
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Self {
        Self(Arc::new(Inner {
            bucket: Arc::new(bucket),
            cache,
            waiting,
            clock,
            options,
            room,
            touched: Mutex::default(),
        }))
    }

    /// Returns the store with an observer, which this process tells of each removal.
    #[must_use]
    pub fn observed_by(&self, observer: Arc<dyn RemovalObserver>) -> Self {
        let inner = &self.0;
        let bucket = Bucket {
            observer: Some(observer),
            ..Bucket::clone(&inner.bucket)
        };
        let shared = (Arc::clone(&inner.waiting), Arc::clone(&inner.room));
        let cache = Arc::clone(&inner.cache);
        Self::with(
            bucket,
            cache,
            shared,
            Arc::clone(&inner.clock),
            inner.options,
        )
    }

    /// The address of the store.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.0.bucket.place
    }

    /// The store in files that is its cache.
    #[must_use]
    pub fn cache(&self) -> &Arc<FileStore> {
        &self.0.cache
    }

    /// Takes all memory for pieces, so that nothing can be sent or copied until it is dropped.
    #[cfg(test)]
    pub(crate) fn without_room(&self) -> tokio::sync::OwnedSemaphorePermit {
        let room = Arc::clone(&self.0.room);
        room.try_acquire_many_owned(permits(ROOM)).unwrap()
    }

    /// Tries what the store needs of its bucket; returns a line for each step.
    #[must_use]
    pub fn check(&self) -> Vec<crate::Checked> {
        let bucket = Arc::clone(&self.0.bucket);
        let checked = self.0.waiting.run(async move { Ok(bucket.check().await) });
        checked.unwrap_or_default()
    }

    /// Maintains the cache, and sweeps the bucket if nobody did so for a while. Never removes
    /// `spared`, whose handle was shown a moment ago. Fails if one of both fails; a sweep in the
    /// background only logs its failure.
    pub fn keep_up(
        &self,
        upkeep: &Upkeep,
        spared: Option<Handle>,
        now: Timestamp,
        sweep: Sweep,
    ) -> Result<(), StoreError> {
        let inner = &self.0;
        let kept = inner.cache.keep_up(upkeep, spared, now);
        if sweep == Sweep::Never || !inner.asks_for_sweep(now) {
            return kept;
        }
        match sweep {
            Sweep::InBackground => {
                let swept = self.sweep(spared, now);
                inner.waiting.begin(async move {
                    if let Err(error) = swept.await {
                        tracing::warn!(%error, "the bucket could not be swept");
                    }
                });
                kept
            }
            _ => kept.and(self.sweep_if_due(spared, now).map(drop)),
        }
    }

    /// Sweeps the bucket if the last sweep began long enough ago. Returns what it did, or `None`.
    pub fn sweep_if_due(
        &self,
        spared: Option<Handle>,
        now: Timestamp,
    ) -> Result<Option<Done>, StoreError> {
        self.0.waiting.run(self.sweep(spared, now))
    }

    fn sweep(
        &self,
        spared: Option<Handle>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Done>, StoreError>> + Send + use<> {
        let Options {
            rules, sweep_every, ..
        } = self.0.options;
        let bucket = Arc::clone(&self.0.bucket);
        async move {
            let begun = bucket.begin_sweep(sweep_every, now.system_time()).await?;
            match begun {
                Some(time) => bucket.sweep(&rules, spared, time, now).await.map(Some),
                None => Ok(None),
            }
        }
    }
}

/// Returns the permits for this many bytes.
fn permits(bytes: u64) -> u32 {
    let permits = bytes.div_ceil(PERMIT).clamp(1, ROOM / PERMIT);
    u32::try_from(permits).unwrap_or(u32::MAX)
}

impl Inner {
    /// Runs a part of the protocol.
    pub(crate) fn ask<T, F>(
        &self,
        part: impl FnOnce(Arc<Bucket>) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.waiting.run(part(Arc::clone(&self.bucket)))
    }

    pub(crate) fn read(
        &self,
        handle: Handle,
        piece: Piece,
        range: (u64, u64),
        size: u64,
    ) -> Result<Bytes, StoreError> {
        self.ask(move |bucket| async move { bucket.read(handle, piece, range, size).await })
    }

    /// Runs a part of the protocol that holds the parts of a piece of `size` bytes in memory, after
    /// there is room for them.
    fn ask_with_room<T, F>(
        &self,
        size: u64,
        part: impl FnOnce(Arc<Bucket>) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let permits = permits(size.min(self.bucket.part * AT_ONCE as u64));
        let room = Arc::clone(&self.room);
        self.ask(move |bucket| async move {
            // The semaphore is never closed.
            let _room = room.acquire_many_owned(permits).await;
            part(bucket).await
        })
    }

    fn parsed(&self, handle: Handle, bytes: &[u8]) -> Result<Manifest, StoreError> {
        let address = self.bucket.address(handle, Object::Head);
        self.cache.parse_manifest(handle, &address, bytes)
    }

    /// Returns the manifest of an artifact, as it is in the bucket and parsed.
    fn manifest(&self, handle: Handle) -> Result<(Manifested, Manifest), StoreError> {
        let stored = self.ask(move |bucket| async move { bucket.manifest(handle).await })?;
        let manifest = self.parsed(handle, &stored.bytes)?;
        Ok((stored, manifest))
    }

    /// Returns an artifact from the cache, after it was copied there. What was fetched of a piece before
    /// is not fetched again.
    pub(crate) fn copied(
        &self,
        handle: Handle,
        begun: Option<&(Piece, Beginning)>,
    ) -> Result<Stored, StoreError> {
        let (stored, _) = self.manifest(handle)?;
        self.copy(handle, &stored.bytes, begun)?;
        self.cache.open(handle)
    }

    /// The directory of the cache.
    pub(crate) fn directory(&self) -> &Path {
        self.cache.base()
    }

    /// Copies an artifact to the cache.
    fn copy(
        &self,
        handle: Handle,
        manifest: &[u8],
        begun: Option<&(Piece, Beginning)>,
    ) -> Result<(), StoreError> {
        let size = self.parsed(handle, manifest)?.facts.raw_bytes;
        let mut failed = None;
        let copied = self.cache.adopt(handle, manifest, &mut |piece, file| {
            let mut file: File = file.try_clone()?;
            let from = match begun.filter(|(begun, _)| *begun == piece) {
                Some((_, beginning)) => beginning.copy_to(&mut file)?,
                None => 0,
            };
            let fetched = self.ask_with_room(size, move |bucket| async move {
                bucket.fetch(handle, (piece, from), &mut file).await
            });
            fetched.map_err(|error| {
                failed = Some(error);
                io::Error::other("it cannot be fetched")
            })
        });
        match (failed, copied) {
            (Some(error), _) => Err(error),
            // The bytes that came are not those that were stored, so it is the bucket's fault.
            (None, Err(StoreError::Damaged { what, .. })) => Err(StoreError::Damaged {
                path: self.bucket.address(handle, Object::Piece(Piece::Body)),
                what,
            }),
            (None, copied) => copied,
        }
    }

    /// Opens an artifact whose manifest was just read.
    fn opened(self: &Arc<Self>, manifest: Manifest, bytes: &[u8]) -> Result<Stored, StoreError> {
        let handle = manifest.handle;
        if self.cache.has(handle)
            && let Some(stored) = self.cached(&manifest)?
        {
            return Ok(stored);
        }
        let facts = &manifest.facts;
        let view = match facts.view.is_raw {
            true => 0,
            false => facts.view.bytes,
        };
        let is_sealed = manifest.encryption.is_some();
        if is_sealed {
            self.cache.check_key(&manifest)?;
        }
        if is_sealed || facts.raw_bytes.saturating_add(view) <= COPIED {
            match self.copy(handle, bytes, None) {
                Ok(()) => {
                    if let Some(stored) = self.cached(&manifest)? {
                        return Ok(stored);
                    }
                }
                // The disk of this machine is full: the artifact can be read without a copy.
                Err(
                    StoreError::Full { .. } | StoreError::Reserve { .. } | StoreError::Io { .. },
                ) if !is_sealed => {}
                Err(error) => return Err(error),
            }
        }
        self.in_parts(manifest)
    }

    /// Opens the copy of an artifact in the cache; `None` if it is not right, so that it has to be
    /// copied again.
    fn cached(&self, manifest: &Manifest) -> Result<Option<Stored>, StoreError> {
        match self.cache.open(manifest.handle) {
            Ok(mut stored) if stored.manifest.facts == manifest.facts => {
                stored.manifest.pinned = manifest.pinned;
                Ok(Some(stored))
            }
            Err(error @ (StoreError::Locked { .. } | StoreError::Newer { .. })) => Err(error),
            _ => {
                self.cache.discard(manifest.handle);
                Ok(None)
            }
        }
    }

    /// Opens an artifact whose pieces are read from the bucket when they are needed.
    fn in_parts(self: &Arc<Self>, manifest: Manifest) -> Result<Stored, StoreError> {
        let handle = manifest.handle;
        let index = self.ask(move |bucket| async move {
            let mut index = Vec::new();
            bucket.fetch(handle, (Piece::Index, 0), &mut index).await?;
            Ok(index)
        })?;
        let address = self.bucket.address(handle, Object::Piece(Piece::Index));
        check_index(&manifest, &address, &index)?;
        let source = |piece, len| -> Arc<dyn ByteSource> {
            Arc::new(RangeSource::new(Arc::clone(self), handle, piece, len))
        };
        let raw = source(Piece::Body, manifest.facts.raw_bytes);
        let view = match manifest.facts.view.is_raw {
            true => Arc::clone(&raw),
            false => source(Piece::View, manifest.facts.view.bytes),
        };
        Ok(Stored {
            manifest,
            raw,
            view,
            index,
            derived: None,
            file: None,
            is_shared: false,
        })
    }

    /// Sends an artifact in the cache to the bucket.
    fn send(&self, handle: Handle) -> Result<(), StoreError> {
        let files = self.cache.artifact_files(handle)?;
        let sizes = files.pieces.iter().map(|(_, source)| source.len());
        let size = sizes.max().unwrap_or_default();
        let put = move |bucket: Arc<Bucket>| async move { bucket.put(handle, &files).await };
        let sent = self.ask_with_room(size, put);
        if sent.as_ref().is_err_and(is_unreachable) {
            let bucket = Arc::clone(&self.bucket);
            // Nobody waits for it. If it fails, too, a sweep finds what is left.
            self.waiting
                .begin(async move { drop(bucket.abandon(handle).await) });
        }
        sent
    }

    /// Opens the parts of an artifact, and records that it is used if `is_used`.
    fn open(self: &Arc<Self>, handle: Handle, is_used: bool) -> Result<Stored, StoreError> {
        let (found, manifest) = self.manifest(handle)?;
        if is_used {
            self.touch(handle, found.modified)?;
        }
        self.opened(manifest, &found.bytes)
    }

    /// Records that an artifact is used, if that was not recorded for a while. Fails if the artifact
    /// was removed a moment ago.
    fn touch(&self, handle: Handle, modified: SystemTime) -> Result<(), StoreError> {
        let now = self.clock.now();
        let after = self.options.rules.recorded_after();
        let is_old = |time: Timestamp| time.age_at(now) > after;
        {
            let mut touched = self.touched.lock();
            let known = touched.get(&handle).copied();
            if !is_old(known.unwrap_or(Timestamp::new(modified))) {
                return Ok(());
            }
            if touched.len() >= REMEMBERED {
                touched.retain(|_, time| !is_old(*time));
            }
            if touched.len() < REMEMBERED {
                touched.insert(handle, now);
            }
        }
        let touched =
            self.ask(move |bucket| async move { bucket.rewrite(handle, None, &|_| Ok(())).await });
        match touched {
            Err(error @ StoreError::Absent { .. }) => Err(error),
            Err(error) => {
                // It can still be read, for example if the credentials allow nothing else.
                tracing::debug!(%handle, %error, "the use of a stored output could not be recorded");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Whether this process should ask the bucket when the last sweep was. A file in the cache
    /// tells when a process of this machine asked last.
    fn asks_for_sweep(&self, now: Timestamp) -> bool {
        let path = self.cache.base().join(".asked");
        let asked = fs::metadata(&path).and_then(|found| found.modified());
        let age = asked.map(|asked| Timestamp::new(asked).age_at(now));
        let is_due = age.is_ok_and(|age| age >= self.options.sweep_every);
        if !is_due && path.exists() {
            return false;
        }
        let written = fs::create_dir_all(self.cache.base()).and_then(|()| fs::write(&path, b""));
        is_due || written.is_ok()
    }

    /// Lists the artifacts, newest first by the time at which they were made.
    fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.ask(|bucket| async move { bucket.entries().await })?;
        entries.retain(Entry::is_artifact);
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.index, entry.handle)));
        Ok(entries)
    }

    /// Reads the manifests of artifacts.
    fn survey_of(&self, entries: Vec<Entry>) -> Result<Survey, StoreError> {
        let heads = self.ask(move |bucket| async move { Ok(bucket.heads(entries).await) })?;
        let mut survey = Survey::default();
        for (entry, head) in heads {
            let parsed = match head {
                Ok(Head::Stored(stored)) => self.parsed(entry.handle, &stored.bytes),
                Ok(_) => continue,
                // One request that fails is no reason to call an artifact damaged.
                Err(error @ StoreError::Remote { .. }) => return Err(error),
                Err(error) => Err(error),
            };
            let used = Timestamp::new(entry.last_used());
            match parsed {
                Ok(manifest) => survey.listed.push(Listed {
                    manifest,
                    used,
                    bytes: entry.bytes,
                }),
                Err(why) => survey.damaged.push(Unreadable {
                    handle: entry.handle,
                    why,
                    used,
                    bytes: entry.bytes,
                }),
            }
        }
        Ok(survey)
    }
}

impl ArtifactStore for BucketStore {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        Ok(Box::new(BucketDraft {
            draft: self.0.cache.draft()?,
            inner: Arc::clone(&self.0),
        }))
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.0.open(handle, true)
    }

    fn peek(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.0.open(handle, false)
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        self.0.manifest(handle).map(|(_, manifest)| manifest)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(self.survey()?.listed)
    }

    fn survey(&self) -> Result<Survey, StoreError> {
        let mut survey = self.0.survey_of(self.0.entries()?)?;
        let order = |one: &Listed| (one.manifest.facts.created, one.used, one.manifest.handle);
        survey.listed.sort_by_key(order);
        survey.damaged.sort_by_key(|one| (one.used, one.handle));
        Ok(survey)
    }

    fn newest(
        &self,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<Vec<Unreadable>, StoreError> {
        let entries = self.0.entries()?;
        let mut damaged = Vec::new();
        // The bucket tells times in seconds. Within a second, the manifests decide.
        let seconds = |entry: &Entry| {
            let since = entry.index?.duration_since(SystemTime::UNIX_EPOCH);
            since.ok().map(|since| since.as_secs())
        };
        for second in entries.chunk_by(|one, other| seconds(one) == seconds(other)) {
            let mut survey = self.0.survey_of(second.to_vec())?;
            // They come newest first; equal times keep this order.
            survey
                .listed
                .sort_by_key(|one| std::cmp::Reverse(one.manifest.facts.created));
            damaged.extend(survey.damaged);
            if survey
                .listed
                .into_iter()
                .try_for_each(&mut *visit)
                .is_break()
            {
                break;
            }
        }
        Ok(damaged)
    }

    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        let mut entries = self.0.entries()?;
        entries.reverse();
        let candidates = entries.iter().map(|entry| Candidate {
            handle: entry.handle,
            bytes: entry.bytes,
            used: Timestamp::new(entry.last_used()),
            may_go: true,
        });
        Ok(candidates.collect())
    }

    fn beginning_with(&self, beginning: &str) -> Result<Vec<Handle>, StoreError> {
        let beginning = beginning.to_owned();
        let mut found = self.0.ask(|bucket| async move {
            // Listing the directories takes a fourth of the requests, but some are of removed ones.
            if beginning.is_empty() {
                let mut entries = bucket.entries().await?;
                entries.retain(Entry::is_artifact);
                return Ok(entries.iter().map(|entry| entry.handle).collect());
            }
            let mut found = Vec::new();
            for handle in bucket.handles().await? {
                if handle.to_string().starts_with(&beginning)
                    && matches!(bucket.head(handle).await?, Head::Stored(_))
                {
                    found.push(handle);
                }
            }
            Ok(found)
        })?;
        found.sort_unstable();
        Ok(found)
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        let address = self.0.bucket.address(handle, Object::Head);
        let cache = Arc::clone(&self.0.cache);
        let removed = self.0.ask(move |bucket| async move {
            let tombstone = move |manifest: &[u8]| {
                // What a newer version wrote is not removed.
                match cache.parse_manifest(handle, &address, manifest) {
                    Err(error @ StoreError::Newer { .. }) => Err(error),
                    _ => Ok(tombstone_of(manifest)),
                }
            };
            bucket.remove(handle, (why, at), &tombstone).await
        });
        if removed.is_ok() {
            self.0.cache.discard(handle);
        }
        removed
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        let address = self.0.bucket.address(handle, Object::Head);
        let cache = Arc::clone(&self.0.cache);
        self.0.ask(move |bucket| async move {
            let check =
                move |manifest: &[u8]| cache.parse_manifest(handle, &address, manifest).map(drop);
            bucket.rewrite(handle, Some(pinned), &check).await
        })
    }
}

/// An artifact that is being written: a draft of the cache, which a commit sends to the bucket.
#[derive(Debug)]
struct BucketDraft {
    draft: Box<dyn Draft>,
    inner: Arc<Inner>,
}

impl Draft for BucketDraft {
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError> {
        self.draft.write(part, bytes)
    }

    fn discard_view(&mut self) -> Result<(), StoreError> {
        self.draft.discard_view()
    }

    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError> {
        self.draft.read(part)
    }

    fn complete(&mut self, part: Part) {
        self.draft.complete(part);
    }

    fn commit(
        self: Box<Self>,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Receipt, StoreError> {
        let Self { draft, inner } = *self;
        let receipt = draft.commit(facts, index, form)?;
        let handle = receipt.handle();
        let Err(error) = inner.send(handle) else {
            return Ok(receipt);
        };
        inner.cache.discard(handle);
        Err(error)
    }
}

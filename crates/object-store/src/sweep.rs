//! Removes what is too old, too much or left over in a bucket, without anybody who coordinates it.
//!
//! Any replica may sweep at any time, and several may do so at once: each removal is conditional on
//! what was read before it. All ages are differences of times of the bucket, so the clocks of the
//! replicas do not matter.

use std::time::{Duration, SystemTime};

use object_store::{Error, ObjectStore, PutMode, UpdateVersion};
use object_store::{ObjectStoreExt, PutPayload};
use spillgate_artifact::{Handle, Manifest, Timestamp};
use spillgate_store::{Gone, StoreError, Tombstone};

use crate::bucket::{Bucket, Entry, Head, Manifested};
use crate::layout::Object;

/// What a sweep removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepRules {
    /// Maximum time since the last use of an artifact. `None` means no limit.
    pub max_age: Option<Duration>,
    /// Maximum bytes of all artifacts together. `None` means no limit.
    pub quota: Option<u64>,
    /// Age from which objects without a manifest count as left by a killed writer. A writer must not
    /// take longer than this.
    pub orphan_age: Duration,
    /// Maximum age of a tombstone. `None` means no limit.
    pub tombstone_age: Option<Duration>,
    /// Age below which no artifact is removed to stay within the quota, because its handle was shown
    /// a moment ago. With a quota, uses are recorded at least this often.
    pub fresh: Duration,
    /// Time for which uses of an artifact need not be recorded. It lives that much longer.
    pub unrecorded: Duration,
    /// Maximum number of artifacts that one sweep removes.
    pub most: usize,
}

impl SweepRules {
    /// Returns the time after which another use of an artifact is recorded. If there is a quota, it
    /// is short, so that what was used a moment ago is not removed.
    pub(crate) fn recorded_after(&self) -> Duration {
        match self.quota {
            Some(_) => self.unrecorded.min(self.fresh),
            None => self.unrecorded,
        }
    }
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Artifacts that were too old.
    pub expired: usize,
    /// Artifacts that were removed to stay within the quota.
    pub evicted: usize,
    /// Rests of artifacts without a manifest, or with a tombstone.
    pub rests: usize,
    /// Tombstones that were too old.
    pub tombstones: usize,
}

impl Done {
    fn removed(&self) -> usize {
        self.expired + self.evicted
    }
}

/// The quota divided by this number is free after an eviction, so that the next artifact does not
/// make the next eviction necessary.
const SLACK: u64 = 16;

/// Maximum time between the index and the head of an ordinary artifact. If more passed, the head was
/// perhaps written again: for a pin or for a removal.
const LATE: Duration = Duration::from_secs(2);

impl Bucket {
    /// Begins a sweep, unless somebody else began one less than `every` ago. Returns the time by the
    /// clock of the bucket; it is never ahead of it. `now` is the time of this machine. If it is
    /// wrong, sweeps are more or less frequent, but nothing else.
    pub(crate) async fn begin_sweep(
        &self,
        every: Duration,
        now: SystemTime,
    ) -> Result<Option<SystemTime>, StoreError> {
        let path = self.layout.sweep();
        let doing = "beginning a sweep";
        let before = match self.objects.head(&path).await {
            Ok(meta) => Some(meta),
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(self.failed(doing, &error)),
        };
        let since = before.as_ref().map(|meta| {
            let begun = SystemTime::from(meta.last_modified);
            now.duration_since(begun).unwrap_or_default()
        });
        if since.is_some_and(|since| since < every) {
            return Ok(None);
        }
        // Its content has to change, because a condition may compare contents.
        let content = format!("{}\n", spillgate_artifact::FileId::random());
        let payload = PutPayload::from(content.clone());
        let put = match before {
            None => {
                let mode = PutMode::Create.into();
                let put = self.objects.put_opts(&path, payload, mode).await;
                put.map(drop)
            }
            Some(meta) => {
                let version = UpdateVersion {
                    e_tag: meta.e_tag,
                    version: meta.version,
                };
                let swap = self
                    .swap
                    .put(&*self.objects, &path, version, content.into());
                swap.await
            }
        };
        match put {
            Ok(()) => self.written(&path).await,
            Err(
                Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotFound { .. },
            ) => Ok(None),
            Err(error) => Err(self.failed(doing, &error)),
        }
    }

    /// Sweeps once. `now` is the time by the clock of the bucket, `at` the time that tombstones tell.
    /// Continues after errors of single artifacts, and returns the first of them.
    pub(crate) async fn sweep(
        &self,
        rules: &SweepRules,
        spared: Option<Handle>,
        now: SystemTime,
        at: Timestamp,
    ) -> Result<Done, StoreError> {
        let sweep = Sweep {
            bucket: self,
            rules,
            now,
            at,
        };
        let mut entries = self.entries().await?;
        entries.retain(|entry| Some(entry.handle) != spared);
        let (mut done, mut failed) = (Done::default(), None);
        let mut left = Vec::new();
        for entry in entries {
            match sweep.one(&entry, &mut done).await {
                Ok(true) => {}
                Ok(false) => left.push(entry),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Err(error) = sweep.evict(left, &mut done).await {
            failed = failed.or(Some(error));
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(done),
        }
    }
}

struct Sweep<'a> {
    bucket: &'a Bucket,
    rules: &'a SweepRules,
    now: SystemTime,
    at: Timestamp,
}

impl Sweep<'_> {
    fn age(&self, time: SystemTime) -> Duration {
        self.now.duration_since(time).unwrap_or_default()
    }

    fn is_expired(&self, used: SystemTime) -> bool {
        let max = self.rules.max_age;
        max.is_some_and(|max| self.age(used) > max.saturating_add(self.rules.unrecorded))
    }

    /// Removes an artifact that is too old, and what is left of one. Returns false if it stays.
    async fn one(&self, entry: &Entry, done: &mut Done) -> Result<bool, StoreError> {
        let (bucket, handle) = (self.bucket, entry.handle);
        let Some(head) = entry.head else {
            let newest = entry.newest.unwrap_or(self.now);
            if self.age(newest) <= self.rules.orphan_age {
                return Ok(true);
            }
            // A writer that is still at work cannot complete the artifact from now on.
            match bucket.abandon(handle).await {
                Ok(()) => done.rests += 1,
                // It was completed meanwhile.
                Err(_) if matches!(bucket.head(handle).await, Ok(Head::Stored(_))) => {}
                Err(error) => return Err(error),
            }
            return Ok(true);
        };
        if entry.index.is_none() {
            return self.tombstone(entry, head, done).await.map(|()| true);
        }
        if self.is_expired(entry.last_used()) {
            if done.removed() >= self.rules.most {
                return Ok(false);
            }
            return match self.let_go(entry, Gone::Expired).await? {
                Outcome::Removed => {
                    done.expired += 1;
                    Ok(true)
                }
                Outcome::Rest => {
                    done.rests += 1;
                    Ok(true)
                }
                Outcome::Stays => Ok(false),
            };
        }
        // The head was written again: it may be the tombstone of a removal that was interrupted.
        let is_late = entry.index.is_some_and(|index| {
            let apart = head.duration_since(index).or(index.duration_since(head));
            apart.is_ok_and(|apart| apart > LATE)
        });
        if is_late && matches!(bucket.head(handle).await?, Head::Gone(_) | Head::Barred) {
            bucket.clear(handle).await?;
            done.rests += 1;
            return Ok(true);
        }
        Ok(false)
    }

    /// Removes a tombstone that is too old, and what is left of its artifact.
    async fn tombstone(
        &self,
        entry: &Entry,
        head: SystemTime,
        done: &mut Done,
    ) -> Result<(), StoreError> {
        let (bucket, handle) = (self.bucket, entry.handle);
        let max = self.rules.tombstone_age;
        let is_old = max.is_some_and(|max| self.age(head) > max);
        if !is_old && entry.newest.is_none() {
            return Ok(());
        }
        // Only what is no manifest may be removed without a condition: it never changes any more.
        match bucket.head(handle).await? {
            Head::Gone(_) | Head::Barred => {}
            Head::Missing | Head::Stored(_) => return Ok(()),
        }
        if entry.newest.is_some() {
            bucket.clear(handle).await?;
            done.rests += 1;
        }
        if is_old {
            let path = bucket.layout.path(handle, Object::Head);
            match bucket.objects.delete(&path).await {
                Ok(()) | Err(Error::NotFound { .. }) => done.tombstones += 1,
                Err(error) => return Err(bucket.failed("removing a tombstone", &error)),
            }
        }
        Ok(())
    }

    /// Removes the least recently used artifacts until the rest fits in the quota.
    async fn evict(&self, entries: Vec<Entry>, done: &mut Done) -> Result<(), StoreError> {
        let Some(quota) = self.rules.quota else {
            return Ok(());
        };
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if total <= quota {
            return Ok(());
        }
        let goal = quota - quota / SLACK;
        let mut entries = entries;
        // What can never fit goes first.
        entries.sort_by_key(|entry| (entry.bytes <= quota, entry.last_used(), entry.index));
        for entry in entries {
            if total <= goal || done.removed() >= self.rules.most {
                break;
            }
            // The last use may have been recorded earlier.
            let fresh = self.rules.fresh.saturating_add(self.rules.recorded_after());
            if self.age(entry.last_used()) <= fresh {
                continue;
            }
            match self.let_go(&entry, Gone::Evicted).await? {
                Outcome::Removed => done.evicted += 1,
                Outcome::Rest => done.rests += 1,
                Outcome::Stays => continue,
            }
            total = total.saturating_sub(entry.bytes);
        }
        Ok(())
    }

    /// Removes an artifact, unless it is pinned, was used since it was listed, or cannot be judged.
    async fn let_go(&self, entry: &Entry, why: Gone) -> Result<Outcome, StoreError> {
        let (bucket, handle) = (self.bucket, entry.handle);
        let stored = match bucket.head(handle).await? {
            Head::Stored(stored) => stored,
            Head::Missing => return Ok(Outcome::Stays),
            Head::Gone(_) | Head::Barred => {
                bucket.clear(handle).await?;
                return Ok(Outcome::Rest);
            }
        };
        if stored.modified > entry.last_used() || !may_go(&stored) {
            return Ok(Outcome::Stays);
        }
        let tombstone = Tombstone {
            why,
            at: self.at,
            ..tombstone_of(&stored.bytes)
        };
        if !bucket.bury(handle, stored, tombstone).await? {
            return Ok(Outcome::Stays);
        }
        bucket.clear(handle).await?;
        Ok(Outcome::Removed)
    }
}

/// What became of an artifact.
enum Outcome {
    Removed,
    /// It had been removed before, but not wholly.
    Rest,
    Stays,
}

/// Whether a sweep may remove an artifact with this manifest. A pinned one stays, and so does one of
/// a newer version, because it may be pinned. A damaged one may go.
fn may_go(stored: &Manifested) -> bool {
    match serde_json::from_slice::<serde_json::Value>(&stored.bytes) {
        Ok(manifest) => {
            let format = manifest["format"].as_u64().unwrap_or(1);
            manifest["pinned"] != true && format <= u64::from(Manifest::FORMAT)
        }
        Err(_) => true,
    }
}

/// Returns a tombstone with the name of the tool that a manifest contains.
pub(crate) fn tombstone_of(manifest: &[u8]) -> Tombstone {
    let manifest = serde_json::from_slice::<Manifest>(manifest).ok();
    let never = Timestamp::new(SystemTime::UNIX_EPOCH);
    Tombstone::of(manifest.as_ref(), Gone::Removed, never)
}

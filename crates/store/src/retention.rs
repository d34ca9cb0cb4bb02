//! Which artifacts have to go?

use std::time::Duration;

use spillgate_artifact::{Handle, Timestamp};

use crate::{ArtifactStore, Gone, Listed, StoreError};

/// How much a durable store keeps, and how long (SPEC 2.4). Pinned artifacts
/// are exempt from both and count toward the quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Bytes in all; the least recently used go first. `None` is no limit.
    pub max_bytes: Option<u64>,
    /// Time since last use. `None` is no limit.
    pub max_age: Option<Duration>,
}

/// An artifact that was let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Its name.
    pub handle: Handle,
    /// Why.
    pub why: Gone,
}

/// Lets go what is too old, what alone is over the quota, then the least
/// recently used until the rest fits; returns what went. `spared` is never let
/// go: its handle was shown a moment ago.
pub fn sweep(
    store: &dyn ArtifactStore,
    retention: Retention,
    spared: Option<Handle>,
    now: Timestamp,
) -> Result<Vec<Swept>, StoreError> {
    let quota = retention.max_bytes.unwrap_or(u64::MAX);
    let mut listed = store.list()?;
    listed.sort_by_key(|one| (one.bytes <= quota, one.used));
    let is_spared = |one: &Listed| Some(one.manifest.handle) == spared;
    // Room for what is spared is not made by letting everything else go when
    // even that would not do.
    let counted = listed
        .iter()
        .filter(|one| !is_spared(one) || one.bytes <= quota);
    let mut total: u64 = counted.map(|one| one.bytes).sum();
    let mut swept = Vec::new();
    for one in listed
        .iter()
        .filter(|one| !one.manifest.pinned && !is_spared(one))
    {
        let expired = retention
            .max_age
            .is_some_and(|max| one.used.age_at(now) > max);
        let why = match (expired, total > quota) {
            (true, _) => Gone::Expired,
            (false, true) => Gone::Evicted,
            (false, false) => continue,
        };
        match store.remove(one.manifest.handle, why, now) {
            Ok(()) => swept.push(Swept {
                handle: one.manifest.handle,
                why,
            }),
            // Another process was faster.
            Err(StoreError::Absent { .. }) => {}
            Err(error) => return Err(error),
        }
        total = total.saturating_sub(one.bytes);
    }
    Ok(swept)
}

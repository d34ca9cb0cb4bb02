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

/// Lets go what is too old, then the least recently used until the rest fits
/// the quota; returns what went.
pub fn sweep(
    store: &dyn ArtifactStore,
    retention: Retention,
    now: Timestamp,
) -> Result<Vec<Swept>, StoreError> {
    let mut listed = store.list()?;
    listed.sort_by_key(|one| one.used);
    let mut total: u64 = listed.iter().map(|one| one.bytes).sum();
    let mut swept = Vec::new();
    for one in listed.iter().filter(|one| !one.manifest.pinned) {
        let Some(why) = due(one, total, retention, now) else {
            continue;
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

fn due(one: &Listed, total: u64, retention: Retention, now: Timestamp) -> Option<Gone> {
    if retention
        .max_age
        .is_some_and(|max| one.used.age_at(now) > max)
    {
        return Some(Gone::Expired);
    }
    let over = retention.max_bytes.is_some_and(|max| total > max);
    over.then_some(Gone::Evicted)
}

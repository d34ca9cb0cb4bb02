//! Removes artifacts by age and quota.

use std::time::Duration;

use spillgate_artifact::{Handle, Timestamp};

use crate::{ArtifactStore, Gone, StoreError, Survey};

/// How many bytes a durable store keeps, and for how long. Pinned artifacts are exempt from both
/// limits, but count toward the quota (docs/decisions/0017-a-store-kept-whole.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Quota in bytes. If it is exceeded, the least recently used artifacts are removed first.
    /// `None` means no quota.
    pub max_bytes: Option<u64>,
    /// Bytes of the quota that a sweep leaves free.
    pub headroom: u64,
    /// Maximum number of artifacts that one sweep removes. `None` means no limit.
    pub most: Option<usize>,
    /// Maximum time since the last use of an artifact. `None` means no limit.
    pub max_age: Option<Duration>,
}

/// An artifact that a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Its handle.
    pub handle: Handle,
    /// Why it was removed.
    pub why: Gone,
}

/// Removes the artifacts that are too old, then artifacts that are larger than the whole quota,
/// then the least recently used artifacts until the rest fits. Returns the removed artifacts. Never
/// removes `spared`, whose handle was shown a moment ago.
pub fn sweep(
    store: &dyn ArtifactStore,
    retention: Retention,
    spared: Option<Handle>,
    now: Timestamp,
) -> Result<Vec<Swept>, StoreError> {
    let quota = retention.max_bytes.unwrap_or(u64::MAX);
    let goal = quota.saturating_sub(retention.headroom);
    let mut all = store.candidates()?;
    all.sort_by_key(|one| (one.bytes <= quota, one.used));
    let is_spared = |one: &Candidate| Some(one.handle) == spared;
    // If the spared artifact is larger than the whole quota, removing all other artifacts would not
    // make it fit, so its size is not counted.
    let counted = all
        .iter()
        .filter(|one| !is_spared(one) || one.bytes <= quota);
    let mut total: u64 = counted.map(|one| one.bytes).sum();
    let (mut swept, mut failed) = (Vec::new(), None);
    for one in all.iter().filter(|one| one.may_go && !is_spared(one)) {
        if retention.most.is_some_and(|most| swept.len() >= most) {
            break;
        }
        let expired = retention
            .max_age
            .is_some_and(|max| one.used.age_at(now) > max);
        let why = match (expired, total > goal) {
            (true, _) => Gone::Expired,
            (false, true) => Gone::Evicted,
            (false, false) => continue,
        };
        let handle = one.handle;
        match let_go(store, handle, why, now) {
            Ok(true) => swept.push(Swept { handle, why }),
            Ok(false) => continue,
            // Another process has removed it meanwhile.
            Err(StoreError::Absent { .. }) => {}
            Err(error) => {
                failed = Some(error);
                continue;
            }
        }
        total = total.saturating_sub(one.bytes);
    }
    match failed {
        Some(error) if swept.is_empty() => Err(error),
        _ => Ok(swept),
    }
}

/// Removes an artifact, unless it is pinned, a newer version wrote it or it cannot be read at the
/// moment. Returns whether it was removed.
fn let_go(
    store: &dyn ArtifactStore,
    handle: Handle,
    why: Gone,
    now: Timestamp,
) -> Result<bool, StoreError> {
    match store.manifest(handle) {
        Ok(manifest) if manifest.pinned => return Ok(false),
        Ok(_) | Err(StoreError::Absent { .. } | StoreError::Damaged { .. }) => {}
        // It may be pinned.
        Err(_) => return Ok(false),
    }
    store.remove(handle, why, now).map(|()| true)
}

/// The properties of an artifact that a sweep uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its handle.
    pub handle: Handle,
    /// Total bytes of its parts, as they take space in the store.
    pub bytes: u64,
    /// When it was last opened or, if it was never opened, stored.
    pub used: Timestamp,
    /// Whether it may be removed, as far as is known without its manifest. The manifest is read
    /// before anything is removed.
    pub may_go: bool,
}

/// Returns all artifacts of a survey. A damaged artifact may be removed like any other. An artifact
/// that a newer version wrote, or that cannot be read at the moment, is only counted, because it
/// may be pinned.
pub(crate) fn candidates(survey: Survey) -> Vec<Candidate> {
    let listed = survey.listed.into_iter().map(|one| Candidate {
        handle: one.manifest.handle,
        bytes: one.bytes,
        used: one.used,
        may_go: !one.manifest.pinned,
    });
    let damaged = survey.damaged.into_iter().map(|one| Candidate {
        handle: one.handle,
        bytes: one.bytes,
        used: one.used,
        may_go: matches!(one.why, StoreError::Damaged { .. }),
    });
    listed.chain(damaged).collect()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::{Path, PathBuf};

    use spillgate_artifact::{Clock, HandleForm, SystemClock, Word};

    use super::*;
    use crate::survey::Unreadable;

    #[test]
    fn what_is_pinned_meanwhile_stays() {
        let store = crate::MemoryStore::default();
        let mut draft = store.draft().unwrap();
        draft.write(crate::Part::Raw, b"bytes").unwrap();
        let facts = crate::conformance::facts_of(b"bytes");
        let handle = draft
            .commit(facts, b"", HandleForm::Short)
            .unwrap()
            .handle();
        let now = SystemClock.now();
        store.pin(handle, true).unwrap();
        assert!(!let_go(&store, handle, Gone::Evicted, now).unwrap());
        store.pin(handle, false).unwrap();
        assert!(let_go(&store, handle, Gone::Evicted, now).unwrap());
        assert!(store.manifest(handle).is_err());
    }

    #[test]
    fn what_cannot_be_read_just_now_stays() {
        let path = PathBuf::from("m.json");
        let damaged = StoreError::Damaged {
            path: path.clone(),
            what: "it is no JSON".to_owned(),
        };
        let busy = StoreError::io(Path::new("m.json"), io::Error::from_raw_os_error(24));
        let newer = StoreError::Newer { path, format: 9 };
        for (why, may_go) in [(damaged, true), (busy, false), (newer, false)] {
            let survey = Survey {
                damaged: vec![Unreadable {
                    handle: Handle::Short(Word::random()),
                    why,
                    used: SystemClock.now(),
                    bytes: 1,
                }],
                ..Survey::default()
            };
            assert_eq!(candidates(survey)[0].may_go, may_go);
        }
    }
}

//! The store of one principal, with the outputs that others share with it.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Clock, Handle, Manifest, Timestamp};

use crate::partition::Partition;
use crate::share::{Share, ShareRecords, ShareSide};
use crate::{
    ArtifactStore, Candidate, Draft, Gone, Listed, Receipt, StoreError, Stored, Survey, Unreadable,
};

/// Finds the stores of those who share outputs.
pub trait Owners: Send + Sync + fmt::Debug {
    /// Returns the store in a partition; `None` is the operator's store.
    fn store_of(&self, owner: Option<&Partition>) -> Result<Arc<dyn ArtifactStore>, StoreError>;
}

/// The store of a principal. Whatever it does not have itself is looked for among the outputs that
/// others share with it, always: what belongs to another principal and what nobody ever stored take the
/// same steps and get the same answer.
///
/// An output of another can be read, and nothing else: it is not listed, pinned or removed, and its raw
/// bytes are not given out.
#[derive(Debug)]
pub struct SharedStore {
    own: Arc<dyn ArtifactStore>,
    records: Arc<dyn ShareRecords>,
    owners: Arc<dyn Owners>,
    clock: Arc<dyn Clock>,
}

impl SharedStore {
    /// Returns the store of a principal. `records` are those of its partition.
    #[must_use]
    pub fn new(
        own: Arc<dyn ArtifactStore>,
        records: Arc<dyn ShareRecords>,
        owners: Arc<dyn Owners>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            own,
            records,
            owners,
            clock,
        }
    }

    /// Returns the store in which an output is that is shared now; `None` if it is not.
    fn owner(&self, handle: Handle) -> Result<Option<Arc<dyn ArtifactStore>>, StoreError> {
        let name = Share::name_of(handle);
        let share = self.records.share(ShareSide::Received, &name)?;
        let share = share.filter(|share| share.handle == handle && share.until > self.clock.now());
        let store = share.map(|share| self.owners.store_of(share.owner.as_ref()));
        store.transpose()
    }

    /// Returns what `own` found or, if the principal does not have it, what `other` finds in the store
    /// of the one who shares it.
    fn or_shared<T>(
        &self,
        handle: Handle,
        own: Result<T, StoreError>,
        other: impl FnOnce(&dyn ArtifactStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let absent = match own {
            Err(error @ StoreError::Absent { .. }) => error,
            own => return own,
        };
        match self.owner(handle)?.map(|store| other(&*store)) {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => {
                tracing::debug!(%handle, %error, "a shared output could not be read");
                Err(absent)
            }
            None => Err(absent),
        }
    }
}

/// Returns a manifest without what is only for its owner: the arguments and the id of the call, and the
/// name of a file.
fn without_owners(manifest: Manifest) -> Manifest {
    let mut manifest = manifest;
    manifest.facts.origin.arguments = None;
    manifest.facts.origin.call_id = None;
    manifest.facts.file_name = None;
    manifest
}

/// The raw bytes of an output of another.
#[derive(Debug)]
struct Withheld(u64);

impl ByteSource for Withheld {
    fn len(&self) -> u64 {
        self.0
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        let what = "only the readable text of a shared output can be read";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
    }
}

fn shared(stored: Stored) -> Stored {
    Stored {
        manifest: without_owners(stored.manifest),
        raw: Arc::new(Withheld(stored.raw.len())),
        view: stored.view,
        index: stored.index,
        // They are in the owner's partition.
        derived: None,
        file: None,
        is_shared: true,
    }
}

impl ArtifactStore for SharedStore {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        self.own.draft()
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        // That another reads an output does not keep it.
        self.or_shared(handle, self.own.open(handle), |store| {
            store.peek(handle).map(shared)
        })
    }

    fn peek(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.or_shared(handle, self.own.peek(handle), |store| {
            store.peek(handle).map(shared)
        })
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        self.or_shared(handle, self.own.manifest(handle), |store| {
            store.manifest(handle).map(without_owners)
        })
    }

    fn receipt(&self, handle: Handle) -> Result<Receipt, StoreError> {
        self.or_shared(handle, self.own.receipt(handle), |store| {
            let manifest = without_owners(store.receipt(handle)?.manifest);
            Ok(Receipt { manifest })
        })
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        self.own.list()
    }

    fn survey(&self) -> Result<Survey, StoreError> {
        self.own.survey()
    }

    fn newest(
        &self,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<Vec<Unreadable>, StoreError> {
        self.own.newest(visit)
    }

    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        self.own.candidates()
    }

    fn beginning_with(&self, beginning: &str) -> Result<Vec<Handle>, StoreError> {
        self.own.beginning_with(beginning)
    }

    fn count(&self) -> Result<usize, StoreError> {
        self.own.count()
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        self.own.remove(handle, why, at)
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        self.own.pin(handle, pinned)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use parking_lot::Mutex;
    use spillgate_artifact::{HandleForm, SystemClock};

    use super::*;
    use crate::conformance::{facts_of, run};
    use crate::{MemoryStore, Part};

    /// Records in memory, and how often they were read.
    #[derive(Debug, Default)]
    struct Records {
        all: Mutex<BTreeMap<String, Share>>,
        reads: Mutex<usize>,
    }

    impl ShareRecords for Records {
        fn share(&self, _: ShareSide, name: &str) -> Result<Option<Share>, StoreError> {
            *self.reads.lock() += 1;
            Ok(self.all.lock().get(name).cloned())
        }

        fn put_share(&self, _: ShareSide, name: &str, share: &Share) -> Result<(), StoreError> {
            self.all.lock().insert(name.to_owned(), share.clone());
            Ok(())
        }

        fn remove_share(&self, _: ShareSide, name: &str) -> Result<bool, StoreError> {
            Ok(self.all.lock().remove(name).is_some())
        }

        fn shares(&self, _: ShareSide) -> Result<Vec<(String, Share)>, StoreError> {
            Ok(self.all.lock().clone().into_iter().collect())
        }
    }

    /// The operator's store.
    #[derive(Debug)]
    struct Operator(Arc<MemoryStore>);

    impl Owners for Operator {
        fn store_of(&self, _: Option<&Partition>) -> Result<Arc<dyn ArtifactStore>, StoreError> {
            Ok(Arc::clone(&self.0) as _)
        }
    }

    fn store(owner: &Arc<MemoryStore>, records: &Arc<Records>) -> SharedStore {
        SharedStore::new(
            Arc::new(MemoryStore::default()),
            Arc::clone(records) as _,
            Arc::new(Operator(Arc::clone(owner))),
            Arc::new(SystemClock),
        )
    }

    #[test]
    fn conforms() {
        run(&|| Box::new(store(&Arc::default(), &Arc::default())));
    }

    #[test]
    fn a_shared_output_can_be_read_and_nothing_else() {
        let (owner, records) = (Arc::<MemoryStore>::default(), Arc::<Records>::default());
        let reader = store(&owner, &records);
        let mut draft = owner.draft().unwrap();
        draft.write(Part::Raw, b"oyster").unwrap();
        let mut facts = facts_of(b"oyster");
        facts.origin.arguments = Some("--pearl".to_owned());
        let receipt = draft.commit(facts, b"index", HandleForm::Short).unwrap();
        let handle = receipt.handle();
        let unknown: Handle = "zzzzzzzzzzzzzz".parse().unwrap();
        let told = |handle: Handle| {
            let before = *records.reads.lock();
            let error = reader.open(handle).unwrap_err().to_string();
            let reads = *records.reads.lock() - before;
            (error.replace(&handle.to_string(), "HANDLE"), reads)
        };
        let (error, reads) = told(handle);
        assert_eq!((error, reads), told(unknown));
        assert_eq!(reads, 1);
        let share = |seconds: i32| {
            let hour = Duration::from_secs(3600);
            let now = SystemClock.now().system_time();
            let share = Share {
                handle,
                owner: None,
                reader: "bob".parse().unwrap(),
                until: Timestamp::new(if seconds < 0 { now - hour } else { now + hour }),
            };
            assert_eq!(Share::from_bytes(&share.to_bytes()).unwrap().owner, None);
            let name = Share::name_of(handle);
            records
                .put_share(ShareSide::Received, &name, &share)
                .unwrap();
        };
        share(-1);
        assert_eq!(told(handle), told(unknown));
        share(1);
        let stored = reader.open(handle).unwrap();
        assert!(stored.is_shared);
        assert_eq!(stored.view.bytes(0, u64::MAX).unwrap(), b"oyster");
        assert!(stored.raw.bytes(0, u64::MAX).is_err());
        assert_eq!(stored.manifest.facts.origin.arguments, None);
        assert_eq!(reader.manifest(handle).unwrap(), stored.manifest);
        assert!(reader.list().unwrap().is_empty());
        let now = SystemClock.now();
        for changed in [
            reader.pin(handle, true),
            reader.remove(handle, Gone::Removed, now),
        ] {
            assert!(matches!(changed, Err(StoreError::Absent { .. })));
        }
        owner.remove(handle, Gone::Removed, now).unwrap();
        assert_eq!(told(handle), told(unknown));
    }
}

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

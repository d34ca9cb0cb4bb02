//! Replaces an object on the condition that it did not change.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, UpdateVersion};
use tokio::sync::Mutex;

/// How an object is replaced on the condition that it did not change since it was read.
#[derive(Debug, Clone)]
pub(crate) enum Swap {
    /// The bucket checks the condition (`If-Match`).
    Conditional,
    /// The bucket is a directory, and a process that changes an object in it locks this file. Tasks of this
    /// process take turns before they wait for the lock, because waiting for it holds up a thread.
    Locked(PathBuf, Arc<Mutex<()>>),
}

impl Swap {
    /// Replaces an object.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Precondition`] if it changed.
    pub(crate) async fn put(
        &self,
        objects: &dyn ObjectStore,
        path: &Path,
        version: UpdateVersion,
        bytes: Bytes,
    ) -> Result<(), Error> {
        let Self::Locked(file, turn) = self else {
            let mode = PutMode::Update(version);
            return objects
                .put_opts(path, bytes.into(), mode.into())
                .await
                .map(drop);
        };
        let turn = turn.lock().await;
        let lock = locked(file).map_err(|source| Error::Generic {
            store: "directory",
            source: Box::new(source),
        })?;
        let meta = objects.head(path).await?;
        if meta.e_tag != version.e_tag {
            return Err(Error::Precondition {
                path: path.to_string(),
                source: "it changed".into(),
            });
        }
        let put = objects.put(path, bytes.into()).await.map(drop);
        drop((lock, turn));
        put
    }
}

fn locked(path: &std::path::Path) -> std::io::Result<File> {
    let mut options = File::options();
    let file = options.create(true).append(true).open(path)?;
    file.lock()?;
    Ok(file)
}

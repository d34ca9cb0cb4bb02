//! The stores of the tenants of a bucket.

use std::sync::Arc;

use bytes::Bytes;
use object_store::{Error, ObjectStore as _, ObjectStoreExt, PutMode, PutPayload};
use spillgate_store::{FileStore, Partition, PartitionKey, StoreError};

use crate::bucket::Bucket;
use crate::store::{BucketStore, Options};

impl BucketStore {
    /// Returns the store of a tenant in the same bucket, with a cache and limits of its own. It sees no
    /// object of another tenant. The limit of memory for sending and copying is that of all together.
    #[must_use]
    pub fn partition(&self, tenant: &Partition, cache: Arc<FileStore>, options: Options) -> Self {
        let inner = &self.0;
        let bucket = Bucket {
            layout: inner.bucket.layout.of(tenant),
            observer: None,
            ..Bucket::clone(&inner.bucket)
        };
        let shared = (Arc::clone(&inner.waiting), Arc::clone(&inner.room));
        Self::with(bucket, cache, shared, Arc::clone(&inner.clock), options)
    }

    /// Returns the key from which the names of the tenants are made. All machines that use the bucket
    /// have the same one: the first of them makes it.
    ///
    /// # Errors
    ///
    /// Fails if the bucket cannot be reached, or if what is there is no key.
    pub fn partition_key(&self) -> Result<PartitionKey, StoreError> {
        let new = PartitionKey::new_bytes()?;
        let bytes = self
            .0
            .ask(move |bucket| async move { bucket.key(new.into()).await })?;
        PartitionKey::from_bytes(&bytes).ok_or_else(|| StoreError::Damaged {
            path: format!("{}: .key", self.place()).into(),
            what: "it is no key".to_owned(),
        })
    }

    /// Returns the tenants that have objects in the bucket.
    ///
    /// # Errors
    ///
    /// Fails if the bucket cannot be listed.
    pub fn partitions(&self) -> Result<Vec<Partition>, StoreError> {
        self.0.ask(|bucket| async move { bucket.tenants().await })
    }
}

impl Bucket {
    /// Returns the key in the bucket; puts `new` there if there is none.
    async fn key(&self, new: Bytes) -> Result<Bytes, StoreError> {
        let (path, doing) = (self.layout.key(), "reading the key of the tenants");
        if let Some(bytes) = self.found_key(&path).await? {
            return Ok(bytes);
        }
        let put = self
            .objects
            .put_opts(&path, PutPayload::from(new), PutMode::Create.into())
            .await;
        // Whether it was ours that was put: what is there now counts.
        if let Err(error) = put
            && !matches!(
                error,
                Error::AlreadyExists { .. } | Error::Precondition { .. }
            )
        {
            return Err(self.failed(doing, &error));
        }
        let found = self.found_key(&path).await?;
        found.ok_or_else(|| StoreError::Damaged {
            path: path.to_string().into(),
            what: "it is not there although it was just put".to_owned(),
        })
    }

    async fn found_key(
        &self,
        path: &object_store::path::Path,
    ) -> Result<Option<Bytes>, StoreError> {
        let doing = "reading the key of the tenants";
        match self.objects.get(path).await {
            Ok(found) => {
                let bytes = found.bytes().await;
                bytes.map(Some).map_err(|error| self.failed(doing, &error))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(doing, &error)),
        }
    }

    async fn tenants(&self) -> Result<Vec<Partition>, StoreError> {
        let listed = self.objects.list_with_delimiter(Some(self.layout.all()));
        let listed = listed
            .await
            .map_err(|error| self.failed("listing the tenants", &error))?;
        let names = listed.common_prefixes.iter();
        Ok(names
            .filter_map(|path| Partition::parse(path.filename()?))
            .collect())
    }
}

//! The records of shared outputs in a bucket.

use futures_util::TryStreamExt;
use object_store::{Error, ObjectStore as _, ObjectStoreExt, PutPayload};
use spillgate_store::{Share, ShareRecords, ShareSide, StoreError};

use crate::bucket::Bucket;
use crate::store::BucketStore;

const DOING: &str = "reading or writing a share";

impl Bucket {
    async fn read_share(&self, side: ShareSide, name: &str) -> Result<Option<Share>, StoreError> {
        let path = self.layout.share(side, name);
        match self.objects.get(&path).await {
            Ok(found) => {
                let bytes = found.bytes().await;
                let bytes = bytes.map_err(|error| self.failed(DOING, &error))?;
                Ok(Share::from_bytes(&bytes))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(DOING, &error)),
        }
    }

    async fn list_shares(&self, side: ShareSide) -> Result<Vec<(String, Share)>, StoreError> {
        let directory = self.layout.shares(side);
        let listed = self.objects.list(Some(&directory)).try_collect::<Vec<_>>();
        let listed = listed.await.map_err(|error| self.failed(DOING, &error))?;
        let mut all = Vec::new();
        for name in listed.iter().filter_map(|meta| meta.location.filename()) {
            if let Some(share) = self.read_share(side, name).await? {
                all.push((name.to_owned(), share));
            }
        }
        Ok(all)
    }
}

impl ShareRecords for BucketStore {
    fn share(&self, side: ShareSide, name: &str) -> Result<Option<Share>, StoreError> {
        let name = name.to_owned();
        self.0
            .ask(move |bucket| async move { bucket.read_share(side, &name).await })
    }

    fn put_share(&self, side: ShareSide, name: &str, share: &Share) -> Result<(), StoreError> {
        let (name, payload) = (name.to_owned(), PutPayload::from(share.to_bytes()));
        self.0.ask(move |bucket| async move {
            let path = bucket.layout.share(side, &name);
            let put = bucket.objects.put(&path, payload).await;
            put.map(drop).map_err(|error| bucket.failed(DOING, &error))
        })
    }

    fn remove_share(&self, side: ShareSide, name: &str) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.0.ask(move |bucket| async move {
            let was_there = bucket.read_share(side, &name).await?.is_some();
            match bucket
                .objects
                .delete(&bucket.layout.share(side, &name))
                .await
            {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(was_there),
                Err(error) => Err(bucket.failed(DOING, &error)),
            }
        })
    }

    fn shares(&self, side: ShareSide) -> Result<Vec<(String, Share)>, StoreError> {
        self.0
            .ask(move |bucket| async move { bucket.list_shares(side).await })
    }
}

//! Tries what a store needs of its bucket, for `spillgate doctor`.

use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutPayload, UpdateVersion,
};
use spillgate_artifact::FileId;

use crate::bucket::Bucket;

/// What was tried, and whether it worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What was tried, such as "store an object".
    pub what: &'static str,
    /// What is wrong, if it did not work.
    pub wrong: Option<String>,
}

const CONTENT: &[u8] = b"a check of spillgate doctor\n";

/// What is wrong with a bucket that does not check conditions.
const IGNORES: &str = "it ignores the condition, so that two writers could replace each other's outputs: use another server, or a newer version of it";

impl Bucket {
    /// Tries each step with an object of its own, and ends with the first one that fails.
    pub(crate) async fn check(&self) -> Vec<Checked> {
        let path = self.layout.check(&FileId::random().to_string());
        let mut all = Vec::new();
        let mut add = |what, wrong: Result<(), String>| {
            let is_right = wrong.is_ok();
            all.push(Checked {
                what,
                wrong: wrong.err(),
            });
            is_right
        };
        let is_stored = add("store an object", self.create(&path).await);
        let goes_on = is_stored
            && add(
                "store an object only if there is none (If-None-Match)",
                self.create_again(&path).await,
            )
            && add(
                "replace an object only if it did not change (If-Match)",
                self.replace_changed(&path).await,
            )
            && add("read an object", self.read_whole(&path).await)
            && add("read a part of an object", self.read_part(&path).await)
            && add("list the objects", self.list_all().await);
        if is_stored {
            let deleted = self.objects.delete(&path).await;
            let deleted = deleted.map_err(|error| self.said(&error));
            if goes_on {
                add("remove an object", deleted);
            }
        }
        all
    }

    /// Returns what an error says, without the address.
    fn said(&self, error: &Error) -> String {
        match self.failed("it", error) {
            spillgate_store::StoreError::Remote { what, .. } => {
                let what = what.strip_prefix("it failed: ").unwrap_or(&what);
                what.to_owned()
            }
            error => error.to_string(),
        }
    }

    async fn create(&self, path: &Path) -> Result<(), String> {
        let payload = PutPayload::from_static(CONTENT);
        let put = self.objects.put_opts(path, payload, PutMode::Create.into());
        put.await.map(drop).map_err(|error| self.said(&error))
    }

    async fn create_again(&self, path: &Path) -> Result<(), String> {
        let payload = PutPayload::from_static(CONTENT);
        let put = self.objects.put_opts(path, payload, PutMode::Create.into());
        match put.await {
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(()),
            Ok(_) => Err(IGNORES.to_owned()),
            Err(error) => Err(self.said(&error)),
        }
    }

    async fn replace_changed(&self, path: &Path) -> Result<(), String> {
        let said = |error| self.said(&error);
        let meta = self.objects.head(path).await.map_err(said)?;
        let version = || UpdateVersion {
            e_tag: meta.e_tag.clone(),
            version: meta.version.clone(),
        };
        let swap = |content: &'static [u8]| {
            let objects = &*self.objects;
            self.swap.put(objects, path, version(), content.into())
        };
        swap(b"a changed check of spillgate doctor\n")
            .await
            .map_err(said)?;
        // The version is the one from before the change.
        let again = swap(CONTENT).await;
        match again {
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(()),
            Ok(()) => Err(IGNORES.to_owned()),
            Err(error) => Err(self.said(&error)),
        }
    }

    async fn read_whole(&self, path: &Path) -> Result<(), String> {
        let got = self
            .objects
            .get(path)
            .await
            .map_err(|error| self.said(&error))?;
        let bytes = got.bytes().await.map_err(|error| self.said(&error))?;
        match bytes.starts_with(b"a changed check") {
            true => Ok(()),
            false => Err("it has another content than was stored".to_owned()),
        }
    }

    async fn read_part(&self, path: &Path) -> Result<(), String> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(2..9)),
            ..GetOptions::default()
        };
        let got = self.objects.get_opts(path, options).await;
        let got = got.map_err(|error| self.said(&error))?;
        let bytes = got.bytes().await.map_err(|error| self.said(&error))?;
        match &*bytes == b"changed" {
            true => Ok(()),
            false => Err("the answer is another part than was asked for".to_owned()),
        }
    }

    async fn list_all(&self) -> Result<(), String> {
        let listed = self.objects.list_with_delimiter(Some(self.layout.root()));
        listed.await.map(drop).map_err(|error| self.said(&error))
    }
}

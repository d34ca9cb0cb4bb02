//! Where outputs are stored: a directory or, with the feature `objects`, a bucket.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "objects")]
use data_encoding::HEXLOWER;
#[cfg(feature = "objects")]
use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
#[cfg(feature = "objects")]
use sha2::{Digest, Sha256};
use spillgate_artifact::{Clock, Handle, Timestamp};
#[cfg(feature = "objects")]
use spillgate_config::LayerSource;
#[cfg(feature = "objects")]
use spillgate_object_store::{
    Address, BucketStore, ConnectError, Options, Patience, Sweep, SweepRules,
};
#[cfg(feature = "serve")]
use spillgate_store::Names;
use spillgate_store::{
    ArtifactStore, FileStore, Lifetime, Partition, PartitionKey, RemovalObserver, ShareRecords,
    Space, StoreError, SyncWhen, Upkeep,
};

use crate::failure::Failure;
#[cfg(feature = "objects")]
use crate::failure::Fault;
use crate::quantities::{Size, Span};
use crate::settings::Settings;
#[cfg(feature = "objects")]
use crate::settings::directories;
use crate::tenant_settings::TenantLimits;

/// Settings of a store in a bucket. All builds read them, so that they can share a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ObjectSettings {
    /// The directory of the cache; by default one in the user's directory for caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<PathBuf>,
    /// Maximum bytes of the cache, such as "2 GiB"; "0" is no limit.
    pub(crate) cache_quota: Size,
    /// Maximum time until a connection is made, such as "5s".
    pub(crate) connect_timeout: Span,
    /// Maximum time of a request, such as "30s".
    pub(crate) request_timeout: Span,
    /// Time after which a request that failed is not tried again, such as "20s".
    pub(crate) retry_time: Span,
    /// Minimum time between two sweeps, of all machines together, such as "1h".
    pub(crate) sweep_every: Span,
    /// Age from which objects without a manifest are removed, such as "1d".
    pub(crate) orphan_age: Span,
}

impl Default for ObjectSettings {
    fn default() -> Self {
        Self {
            cache: None,
            cache_quota: Size::of("2 GiB"),
            connect_timeout: Span::of("5s"),
            request_timeout: Span::of("30s"),
            retry_time: Span::of("20s"),
            sweep_every: Span::of("1h"),
            orphan_age: Span::of("1d"),
        }
    }
}

/// Variables of the environment that say on which server a bucket is.
#[cfg(feature = "objects")]
const SERVERS: [&str; 8] = [
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT",
    "GOOGLE_BASE_URL",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_USE_EMULATOR",
];

/// Maximum characters of an address in the name of its cache.
#[cfg(feature = "objects")]
const MOST_NAME: usize = 100;

/// The beginning of an address, which a path of a directory does not have.
const ADDRESS: &str = "://";

/// Returns the address of a bucket if `store` is one; `None` if it is a directory.
pub(crate) fn address(store: &Path) -> Option<&str> {
    let text = store.to_str()?;
    let (scheme, _) = text.split_once(ADDRESS)?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (!scheme.is_empty() && scheme.chars().all(is_scheme)).then_some(text)
}

/// Returns a store as another process with another working directory has to name it.
pub(crate) fn absolute(store: &Path) -> std::io::Result<PathBuf> {
    match address(store) {
        Some(_) => Ok(store.to_owned()),
        None => std::path::absolute(store),
    }
}

/// Whether and how a command sweeps a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sweeps {
    /// It does not, because somebody waits for it.
    Never,
    /// At its end, when its result is printed.
    Waiting,
    /// While it serves.
    InBackground,
}

/// Where outputs are stored.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// A directory.
    Files(Arc<FileStore>),
    /// A bucket, with a directory as its cache.
    #[cfg(feature = "objects")]
    Objects(BucketStore),
}

impl Deref for Store {
    type Target = dyn ArtifactStore;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Files(files) => &**files,
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => bucket,
        }
    }
}

impl Store {
    /// Opens the store that the settings name. `serves` says whether clients wait for each result,
    /// `stores` whether outputs will be stored. The store calls `observer` for each removal.
    pub(crate) fn open(
        settings: &Settings,
        (serves, stores): (bool, bool),
        clock: &Arc<dyn Clock>,
        observer: Option<Arc<dyn RemovalObserver>>,
    ) -> Result<Self, Failure> {
        let base = match address(&settings.store) {
            None => std::path::absolute(&settings.store)?,
            #[cfg(feature = "objects")]
            Some(address) => {
                let variable = |name: &str| std::env::var(name).ok();
                settings.objects.cache_of(address, variable)?
            }
            #[cfg(not(feature = "objects"))]
            Some(address) => {
                let what = format!("--store {address}");
                return Err(crate::left_out::failure(&what, "objects"));
            }
        };
        let files = settings.files(&base, (serves, stores), clock)?;
        match address(&settings.store) {
            #[cfg(not(feature = "objects"))]
            _ => Ok(Self::of_files(files, observer)),
            #[cfg(feature = "objects")]
            None => Ok(Self::of_files(files, observer)),
            #[cfg(feature = "objects")]
            Some(address) => {
                let address = parsed(address)?;
                let variables: Vec<(String, String)> = std::env::vars_os()
                    .filter_map(|(name, value)| {
                        Some((name.into_string().ok()?, value.into_string().ok()?))
                    })
                    .collect();
                crate::memory::map_parts();
                let bucket = BucketStore::connect(
                    &address,
                    &variables,
                    settings.objects.patience(),
                    Arc::new(files),
                    Arc::clone(clock),
                    settings.bucket_options(),
                );
                Ok(Self::of_bucket(bucket.map_err(unconnected)?, observer))
            }
        }
    }

    /// Returns the part of the store that belongs to one principal, with the limits of these settings.
    /// It has nothing in common with the parts of others, or with the store itself. It calls
    /// `observer` for each removal.
    pub(crate) fn partition(
        &self,
        partition: &Partition,
        (settings, limits): (&Settings, &TenantLimits),
        clock: &Arc<dyn Clock>,
        observer: Option<Arc<dyn RemovalObserver>>,
    ) -> Result<Self, Failure> {
        #[cfg(not(feature = "objects"))]
        let _ = limits; // they are in the settings
        let base = partition.below(self.files().base());
        let files = settings.files(&base, (true, true), clock)?;
        Ok(match self {
            Self::Files(_) => Self::of_files(files, observer),
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => {
                let mut options = settings.bucket_options();
                if let Some(quota) = &limits.quota {
                    options.rules.quota = quota.bytes;
                }
                if let Some(age) = &limits.max_age {
                    options.rules.max_age = age.time;
                }
                let bucket = bucket.partition(partition, Arc::new(files), options);
                Self::of_bucket(bucket, observer)
            }
        })
    }

    fn of_files(files: FileStore, observer: Option<Arc<dyn RemovalObserver>>) -> Self {
        Self::Files(Arc::new(match observer {
            Some(observer) => files.observed_by(observer),
            None => files,
        }))
    }

    /// Returns a store in a bucket. What its cache removes is in the bucket still.
    #[cfg(feature = "objects")]
    fn of_bucket(bucket: BucketStore, observer: Option<Arc<dyn RemovalObserver>>) -> Self {
        Self::Objects(match observer {
            Some(observer) => bucket.observed_by(observer),
            None => bucket,
        })
    }

    /// Returns the key from which the names of the partitions are made.
    pub(crate) fn partition_key(&self) -> Result<PartitionKey, StoreError> {
        match self {
            Self::Files(files) => PartitionKey::below(files.base()),
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => bucket.partition_key(),
        }
    }

    /// Returns all partitions in which something may be stored.
    pub(crate) fn partitions(&self) -> Result<Vec<Partition>, StoreError> {
        let mut all = Partition::all_below(self.files().base())?;
        #[cfg(feature = "objects")]
        if let Self::Objects(bucket) = self {
            all.extend(bucket.partitions()?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Returns the store as look-ups and the pipeline use it.
    pub(crate) fn artifacts(&self) -> Arc<dyn ArtifactStore> {
        match self {
            Self::Files(files) => Arc::clone(files) as _,
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => Arc::new(bucket.clone()),
        }
    }

    /// Returns the records of shared outputs.
    pub(crate) fn records(&self) -> Arc<dyn ShareRecords> {
        match self {
            Self::Files(files) => Arc::clone(files) as _,
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => Arc::new(bucket.clone()),
        }
    }

    /// Returns the store on this machine: the store itself, or its cache.
    pub(crate) fn files(&self) -> &FileStore {
        match self {
            Self::Files(files) => files,
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => bucket.cache(),
        }
    }

    /// Returns the store as users see it: its directory or its address.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Files(files) => files.base().display().to_string(),
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => bucket.place().to_owned(),
        }
    }

    /// Returns what errors name for an artifact: its file or its address.
    pub(crate) fn path_of(&self, handle: Handle) -> PathBuf {
        match self {
            Self::Files(files) => files.view_path(handle),
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => PathBuf::from(format!("{}: {handle}", bucket.place())),
        }
    }

    /// Whether there is a store at all.
    pub(crate) fn exists(&self) -> bool {
        match self {
            Self::Files(files) => files.base().exists(),
            #[cfg(feature = "objects")]
            Self::Objects(_) => true,
        }
    }

    /// Maintains the store. `sweeps` says whether a bucket is swept, which may take a while.
    pub(crate) fn keep_up(
        &self,
        upkeep: &Upkeep,
        spared: Option<Handle>,
        now: Timestamp,
        sweeps: Sweeps,
    ) -> Result<(), StoreError> {
        #[cfg(not(feature = "objects"))]
        let _ = sweeps;
        match self {
            Self::Files(files) => files.keep_up(upkeep, spared, now),
            #[cfg(feature = "objects")]
            Self::Objects(bucket) => {
                let sweep = match sweeps {
                    Sweeps::Never => Sweep::Never,
                    Sweeps::Waiting => Sweep::Waiting,
                    Sweeps::InBackground => Sweep::InBackground,
                };
                bucket.keep_up(upkeep, spared, now, sweep)
            }
        }
    }

    /// Returns the names of contents, which this machine keeps.
    #[cfg(feature = "serve")]
    pub(crate) fn names(&self) -> Result<Names, StoreError> {
        self.files().names()
    }
}

/// Tries what a store in a bucket needs. Returns each step, and what is wrong with it.
pub(crate) fn checked(settings: &Settings) -> Result<Vec<(&'static str, Option<String>)>, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(spillgate_artifact::SystemClock);
    match Store::open(settings, (false, false), &clock, None)? {
        Store::Files(_) => Ok(Vec::new()),
        #[cfg(feature = "objects")]
        Store::Objects(bucket) => {
            let checked = bucket.check().into_iter();
            Ok(checked.map(|one| (one.what, one.wrong)).collect())
        }
    }
}

/// Parses the address of a bucket.
#[cfg(feature = "objects")]
pub(crate) fn parsed(address: &str) -> Result<Address, Failure> {
    address.parse().map_err(|error| {
        // The address may contain credentials, so it is not shown.
        let what = format!("the address of the store is wrong: {error}");
        Failure::new("config", Fault::Caller, what)
            .hint("write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory")
            .code(2)
    })
}

#[cfg(feature = "objects")]
fn unconnected(error: ConnectError) -> Failure {
    let hint = match &error {
        ConnectError::Plain { .. } => {
            "use its https:// address, or set AWS_ALLOW_HTTP=true (AZURE_ALLOW_HTTP, GOOGLE_ALLOW_HTTP) if nobody can listen on the way"
        }
        ConnectError::Settings { .. } => {
            "docs/object-store.md lists the variables; `spillgate doctor --no-start` checks the store"
        }
        _ => "`spillgate doctor --no-start` checks the store",
    };
    match error {
        ConnectError::Store(error) => error.into(),
        error => Failure::new("store", Fault::Caller, error.to_string()).hint(hint),
    }
}

impl ObjectSettings {
    /// Returns the directory of the cache of a store. Each store has its own: `variable` returns the
    /// variables of the environment, which may name the server.
    #[cfg(feature = "objects")]
    fn cache_of(
        &self,
        address: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<PathBuf, Failure> {
        let base = match &self.cache {
            Some(cache) => std::path::absolute(cache)?,
            None => directories()?.cache_dir().join("spillgate"),
        };
        let word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let address = address.trim_end_matches('/');
        let mut hash = Sha256::new();
        hash.update(address);
        for name in SERVERS {
            // No variable contains this byte.
            hash.update([0]);
            hash.update(variable(name).unwrap_or_default().trim_end_matches('/'));
        }
        let hash = HEXLOWER.encode(&hash.finalize()[..8]);
        let name: String = address
            .replace(ADDRESS, "_")
            .replace(|c| !word(c), "_")
            .chars()
            .take(MOST_NAME)
            .collect();
        Ok(base.join(format!("{name}_{hash}")))
    }

    #[cfg(feature = "objects")]
    fn patience(&self) -> Patience {
        let usual = Patience::default();
        Patience {
            connect: self.connect_timeout.time.unwrap_or(usual.connect),
            request: self.request_timeout.time.unwrap_or(usual.request),
            retry: self.retry_time.time.unwrap_or(usual.retry),
        }
    }
}

/// How long after it was stored or used an output is not removed to stay within the quota.
#[cfg(feature = "objects")]
const FRESH: std::time::Duration = std::time::Duration::from_secs(600);

impl Settings {
    /// Returns the settings with the limits of a tenant.
    pub(crate) fn of_tenant(&self, limits: &TenantLimits) -> Self {
        let mut settings = self.clone();
        // The quota of a cache is for what a bucket keeps anyway.
        if let (None, Some(quota)) = (address(&self.store), &limits.quota) {
            settings.quota = quota.clone();
        }
        if let Some(age) = &limits.max_age {
            settings.max_age = age.clone();
        }
        // The directory of traces has those of the operator's runs, and its files have parts of outputs.
        settings.ui.traces = None;
        settings
    }

    /// Returns the store in the files of a directory: the whole store, or its cache if it is in a
    /// bucket.
    fn files(
        &self,
        base: &Path,
        (serves, stores): (bool, bool),
        clock: &Arc<dyn Clock>,
    ) -> Result<FileStore, Failure> {
        let (space, sync) = match address(&self.store) {
            None => (self.space(), self.sync),
            // The bucket has what is in the cache.
            Some(_) => (self.cache_space(), SyncWhen::After),
        };
        let sync = match serves || address(&self.store).is_some() {
            true => sync,
            false => SyncWhen::Before,
        };
        let space = Space {
            evicts: serves,
            ..space
        };
        let files = FileStore::new(base, Lifetime::Durable, Arc::clone(clock));
        let files = self.with_key(files, stores)?;
        let files = files.synced(sync).within(space);
        files.check_format()?;
        if !self.shared_store {
            files.check_base()?;
        }
        Ok(files)
    }

    /// Returns whether results get short ids. They are counted in each process, so processes that share
    /// a bucket would give the same id to different results.
    pub(crate) fn short_ids(&self) -> bool {
        self.continuation.short_ids && address(&self.store).is_none()
    }

    /// Returns whether the user set this key, in the file, the environment or an option.
    #[cfg(feature = "objects")]
    fn is_set(&self, key: &str) -> bool {
        !matches!(self.places.source(&[key]), LayerSource::Default)
    }

    fn cache_space(&self) -> Space {
        Space {
            quota: self.objects.cache_quota.bytes,
            ..self.space()
        }
    }

    #[cfg(feature = "objects")]
    fn bucket_options(&self) -> Options {
        use std::time::Duration;
        let upkeep = self.upkeep();
        let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(86_400));
        Options {
            rules: SweepRules {
                // The defaults are for a store of one machine. A bucket has outputs of others.
                max_age: upkeep.max_age.filter(|_| self.is_set("max_age")),
                quota: self.quota.bytes.filter(|_| self.is_set("quota")),
                orphan_age: self.objects.orphan_age.time.unwrap_or(day),
                tombstone_age: upkeep.notes.max_age,
                fresh: FRESH,
                // Recording each use would cost a request each.
                unrecorded: upkeep.max_age.map_or(day, |age| (age / 20).min(day)),
                most: upkeep.most,
            },
            sweep_every: self.objects.sweep_every.time.unwrap_or(hour),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "objects")]
    #[test]
    fn each_store_has_its_own_cache() {
        let settings = ObjectSettings {
            cache: Some("/cache".into()),
            ..ObjectSettings::default()
        };
        let of = |address: &str, variable: &str, value: &str| {
            let found = |name: &str| (name == variable).then(|| value.to_owned());
            settings.cache_of(address, found).unwrap()
        };
        let all = [
            of("s3://b/a_b", "", ""),
            of("s3://b/a/b", "", ""),
            of("s3://b_a/b", "", ""),
            of("s3://b/a/b", "AWS_ENDPOINT_URL", "https://one.example"),
            of("s3://b/a/b", "AWS_ENDPOINT_URL", "https://other.example"),
            of("s3://b/a/b", "AWS_ENDPOINT_URL_S3", "https://one.example"),
            of("az://b/a", "AZURE_STORAGE_ACCOUNT_NAME", "one"),
            of("az://b/a", "AZURE_STORAGE_ACCOUNT_NAME", "other"),
            of(&format!("s3://b/{}", "long".repeat(200)), "", ""),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{}", one.display());
            let name = one.strip_prefix("/cache").unwrap();
            assert!(name.components().count() == 1 && name.as_os_str().len() < 200);
        }
        let [one, other] = ["s3://b/a/b", "s3://b/a/b/"].map(|address| of(address, "", ""));
        assert_eq!(one, other);
    }

    #[cfg(feature = "objects")]
    #[test]
    fn only_limits_that_the_user_set_hold_for_a_bucket() {
        let mut settings = crate::settings::defaults().unwrap();
        let rules = settings.bucket_options().rules;
        assert_eq!((rules.max_age, rules.quota), (None, None));
        assert!(rules.tombstone_age.is_some());
        let tree = spillgate_config::toml::parse("max_age = \"30d\"\nquota = \"10 GiB\"\n");
        let file = LayerSource::File("c.toml".into());
        settings.places.put(file, tree.unwrap());
        let rules = settings.bucket_options().rules;
        assert!(rules.max_age.is_some() && rules.quota == Some(10 << 30));
    }

    #[test]
    fn an_address_is_no_path() {
        for (text, is_address) in [
            ("s3://bucket/a", true),
            ("https://host/a", true),
            ("file:///a", true),
            ("/var/lib/spillgate", false),
            ("store", false),
            ("./s3://bucket", false),
            ("://", false),
            ("a b://c", false),
        ] {
            assert_eq!(address(Path::new(text)).is_some(), is_address, "{text}");
        }
    }
}

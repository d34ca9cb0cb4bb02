//! The store on a bucket in memory, on a directory and on a small server for S3.

mod faults;
mod requests;
mod server;

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use spillgate_artifact::{Clock, Handle, HandleForm, SystemClock};
use spillgate_store::conformance::{self, facts_of};
use spillgate_store::{ArtifactStore, FileStore, Lifetime, Part, Piece, StoreError, SyncWhen};

use crate::again::Again;
use crate::bucket::{Bucket, PART};
use crate::layout::{Layout, Object};
use crate::swap::Swap;
use crate::{Address, BucketStore, ConnectError, Options, Patience, SweepRules};

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) const OPTIONS: Options = Options {
    rules: SweepRules {
        max_age: Some(Duration::from_secs(30 * 86_400)),
        quota: None,
        orphan_age: Duration::from_secs(86_400),
        tombstone_age: None,
        fresh: Duration::from_secs(600),
        unrecorded: HOUR,
        most: 1000,
    },
    sweep_every: HOUR,
};

/// The client gives up fast, so that tests are short.
const PATIENCE: Patience = Patience {
    connect: Duration::from_millis(500),
    request: Duration::from_millis(500),
    retry: Duration::from_millis(300),
};

/// A machine: a cache, and what it reaches.
pub(crate) struct Machine {
    pub(crate) store: BucketStore,
    _cache: tempfile::TempDir,
}

fn cache(base: &std::path::Path) -> Arc<FileStore> {
    let store = FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock));
    Arc::new(store.synced(SyncWhen::After))
}

impl Machine {
    pub(crate) fn over(objects: Arc<dyn ObjectStore>, options: Options) -> Self {
        let base = tempfile::tempdir().unwrap();
        let cache = cache(base.path());
        let clock = Arc::new(SystemClock);
        let store = BucketStore::over(objects, "memory", cache, clock, options).unwrap();
        Self {
            store,
            _cache: base,
        }
    }

    fn at(address: &str, environment: &[(String, String)], options: Options) -> Self {
        Self::patient(address, environment, options, PATIENCE)
    }

    fn patient(
        address: &str,
        environment: &[(String, String)],
        options: Options,
        patience: Patience,
    ) -> Self {
        let base = tempfile::tempdir().unwrap();
        let cache = cache(base.path());
        let address: Address = address.parse().unwrap();
        let clock = Arc::new(SystemClock);
        let store = BucketStore::connect(&address, environment, patience, cache, clock, options);
        Self {
            store: store.unwrap(),
            _cache: base,
        }
    }

    pub(crate) fn put(&self, raw: &[u8]) -> Result<Handle, StoreError> {
        let mut draft = self.store.draft()?;
        draft.write(Part::Raw, raw)?;
        let receipt = draft.commit(facts_of(raw), b"index", HandleForm::Short)?;
        Ok(receipt.handle())
    }
}

/// Leaks the directories of the stores, so that they live as long as the test.
fn leaked(machine: Machine) -> Box<dyn ArtifactStore> {
    let machine: &'static Machine = Box::leak(Box::new(machine));
    Box::new(machine.store.clone())
}

#[test]
fn conforms_in_memory() {
    conformance::run(&|| leaked(Machine::over(Arc::new(InMemory::new()), OPTIONS)));
}

#[test]
fn conforms_in_a_directory() {
    let base = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    conformance::run(&|| {
        number.set(number.get() + 1);
        let path = base.path().join(number.get().to_string());
        leaked(Machine::at(
            &format!("file://{}", path.display()),
            &[],
            OPTIONS,
        ))
    });
}

#[test]
fn conforms_on_a_server() {
    // The server tells times in seconds, so the order of what was used at the same time is not known:
    // `SPILLGATE_S3` names a real one, with the environment of its credentials.
    let real = std::env::var("SPILLGATE_S3").ok();
    let number = std::cell::Cell::new(0);
    let run = spillgate_artifact::FileId::random();
    let Some(address) = real else {
        return;
    };
    conformance::run(&|| {
        number.set(number.get() + 1);
        let environment: Vec<_> = std::env::vars().collect();
        let address = format!("{address}/{run}/{}", number.get());
        let patience = Patience::default();
        let base: &'static _ = Box::leak(Box::new(tempfile::tempdir().unwrap()));
        let (cache, clock) = (cache(base.path()), Arc::new(SystemClock));
        let address: Address = address.parse().unwrap();
        let store = BucketStore::connect(&address, &environment, patience, cache, clock, OPTIONS);
        Box::new(store.unwrap())
    });
}

/// Returns bytes that differ everywhere.
fn large(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(&mut next).take(len).collect()
}

#[test]
fn another_machine_reads_what_one_stored() {
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let [one, other] = [(); 2].map(|()| Machine::over(Arc::clone(&objects), OPTIONS));
    for len in [0, 1, 5000, 20 << 20] {
        let raw = large(len);
        let handle = one.put(&raw).unwrap();
        for machine in [&other, &one] {
            let stored = machine.store.open(handle).unwrap();
            assert_eq!(stored.index, b"index");
            assert_eq!(stored.raw.len(), len as u64);
            assert!(stored.raw.bytes(0, u64::MAX).unwrap() == raw, "{len}");
            let (start, end) = (len as u64 / 3, len as u64 / 2);
            let part = &raw[len / 3..len / 2];
            assert!(stored.view.bytes(start, end).unwrap() == part, "{len}");
        }
        other
            .store
            .remove(handle, spillgate_store::Gone::Removed, SystemClock.now())
            .unwrap();
        // What is gone is gone, although it is in the cache of its writer.
        let error = one.store.open(handle).unwrap_err().to_string();
        assert!(error.contains("It was removed on"), "{error}");
    }
}

#[test]
fn a_part_of_a_large_output_is_fetched_alone_and_the_whole_into_the_cache() {
    let server = server::Server::start();
    let patience = Patience::default();
    let machine = || Machine::patient("s3://bucket/a/b", &server.environment(), OPTIONS, patience);
    let (one, other) = (machine(), machine());
    let raw = large(40 << 20);
    let handle = one.put(&raw).unwrap();
    let uploads = server.seen();
    assert!(
        uploads.iter().filter(|seen| seen.contains("PUT")).count() >= 5,
        "{uploads:?}"
    );
    let stored = other.store.open(handle).unwrap();
    assert!(
        stored.raw.bytes(30 << 20, (30 << 20) + 100).unwrap() == raw[30 << 20..(30 << 20) + 100]
    );
    let seen = server.seen();
    let gets = seen.iter().filter(|seen| seen.starts_with("GET")).count();
    assert_eq!(gets, 3, "manifest, index, one part: {seen:?}");
    assert!(!other.store.cache().has(handle));
    assert!(stored.raw.bytes(0, u64::MAX).unwrap() == raw);
    assert!(
        other.store.cache().has(handle),
        "who reads the whole gets a copy"
    );
    drop(server.seen());
    let again = other.store.open(handle).unwrap();
    assert!(again.raw.bytes(0, u64::MAX).unwrap() == raw);
    assert_eq!(server.seen().len(), 1, "only the manifest is asked for");
    drop(other);
    assert!(stored.raw.bytes(1 << 20, 2 << 20).unwrap() == raw[1 << 20..2 << 20]);
}

#[test]
fn a_bucket_that_ignores_conditions_is_found_out() {
    let server = server::Server::start();
    let machine = Machine::at("s3://bucket/a", &server.environment(), OPTIONS);
    let checked = machine.store.check();
    assert!(checked.iter().all(|one| one.wrong.is_none()), "{checked:?}");
    assert!(server.objects().is_empty());
    server.fails(|_, _| Some(server::Fault::NoConditions));
    let checked = machine.store.check();
    let last = checked.last().unwrap();
    assert_eq!(
        last.what,
        "store an object only if there is none (If-None-Match)"
    );
    assert!(
        last.wrong
            .as_ref()
            .unwrap()
            .contains("ignores the condition")
    );
    assert!(server.objects().is_empty());
}

#[test]
fn what_the_environment_says_wrongly_is_told_without_secrets() {
    let base = tempfile::tempdir().unwrap();
    let connect = |address: &str, environment: &[(&str, &str)]| {
        let environment: Vec<_> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let address: Address = address.parse().unwrap();
        let (cache, clock) = (cache(base.path()), Arc::new(SystemClock));
        BucketStore::connect(&address, &environment, PATIENCE, cache, clock, OPTIONS)
    };
    let error = connect("s3://b", &[("AWS_ENDPOINT_URL", "http://example.com:9000")]).unwrap_err();
    insta::assert_snapshot!(error, @"the server of s3://b is reached without TLS: http://example.com:9000");
    let error = connect(
        "gs://b",
        &[("GOOGLE_SERVICE_ACCOUNT_KEY", "a-very-secret-key")],
    )
    .unwrap_err();
    assert!(!error.to_string().contains("a-very-secret-key"), "{error}");
    let error = connect(
        "az://b/x",
        &[("AZURE_STORAGE_ACCOUNT_KEY", "not base64 secret")],
    )
    .unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn no_server_is_reached_without_tls() {
    let base = tempfile::tempdir().unwrap();
    let key = base.path().join("key.json");
    for (address, name, value, told) in [
        ("s3", "AWS_ENDPOINT_URL", "http://h.example:9000", true),
        ("s3", "AWS_ENDPOINT", "http://h.example:9000", true),
        ("s3", "AWS_ENDPOINT_URL", "HTTP://h.example:9000", true),
        ("s3", "AWS_ENDPOINT_URL_S3", "http://h.example:9000", true),
        ("s3", "AWS_ENDPOINT_URL_STS", "http://h.example:9000", true),
        (
            "s3",
            "AWS_ENDPOINT_URL",
            "http://me:password@h.example:9000/p",
            true,
        ),
        ("s3", "AWS_ENDPOINT_URL", "http://127.0.0.1:9000", false),
        ("s3", "AWS_ENDPOINT_URL_S3", "http://localhost:9000", false),
        ("s3", "AWS_ENDPOINT_URL", "https://h.example:9000", false),
        (
            "s3",
            "AWS_ENDPOINT_URL_DYNAMODB",
            "http://h.example:9000",
            false,
        ),
        ("s3", "AWS_PROXY_URL", "http://h.example:9000", false),
        (
            "s3",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://169.254.170.23/v1",
            false,
        ),
        ("gs", "GOOGLE_BASE_URL", "http://h.example:9000", true),
        ("gs", "AWS_ENDPOINT_URL", "http://h.example:9000", false),
        (
            "az",
            "AZURE_STORAGE_ENDPOINT",
            "http://h.example:9000",
            true,
        ),
        ("az", "AZURE_AUTHORITY_HOST", "http://h.example:9000", true),
    ] {
        let environment = [(name.to_owned(), value.to_owned())];
        let address: Address = format!("{address}://b/c").parse().unwrap();
        let (cache, clock) = (cache(base.path()), Arc::new(SystemClock));
        let connected =
            BucketStore::connect(&address, &environment, PATIENCE, cache, clock, OPTIONS);
        match connected {
            Err(error @ ConnectError::Plain { .. }) => {
                let text = error.to_string();
                assert!(told, "{name}={value}");
                assert!(text.ends_with("TLS: http://h.example:9000"), "{text}");
            }
            // Other settings may be missing.
            _ => assert!(!told, "{name}={value}"),
        }
    }
    // A file with a key names a server, too. It is refused when it is asked.
    let names = r#"{"private_key": "k", "private_key_id": "i", "client_email": "e", "disable_oauth": true,
        "gcs_base_url": "http://192.0.2.1:9000"}"#;
    std::fs::write(&key, names).unwrap();
    let environment = [(
        "GOOGLE_SERVICE_ACCOUNT".to_owned(),
        key.display().to_string(),
    )];
    let machine = Machine::at("gs://b/c", &environment, OPTIONS);
    let error = machine.store.list().unwrap_err();
    insta::assert_snapshot!(error, @"gs://b/c: listing the outputs failed: http://192.0.2.1:9000 is reached without TLS");
}

#[test]
fn what_others_replaced_in_the_bucket_is_not_taken() {
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let [one, other] = [(); 2].map(|()| Machine::over(Arc::clone(&objects), OPTIONS));
    let handle = one.put(b"some bytes").unwrap();
    let layout = Layout::below(&object_store::path::Path::default());
    let path = layout.path(handle, Object::Piece(Piece::Body));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let put = objects.put_opts(&path, "some bytez".into(), <_>::default());
    runtime.block_on(put).unwrap();
    let error = other.store.open(handle).unwrap_err();
    let text = error.to_string().replace(&handle.to_string(), "HANDLE");
    insta::assert_snapshot!(text, @"memory: v1/shared/HANDLE/body is damaged: the bytes are not those that were stored");
    assert!(!other.store.cache().has(handle));
    // Its writer has the right bytes.
    let stored = one.store.open(handle).unwrap();
    assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"some bytes");
}

#[test]
fn what_was_used_a_moment_ago_is_not_removed_for_the_quota() {
    let minutes = |count: u64| Duration::from_secs(60 * count);
    for (quota, unrecorded, expected) in [
        (None, HOUR, HOUR),
        (Some(1), HOUR, minutes(10)),
        (Some(1), minutes(1), minutes(1)),
    ] {
        let rules = SweepRules {
            quota,
            unrecorded,
            ..OPTIONS.rules
        };
        assert_eq!(rules.recorded_after(), expected, "{rules:?}");
    }
    let rules = SweepRules {
        quota: Some(1),
        max_age: Some(Duration::MAX),
        ..OPTIONS.rules
    };
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let machine = Machine::over(Arc::clone(&objects), OPTIONS);
    machine.put(b"some bytes").unwrap();
    let bucket = Bucket {
        objects,
        layout: Layout::below(&object_store::path::Path::default()),
        swap: Swap::Conditional,
        place: "memory".into(),
        part: PART,
        again: Again {
            time: Duration::ZERO,
            pause: Duration::ZERO,
        },
        observer: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    // A use in the tenth minute is not recorded, so it is spared until the twentieth.
    for (age, evicted) in [(0, 0), (19, 0), (21, 1)] {
        let now = SystemClock.now().system_time() + minutes(age);
        let swept = bucket.sweep(&rules, None, now, SystemClock.now());
        assert_eq!(runtime.block_on(swept).unwrap().evicted, evicted, "{age}");
    }
}

#[test]
fn many_change_a_directory_at_the_same_time() {
    let base = tempfile::tempdir().unwrap();
    let address = format!("file://{}", base.path().display());
    let machines = [(); 2].map(|()| Machine::at(&address, &[], OPTIONS));
    let handle = machines[0].put(b"some bytes").unwrap();
    std::thread::scope(|scope| {
        for at in 0..12 {
            let store = &machines[at % 2].store;
            scope.spawn(move || {
                for pinned in [true, false, true] {
                    // Others change it all the time, so this may be refused.
                    drop(store.pin(handle, pinned));
                    assert!(store.open(handle).is_ok());
                }
            });
        }
    });
    machines[0].store.pin(handle, true).unwrap();
    assert!(machines[1].store.manifest(handle).unwrap().pinned);
}

#[test]
fn tenants_share_the_limit_of_memory() {
    let machine = Machine::over(Arc::new(InMemory::new()), OPTIONS);
    let key = machine.store.partition_key().unwrap();
    let base = tempfile::tempdir().unwrap();
    let tenant = machine.store.partition(
        &key.partition(&"alice".parse().unwrap()),
        cache(base.path()),
        OPTIONS,
    );
    let room = machine.store.without_room();
    assert_eq!(tenant.0.room.available_permits(), 0);
    drop(room);
    assert!(tenant.0.room.available_permits() > 0);
}

#[test]
fn writers_and_copies_wait_for_memory() {
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let machine = Arc::new(Machine::over(Arc::clone(&objects), OPTIONS));
    let other = Arc::new(Machine::over(objects, OPTIONS));
    let handle = machine.put(b"some bytes").unwrap();
    let (to, done) = std::sync::mpsc::channel();
    let rooms = [machine.store.without_room(), other.store.without_room()];
    let (writer, sent) = (Arc::clone(&machine), to.clone());
    std::thread::spawn(move || sent.send(writer.put(b"other bytes").is_ok()));
    std::thread::spawn(move || to.send(other.store.peek(handle).is_ok()));
    // A manifest can still be read.
    assert!(machine.store.manifest(handle).is_ok());
    assert!(done.recv_timeout(Duration::from_millis(200)).is_err());
    drop(rooms);
    for _ in 0..2 {
        assert!(done.recv_timeout(Duration::from_secs(10)).unwrap());
    }
}

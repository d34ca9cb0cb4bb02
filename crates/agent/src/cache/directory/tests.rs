//! Tests the cache on a real disk: which entries it keeps, rejects and removes.

use std::time::UNIX_EPOCH;

use parking_lot::Mutex;
use spillgate_llm::ToolCall;

use super::*;

/// A clock that the test sets.
#[derive(Debug, Default)]
struct SetClock(Mutex<u64>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(UNIX_EPOCH + Duration::from_secs(*self.0.lock()))
    }
}

struct Stage {
    clock: Arc<SetClock>,
    cache: DirectoryCache,
    directory: tempfile::TempDir,
}

const TTL: Duration = Duration::from_secs(60);
const NOW: u64 = 1_800_000_000;

impl Stage {
    fn new(entry_bytes: u64, total_bytes: u64) -> Self {
        let clock = Arc::new(SetClock(Mutex::new(NOW)));
        let directory = tempfile::tempdir().unwrap();
        let limits = CacheLimits {
            entry_bytes,
            total_bytes,
        };
        let path = directory.path().join("cache/tools");
        let cache = DirectoryCache::new(path, limits, Arc::clone(&clock) as Arc<dyn Clock>);
        Self {
            clock,
            cache,
            directory,
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut entry = self.cache.begin(&key(name), TTL)?;
        for part in bytes.chunks(7) {
            entry.write(part)?;
        }
        entry.commit()
    }

    fn get(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut found = self.cache.get(&key(name), TTL).unwrap()?;
        found.read_to_end(&mut bytes).unwrap();
        Some(bytes)
    }

    fn at(&self, later: u64) {
        *self.clock.0.lock() = NOW + later;
    }

    fn files(&self) -> usize {
        fs::read_dir(self.directory.path().join("cache/tools"))
            .unwrap()
            .count()
    }
}

fn key(name: &str) -> CacheKey {
    let call = ToolCall {
        id: String::new(),
        name: name.to_owned(),
        arguments: "{}".to_owned(),
    };
    CacheKey::of("", "host", &call).unwrap()
}

#[test]
fn what_is_kept_comes_back_until_it_expires() {
    let stage = Stage::new(1000, 10_000);
    assert_eq!(stage.get("a"), None);
    stage.put("a", b"all of it").unwrap();
    stage.put("empty", b"").unwrap();
    assert_eq!(stage.get("a").unwrap(), b"all of it");
    assert_eq!(stage.get("empty").unwrap(), b"");
    assert_eq!(stage.get("b"), None);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&stage.cache.directory), 0o700);
    assert_eq!(mode(&stage.cache.path(&key("a"))), 0o600);
    stage.put("a", b"once more").unwrap();
    assert_eq!(stage.get("a").unwrap(), b"once more");
    stage.at(59);
    assert!(stage.get("a").is_some());
    stage.at(60);
    assert_eq!((stage.get("a"), stage.files()), (None, 1), "it is removed");
    stage.put("c", b"x").unwrap();
    assert_eq!(
        stage.files(),
        1,
        "what has expired goes when something comes"
    );
}

/// Tests that the cache finds an entry written by an earlier version.
#[test]
fn what_an_earlier_build_kept_is_found() {
    const KEY: &str = "e0117baab0d7fb70576fd957df4bf00115e2e807ef10215fa1fe1a2db005649f";
    let written =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../spillgate/tests/written/tool-cache");
    let stage = Stage::new(1000, 10_000);
    fs::create_dir_all(&stage.cache.directory).unwrap();
    fs::copy(written.join(KEY), stage.cache.directory.join(KEY)).unwrap();
    let stored = fs::read_to_string(written.join(KEY)).unwrap();
    let stored = stored.split('"').nth(9).unwrap();
    let stored: Timestamp = serde_json::from_value(stored.into()).unwrap();
    let since = stored.system_time().duration_since(UNIX_EPOCH).unwrap();
    *stage.clock.0.lock() = since.as_secs() + 1;
    let key = CacheKey(KEY.to_owned());
    let mut found = stage.cache.get(&key, TTL).unwrap().unwrap();
    let mut bytes = String::new();
    found.read_to_string(&mut bytes).unwrap();
    assert_eq!(bytes, "a note \u{1b}[31mwith a colour");
}

#[test]
fn what_cannot_be_trusted_is_not_there() {
    let stage = Stage::new(1000, 10_000);
    stage.put("a", b"all of it").unwrap();
    let path = stage.cache.path(&key("a"));
    let good = fs::read(&path).unwrap();
    let another = fs::read(stage.cache.path(&key("a"))).unwrap();
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let longer = [&good[..], b"!"].concat();
    let huge = String::from_utf8(good.clone())
        .unwrap()
        .replace("\"bytes\":9,", "\"bytes\":18446744073709551615,");
    let later = String::from_utf8(good.clone())
        .unwrap()
        .replace("2027-", "2028-");
    let cases: [(&str, &[u8]); 7] = [
        ("empty", b""),
        ("no header", b"{}"),
        ("cut", &good[..good.len() - 1]),
        ("flipped", &flipped),
        ("longer", &longer),
        ("huge", huge.as_bytes()),
        ("from the future", later.as_bytes()),
    ];
    for (what, bytes) in cases {
        fs::write(&path, bytes).unwrap();
        assert_eq!(stage.get("a"), None, "{what}");
        assert!(!path.exists(), "{what} is removed");
    }
    fs::write(stage.cache.path(&key("b")), another).unwrap();
    assert_eq!(stage.get("b"), None, "the entry of another call");
    fs::write(&path, &good).unwrap();
    assert!(stage.get("a").is_some(), "the bytes themselves are right");
    let aside = stage.directory.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &path).unwrap();
    assert!(
        stage.cache.get(&key("a"), TTL).is_err(),
        "no link is followed"
    );
}

#[test]
fn there_is_never_too_much() {
    let stage = Stage::new(100, 1200);
    let error = stage.put("large", &[b'x'; 101]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(stage.files(), 0, "nothing is left of it");
    for (later, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        stage.at(later as u64);
        stage.put(name, &[b'x'; 100]).unwrap();
    }
    assert_eq!(stage.get("a"), None, "the oldest has gone");
    assert!(stage.get("b").is_some() && stage.get("d").is_some());
}

#[test]
fn leftovers_go_and_what_is_not_ours_stays() {
    let stage = Stage::new(100, 1000);
    stage.put("a", b"x").unwrap();
    let directory = &stage.cache.directory;
    for (name, age) in [(".new-old", 2), (".new-fresh", 0), ("notes.txt", 2)] {
        let file = File::create(directory.join(name)).unwrap();
        let made = UNIX_EPOCH + Duration::from_secs(NOW - age * 24 * 60 * 60);
        file.set_modified(made).unwrap();
    }
    fs::create_dir(directory.join("f".repeat(64))).unwrap();
    stage.put("b", b"x").unwrap();
    assert!(!directory.join(".new-old").exists());
    assert_eq!(stage.files(), 5);
}

#[test]
fn a_directory_of_others_is_not_used() {
    let stage = Stage::new(100, 1000);
    let aside = stage.directory.path().join("aside");
    fs::create_dir(&aside).unwrap();
    fs::create_dir(stage.directory.path().join("cache")).unwrap();
    std::os::unix::fs::symlink(&aside, &stage.cache.directory).unwrap();
    assert_eq!(
        stage.put("a", b"x").unwrap_err().kind(),
        io::ErrorKind::NotADirectory
    );
    fs::remove_file(&stage.cache.directory).unwrap();
    fs::create_dir(&stage.cache.directory).unwrap();
    fs::set_permissions(&stage.cache.directory, Permissions::from_mode(0o755)).unwrap();
    stage.put("a", b"x").unwrap();
    let mode = fs::metadata(&stage.cache.directory)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

//! Runs every fuzz target over its corpus: its seeds, and the inputs that fuzzing has found.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use spillgate_fuzz_targets::TARGETS;

/// Maximum size of all corpora together, in bytes: every clone downloads them.
const MOST_BYTES: u64 = 1 << 20;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the files in a directory, sorted by name.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_promise_holds_for_every_case() {
    let mut broken = Vec::new();
    for (name, target) in TARGETS {
        let cases = files(&fuzz().join("corpus").join(name));
        assert!(!cases.is_empty(), "{name} has no seed");
        for case in cases {
            let bytes = fs::read(&case).unwrap();
            // The panic's own message is in the output above.
            if catch_unwind(|| target(&bytes)).is_err() {
                broken.push(case.strip_prefix(fuzz()).unwrap().to_owned());
            }
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_target_takes_bytes_without_meaning() {
    for (name, target) in TARGETS {
        for bytes in [&b""[..], b"\n", b"\0", b"\xff\xfe\n\xed\xa0\x80", b"\n\n\n"] {
            assert!(catch_unwind(|| target(bytes)).is_ok(), "{name}: {bytes:?}");
        }
    }
}

#[test]
fn every_target_has_a_program_and_a_small_corpus() {
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let groups = files(&fuzz().join("targets"));
    assert_eq!(
        groups.iter().map(|path| stem(path)).collect::<Vec<_>>(),
        ["1", "2", "3", "4"]
    );
    let programs = groups.iter().flat_map(|group| files(group));
    let programs: BTreeSet<String> = programs.map(|path| stem(&path)).collect();
    assert_eq!(programs, names);
    let corpora = files(&fuzz().join("corpus"));
    assert_eq!(
        corpora
            .iter()
            .map(|path| stem(path))
            .collect::<BTreeSet<_>>(),
        names
    );
    let cases = corpora.iter().flat_map(|corpus| files(corpus));
    let bytes: u64 = cases.map(|case| case.metadata().unwrap().len()).sum();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}

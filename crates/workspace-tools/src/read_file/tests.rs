//! Tests for the number of bytes read, and for files that change while they are read.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use spillgate_text::{LineGrid, Newline};
use tempfile::TempDir;

use super::*;
use crate::Workspace;

/// A root with one file, `f`.
struct House {
    dir: TempDir,
    shared: Shared,
    /// The time limit for counting lines.
    time: Duration,
}

/// Counts the bytes read from a file, and runs an action after a number of reads.
struct DeadlineFile<'a> {
    source: FileSource,
    bytes: AtomicU64,
    reads: AtomicU64,
    /// The number of reads before the action.
    after: u64,
    act: &'a (dyn Fn() + Send + Sync),
}

impl std::fmt::Debug for DeadlineFile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.source.fmt(f)
    }
}

impl ByteSource for DeadlineFile<'_> {
    fn len(&self) -> u64 {
        self.source.len
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.source.read_at(buffer, offset)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        if self.reads.fetch_add(1, Ordering::Relaxed) + 1 == self.after {
            (self.act)();
        }
        Ok(read)
    }
}

impl House {
    fn new(content: &[u8]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("f"), content).unwrap();
        let shared = Shared::new(Workspace::open(dir.path()).unwrap(), Rules::default());
        let time = TIME_LIMIT;
        Self { dir, shared, time }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("f")
    }

    fn write(&self) -> File {
        File::options().append(true).open(self.path()).unwrap()
    }

    /// Returns the answer and how many bytes were read for it; `act` runs after `after` reads.
    fn read(
        &self,
        (offset, limit): (u64, Option<u64>),
        (after, act): (u64, &(dyn Fn() + Send + Sync)),
    ) -> (Result<String, String>, u64) {
        let file = self.shared.workspace.file("f").unwrap();
        let found = file.metadata().unwrap();
        let source = DeadlineFile {
            source: FileSource {
                file: file.try_clone().unwrap(),
                len: found.len(),
            },
            bytes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            after,
            act,
        };
        let pages = FilePages {
            shared: &self.shared,
            file: &file,
            found: Some(Identity::from(&found)),
            source: &source,
            time: self.time,
        };
        let asked = ReadRequest {
            name: "f".to_owned(),
            offset,
            limit,
        };
        let answer = pages.answer(&asked, &Interrupt::default());
        let answer = answer.map_err(|why| why.refused("f", &self.shared.rules).to_string());
        (answer, source.bytes.into_inner())
    }
}

const WHOLE: (u64, Option<u64>) = (0, None);
const NOTHING: (u64, &(dyn Fn() + Send + Sync)) = (0, &|| {});

#[test]
fn what_is_too_large_is_not_read() {
    let house = House::new("a line\n".repeat(20_000).as_bytes());
    house.write().set_len(10 << 30).unwrap();
    let (answer, bytes) = house.read(WHOLE, NOTHING);
    assert!(
        answer
            .unwrap_err()
            .contains("(~2684354560 tokens) exceeds maximum")
    );
    assert_eq!(bytes, SAMPLE_BYTES as u64);
}

/// Counting lines of a huge file stops at the time limit.
#[test]
fn counting_lines_has_an_end() {
    let mut house = House::new(b"one\ntwo\n");
    house.time = Duration::ZERO;
    let (answer, _) = house.read((0, Some(1)), NOTHING);
    insta::assert_snapshot!(answer.unwrap_err(), @"Error: The lines of 'f' (8 bytes) were not counted within 0 s. Use execute_shell with head, tail or sed for some of them.");
    assert_eq!(house.read(WHOLE, NOTHING).0.unwrap(), "one\ntwo\n");
}

/// The advice never names a disabled tool.
#[test]
fn advice_is_what_can_be_done() {
    let mut house = House::new(&[&[0], "one line ".repeat(20_000).as_bytes()].concat());
    house.shared.rules.only = vec!["read_file".to_owned()];
    let (answer, _) = house.read(WHOLE, NOTHING);
    insta::assert_snapshot!(answer.unwrap_err(), @"Error: File content (~45000 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content. It does not begin as text does: no lines of it are given. Go on without it.");
    let (answer, _) = house.read((0, Some(1)), NOTHING);
    insta::assert_snapshot!(answer.unwrap_err(), @"Error: 'f' is not a text file (180001 bytes). Go on without it.");
}

#[test]
fn a_page_that_is_too_large_is_not_read() {
    let house = House::new("a line of text\n".repeat(1_000_000).as_bytes());
    let large = (10, Some(900_000));
    let (answer, bytes) = house.read(large, NOTHING);
    assert!(
        answer
            .unwrap_err()
            .contains("(~3375000 tokens) exceeds maximum")
    );
    // Bytes read in total: the sample, one pass to count all lines, and the two blocks that contain
    // the start and the end of the page.
    assert!((15_000_000..15_300_000).contains(&bytes), "{bytes}");
    // Lines are counted only once.
    for page in [large, (999_990, None), (500_000, Some(20))] {
        let (_, bytes) = house.read(page, NOTHING);
        assert!(bytes < 300_000, "{bytes}");
    }
}

/// Returns the answers about a file of three lines that changes while it is read.
fn told_of_changes() -> String {
    let house = House::new(b"one\ntwo\nthree\n");
    let grow = || house.write().write_all(b"four\n").unwrap();
    let shrink = || house.write().set_len(4).unwrap();
    let rewrite = || {
        let file = File::options().write(true).open(house.path()).unwrap();
        file.write_all_at(b"x\n\n", 0).unwrap();
    };
    let cases: [(&str, u64, &(dyn Fn() + Send + Sync)); 6] = [
        ("grows after its sample", 1, &grow),
        ("grows after it was read", 2, &grow),
        ("shrinks after its sample", 1, &shrink),
        ("shrinks after it was read", 2, &shrink),
        ("is rewritten", 1, &rewrite),
        ("stays", 0, &|| {}),
    ];
    let mut told = String::new();
    for (what, after, act) in cases {
        for asked in [WHOLE, (1, Some(1))] {
            fs::write(house.path(), "one\ntwo\nthree\n").unwrap();
            let (answer, _) = house.read(asked, (after, act));
            let answer = answer.unwrap_or_else(|why| why);
            told += &format!("--- {what}: {asked:?}\n{}\n", answer.trim_end());
        }
    }
    told
}

#[test]
fn changes_are_told() {
    insta::assert_snapshot!(told_of_changes(), @"
    --- grows after its sample: (0, None)
    [The file changed while it was read: it had 14 bytes, it has 19 now]
    one
    two
    three
    --- grows after its sample: (1, Some(1))
    [Lines 2-2 of 3]
    [The file changed while it was read: it had 14 bytes, it has 19 now]
    two
    --- grows after it was read: (0, None)
    [The file changed while it was read: it had 14 bytes, it has 19 now]
    one
    two
    three
    --- grows after it was read: (1, Some(1))
    [Lines 2-2 of 3]
    [The file changed while it was read: it had 14 bytes, it has 19 now]
    two
    --- shrinks after its sample: (0, None)
    [The file changed while it was read: it had 14 bytes, it has 4 now]
    one
    --- shrinks after its sample: (1, Some(1))
    Error: 'f' changed while it was read. Read it again.
    --- shrinks after it was read: (0, None)
    [The file changed while it was read: it had 14 bytes, it has 4 now]
    one
    two
    three
    --- shrinks after it was read: (1, Some(1))
    Error: 'f' changed while it was read. Read it again.
    --- is rewritten: (0, None)
    [The file changed while it was read]
    x


    two
    three
    --- is rewritten: (1, Some(1))
    [Lines 2-2 of 5]
    [The file changed while it was read]
    --- stays: (0, None)
    one
    two
    three
    --- stays: (1, Some(1))
    [Lines 2-2 of 3]
    two
    ");
}

/// Simulates another text of the same length, written within the same tick of the clock.
#[test]
fn lines_that_were_counted_in_another_text_are_counted_again() {
    let house = House::new("a line\n".repeat(60_000).as_bytes());
    let other = format!("{}{}", "\n".repeat(60_000), "x".repeat(360_000));
    let grid = LineGrid::of(&other.into_bytes(), Newline::Byte, &|| false);
    let found = Identity::from(&fs::metadata(house.path()).unwrap());
    let lines = house.shared.workspace.lines();
    lines.keep(found, grid.unwrap().unwrap());
    let (answer, _) = house.read((50_000, Some(1)), NOTHING);
    assert_eq!(answer.unwrap(), "[Lines 50001-50001 of 60000]\na line\n");
}

#[test]
fn a_page_is_not_given_if_its_lines_are_gone() {
    let house = House::new(b"one\ntwo\nthree\n");
    let join = || {
        let file = File::options().write(true).open(house.path()).unwrap();
        file.write_all_at(b"one two", 0).unwrap();
    };
    // The file changes after five reads: the sample, the count of lines, the last byte and the
    // offsets of two lines.
    let (answer, _) = house.read((1, Some(1)), (5, &join));
    let told = answer.unwrap_err();
    assert_eq!(told, "Error: 'f' changed while it was read. Read it again.");
}

#[test]
fn files_without_a_size() {
    let shared = Shared::new(
        Workspace::open("/proc/self".as_ref()).unwrap(),
        Rules::default(),
    );
    let arguments = |json| Arguments::parse(json).unwrap();
    let read = |json| call(&shared, &arguments(json), &Interrupt::default());
    let Ok(Body::Text(whole)) = read(r#"{"file_path": "status"}"#) else {
        panic!("it has a few lines of text");
    };
    assert!(whole.starts_with("Name:"));
    let Ok(Body::Text(page)) = read(r#"{"file_path": "status", "limit": 1}"#) else {
        panic!("it has a first line");
    };
    assert!(page.starts_with("[Lines 1-1 of "));
}

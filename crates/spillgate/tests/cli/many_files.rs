//! Tests of the cost of searching a million files and of reading a file of ten gigabytes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use super::run::high_water_kib;
use super::session::Session;
use super::tool::Tool;

/// Number of directories, and of files in each of them.
const DIRECTORIES: usize = 1000;
const IN_EACH: usize = 1000;

/// Number of threads that create the files.
const MAKERS: usize = 4;

/// One in so many directories contains a file with a text.
const SPARSE: usize = 100;

/// Maximum memory of the server in KiB, without the pages of its program. The names of a million
/// files would take some 100 MiB, and a file of ten gigabytes would take ten gigabytes.
const MOST_KIB: u64 = 24 << 10;

/// Maximum bytes that the server reads to start and to refuse a call: its settings, the libraries,
/// and 64 KiB of a file.
const MOST_READ: u64 = 1 << 20;

/// Returns a directory in which many small files are created quickly.
fn home() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => TempDir::new_in(memory).or_else(|_| TempDir::new()),
        false => TempDir::new(),
    }
    .unwrap()
}

/// Starts the tools below `root`.
fn served(tool: &Tool, root: &Path) -> Session {
    let mut session = Session::of(tool.command(&["tools", "--root", root.to_str().unwrap()]));
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    session.send(1, "initialize", &client);
    session.receive();
    session.notify("notifications/initialized", &json!({}));
    session
}

fn peak_kib(session: &Session) -> u64 {
    high_water_kib(&format!("/proc/{}/status", session.id()))
}

/// Returns the bytes that a process has requested from the system so far.
fn bytes_read(session: &Session) -> u64 {
    let told = fs::read_to_string(format!("/proc/{}/io", session.id())).unwrap();
    let told = told.lines().find_map(|line| line.strip_prefix("rchar: "));
    told.unwrap().parse().unwrap()
}

/// Creates `DIRECTORIES` directories with `IN_EACH` empty files each. In one of [`SPARSE`]
/// directories, the first file contains a text.
fn million(root: &Path) {
    let numbers: Vec<usize> = (0..DIRECTORIES).collect();
    thread::scope(|scope| {
        for part in numbers.chunks(DIRECTORIES.div_ceil(MAKERS)) {
            scope.spawn(move || part.iter().for_each(|number| directory(root, *number)));
        }
    });
}

fn directory(root: &Path, number: usize) {
    let directory: PathBuf = root.join(format!("d{number:03}"));
    fs::create_dir(&directory).unwrap();
    for file in 0..IN_EACH {
        File::create(directory.join(format!("f{file:03}.txt"))).unwrap();
    }
    if number.is_multiple_of(SPARSE) {
        fs::write(directory.join("f000.txt"), "one needle\n").unwrap();
    }
}

#[test]
fn a_million_files_are_searched_in_little_memory() {
    let (tool, home) = (Tool::new(), home());
    million(home.path());
    let mut session = served(&tool, home.path());
    let mut glob = |arguments| session.call("glob_files", &arguments);
    assert_eq!(
        glob(json!({"pattern": "*.txt"})),
        "error: Error: File list (1000000 files) exceeds maximum allowed files (1000). \
         Please use a more specific pattern or limit results with max_results parameter."
    );
    let page = glob(json!({"pattern": "*.txt", "offset": 900, "max_results": 500}));
    let (head, rows) = page.split_once('\n').unwrap();
    assert_eq!(head, "[Files 901-1400 of 1000000]");
    assert_eq!(rows.lines().count(), 500);
    assert_eq!(
        glob(json!({"pattern": "d700/f99*.txt"})).lines().count(),
        10
    );
    let mut grep = |arguments| session.call("grep_content", &arguments);
    let found = grep(json!({"pattern": "needle"}));
    assert!(found.starts_with("Found 10 matching lines in 10 files\n"));
    assert!(found.ends_with("d800/f000.txt:1:one needle\nd900/f000.txt:1:one needle\n"));
    assert_eq!(
        grep(json!({"pattern": "needle", "mode": "files", "offset": 3, "max_results": 1})),
        "[Results 4-4 of 10]\nFound 10 files\nd300/f000.txt\n"
    );
    let peak = peak_kib(&session);
    session.end();
    assert!(peak > 1000 && peak < MOST_KIB, "peak of {peak} KiB");
}

#[test]
fn ten_gigabytes_are_refused_without_being_read() {
    let (tool, home) = (Tool::new(), tempfile::tempdir().unwrap());
    let names = ["text", "zeros"];
    for (name, text) in names.iter().zip(["a line\n".repeat(20_000), String::new()]) {
        let path = home.path().join(name);
        fs::write(&path, text).unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        file.set_len(10 << 30).unwrap();
    }
    let mut session = served(&tool, home.path());
    for name in names {
        let told = session.call("read_file", &json!({ "file_path": name }));
        let words = "error: Error: File content (~2684354560 tokens) exceeds maximum allowed \
             tokens (25000). Please use offset and limit parameters to read specific portions \
             of the file, or use grep_content to search for specific content.";
        assert!(told.starts_with(words), "{told}");
    }
    let (peak, read) = (peak_kib(&session), bytes_read(&session));
    session.end();
    assert!(peak > 1000 && peak < MOST_KIB, "peak of {peak} KiB");
    assert!((128 << 10..MOST_READ).contains(&read), "{read} bytes read");
}

//! Tests that no path leads out of the root, in any tool.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use spillgate_workspace_tools::WorkspaceTools;
use tempfile::TempDir;

use super::{call, tools};

/// Text that is only in the file outside the root.
const SECRET: &str = "what-nobody-may-read-7391";

/// Matches the secret without containing it.
const PATTERN: &str = "what-nobody-.ay-read";

/// A name outside the root that no attempt contains.
const UNGUESSED: &str = "unguessed-4410";

/// A root with links of all kinds, and files beside the root that must not be read.
struct House {
    dir: TempDir,
    tools: WorkspaceTools,
}

impl House {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let (root, out) = (dir.path().join("root"), dir.path().join("out"));
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::create_dir(&out).unwrap();
        for name in ["secret.txt", UNGUESSED, "f"] {
            fs::write(out.join(name), SECRET).unwrap();
        }
        for name in ["a.txt", "sub/b.txt", "sub/deep/c.txt"] {
            fs::write(root.join(name), "inside\n").unwrap();
        }
        links(&root, &out);
        let tools = tools(&root);
        Self { dir, tools }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Passes `name` to every tool, and returns the result of reading it.
    fn attempt(&self, name: &Value) -> (String, bool) {
        let asked = [
            ("read_file", json!({"file_path": name})),
            (
                "read_file",
                json!({"file_path": name, "offset": 0, "limit": 1}),
            ),
            ("grep_content", json!({"pattern": PATTERN, "path": name})),
            (
                "grep_content",
                json!({"pattern": PATTERN, "path": name, "mode": "files"}),
            ),
            ("grep_content", json!({"pattern": PATTERN, "glob": name})),
            ("glob_files", json!({"pattern": "**", "path": name})),
            ("glob_files", json!({"pattern": name})),
        ];
        let answers = asked.map(|(tool, arguments)| {
            let (answer, is_error) = call(&self.tools, tool, &arguments);
            assert!(!answer.contains(SECRET), "{tool} {arguments}: {answer}");
            assert!(!answer.contains(UNGUESSED), "{tool} {arguments}: {answer}");
            (answer, is_error)
        });
        let [read, ..] = answers;
        read
    }
}

fn links(root: &Path, out: &Path) {
    let link = |to: &str, name: &str| symlink(to, root.join(name)).unwrap();
    link("../out/secret.txt", "to-file");
    link("../out", "to-dir");
    link(out.join("secret.txt").to_str().unwrap(), "abs-file");
    link(out.to_str().unwrap(), "abs-dir");
    link("chain-2", "chain-1");
    link("chain-3", "chain-2");
    link("to-file", "chain-3");
    link("loop", "loop");
    link("loop-2", "loop-1");
    link("loop-1", "loop-2");
    link("..", "up");
    link("../..", "sub/up-up");
    link("sub/../../out/secret.txt", "winding");
    link("sub/deep/../../../out", "winding-dir");
    link("../out/nothing", "dangling");
    link("/", "top");
    link("/proc/self/root", "proc-root");
    link("/proc/self/cwd", "proc-cwd");
    link("/proc/self/fd", "proc-fd");
    link("/dev/fd", "dev-fd");
    link("/dev/zero", "zero");
    link("/etc/passwd", "passwd");
}

/// Paths that lead out of the root or nowhere. `{out}` is the directory outside, `{top}` the
/// relative path from the root to `/`.
const NAMES: &[&str] = &[
    // Upwards.
    "..",
    "../",
    "../.",
    "../out",
    "../out/secret.txt",
    "./../out/secret.txt",
    ".//..//out//secret.txt",
    "sub/../../out/secret.txt",
    "sub/deep/../../../out/secret.txt",
    "sub/./../.././out/secret.txt",
    "nothing/../../out/secret.txt",
    "a.txt/../../out/secret.txt",
    "../root/../out/secret.txt",
    "{top}/{out}/secret.txt",
    "{top}/etc/passwd",
    // Absolute paths.
    "/",
    "//",
    "/.",
    "/etc/passwd",
    "//etc/passwd",
    "/ETC/passwd",
    "{out}",
    "{out}/secret.txt",
    "{out}/../out/secret.txt",
    "{out}/../root/../out/secret.txt",
    "{root}/../out/secret.txt",
    "{root}/./sub/../../out/secret.txt",
    "{root}{out}/secret.txt",
    "/proc/self/root",
    "/proc/self/root{out}/secret.txt",
    "/proc/self/cwd",
    "/proc/self/cwd/../out/secret.txt",
    "/proc/self/environ",
    "/proc/self/fd/3",
    "/dev/fd/3",
    "/dev/stdin",
    "/dev/zero",
    // Through links.
    "to-file",
    "./to-file",
    "to-dir",
    "to-dir/",
    "to-dir/secret.txt",
    "to-dir/../out/secret.txt",
    "to-dir/../root/../out/secret.txt",
    "abs-file",
    "abs-dir/secret.txt",
    "chain-1",
    "chain-3",
    "loop",
    "loop/secret.txt",
    "loop-1",
    "up/out/secret.txt",
    "up/root/../out/secret.txt",
    "sub/up-up/out/secret.txt",
    "sub/deep/../up-up/out/secret.txt",
    "winding",
    "winding-dir/secret.txt",
    "dangling",
    "top/etc/passwd",
    "top{out}/secret.txt",
    "proc-root{out}/secret.txt",
    "proc-cwd",
    "proc-cwd/../out/secret.txt",
    "proc-fd/3",
    "dev-fd/0",
    "zero",
    "passwd",
    // Spellings that another layer might interpret.
    "..\\out\\secret.txt",
    "sub\\..\\..\\out\\secret.txt",
    "\\etc\\passwd",
    "\\\\server\\share\\secret.txt",
    "C:\\secret.txt",
    "c:/secret.txt",
    "file://{out}/secret.txt",
    "file:../out/secret.txt",
    "%2e%2e/out/secret.txt",
    "..%2fout%2fsecret.txt",
    "%252e%252e%252fout%252fsecret.txt",
    "\u{2025}/out/secret.txt",
    "\u{ff0e}\u{ff0e}/out/secret.txt",
    "..\u{ff0f}out\u{ff0f}secret.txt",
    "..\u{2215}out\u{2215}secret.txt",
    "\u{c0}\u{ae}\u{c0}\u{ae}/out/secret.txt",
    "..\u{200b}/out/secret.txt",
    "~",
    "~/secret.txt",
    "~root/secret.txt",
    "$HOME/secret.txt",
    "${PWD}/../out/secret.txt",
    "$(cat ../out/secret.txt)",
    "{..,.}/out/secret.txt",
    "../{out,in}/*",
    "../*/secret.txt",
    "*/../../out/*",
    "[.][.]/out/*",
    // With additional characters, in upper case, or misspelt.
    "../out/secret.txt\0.png",
    "a.txt\0/../../out/secret.txt",
    "\0",
    "a.txt\n../out/secret.txt",
    "a.txt\r",
    "../out/secret.txt/",
    "../out/secret.txt/.",
    "../out/secret.txt.",
    "../out/secret.txt ",
    " ../out/secret.txt",
    "\t../out/secret.txt",
    "\"../out/secret.txt\"",
    "'../out/secret.txt'",
    "..;/out/secret.txt",
    "...//out/secret.txt",
    "....//out/secret.txt",
    "secret.txt",
    "SECRET.TXT",
    "../OUT/SECRET.TXT",
    "../out/secret.tx",
    "to-dir/secret.tx",
    "up/out/secret.tx",
    "to-dri/secret.txt",
    "-",
    "--help",
];

#[test]
fn no_name_leads_out() {
    let house = House::new();
    let (root, out) = (house.path("root"), house.path("out"));
    let top = "..".to_owned() + &"/..".repeat(20);
    for name in NAMES {
        let name = name
            .replace("{root}", root.to_str().unwrap())
            .replace("{out}", out.to_str().unwrap())
            .replace("{top}", &top);
        let (answer, is_error) = house.attempt(&json!(name));
        assert!(is_error, "{name:?}: {answer}");
    }
}

#[test]
fn names_that_are_long_or_no_names() {
    let house = House::new();
    let long = [
        "../".repeat(2000) + "etc/passwd",
        "sub/../".repeat(580) + "../out/secret.txt",
        "sub/../".repeat(2000) + "../out/secret.txt",
        "./".repeat(2100) + "a.txt",
        "a".repeat(256),
        "é/".repeat(3000),
        format!("{}/../../out/secret.txt", "x".repeat(300)),
    ];
    let odd = [
        json!(["../out/secret.txt"]),
        json!({"path": ".."}),
        json!(true),
        json!(3),
    ];
    for name in long.into_iter().map(Value::from).chain(odd) {
        let (answer, is_error) = house.attempt(&name);
        assert!(is_error, "{answer}");
        assert!(answer.len() < 600, "{answer}");
    }
}

#[test]
fn what_lies_inside_is_given_by_any_name() {
    let house = House::new();
    let root = house.path("root").display().to_string();
    symlink("sub/deep", house.path("root/short")).unwrap();
    symlink("../a.txt", house.path("root/sub/back")).unwrap();
    let absolute = format!("{root}/sub/b.txt");
    let winding = format!("{root}/./sub//../a.txt");
    let names = [
        "a.txt",
        "./a.txt",
        "sub/../a.txt",
        "sub/deep/../../a.txt",
        "short/c.txt",
        "short/../b.txt",
        "sub/back",
        &absolute,
        &winding,
    ];
    for name in names {
        let (answer, _) = house.attempt(&json!(name));
        assert_eq!(answer, "inside\n", "{name}");
    }
}

/// Tells another thread to stop when this value is dropped, even by a panic. Otherwise the thread
/// scope would wait forever for the other thread.
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` while two names are swapped repeatedly. Stops swapping even if `work` panics.
fn while_swapped(one: &Path, other: &Path, work: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _ends = Ends(&is_over);
        work();
    });
}

/// A directory and a link that leads outside are swapped repeatedly.
#[test]
fn a_race_is_never_won() {
    let house = House::new();
    let (door, other) = (house.path("root/door"), house.path("root/other"));
    fs::create_dir(&door).unwrap();
    fs::write(door.join("f"), "inside\n").unwrap();
    symlink("../out", &other).unwrap();
    let (mut given, mut refused) = (0, 0);
    while_swapped(&door, &other, || {
        for turn in 0..2000u32 {
            let name = ["door/f", "other/f", "other/../door/f", "sub/../door/f"][turn as usize % 4];
            let arguments = json!({"file_path": name, "limit": turn % 3});
            let (answer, is_error) = call(&house.tools, "read_file", &arguments);
            assert!(!answer.contains(SECRET), "{answer}");
            assert!(is_error || answer == "inside\n", "{answer}");
            if is_error {
                refused += 1;
            } else {
                given += 1;
            }
            if turn % 10 == 0 {
                house.attempt(&json!("door"));
                house.attempt(&json!("door/f"));
            }
        }
    });
    // Some reads found the directory, others found the link.
    assert!(given > 0 && refused > 0, "{given} given, {refused} refused");
}

/// A file and a link that leads outside are swapped repeatedly.
#[test]
fn nor_with_the_file_itself() {
    let house = House::new();
    let (file, link) = (house.path("root/a.txt"), house.path("root/to-file"));
    while_swapped(&file, &link, || {
        for _ in 0..100 {
            house.attempt(&json!("a.txt"));
            house.attempt(&json!("to-file"));
        }
    });
}

/// The root is the directory that was opened, even if another directory now has its name.
#[test]
fn the_root_is_renamed() {
    let house = House::new();
    let (root, moved) = (house.path("root"), house.path("moved"));
    fs::rename(&root, &moved).unwrap();
    symlink("out", &root).unwrap();
    let absolute = root.join("secret.txt");
    for name in [
        json!("secret.txt"),
        json!(absolute),
        json!("."),
        json!(root),
    ] {
        assert!(house.attempt(&name).1, "{name}");
    }
    for name in [json!("a.txt"), json!(root.join("a.txt"))] {
        assert_eq!(house.attempt(&name).0, "inside\n");
    }
}

//! Tests of the hook at the end of a client's shell: bash runs each shape of a command with the
//! hook and without it.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::hook::{KEY, REFUSED, session_start, with_settings};
use crate::tool::Tool;

/// What happens to a large output of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Large {
    /// A preview is in its place.
    Preview,
    /// It is left alone.
    Whole,
}
use Large::{Preview, Whole};

/// Shapes of commands. `SEQ` stands for a command that prints little or much.
const SHAPES: [(&str, Large); 39] = [
    ("SEQ", Preview),
    ("SEQ; exit 3", Preview),
    ("SEQ; false", Preview),
    ("SEQ >&2", Preview),
    ("SEQ; SEQ >&2; exit 255", Preview),
    ("cd sub && SEQ", Preview),
    ("cd sub; SEQ; exit 1", Preview),
    ("export A=1; B=2; SEQ; echo $A$B$HOME", Preview),
    ("cat <<'X'\nit's $A\nX\nSEQ", Preview),
    ("SEQ # the end", Preview),
    ("set -e; SEQ; false; echo never", Preview),
    ("set -x; SEQ; echo x", Preview),
    ("set -u; SEQ; echo $NONE", Preview),
    ("set -o pipefail; SEQ | cat; false | true", Preview),
    ("SEQ | head -n 4000; exit ${PIPESTATUS[1]}", Preview),
    ("(SEQ; exit 4)", Preview),
    ("{ SEQ; }; echo \"$? ${#} $0\"", Preview),
    ("f() { SEQ; return 5; }; f", Preview),
    ("x=$(SEQ); echo \"$x\" | cat; exit 6", Preview),
    ("echo $?; SEQ", Preview),
    ("SEQ && false || (exit 7)", Preview),
    ("SEQ & wait $!", Preview),
    ("cat; SEQ", Preview),
    ("printf '\\0\\377\\376'; SEQ", Preview),
    (
        "printf '10%%\\r20%%\\r\\033[1mbold\\033[0m\\n'; SEQ",
        Preview,
    ),
    ("SEQ; kill -TERM $$", Preview),
    ("shopt -s expand_aliases\nalias n='SEQ'\nn", Preview),
    ("trap 'echo error' ERR; SEQ; false", Preview),
    ("trap 'echo return' RETURN; SEQ", Preview),
    ("trap 'exit 9' USR1; SEQ; kill -USR1 $$; sleep 1", Preview),
    ("exec 3>three; SEQ; echo x >&3", Preview),
    ("for i in 1 2; do SEQ; [ $i = 2 ] && exit 8; done", Preview),
    // The shell does not end by itself, or another trap takes the place of ours.
    ("exec SEQ", Whole),
    ("SEQ; kill -KILL $$", Whole),
    ("trap 'echo bye' EXIT; SEQ; exit 2", Whole),
    // The end of the shell writes elsewhere.
    ("SEQ; exec >log; echo a; exit 2", Whole),
    ("SEQ; exec >&-; true", Whole),
    // Later shells would not find the output.
    ("SEQ; export HOME=/nowhere", Whole),
    // Another process can still write.
    ("(sleep 1; echo late) & SEQ", Whole),
];

/// Shapes that the shell cannot parse or that print nothing large.
const ODD: [&str; 6] = [
    "echo 'a",
    "if true; then",
    "echo $(",
    "cat <<X\nno end",
    "no_such_command --help",
    "",
];

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    /// The directory that the client would keep for the next command.
    directory: Option<String>,
    output: Vec<u8>,
    /// The files that the command wrote.
    files: Vec<(String, Vec<u8>)>,
}

/// Runs a command in the same way as the client.
fn ended(tool: &Tool, name: &str, command: &str, before: &str) -> Ended {
    let house = tool.home().join(format!("{name}/work"));
    fs::create_dir_all(house.join("sub")).unwrap();
    let tasks = tool.home().join(format!("{name}/claude-0/-work/one/tasks"));
    fs::create_dir_all(&tasks).unwrap();
    let kept = house.parent().unwrap().join("directory");
    let file = tasks.join("b1.output");
    let log = File::options()
        .create(true)
        .append(true)
        .open(&file)
        .unwrap();
    let script = format!(
        "source /dev/null 2>/dev/null || true && {before}\n: && \\builtin shopt -u extglob 2>/dev/null \
         || true && eval '{}' < /dev/null && pwd -P >| {}",
        command.replace('\'', "'\"'\"'"),
        kept.display(),
    );
    let status = Command::new("/bin/bash")
        .args(["-c", &script])
        .current_dir(&house)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", tool.home())
        .env("SPILLGATE_STORE", tool.store())
        .stdin(Stdio::piped())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .status()
        .unwrap();
    if command.contains("late") {
        std::thread::sleep(std::time::Duration::from_millis(1500));
    }
    let text = |path: PathBuf| fs::read(path).ok();
    let name_of = |path: &str| path.replace(house.to_str().unwrap(), "/work");
    let files = ["log", "three"].into_iter();
    Ended {
        code: status.code(),
        signal: status.signal(),
        directory: text(kept).map(|text| name_of(&String::from_utf8(text).unwrap())),
        output: fs::read(file).unwrap(),
        files: files
            .filter_map(|name| Some((name.to_owned(), text(house.join(name))?)))
            .collect(),
    }
}

/// Returns the output without the process ids and line numbers in the shell's own messages.
fn steady(output: &[u8]) -> String {
    let text: String = output.iter().map(|&byte| char::from(byte)).collect();
    let lines = text.split_inclusive('\n').map(|line| {
        let Some((front, rest)) = line.split_once(": line ") else {
            return line.to_owned();
        };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{front}: line N{rest}")
    });
    lines.collect()
}

/// Asserts that two outputs are the same. A failure shows only the end of a large one.
#[track_caller]
fn same(with: &[u8], without: &[u8], shape: &str) {
    let (with, without) = (steady(with), steady(without));
    let end = |text: &str| {
        text.chars()
            .rev()
            .take(300)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<String>()
    };
    assert!(
        with == without,
        "{shape}: {} and {} bytes: {:?} and {:?}",
        with.len(),
        without.len(),
        end(&with),
        end(&without)
    );
}

#[test]
fn a_small_output_is_the_same_with_the_hook() {
    let tool = Tool::new();
    let lines = session_start(&tool);
    let shapes = SHAPES.iter().map(|(shape, _)| shape).chain(&ODD);
    for (number, shape) in shapes.enumerate() {
        let command = shape.replace("SEQ", "seq 1 3");
        let without = ended(&tool, &format!("a{number}"), &command, ":");
        let with = ended(&tool, &format!("b{number}"), &command, &lines);
        same(&with.output, &without.output, shape);
        let output = without.output.clone();
        assert_eq!(Ended { output, ..with }, without, "{shape}");
    }
}

#[test]
fn a_large_output_becomes_a_preview_and_all_else_is_the_same() {
    let tool = Tool::new();
    let lines = session_start(&tool);
    for (number, (shape, large)) in SHAPES.iter().enumerate() {
        let command = shape.replace("SEQ", "seq 1 5000");
        let without = ended(&tool, &format!("a{number}"), &command, ":");
        let with = ended(&tool, &format!("b{number}"), &command, &lines);
        let shown = String::from_utf8_lossy(&with.output).into_owned();
        let preview = shown.strip_prefix("[spillgate] ");
        let got = preview.map_or(Whole, |_| Preview);
        assert_eq!(got, *large, "{shape}: {shown:.200}");
        let raw = preview.map_or_else(
            || with.output.clone(),
            |preview| {
                // Nothing of the output is left behind it.
                let last = preview.trim_end().lines().last().unwrap();
                assert!(last.ends_with(" REGEX"), "{shape}: {last}");
                let (_, rest) = preview.split_once("stored whole as ").unwrap();
                tool.run(&["cat", "--raw", &rest[..14]], b"").stdout
            },
        );
        same(&raw, &without.output, shape);
        let output = without.output.clone();
        assert_eq!(Ended { output, ..with }, without, "{shape}");
    }
}

#[test]
fn what_must_not_be_stored_or_shown_is_not_in_the_file() {
    let only_large = "[secrets]\nstored = \"refused\"\n";
    let refused = "nothing of it is stored or shown";
    for (settings, command, says) in [
        (only_large, "cat key; seq 1 5000; exit 3", refused),
        (REFUSED, "cat key; seq 1 5000", refused),
        // The message is longer than the output.
        (REFUSED, "cat key; exit 3", refused),
        ("redact = \"all\"\n", "cat key; exit 3", "stored whole as "),
        ("redact = \"block\"\n", "cat key", "stored whole as "),
    ] {
        let tool = with_settings(settings);
        fs::write(tool.home().join("key"), format!("key {KEY}\n")).unwrap();
        let lines = session_start(&tool);
        let command = command.replace("key", "$HOME/key");
        let with = ended(&tool, "a", &command, &lines);
        let shown = String::from_utf8(with.output).unwrap();
        let what = format!("{settings} {command}: {shown:.600}");
        assert!(shown.starts_with("[spillgate] Bash "), "{what}");
        assert!(shown.contains(says) && !shown.contains(KEY), "{what}");
        assert!(!shown.contains("\n5000\n"), "{what}");
        let code = if command.ends_with("exit 3") { 3 } else { 0 };
        assert_eq!(with.code, Some(code), "{what}");
    }
}

//! Tests of look-ups in files that are not stored, and of the flags that `grep` has.

use std::fs;
use std::process::Output;

use insta::assert_snapshot;
use spillgate_testkit::log;

use crate::tool::{Tool, feed};

fn at_home(tool: &Tool, args: &[&str], stdin: &[u8]) -> Output {
    let mut command = tool.command(args);
    command.current_dir(tool.home());
    feed(command, stdin)
}

fn printed(tool: &Tool, args: &[&str]) -> String {
    String::from_utf8(at_home(tool, args, b"").stdout).unwrap()
}

#[test]
fn a_file_is_read_as_a_stored_output_is() {
    let tool = Tool::new();
    let text = log(5000);
    let rows: String = (1..=900).map(|n| format!("{n},name {n}\n")).collect();
    let table = format!("id,name\n{rows}");
    for (name, text) in [("app.log", &text), ("table.csv", &table)] {
        let handle = tool.put(text.as_bytes());
        fs::write(tool.home().join(name), text).unwrap();
        for args in [
            &["read", "", "--start", "5", "--lines", "3"][..],
            &["read", "", "--tail", "-n"],
            &["grep", "", "9[05]", "-C", "1"],
            &["query", "", "length"],
            &["query", "", ".[7]"],
            &["search", "", "name", "77"],
            &["outline", ""],
        ] {
            let with = |target: &str| {
                let args: Vec<&str> = args
                    .iter()
                    .map(|one| if one.is_empty() { target } else { one })
                    .collect();
                printed(&tool, &args)
            };
            let stored = with(&handle);
            assert!(!stored.is_empty(), "{args:?}");
            assert_eq!(with(name), stored, "{name} {args:?}");
        }
    }
    let from_pipe = at_home(&tool, &["grep", "-", "E4217", "-c"], text.as_bytes());
    assert_eq!(
        String::from_utf8(from_pipe.stdout).unwrap(),
        printed(&tool, &["grep", "app.log", "E4217", "-c"])
    );
    // Nothing was stored, and nothing was counted as read.
    let stats = tool.json(&["stats"], b"");
    assert_eq!(stats["artifacts"], 2);
    assert_eq!(stats["total"]["retrievals"], 14);
}

#[test]
fn a_handle_wins_over_a_file_of_its_name() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    for name in [handle.as_str(), &handle[..3], "last"] {
        fs::write(tool.home().join(name), "the file\n").unwrap();
        assert_ne!(printed(&tool, &["read", name]), "the file\n", "{name}");
        let path = format!("./{name}");
        assert_eq!(printed(&tool, &["read", &path]), "the file\n", "{name}");
    }
    assert!(tool.run(&["rm", &handle], b"").status.success());
    // The output is gone, so that its name is free.
    for name in [handle.as_str(), &handle[..3], "last"] {
        assert_eq!(printed(&tool, &["read", name]), "the file\n", "{name}");
    }
}

#[test]
fn secrets_in_a_file_are_marked() {
    let tool = Tool::new();
    let key = crate::redaction::KEY;
    fs::write(
        tool.home().join("env"),
        format!("a=1\nAWS_ACCESS_KEY_ID={key}\n"),
    )
    .unwrap();
    fs::write(
        tool.home().join("refuse.toml"),
        "[secrets]\nstored = \"refused\"\n",
    )
    .unwrap();
    for config in [&[][..], &["--config", "refuse.toml"]] {
        for args in [
            &["read", "env"][..],
            &["grep", "env", "AWS"],
            &["search", "env", "AWS"],
            &["query", "env", "."],
        ] {
            let text = printed(&tool, &[config, args].concat());
            assert!(
                text.contains("[redacted: ") && !text.contains(key),
                "{args:?}: {text}"
            );
        }
    }
}

#[test]
fn large_files_leave_nothing_behind() {
    let tool = Tool::new();
    let temporary = tool.home().join("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::write(
        tool.home().join("big.log"),
        "2026-11-21 all is well\n".repeat(3_100_000),
    )
    .unwrap();
    let mut command = tool.command(&["grep", "big.log", "well", "-c"]);
    command.current_dir(tool.home()).env("TMPDIR", &temporary);
    let output = feed(command, b"");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "3100000\n");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!tool.store().exists());
}

#[test]
fn flags_of_grep() {
    let tool = Tool::new();
    fs::write(
        tool.home().join("t"),
        "one two\ntwo three\nThree a.c\nabc\nfour\n",
    )
    .unwrap();
    let mut told = String::new();
    for args in [
        &["two"][..],
        &["TWO", "-i", "-n"],
        &["a.c", "-F"],
        &["two|three", "-o"],
        &["tw|four", "-w"],
        &["o", "-v"],
        &["o", "-c"],
        &["o", "-vc"],
        &["o", "-l"],
        &["four", "-B", "1"],
        &["one", "-A", "1"],
        &["abc", "-C", "1"],
        &["o", "-m", "1"],
        &["three", "-N", "-i"],
        &["two", "-q"],
        &["-E", "four|one"],
        &["-A1", "-m1", "t"],
        &["-x"],
        &["none"],
        &["none", "-c"],
        &["none", "-l"],
        &["none", "--json"],
        &["("],
        &["two", "-v", "-o"],
    ] {
        let output = at_home(&tool, &[&["grep", "t"], args].concat(), b"");
        let lines = String::from_utf8(output.stdout)
            .unwrap()
            .replace('\n', " | ");
        let lines = lines.trim_end_matches(" | ");
        told.push_str(&format!(
            "{}: {} {lines}\n",
            args.join(" "),
            output.status.code().unwrap()
        ));
    }
    assert_snapshot!(told, @r#"
    two: 0 1:one two | 2:two three
    TWO -i -n: 0 1:one two | 2:two three
    a.c -F: 0 3:Three a.c
    two|three -o: 0 1:two | 2:two | 2:three
    tw|four -w: 0 5:four
    o -v: 0 3:Three a.c | 4:abc
    o -c: 0 3
    o -vc: 0 2
    o -l: 0 t
    four -B 1: 0 4-abc | 5:four
    one -A 1: 0 1:one two | 2-two three
    abc -C 1: 0 3-Three a.c | 4:abc | 5-four
    o -m 1: 0 1:one two
    three -N -i: 0 two three | Three a.c
    two -q: 0 
    -E four|one: 0 1:one two | 5:four
    -A1 -m1 t: 0 1:one two
    -x: 1 
    none: 1 
    none -c: 1 0
    none -l: 1 
    none --json: 0 {"matches":[],"next":null,"total":0}
    (: 2 
    two -v -o: 2
    "#);
}

#[test]
fn files_are_stored_by_name() {
    let tool = Tool::new();
    fs::write(tool.home().join("big.log"), log(5000)).unwrap();
    fs::write(tool.home().join("small.txt"), "small\n").unwrap();
    let both = at_home(&tool, &["put", "big.log", "missing", "small.txt"], b"");
    assert_eq!(both.status.code(), Some(1));
    let text = String::from_utf8(both.stdout).unwrap();
    assert!(
        text.starts_with("==> big.log <==\n[spillgate] big.log returned "),
        "{text}"
    );
    assert!(text.ends_with("\n\n==> small.txt <==\nsmall\n"), "{text}");
    let one = printed(&tool, &["put", "small.txt"]);
    assert_eq!(one, "small\n");
    let json = printed(&tool, &["put", "--json", "big.log", "small.txt"]);
    let files: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(files[0]["file"], "big.log");
    assert_eq!(
        (&files[0]["offloaded"], &files[1]["offloaded"]),
        (&true.into(), &false.into())
    );
    assert!(files[1].get("handle").is_some());
}

//! Tests of the store's integrity: damage is detected and can be removed, and files of other
//! programs are not touched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;
use spillgate_testkit::log;

use crate::tool::{Tool, masked};

/// Returns the path of an artifact's file with this suffix.
fn part(tool: &Tool, handle: &str, suffix: &str) -> PathBuf {
    tool.store()
        .join(&handle[..1])
        .join(format!("{handle}{suffix}"))
}

/// Flips one bit of a file; a second call restores it.
fn flip(path: &PathBuf, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_changed_bit_is_noticed() {
    let tool = Tool::new();
    let text = log(5000);
    let colours: String = text
        .lines()
        .map(|line| format!("\x1b[1m{line}\x1b[0m\n"))
        .collect();
    let (plain, coloured) = (tool.put(text.as_bytes()), tool.put(colours.as_bytes()));
    let all = tool.run(&["verify"], b"");
    assert!(all.status.success(), "{all:?}");
    assert_eq!(
        String::from_utf8(all.stderr).unwrap(),
        "2 checked, 0 damaged\n"
    );
    let cases = [
        (&plain, "", vec![0, 1000, text.len() - 1], true),
        (&plain, ".lines", vec![8, 16, 40, 60], false),
        (&coloured, ".raw", vec![0, 1000, colours.len() - 1], true),
        (&coloured, "", vec![0, 5000, text.len() - 1], false),
        (&coloured, ".lines", vec![24, 56], false),
    ];
    for (handle, suffix, places, is_raw) in cases {
        for at in places {
            let file = part(&tool, handle, suffix);
            flip(&file, at);
            let verified = tool.run(&["verify", handle], b"");
            assert_eq!(verified.status.code(), Some(1), "{suffix} {at}");
            let told = String::from_utf8(verified.stdout).unwrap();
            assert!(told.contains("DAMAGED: "), "{told}");
            if is_raw {
                let printed = tool.run(&["cat", "--raw", handle], b"");
                assert_eq!(printed.status.code(), Some(1), "{suffix} {at}");
                let error = String::from_utf8(printed.stderr).unwrap();
                assert!(
                    error.contains("is damaged: the bytes are not those"),
                    "{error}"
                );
            }
            if suffix == ".lines" {
                let (error, code) = tool.error(&["read", handle, "--start", "3000"]);
                assert_eq!((error["kind"].as_str(), code), (Some("store_damaged"), 1));
            }
            flip(&file, at);
        }
    }
    assert!(
        tool.run(&["verify", &plain, &coloured], b"")
            .status
            .success()
    );
    let object = tool.json(&["verify", &plain], b"");
    assert_eq!(object["whole"], true);
}

#[test]
fn what_older_versions_stored_is_checked_as_far_as_it_can_be() {
    let tool = Tool::new();
    let text = log(5000);
    let colours = text.replace("ERROR", "\x1b[31mERROR\x1b[0m");
    let (plain, coloured) = (tool.put(text.as_bytes()), tool.put(colours.as_bytes()));
    for handle in [&plain, &coloured] {
        let path = part(&tool, handle, ".json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let members = manifest.as_object_mut().unwrap();
        assert!(members.remove("checks").is_some() && members.remove("format").is_some());
        fs::write(&path, manifest.to_string()).unwrap();
    }
    assert_eq!(
        tool.json(&["verify", &plain], b"")["not_checkable"],
        serde_json::json!([])
    );
    let told = tool.run(&["verify", &coloured], b"");
    assert!(told.status.success());
    assert_snapshot!(masked(&String::from_utf8(told.stdout).unwrap(), &coloured), @"HANDLE whole, but it cannot be checked, because an older version stored it: view");
    // Damages a number in the index: the line of its second anchor.
    for handle in [&plain, &coloured] {
        flip(&part(&tool, handle, ".lines"), 56);
        assert_eq!(tool.run(&["verify", handle], b"").status.code(), Some(1));
    }
    // A read that starts at an offset inside a line reports the damage.
    flip(&part(&tool, &plain, ".lines"), 56);
    flip(&part(&tool, &plain, ".lines"), 64);
    let (error, _) = tool.error(&["read", &plain, "--start", "1300"]);
    assert_eq!(error["kind"], "store_damaged");
}

#[test]
fn a_damaged_manifest_is_listed_explained_and_removed() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    fs::write(part(&tool, &handle, ".json"), "garbage").unwrap();
    let listed = String::from_utf8(tool.run(&["ls"], b"").stdout).unwrap();
    let place = tool.store().display().to_string();
    let letter = format!("{place}/{}/", &handle[..1]);
    let shown = masked(&listed.replace(&letter, "STORE/"), &handle);
    assert_snapshot!(shown, @"HANDLE store_damaged: STORE/HANDLE.json is damaged: expected value at line 1 column 1");
    let object: Value = serde_json::from_slice(&tool.run(&["ls", "--json"], b"").stdout).unwrap();
    assert_eq!(object["handle"], handle.as_str());
    assert!(object["stored_bytes"].as_u64().unwrap() > 100_000);
    let (error, code) = tool.error(&["show", &handle]);
    assert_eq!((error["kind"].as_str(), code), (Some("store_damaged"), 1));
    assert_eq!(tool.run(&["verify"], b"").status.code(), Some(1));
    assert!(tool.run(&["rm", &handle], b"").status.success());
    assert!(tool.run(&["ls"], b"").stdout.is_empty());
    assert!(!part(&tool, &handle, "").exists());
}

#[test]
fn links_in_the_base_are_not_followed() {
    let tool = Tool::new();
    fs::create_dir(tool.store()).unwrap();
    fs::set_permissions(tool.store(), fs::Permissions::from_mode(0o700)).unwrap();
    let precious = tool.home().join("precious");
    fs::write(&precious, "precious").unwrap();
    for name in BOOKS {
        symlink(&precious, tool.store().join(name)).unwrap();
    }
    let handle = tool.put(log(5000).as_bytes());
    assert!(tool.run(&["read", &handle], b"").status.success());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    let (error, _) = tool.error(&["stats"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("it is a symbolic link"),
        "{error}"
    );
}

/// The store's own files in its base directory.
const BOOKS: [&str; 2] = [".store", "ledger.ndjson"];

#[test]
fn a_store_of_others_is_used_only_when_asked_to() {
    let tool = Tool::new();
    fs::create_dir(tool.store()).unwrap();
    let set = |mode| fs::set_permissions(tool.store(), fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    let input = log(5000);
    for command in [&["put"][..], &["ls"], &["stats"]] {
        let (error, code) = tool.error(command);
        assert_eq!((error["kind"].as_str(), code), (Some("store_exposed"), 1));
        assert!(
            error["message"].as_str().unwrap().contains("mode 777"),
            "{error}"
        );
    }
    let object = tool.json(&["put", "--shared-store"], input.as_bytes());
    let handle = object["handle"].as_str().unwrap();
    // The look-up commands in the message have the option, too.
    assert!(object["text"].as_str().unwrap().contains("--shared-store"));
    let mut command = tool.command(&["show", handle]);
    command.env("SPILLGATE_SHARED_STORE", "true");
    assert!(command.output().unwrap().status.success());
    set(0o700);
    assert!(tool.run(&["show", handle], b"").status.success());
}

#[test]
fn what_was_lost_was_not_saved() {
    let tool = Tool::new();
    let line = "ulimit -f 100; exec \"$SPILLGATE\" put";
    let lost = crate::tool::feed(tool.shell(line), log(60_000).as_bytes());
    assert_eq!(lost.status.code(), Some(1));
    let total = &tool.json(&["stats"], b"")["total"];
    assert_eq!(
        (&total["not_stored"], &total["offloaded"]),
        (&1.into(), &0.into())
    );
    assert_eq!(total["tokens_saved"], 0, "{total}");
    assert!(total["tokens_lost"].as_u64().unwrap() > 100_000);
}

#[test]
fn two_outputs_are_compared() {
    let tool = Tool::new();
    let text = log(5000);
    let older = tool.put(text.as_bytes());
    let newer = tool.put(format!("a new line\n{text}").as_bytes());
    let compared = tool.run(&["diff", &older], b"");
    assert_eq!(compared.status.code(), Some(1));
    let compared = String::from_utf8(compared.stdout).unwrap();
    assert_snapshot!(compared.replace(&older, "OLDER").replace(&newer, "NEWER"), @"
    --- OLDER
    +++ NEWER
    @@ -1,3 +1,4 @@
    +a new line
     2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok
     2026-11-21T10:00:01Z INFO worker-1 processed batch id=7919 ok
     2026-11-21T10:00:02Z INFO worker-2 processed batch id=15838 ok
    ");
    assert!(
        tool.run(&["diff", &older, &older[..6]], b"")
            .status
            .success()
    );
    let object: Value =
        serde_json::from_slice(&tool.run(&["diff", &older, "--json"], b"").stdout).unwrap();
    assert_eq!(
        (&object["added"], &object["removed"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn outputs_are_named_by_their_beginning_or_as_the_last() {
    let tool = Tool::new();
    let (error, code) = tool.error(&["show", "last"]);
    assert_eq!((error["kind"].as_str(), code), (Some("not_found"), 1));
    let handles = [3000, 4000].map(|lines| tool.put(log(lines).as_bytes()));
    let named = |name: &str| tool.json(&["show", name], b"")["handle"].clone();
    assert_eq!(named("last"), handles[1].as_str());
    assert_eq!(named(&handles[0][..8]), handles[0].as_str());
    let (error, _) = tool.error(&["show", "zzzz"]);
    assert_eq!(
        error["message"],
        "no stored output has a handle that begins with `zzzz`"
    );
    // Two of 30 outputs begin with the same letter.
    let mut letters: Vec<String> = (0..30)
        .map(|i| tool.put(log(700 + i).as_bytes())[..1].to_owned())
        .collect();
    letters.sort();
    let twice = letters.windows(2).find(|pair| pair[0] == pair[1]).unwrap();
    let (error, code) = tool.error(&["show", &twice[0]]);
    assert_eq!((error["kind"].as_str(), code), (Some("ambiguous"), 1));
}

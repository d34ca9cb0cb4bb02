//! Tests of a store in a bucket at the command line: several machines, wrong addresses, failures.

use std::fs;
use std::path::Path;
use std::process::Output;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::session::{SILENT, Session};
use super::tool::{Tool, feed, sha256};

/// Several machines with one bucket.
struct Bucket {
    directory: tempfile::TempDir,
}

impl Bucket {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn address(&self) -> String {
        format!("file://{}/bucket", self.directory.path().display())
    }

    fn run(&self, machine: &Tool, args: &[&str], stdin: &[u8]) -> Output {
        let mut command = machine.command(args);
        command.env("SPILLGATE_STORE", self.address());
        feed(command, stdin)
    }

    fn printed(&self, machine: &Tool, args: &[&str], stdin: &[u8]) -> String {
        let output = self.run(machine, args, stdin);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn put(&self, machine: &Tool, bytes: &[u8]) -> String {
        let put = self.printed(machine, &["put", "--json"], bytes);
        let put: Value = serde_json::from_str(&put).unwrap();
        put["handle"].as_str().unwrap().to_owned()
    }
}

fn said(output: &Output) -> String {
    let code = output.status.code().unwrap();
    format!("{code}\n{}", String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_command_works_on_a_handle_of_another_machine() {
    let (bucket, one, other) = (Bucket::new(), Tool::new(), Tool::new());
    let text = log(5000);
    let handle = bucket.put(&one, text.as_bytes());
    let raw = bucket.run(&other, &["cat", &handle, "--raw"], b"").stdout;
    assert_eq!(sha256(&raw), sha256(text.as_bytes()));
    let short = &handle[..5];
    for (args, part) in [
        (
            &["read", &handle, "--start", "501", "--lines", "1"][..],
            "disk quota exceeded",
        ),
        (&["grep", &handle, "E4217"], "disk quota exceeded"),
        (&["search", &handle, "disk quota"], "disk quota exceeded"),
        (&["outline", "last"], ""),
        (&["show", short], &handle),
        (&["ls"], &handle),
        (&["verify", &handle], ""),
        (&["stats"], "1 output is stored now"),
        (&["pin", short], ""),
    ] {
        let printed = bucket.printed(&other, args, b"");
        assert!(printed.contains(part), "{args:?}: {printed}");
    }
    let shown = bucket.printed(&one, &["show", &handle, "--json"], b"");
    assert_eq!(
        serde_json::from_str::<Value>(&shown).unwrap()["pinned"],
        true
    );
    // Nothing is in a directory of this name, and the default store is not used.
    assert!(!one.store().exists() && !Path::new("file:").exists());
    bucket.printed(&other, &["rm", &handle], b"");
    let gone = said(&bucket.run(&one, &["read", &handle], b""));
    assert!(gone.contains("It was removed on"), "{gone}");
    assert!(bucket.printed(&one, &["ls"], b"").is_empty());
}

#[test]
fn the_gateway_reads_a_handle_of_another_machine() {
    let (bucket, one, other) = (Bucket::new(), Tool::new(), Tool::new());
    let handle = bucket.put(&one, log(5000).as_bytes());
    let address = bucket.address();
    let mut session = Session::start(&other, &["--store", &address], SILENT);
    let page = session.call(
        "spillgate_read",
        &json!({"handle": handle, "start": 501, "lines": 1}),
    );
    let found = session.call(
        "spillgate_grep",
        &json!({"handle": handle, "pattern": "E4217"}),
    );
    session.end();
    assert!(page.contains("disk quota exceeded"), "{page}");
    assert!(found.contains("1 of 1 matching lines"), "{found}");
}

#[test]
fn an_encrypted_bucket_holds_nothing_that_can_be_read() {
    let (bucket, one, other) = (Bucket::new(), Tool::new(), Tool::new());
    let settings = "[secrets]\nencrypt = true\n";
    for machine in [&one, &other] {
        let directory = machine.home().join(".config/spillgate");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("spillgate.toml"), settings).unwrap();
    }
    let keyed = |machine: &Tool, args: &[&str], stdin: &[u8]| {
        let mut command = machine.command(args);
        command
            .env("SPILLGATE_STORE", bucket.address())
            .env("SPILLGATE_STORE_KEY", "4b".repeat(32));
        feed(command, stdin)
    };
    let text = log(5000);
    let put = keyed(&one, &["put", "--json"], text.as_bytes());
    let put: Value = serde_json::from_slice(&put.stdout).unwrap();
    let handle = put["handle"].as_str().unwrap();
    let got = keyed(&other, &["cat", handle, "--raw"], b"").stdout;
    assert_eq!(sha256(&got), sha256(text.as_bytes()));
    let mut files = vec![bucket.directory.path().to_owned()];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("disk quota exceeded"), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
    let without = said(&bucket.run(&other, &["read", handle], b""));
    assert!(without.contains("is encrypted"), "{without}");
}

#[test]
fn a_wrong_address_is_told() {
    let tool = Tool::new();
    let mut all = String::new();
    for address in [
        "s3://",
        "s3:///prefix",
        "s3://key:secret@bucket",
        "s3://bucket/a?versionId=1",
        "https://bucket.s3.amazonaws.com/a",
        "ftp://host/a",
        "file://elsewhere/a",
    ] {
        let told = said(&tool.run(&["--store", address, "ls"], b""));
        assert!(!told.contains("secret"), "{told}");
        all.push_str(&format!("$ --store {address}\n{told}\n"));
    }
    assert_snapshot!(all, @r"
    $ --store s3://
    2
    error: the address of the store is wrong: it names no bucket
    hint: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory

    $ --store s3:///prefix
    2
    error: the address of the store is wrong: it names no bucket
    hint: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory

    $ --store s3://key:secret@bucket
    2
    error: the address of the store is wrong: it contains credentials; they belong in the environment
    hint: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory

    $ --store s3://bucket/a?versionId=1
    2
    error: the address of the store is wrong: it has a `?` or `#`
    hint: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory

    $ --store https://bucket.s3.amazonaws.com/a
    2
    error: the address of the store is wrong: it begins with `https://`, which is none of s3://, gs://, az:// and file://
    hint: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory

    $ --store ftp://host/a
    2
    error: the address of the store is wrong: it begins with `ftp://`, which is none of s3://, gs://, az:// and file://
    hint: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory

    $ --store file://elsewhere/a
    2
    error: the address of the store is wrong: it is not `file://` and the absolute path of a directory
    hint: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIR, or the path of a directory
    ");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let tool = Tool::new();
    fs::write(
        tool.home().join("s.toml"),
        "store = \"s3://bucket/prefix\"\n[objects]\nretry_time = \"100ms\"\nconnect_timeout = \"1s\"\n",
    )
    .unwrap();
    let run = |args: &[&str], stdin: &[u8]| {
        let mut command = tool.command(args);
        command
            .env_remove("SPILLGATE_STORE")
            .env("SPILLGATE_CONFIG", tool.home().join("s.toml"))
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "wJalr-secret");
        feed(command, stdin)
    };
    let text = log(3000);
    let put = run(&["put"], text.as_bytes());
    let shown = String::from_utf8_lossy(&put.stdout).into_owned();
    let first = shown.lines().next().unwrap_or_default();
    let read = said(&run(&["read", "kqvbnrtzaewmxo"], b""));
    let doctor = run(&["doctor", "--no-start"], b"");
    let doctor = String::from_utf8_lossy(&doctor.stdout);
    let doctor: Vec<&str> = doctor
        .lines()
        .filter(|line| line.contains("s3://"))
        .collect();
    let all = format!(
        "$ put\n{first}\n{}\n$ read\n{read}\n$ doctor\n{}",
        said(&put),
        doctor.join("\n")
    );
    assert!(!all.contains("wJalr"), "{all}");
    assert_snapshot!(all, @r"
    $ put
    [spillgate] stdin returned 189914 bytes, 3001 lines, 74976 tokens (log); it could not be stored: the store cannot be reached. Only its two ends are shown; the rest is lost, call the tool again for less of it.
    1
    error: s3://bucket/prefix: storing an output failed: no connection to it can be made
    hint: check the network and the server, then try again; `spillgate doctor --no-start` checks the store

    $ read
    1
    error: s3://bucket/prefix: reading a manifest failed: no connection to it can be made
    hint: check the network and the server, then try again; `spillgate doctor --no-start` checks the store

    $ doctor
      broken the store s3://bucket/prefix cannot be used: to store an object does not work: no connection to it can be made
    ");
}

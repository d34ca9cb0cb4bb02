//! The cost against the size of an output, beside `rg`, `jq` and `sha256sum`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Curves;
use crate::command::output;

const SIZES: [u64; 8] = [
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    128_000_000,
    1_000_000_000,
    3_000_000_000,
    10_000_000_000,
];
const QUICK: u64 = 128_000_000;

/// A filter that reads every value of a larger document needs more memory than a query may use.
const MOST_FILTERED: u64 = 128_000_000;

/// `jq` reads a whole document into memory, and takes 20 s for each GB.
const MOST_JSON: u64 = 1_000_000_000;

pub(crate) fn measure(curves: &mut Curves) -> Result<()> {
    for size in curves.steps(&SIZES, QUICK) {
        log(curves, size)?;
        if size <= MOST_JSON {
            json(curves, size)?;
        }
    }
    Ok(())
}

fn log(curves: &mut Curves, size: u64) -> Result<()> {
    let names = [
        "put",
        "read (the last lines)",
        "grep (one match)",
        "search",
        "outline",
        "rg",
        "sha256sum",
    ];
    if names.iter().all(|name| curves.has("size", name, size)) {
        return Ok(());
    }
    let (file, store) = (curves.scratch.join("log"), curves.scratch.join("store"));
    write_log(&file, size)?;
    let put = |curves: &Curves| {
        let mut command = curves.program(&store);
        command.args(["put", "--max-bytes", "1"]).arg(&file);
        command
    };
    output(&mut put(curves))?;
    let commands: [(&str, &[&str]); 4] = [
        (
            "read (the last lines)",
            &["read", "last", "--tail", "--lines", "40"],
        ),
        ("grep (one match)", &["grep", "last", "request 0 done"]),
        ("search", &["search", "last", "request", "timeout"]),
        ("outline", &["outline", "last"]),
    ];
    for (name, arguments) in commands {
        let mut command = curves.program(&store);
        command.args(arguments);
        timed(curves, name, size, &command)?;
    }
    let mut rg = Command::new("sh");
    rg.args(["-c", "rg 'request 0 done' \"$0\" || true"])
        .arg(&file);
    timed(curves, "rg", size, &rg)?;
    let mut sum = Command::new("sha256sum");
    sum.arg(&file);
    timed(curves, "sha256sum", size, &sum)?;
    // Each round of `put` begins with an empty store, so that it takes the disk once.
    let clear = {
        let store = store.clone();
        move || {
            let _ = fs::remove_dir_all(&store);
            Ok(())
        }
    };
    let command = put(curves);
    curves.time(("size", "put", size), &clear, &|| copy(&command))?;
    clear()?;
    Ok(fs::remove_file(&file)?)
}

fn json(curves: &mut Curves, size: u64) -> Result<()> {
    let queries = [
        ("query (a path)", ".items[7].name", MOST_JSON),
        ("query", "[.items[].price] | add", MOST_FILTERED),
    ];
    let queries = queries.iter().filter(|query| size <= query.2);
    let mut names = queries.clone().map(|query| query.0).chain(["jq"]);
    if names.all(|name| curves.has("size", name, size)) {
        return Ok(());
    }
    let (file, store) = (curves.scratch.join("json"), curves.scratch.join("store"));
    write_json(&file, size)?;
    let mut put = curves.program(&store);
    output(put.args(["put", "--max-bytes", "1"]).arg(&file))?;
    for (name, filter, _) in queries {
        let mut query = curves.program(&store);
        query.args(["query", "last", filter]);
        timed(curves, name, size, &query)?;
    }
    let mut jq = Command::new("jq");
    jq.arg("[.items[].price] | add").arg(&file);
    timed(curves, "jq", size, &jq)?;
    fs::remove_dir_all(&store)?;
    Ok(fs::remove_file(&file)?)
}

fn timed(curves: &mut Curves, name: &str, size: u64, command: &Command) -> Result<()> {
    curves.time(("size", name, size), &|| Ok(()), &|| copy(command))
}

/// Returns the same command once more: each round starts a new one.
pub(crate) fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        copy.current_dir(directory);
    }
    copy
}

/// Writes a log of about `size` bytes, at least one line.
pub(crate) fn write_log(path: &Path, size: u64) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut written, mut at) = (0, 0u64);
    while written < size {
        let level = if at % 997 == 0 { "WARN" } else { "INFO" };
        let line = format!(
            "2026-11-26T10:{:02}:{:02}Z {level} worker-{} request {at} done in {} ms\n",
            at / 60 % 60,
            at % 60,
            at % 16,
            at * 7919 % 1000,
        );
        file.write_all(line.as_bytes())?;
        written += line.len() as u64;
        at += 1;
    }
    Ok(file.flush()?)
}

fn write_json(path: &Path, size: u64) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(b"{\"items\":[")?;
    let (mut written, mut at) = (0, 0u64);
    while written < size {
        let comma = if at == 0 { "" } else { "," };
        let item = format!(
            "{comma}{{\"id\":{at},\"name\":\"item {at}\",\"price\":{}}}",
            at * 31 % 1000
        );
        file.write_all(item.as_bytes())?;
        written += item.len() as u64;
        at += 1;
    }
    file.write_all(b"]}\n")?;
    Ok(file.flush()?)
}

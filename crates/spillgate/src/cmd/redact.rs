//! `spillgate redact`: lists the secrets of files, or prints a file with marks in their place.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use spillgate_artifact::{ByteSource, ReadRange};
use spillgate_redact::{MOST_FINDINGS, Redactor, Rules, SecretSpan};
use spillgate_store::FileSource;
use spillgate_untrusted::marked;

use super::cat;
use crate::args::Redact;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::wiring::App;

/// The most bytes of standard input, which is held in memory.
const MOST_INPUT: u64 = 256 << 20;
/// Bytes that are read at once to count lines.
const BLOCK: u64 = 256 << 10;
/// The exit code if a file cannot be read. 1 says that a secret was found.
const UNREADABLE: u8 = 2;

pub(crate) fn redact(app: &App, redact: &Redact, out: &Output) -> Result<u8, Failure> {
    let redactor = app.offloader.redactor();
    if redact.list_rules {
        return list(redactor.rules(), out).map(|()| 0);
    }
    let standard_input = ["-".into()];
    let files = match redact.files.as_slice() {
        [] => &standard_input,
        files => files,
    };
    match redact.check {
        true => Ok(check(redactor, files, out)),
        false => print(redactor, files, out),
    }
}

fn list(rules: &Rules, out: &Output) -> Result<(), Failure> {
    for id in rules.ids() {
        match out.json {
            true => out.object(&json!({"rule": id}))?,
            false => out.raw(format!("{id}\n").as_bytes())?,
        }
    }
    Ok(())
}

/// Lists the secrets of files. A file that cannot be read does not keep the others from being
/// checked.
fn check(redactor: &Redactor, files: &[PathBuf], out: &Output) -> u8 {
    let (mut secrets, mut with_secrets, mut unreadable) = (0, 0, false);
    for file in files {
        let found = match open(file).and_then(|source| check_file(redactor, file, &source, out)) {
            Ok(found) => found,
            Err(failure) => {
                failure.report(out);
                unreadable = true;
                continue;
            }
        };
        secrets += found;
        with_secrets += usize::from(found > 0);
    }
    if !out.json && secrets > 0 {
        let of = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let (secrets, files) = (of(secrets, "secret"), of(with_secrets, "file"));
        out.note(&format!("{secrets} in {files}"));
    }
    match (unreadable, secrets) {
        (true, _) => UNREADABLE,
        (false, 0) => 0,
        (false, _) => 1,
    }
}

/// Prints where the secrets of a file are, and returns their number.
fn check_file(
    redactor: &Redactor,
    file: &Path,
    source: &Arc<dyn ByteSource>,
    out: &Output,
) -> Result<usize, Failure> {
    let name = name_of(file);
    let findings = redactor
        .find(&**source)
        .map_err(|error| unreadable(file, &error))?;
    if findings.is_too_many() {
        match out.json {
            true => out.object(&json!({"file": name, "more_than": MOST_FINDINGS}))?,
            false => out.raw(format!("{name}: more than {MOST_FINDINGS} secrets\n").as_bytes())?,
        }
        return Ok(MOST_FINDINGS + 1);
    }
    let mut places = Places::new(&**source);
    for span in findings.spans() {
        let (line, column) = places
            .at(span.start)
            .map_err(|error| unreadable(file, &error))?;
        let SecretSpan {
            start, end, number, ..
        } = span;
        let rule = findings.rule(span);
        if out.json {
            out.object(&json!({
                "file": name, "line": line, "column": column, "rule": rule, "number": number,
                "start": start, "end": end,
            }))?;
            continue;
        }
        let number = match number {
            0 | 1 => String::new(),
            number => format!(" {number}"),
        };
        out.raw(format!("{name}:{line}:{column}: {rule}{number}\n").as_bytes())?;
    }
    Ok(findings.spans().len())
}

/// Prints files with marks in place of their secrets.
fn print(redactor: &Redactor, files: &[PathBuf], out: &Output) -> Result<u8, Failure> {
    for file in files {
        let source = open(file)?;
        let failed = |error: io::Error| unreadable(file, &error);
        let findings = redactor.find(&*source).map_err(failed)?;
        if findings.is_too_many() {
            let what = format!(
                "{} has more than {MOST_FINDINGS} secrets, so no part of it is printed",
                name_of(file)
            );
            return Err(Failure::new("too_many", Fault::Caller, what).code(UNREADABLE));
        }
        let counts = json!(findings.counts());
        let redacted = redactor
            .source(source, Arc::new(findings))
            .map_err(failed)?;
        let mut reader = ReadRange::whole(&redacted);
        match out.json {
            true => {
                let mut text = Vec::new();
                reader.read_to_end(&mut text).map_err(failed)?;
                let text = String::from_utf8_lossy(&text);
                out.object(&json!({"file": name_of(file), "secrets": counts, "text": text}))?;
            }
            false if out.terminal => out.with(|to| cat::to_terminal(&mut reader, to))?,
            false => out.with(|to| cat::copy(&mut reader, to))?,
        }
    }
    Ok(0)
}

/// Opens a file, or reads standard input for `-`.
fn open(file: &Path) -> Result<Arc<dyn ByteSource>, Failure> {
    let failed = |error: io::Error| unreadable(file, &error);
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        let mut input = io::stdin().lock().take(MOST_INPUT + 1);
        input.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST_INPUT {
            let what = format!("standard input has more than {MOST_INPUT} bytes");
            return Err(Failure::new("too_large", Fault::Caller, what)
                .hint("write it to a file, which may be of any size, and pass the file")
                .code(UNREADABLE));
        }
        return Ok(Arc::new(bytes));
    }
    let opened = File::open(file).map_err(failed)?;
    let metadata = opened.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let kind = match metadata.is_dir() {
            true => "is a directory",
            false => "is not a regular file",
        };
        let what = format!("{} {kind}", name_of(file));
        return Err(Failure::new("input", Fault::Caller, what)
            .hint("pass files, or `-` for standard input")
            .code(UNREADABLE));
    }
    Ok(Arc::new(FileSource::of(opened, file)?))
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    let what = format!("{}: {error}", name_of(file));
    Failure::new("input", Fault::Caller, what).code(UNREADABLE)
}

/// Returns the name of a file on one line.
fn name_of(file: &Path) -> String {
    match file.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => marked(&file.to_string_lossy()).replace(['\n', '\t'], "?"),
    }
}

/// Finds the lines and columns of ascending offsets.
struct Places<'a> {
    source: &'a dyn ByteSource,
    buffer: Vec<u8>,
    at: u64,
    line: u64,
    column: u64,
}

impl<'a> Places<'a> {
    fn new(source: &'a dyn ByteSource) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            at: 0,
            line: 1,
            column: 1,
        }
    }

    /// Returns the line and the column (in characters) of an offset, both from 1 on.
    fn at(&mut self, offset: u64) -> io::Result<(u64, u64)> {
        while self.at < offset {
            let end = offset.min(self.at + BLOCK);
            let bytes = self.source.window(self.at, end, &mut self.buffer)?;
            let newlines = memchr::memchr_iter(b'\n', bytes).count() as u64;
            let last = match memchr::memrchr(b'\n', bytes) {
                Some(newline) => {
                    self.column = 1;
                    &bytes[newline + 1..]
                }
                None => bytes,
            };
            self.line += newlines;
            // Bytes that continue a character are not counted.
            self.column += last.iter().filter(|it| **it & 0xc0 != 0x80).count() as u64;
            self.at = end;
        }
        Ok((self.line, self.column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let text = "ä b\n\nüü c".as_bytes().to_vec();
        let mut places = Places::new(&text);
        let cases = [
            (0, (1, 1)),
            (3, (1, 3)),
            (5, (2, 1)),
            (6, (3, 1)),
            (11, (3, 4)),
        ];
        for (offset, want) in cases {
            assert_eq!(places.at(offset).unwrap(), want, "{offset}");
        }
        let text = format!("{}\nx", "a".repeat(700_000)).into_bytes();
        let mut places = Places::new(&text);
        assert_eq!(places.at(600_000).unwrap(), (1, 600_001));
        assert_eq!(places.at(700_001).unwrap(), (2, 1));
    }
}

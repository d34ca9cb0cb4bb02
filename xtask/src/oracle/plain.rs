//! Normalizes outputs: replaces handles, times and other parts that differ from run to run.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use regex::{Captures, Regex};

/// Replaces handles by numbers, and times, durations and paths by names.
#[derive(Debug)]
pub(crate) struct Plain {
    ids: Regex,
    numbers: Regex,
    rules: Vec<(Regex, &'static str)>,
}

/// Patterns of the parts that differ from run to run, and their replacements.
const RULES: [(&str, &str); 7] = [
    (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?",
        "TIME",
    ),
    (r"_\d{8}_\d{6}_", "_TIME_"),
    (
        r#""(\w+_ms|milliseconds|micros|age_s|pid)":\s*[0-9.]+"#,
        "\"$1\":N",
    ),
    (r"\b[0-9.]+ ?(µs|us|ms|s)\b", "TOOK"),
    // The manifest contains times and handles, so its checksum differs from run to run.
    (r#"("?manifest"?: ?)\d+"#, "${1}CRC"),
    (r"spillgate-attack-\d+-[a-z]+-\d+", "ROOM"),
    (r" +(TOOK|TIME)", " $1"),
];

impl Plain {
    pub(crate) fn new() -> Result<Self> {
        let rules = RULES
            .iter()
            .map(|&(pattern, name)| Ok((Regex::new(pattern)?, name)));
        Ok(Self {
            numbers: Regex::new(r"\bID\d+")?,
            ids: Regex::new(
                r"(?<before>stored whole as |spillgate://artifact/|spillgate [a-z]+ )(?<short>[a-z]{14})\b|session-[0-9a-f-]{36}(/[0-9a-f-]{36})?|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
            )?,
            rules: rules.collect::<Result<_>>()?,
        })
    }

    /// Normalizes `said`; `names` keeps the numbers of the handles seen so far.
    pub(crate) fn of(&self, said: &[u8], own: &Path, names: &mut HashMap<String, usize>) -> String {
        let said = String::from_utf8_lossy(said);
        let said = said.replace(&*own.to_string_lossy(), "PROGRAM");
        let said = self.ids.replace_all(&said, |found: &Captures<'_>| {
            let next = names.len() + 1;
            let id = found
                .name("short")
                .map_or(&found[0], |short| short.as_str());
            let number = *names.entry(id.to_owned()).or_insert(next);
            let before = found.name("before").map_or("", |before| before.as_str());
            format!("{before}ID{number}")
        });
        let mut said = said.into_owned();
        for (pattern, name) in &self.rules {
            said = pattern.replace_all(&said, *name).into_owned();
        }
        said
    }

    /// Also removes the numbers of handles.
    pub(crate) fn without_names(&self, said: &str) -> String {
        self.numbers.replace_all(said, "ID").into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_times_and_paths_are_the_same_everywhere() {
        let plain = Plain::new().unwrap();
        let mut names = HashMap::new();
        let one = "session-00000000-1111-4222-8333-444444444444";
        let file = "55555555-6666-4777-9888-999999999999";
        let said = format!(
            "[spillgate] stored as {one}/{file} in 12 ms\n{{\"duration_ms\": 3.5,\"tokens\":9}}\n{one}/{file} at 2026-11-23T08:00:00.5Z\n/bin/new/spillgate x {file} 7 lines"
        );
        let said = plain.of(said.as_bytes(), Path::new("/bin/new/spillgate"), &mut names);
        assert_eq!(
            said,
            "[spillgate] stored as ID1 in TOOK\n{\"duration_ms\":N,\"tokens\":9}\nID1 at TIME\nPROGRAM x ID2 7 lines"
        );
        assert_eq!(plain.without_names("ID1 PAID1 ID22"), "ID PAID1 ID");
    }
}

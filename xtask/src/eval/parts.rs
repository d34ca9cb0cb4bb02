//! Counts the tokens of previews by part, over real outputs.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::build::Build;
use super::cases::Document;

/// Number of outputs whose previews are measured.
const OUTPUTS: usize = 40;

/// The parts of a preview, in the order of the table.
const PARTS: [&str; 10] = [
    "headline",
    "changes",
    "evidence",
    "shape",
    "texts inside",
    "first record",
    "head",
    "tail",
    "hints",
    "handle",
];

/// The mean tokens of a preview's parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    outputs: usize,
    /// The sum of the tokens of each part.
    sums: BTreeMap<&'static str, u64>,
    /// The sum of the tokens of whole previews.
    whole: u64,
    /// The tokens of the longest preview.
    most: u64,
}

/// Selects the outputs: all documents of questions, and failing runs up to [`OUTPUTS`], those whose
/// names have the lowest SHA-256.
pub(crate) fn selected(documents: &[Document]) -> Vec<&Document> {
    let (mut runs, mut outputs): (Vec<&Document>, Vec<&Document>) =
        documents.iter().partition(|one| one.set == "failures");
    let hash = |one: &&Document| {
        Sha256::digest(one.path.file_name().unwrap_or_default().as_encoded_bytes())
    };
    runs.sort_by_key(hash);
    outputs.extend(runs);
    outputs.truncate(OUTPUTS);
    outputs
}

/// Measures the previews that a build makes of `documents`.
pub(crate) fn measured(build: &Build, documents: &[&Document]) -> Result<Parts> {
    let mut parts = Parts::default();
    for document in documents {
        let preview = build.preview(&document.bytes()?)?;
        let about = || format!("in the preview of {}", document.path.display());
        let handle = preview
            .handle
            .as_deref()
            .with_context(|| format!("no handle {}", about()))?;
        parts.outputs += 1;
        parts.whole += preview.tokens;
        parts.most = parts.most.max(preview.tokens);
        for (part, text) in split(&preview.text) {
            // What a handle costs where it stands.
            let with = build.tokens(&text).with_context(about)?;
            let without = build
                .tokens(&text.replace(handle, ""))
                .with_context(about)?;
            *parts.sums.entry(part).or_default() += without;
            *parts.sums.entry("handle").or_default() += with.saturating_sub(without);
        }
    }
    Ok(parts)
}

/// Splits a preview into its parts. A part begins with its title.
fn split(preview: &str) -> BTreeMap<&'static str, String> {
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    let mut part = "headline";
    for line in preview.lines() {
        part = match line {
            "changes:" => "changes",
            "failure:" => "evidence",
            "shape:" => "shape",
            "inside:" => "texts inside",
            "first:" => "first record",
            "head:" => "head",
            "tail:" => "tail",
            line if line.starts_with("next: ") || line.starts_with("also") => "hints",
            _ => part,
        };
        let text = parts.entry(part).or_default();
        text.push_str(line);
        text.push('\n');
    }
    parts
}

/// Formats the mean tokens of each part as a table, with those of an earlier build before them.
pub(crate) fn table(before: Option<&Parts>, now: &Parts) -> String {
    let mut table = format!(
        "Tokens of a preview by part, mean of {} outputs.\n\n",
        now.outputs
    );
    let columns = [before, Some(now)];
    let columns = || columns.iter().flatten();
    let titles = match before {
        Some(_) => "| part | before | now |\n|---|---:|---:|\n",
        None => "| part | tokens |\n|---|---:|\n",
    };
    table.push_str(titles);
    let mut row = |name: &str, figure: &dyn Fn(&Parts) -> String| {
        let figures: String = columns()
            .map(|parts| format!(" {} |", figure(parts)))
            .collect();
        let _ = writeln!(table, "| {name} |{figures}");
    };
    for part in PARTS {
        row(part, &|parts| {
            mean(
                parts.sums.get(part).copied().unwrap_or_default(),
                parts.outputs,
            )
        });
    }
    row("whole", &|parts| mean(parts.whole, parts.outputs));
    row("longest", &|parts| parts.most.to_string());
    table
}

fn mean(sum: u64, outputs: usize) -> String {
    format!("{:.1}", sum as f64 / outputs.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_split_at_its_titles() {
        let preview = "[spillgate] ci returned 9 bytes; stored whole as abc\nfailure:\n  1: head:\nshape:\n  \
                       3 rows\nhead:\n   1 tail\ntail:\n   9 x\nnext: read abc\nalso, likewise: grep\n";
        let want = [
            ("evidence", "failure:\n  1: head:\n"),
            ("head", "head:\n   1 tail\n"),
            (
                "headline",
                "[spillgate] ci returned 9 bytes; stored whole as abc\n",
            ),
            ("hints", "next: read abc\nalso, likewise: grep\n"),
            ("shape", "shape:\n  3 rows\n"),
            ("tail", "tail:\n   9 x\n"),
        ];
        assert_eq!(
            split(preview),
            want.map(|(part, text)| (part, text.to_owned())).into()
        );
        assert!(want.iter().all(|(part, _)| PARTS.contains(part)));
    }

    #[test]
    fn a_table_has_the_means_of_both_builds() {
        let parts = |shape| Parts {
            outputs: 2,
            sums: BTreeMap::from([("shape", shape)]),
            whole: shape + 10,
            most: shape,
        };
        let both = table(Some(&parts(7)), &parts(3));
        let one = table(None, &parts(3));
        for (table, row) in [
            (&both, "| part | before | now |"),
            (&both, "| shape | 3.5 | 1.5 |"),
            (&both, "| whole | 8.5 | 6.5 |"),
            (&both, "| longest | 7 | 3 |"),
            (&one, "| shape | 1.5 |"),
        ] {
            assert!(table.lines().any(|line| line == row), "{row} in {table}");
        }
    }
}

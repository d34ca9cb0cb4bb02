//! Reads the cases of all sets: documents, and what a model must be able to find in them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::judge::{Compare, Measure, Wanted};

/// The sets, in the order of the table.
pub(crate) const SETS: [&str; 7] = [
    "tau",
    "bcd",
    "cidiff",
    "logdx",
    "failures",
    "questions",
    "identifiers",
];

/// The half of a set that a case belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Half {
    /// The set has no halves.
    Both,
    /// The cases that methods are improved with.
    Tuned,
    /// The cases that count. Developers do not look at them.
    Reported,
}

impl Half {
    /// Returns the half of a case: `Tuned` if the first hexadecimal digit of the SHA-256 of its
    /// name is even.
    fn of(name: &str) -> Self {
        match (Sha256::digest(name)[0] >> 4).is_multiple_of(2) {
            true => Self::Tuned,
            false => Self::Reported,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Tuned => "tuned",
            Self::Reported => "reported",
        }
    }
}

/// A document and the cases about it.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) set: &'static str,
    pub(crate) path: PathBuf,
    /// Whether its preview is rated, too.
    pub(crate) has_rated_preview: bool,
    pub(crate) cases: Vec<Case>,
}

impl Document {
    fn new(set: &'static str, path: PathBuf) -> Self {
        Self {
            set,
            path,
            has_rated_preview: false,
            cases: Vec::new(),
        }
    }

    /// Reads its bytes, which may be compressed.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        let unreadable = || format!("cannot read {}", self.path.display());
        if self.path.extension().is_none_or(|end| end != "zst") {
            return fs::read(&self.path).with_context(unreadable);
        }
        let file = File::open(&self.path).with_context(unreadable)?;
        let mut bytes = Vec::new();
        ruzstd::decoding::StreamingDecoder::new(file)
            .with_context(unreadable)?
            .read_to_end(&mut bytes)
            .with_context(unreadable)?;
        Ok(bytes)
    }
}

/// A question about a document and what its answer must show.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) half: Half,
    /// The question in several wordings.
    pub(crate) wordings: Vec<String>,
    pub(crate) task: Task,
}

/// What a case asks for.
#[derive(Debug)]
pub(crate) enum Task {
    /// A page that shows something.
    Show(Vec<Check>),
    /// The report that an identifier is absent. The text is the row of the table.
    Absence(&'static str),
}

/// A row of the table that a page gets a score for.
#[derive(Debug)]
pub(crate) struct Check {
    /// The row.
    pub(crate) what: String,
    pub(crate) measure: Measure,
    pub(crate) compare: Compare,
    pub(crate) wanted: Vec<Wanted>,
}

impl Check {
    fn new(what: &str, measure: Measure, compare: Compare, wanted: &[String]) -> Self {
        Self {
            what: what.to_owned(),
            measure,
            compare,
            wanted: wanted.iter().map(|form| vec![form.clone()]).collect(),
        }
    }
}

/// Reads the sets of `data` and of `evaluation` that are in `sets`.
pub(crate) fn read(data: &Path, evaluation: &Path, sets: &[&str]) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    if sets.iter().any(|set| SETS[..3].contains(set)) {
        documents.extend(development(data)?);
    }
    if sets.contains(&"logdx") {
        documents.extend(logdx(&data.join("logdx/cases"))?);
    }
    if sets.contains(&"failures") {
        documents.extend(failures(&evaluation.join("failures"))?);
    }
    if sets.contains(&"questions") {
        documents.extend(questions(&evaluation.join("questions"))?);
    }
    if sets.contains(&"identifiers") {
        documents.extend(identifiers(&evaluation.join("questions"))?);
    }
    documents.retain(|document| sets.contains(&document.set));
    Ok(documents)
}

/// Reads `questions.jsonl` of the development data.
fn development(data: &Path) -> Result<Vec<Document>> {
    let file = data.join("questions.jsonl");
    ensure!(
        file.is_file(),
        "no questions.jsonl in {}; name the folder of the evaluation data with --data DIR",
        data.display()
    );
    let mut documents = BTreeMap::new();
    for one in json_lines(&file)? {
        let set = text(&one, "ds");
        let set = SETS.into_iter().find(|name| *name == set);
        let set = set.with_context(|| format!("an unknown set in {}", file.display()))?;
        let gold = strings(&one, "gold");
        let checks = match text(&one, "type").as_str() {
            "chunk" => [
                ("any line", Measure::Any),
                ("share of lines", Measure::Share),
            ]
            .map(|(what, measure)| Check::new(what, measure, Compare::Line, &gold))
            .into(),
            kind => vec![Check::new(kind, Measure::All, Compare::Answer, &gold)],
        };
        let path = data.join("docs").join(text(&one, "doc"));
        let document = documents
            .entry((set, path.clone()))
            .or_insert_with(|| Document::new(set, path));
        document.cases.push(Case {
            id: text(&one, "id"),
            half: Half::Both,
            wordings: vec![text(&one, "question")],
            task: Task::Show(checks),
        });
    }
    Ok(documents.into_values().collect())
}

/// Reads the failing runs of LogDx-CI and the signals that each requires.
fn logdx(cases: &Path) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    let mut groups = vec![cases.to_owned()];
    while let Some(group) = groups.pop() {
        for case in entries(&group)? {
            // The makers of the set rejected some cases.
            if !case.is_dir() || case.ends_with("_rejected") {
                continue;
            }
            let truth = case.join("ground_truth.json");
            let raw = case.join("raw.log");
            if !truth.is_file() || !raw.is_file() {
                groups.push(case);
                continue;
            }
            let truth: Value = serde_json::from_str(&read_text(&truth)?)?;
            let signals = truth["required_signals"].as_array();
            let signals = signals.context("a case without required_signals")?;
            let wanted = |is_meant: &dyn Fn(&Value) -> bool| {
                let meant = signals.iter().filter(|signal| is_meant(signal));
                meant.map(forms).collect::<Vec<_>>()
            };
            let check = |what: &str, wanted: Vec<Wanted>| Check {
                what: what.to_owned(),
                measure: Measure::Share,
                compare: Compare::Line,
                wanted,
            };
            let critical = wanted(&|signal| signal["importance"] == "critical");
            let mut checks = vec![check("signals", wanted(&|_| true))];
            if !critical.is_empty() {
                checks.push(check("critical signals", critical));
            }
            let mut document = Document::new("logdx", raw);
            document.has_rated_preview = true;
            document.cases.push(Case {
                id: case
                    .file_name()
                    .map_or_else(String::new, |name| name.to_string_lossy().into()),
                half: Half::Both,
                wordings: vec!["Why did the build fail?".to_owned()],
                task: Task::Show(checks),
            });
            documents.push(document);
        }
    }
    Ok(documents)
}

/// Returns the forms of a signal of LogDx-CI.
fn forms(signal: &Value) -> Wanted {
    let mut forms = vec![text(signal, "value"), text(signal, "file")];
    forms.extend(strings(signal, "aliases"));
    forms.retain(|form| !form.trim().is_empty());
    forms
}

fn failures(directory: &Path) -> Result<Vec<Document>> {
    let cases = json_lines(&directory.join("cases.jsonl"))?;
    let documents = cases.iter().map(|case| {
        let name = text(case, "name");
        let mut document = Document::new("failures", directory.join(format!("{name}.log.zst")));
        document.has_rated_preview = true;
        let critical = strings(case, "critical");
        let check = Check::new("critical lines", Measure::Share, Compare::Line, &critical);
        document.cases.push(Case {
            half: Half::of(&name),
            id: name,
            wordings: vec!["Why did it fail?".to_owned()],
            task: Task::Show(vec![check]),
        });
        document
    });
    Ok(documents.collect())
}

fn questions(directory: &Path) -> Result<Vec<Document>> {
    let mut documents = BTreeMap::new();
    for one in json_lines(&directory.join("questions.jsonl"))? {
        let path = directory.join("docs").join(text(&one, "doc") + ".zst");
        let document = documents
            .entry(path.clone())
            .or_insert_with(|| Document::new("questions", path));
        let mut wordings = vec![text(&one, "question")];
        wordings.extend(strings(&one, "wordings"));
        let gold = strings(&one, "gold");
        let check = Check::new(&text(&one, "type"), Measure::All, Compare::Answer, &gold);
        let id = text(&one, "id");
        document.cases.push(Case {
            half: Half::of(&id),
            id,
            wordings,
            task: Task::Show(vec![check]),
        });
    }
    Ok(documents.into_values().collect())
}

fn identifiers(directory: &Path) -> Result<Vec<Document>> {
    let all: Value = serde_json::from_str(&read_text(&directory.join("ids.json"))?)?;
    let mut documents = Vec::new();
    for (name, lists) in all.as_object().context("ids.json is no object")? {
        let path = directory.join("docs").join(format!("{name}.zst"));
        let mut document = Document::new("identifiers", path);
        for (list, what) in [
            ("absent", "absent, reported absent"),
            ("present", "present, reported absent"),
        ] {
            for identifier in strings(lists, list) {
                document.cases.push(Case {
                    half: Half::of(&identifier),
                    id: identifier.clone(),
                    wordings: vec![identifier],
                    task: Task::Absence(what),
                });
            }
        }
        documents.push(document);
    }
    Ok(documents)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory);
    let entries = entries.with_context(|| format!("cannot read {}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}

fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn json_lines(path: &Path) -> Result<Vec<Value>> {
    let lines = read_text(path)?;
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    let values = lines.map(serde_json::from_str).collect::<Result<_, _>>();
    values.with_context(|| format!("{} is not JSON lines", path.display()))
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn strings(value: &Value, key: &str) -> Vec<String> {
    let all = value[key].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_first_digit_of_the_hash_of_a_name_decides_the_half() {
        // SHA-256 of `a` begins with c, of `b` with 3, of the empty text with e.
        let cases = [("a", Half::Tuned), ("b", Half::Reported), ("", Half::Tuned)];
        for (name, half) in cases {
            assert_eq!(Half::of(name), half, "{name:?}");
        }
    }

    #[test]
    fn the_sets_of_this_checkout_are_complete() {
        let sets = ["failures", "questions", "identifiers"];
        let evaluation = workspace::root().join("evaluation");
        let documents = read(Path::new("none"), &evaluation, &sets).unwrap();
        let cases = |set: &str| -> Vec<&Case> {
            let of_set = documents.iter().filter(|document| document.set == set);
            of_set.flat_map(|document| &document.cases).collect()
        };
        assert_eq!(sets.map(|set| cases(set).len()), [100, 344, 2400]);
        assert!(
            cases("questions")
                .iter()
                .all(|case| case.wordings.len() == 4)
        );
        for document in &documents {
            assert!(document.path.is_file(), "{}", document.path.display());
            for case in &document.cases {
                let Task::Show(checks) = &case.task else {
                    continue;
                };
                let wanted = |check: &Check| !check.wanted.is_empty();
                assert!(checks.iter().all(wanted), "{} wants nothing", case.id);
            }
        }
    }
}

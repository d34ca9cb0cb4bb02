//! Reads the outcomes of the checks in a run of the suite, and compares two runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// The outcomes that are counted. The suite's `INFO` only logs what was sent.
const COUNTED: [&str; 4] = ["SUCCESS", "FAILURE", "WARNING", "SKIPPED"];

/// How often each check of a scenario had each outcome. A check may be made many times.
pub(crate) type Checks = BTreeMap<(String, String), usize>;

/// The checks of every scenario that was run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Outcome(pub(crate) BTreeMap<String, Checks>);

impl Outcome {
    /// Reads what `conformance server -o folder` wrote.
    pub(crate) fn of_server(folder: &Path) -> Result<Self> {
        let mut outcome = Self::default();
        for entry in fs::read_dir(folder).context("the suite wrote no results")? {
            let entry = entry?.path();
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            let scenario = scenario_of(&name).with_context(|| format!("no scenario in {name}"))?;
            outcome.0.insert(scenario.to_owned(), checks_in(&entry)?);
        }
        Ok(outcome)
    }

    /// Adds what `conformance client --scenario name -o folder` wrote, if it wrote anything. The
    /// suite's verdict is added as a check, too, because a client may fail although all checks
    /// passed. The verdict has a status of its own and is not counted.
    pub(crate) fn add_client(&mut self, scenario: &str, folder: &Path, passed: bool) -> Result<()> {
        let mut checks = match find(folder)? {
            Some(folder) => checks_in(&folder)?,
            None => Checks::new(),
        };
        let verdict = if passed { "PASSED" } else { "FAILED" };
        checks.insert(("(verdict)".to_owned(), verdict.to_owned()), 1);
        self.0.insert(scenario.to_owned(), checks);
        Ok(())
    }

    /// Returns how many checks had this outcome.
    pub(crate) fn count(&self, status: &str) -> usize {
        self.0.values().map(|checks| count(checks, status)).sum()
    }

    /// Returns the scenarios whose checks differ.
    pub(crate) fn differing(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differ = |name: &&&String| self.0.get(**name) != other.0.get(**name);
        names
            .iter()
            .filter(differ)
            .map(|name| (*name).clone())
            .collect()
    }

    /// Formats the checks in which a scenario differs, one per line.
    pub(crate) fn difference(&self, other: &Self, scenario: &str) -> String {
        let none = Checks::new();
        let of = |outcome: &'_ Self| outcome.0.get(scenario).unwrap_or(&none).clone();
        let (direct, through) = (of(self), of(other));
        let mut text = format!(
            "  {scenario}: directly {}, through {}\n",
            totals(&direct),
            totals(&through)
        );
        let checks: BTreeSet<_> = direct.keys().chain(through.keys()).collect();
        for check in checks {
            let times = |checks: &Checks| checks.get(check).copied().unwrap_or_default();
            let (before, after) = (times(&direct), times(&through));
            if before != after {
                let (id, status) = check;
                let _ = writeln!(
                    text,
                    "    {id}: {status} {before} times directly, {after} through"
                );
            }
        }
        text
    }
}

fn totals(checks: &Checks) -> String {
    let (passed, failed) = (count(checks, "SUCCESS"), count(checks, "FAILURE"));
    let other = count(checks, "WARNING") + count(checks, "SKIPPED");
    format!("{passed} passed {failed} failed {other} other")
}

fn count(checks: &Checks, status: &str) -> usize {
    let of = checks.iter().filter(|((_, found), _)| found == status);
    of.map(|(_, times)| times).sum()
}

/// Returns the scenario of a folder: `server-tools-list-2026-11-22T09-08-39-286Z` is a run of
/// `tools-list`.
fn scenario_of(folder: &str) -> Option<&str> {
    let (name, _) = folder.split_at_checked(
        folder
            .len()
            .checked_sub("-2026-11-22T09-08-39-286Z".len())?,
    )?;
    name.strip_prefix("server-")
}

/// Finds the folder with `checks.json`, at any depth: a scenario's name may contain a slash.
fn find(folder: &Path) -> Result<Option<std::path::PathBuf>> {
    if folder.join("checks.json").is_file() {
        return Ok(Some(folder.to_path_buf()));
    }
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(None);
    };
    for entry in entries {
        let entry = entry?.path();
        if entry.is_dir()
            && let Some(found) = find(&entry)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn checks_in(folder: &Path) -> Result<Checks> {
    let file = folder.join("checks.json");
    let text = fs::read_to_string(&file).with_context(|| format!("no file {}", file.display()))?;
    let all: Vec<Value> = serde_json::from_str(&text)?;
    let mut checks = Checks::new();
    for check in &all {
        let (id, status) = (check["id"].as_str(), check["status"].as_str());
        let (id, status) = id.zip(status).context("a check has no id or no status")?;
        if COUNTED.contains(&status) {
            *checks
                .entry((id.to_owned(), status.to_owned()))
                .or_default() += 1;
        }
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::{Checks, Outcome, scenario_of};

    fn outcome(checks: &[(&str, &str, &str, usize)]) -> Outcome {
        let mut outcome = Outcome::default();
        for (scenario, id, status, times) in checks {
            let of: &mut Checks = outcome.0.entry((*scenario).to_owned()).or_default();
            of.insert(((*id).to_owned(), (*status).to_owned()), *times);
        }
        outcome
    }

    #[test]
    fn a_check_that_changes_or_is_missing_is_a_difference() {
        let direct = outcome(&[("a", "x", "SUCCESS", 2), ("b", "y", "SUCCESS", 1)]);
        let cases = [
            (direct.clone(), vec![]),
            (outcome(&[("a", "x", "SUCCESS", 2)]), vec!["b"]),
            (
                outcome(&[("a", "x", "SUCCESS", 1), ("b", "y", "SUCCESS", 1)]),
                vec!["a"],
            ),
            (
                outcome(&[("a", "x", "SUCCESS", 2), ("b", "y", "FAILURE", 1)]),
                vec!["b"],
            ),
            // As many checks passed, but not the same ones.
            (
                outcome(&[("a", "z", "SUCCESS", 2), ("b", "y", "SUCCESS", 1)]),
                vec!["a"],
            ),
        ];
        for (through, expected) in cases {
            assert_eq!(direct.differing(&through), expected);
        }
        let through = outcome(&[("a", "x", "FAILURE", 2)]);
        let expected = "  a: directly 2 passed 0 failed 0 other, through 0 passed 2 failed 0 other\n    \
                        x: FAILURE 0 times directly, 2 through\n    x: SUCCESS 2 times directly, 0 through\n";
        assert_eq!(direct.difference(&through, "a"), expected);
    }

    #[test]
    fn the_scenario_is_in_the_name_of_its_folder() {
        let cases = [
            (
                "server-tools-list-2026-11-22T09-08-39-286Z",
                Some("tools-list"),
            ),
            (
                "server-server-stateless-2026-11-22T09-08-39-286Z",
                Some("server-stateless"),
            ),
            ("stamp", None),
        ];
        for (folder, expected) in cases {
            assert_eq!(scenario_of(folder), expected, "{folder}");
        }
    }
}

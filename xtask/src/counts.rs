//! `cargo xtask counts`: how many instructions the hot operations take, beside the figures of the last commit that
//! recorded them.
//!
//! Instructions do not depend on what else the machine does, so a change that costs 5 % is seen where times vary
//! by a third. It is a report: a change fails nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use crate::command::{cargo, output, run};
use crate::report::{Report, say};
use crate::{python, workspace};

const USAGE: &str = "usage: cargo xtask counts [--record]\n\
    --record   replaces the figures in benches/counts/recorded.json, to be committed with the change that explains them";

/// The Debian package.
const VALGRIND: &str = "valgrind";

/// A change that is marked, in percent.
const MARKED: f64 = 5.0;

/// How often an operation is carried out in the long run; the short one carries it out once.
const TIMES: u64 = 3;

/// Millions of instructions of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Count {
    /// The first time in a process, with all that is prepared once.
    first: f64,
    /// Each further time.
    further: f64,
}

/// Counts, and prints the report.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let records = match arguments {
        [] => false,
        [one] if one == "--record" => true,
        _ => bail!(USAGE),
    };
    if let Err(why) = ensure_valgrind() {
        bail!("{why}");
    }
    build(report)?;
    report.step("instruction counts", || measure(records))
}

/// Counts as a step of all tests, if the machine can.
pub(crate) fn report_if_possible(report: &mut Report) -> Result<()> {
    match ensure_valgrind() {
        Ok(()) => {
            build(report)?;
            // Whether valgrind knows this processor says nothing about the commit.
            report.step("instruction counts", || {
                measure(false).or_else(|why| say(&format!("left out: {why:#}\n")))
            })
        }
        Err(why) => say(&format!("\n==> instruction counts: left out, {why}\n")),
    }
}

fn build(report: &mut Report) -> Result<()> {
    report.step("build the counted program", || {
        run(&mut cargo(
            "build --profile counts --locked --package spillgate-counts",
        ))
    })
}

/// Counts all operations and prints them.
fn measure(records: bool) -> Result<()> {
    let target = workspace::built()?.with_file_name("");
    let program = target.join("counts/spillgate-counts");
    let kept = target.join("callgrind");
    fs::create_dir_all(&kept)?;
    let recorded = recorded();
    let before = fs::read_to_string(&recorded).unwrap_or_else(|_| "{}".to_owned());
    let before: Value = serde_json::from_str(&before).context("recorded.json is broken")?;
    let names = output(&mut Command::new(&program))?;
    let mut now = Map::new();
    say(HEAD)?;
    for name in names.lines() {
        let one = of(&program, &kept, name)?;
        say(&row(name, one, parsed(&before[name])))?;
        now.insert(
            name.to_owned(),
            json!([rounded(one.first), rounded(one.further)]),
        );
    }
    say(&format!(
        "\nWhere they go: callgrind_annotate {}/NAME.out\n",
        kept.display()
    ))?;
    if records {
        fs::write(&recorded, serde_json::to_string_pretty(&now)? + "\n")?;
    }
    Ok(())
}

const HEAD: &str = "
| operation on 1 MB, millions of instructions | first | recorded | | further | recorded | |
|---|---:|---:|---:|---:|---:|---:|
";

fn row(name: &str, now: Count, before: Option<Count>) -> String {
    let cells = |now: f64, before: Option<f64>| match before {
        Some(before) => format!("{now:.2} | {before:.2} | {}", change(now, before)),
        None => format!("{now:.2} | | new"),
    };
    format!(
        "| {name} | {} | {} |\n",
        cells(now.first, before.map(|one| one.first)),
        cells(now.further, before.map(|one| one.further)),
    )
}

fn change(now: f64, before: f64) -> String {
    let percent = (now / before - 1.0) * 100.0;
    match percent.abs() >= MARKED {
        true => format!("**{percent:+.1} %**"),
        false => format!("{percent:+.1} %"),
    }
}

/// Counts an operation: the difference of runs with a different number of times.
fn of(program: &Path, kept: &Path, name: &str) -> Result<Count> {
    let millions = |times: u64| -> Result<f64> {
        let file = kept.join(format!("{}.out", name.replace([' ', ','], "-")));
        let out = Command::new(VALGRIND)
            .args(["--tool=callgrind", "--error-exitcode=9"])
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(program)
            .args([name, &times.to_string()])
            .stdin(Stdio::null())
            .output()
            .context("cannot start valgrind")?;
        let said = String::from_utf8_lossy(&out.stderr);
        ensure!(out.status.success(), "valgrind failed for {name}:\n{said}");
        let collected = said.lines().find_map(|line| line.split_once("Collected :"));
        let (_, collected) = collected.context("valgrind printed no count")?;
        let collected: u64 = collected.trim().parse().context("the count is a number")?;
        Ok(collected as f64 / 1e6)
    };
    let (none, one, more) = (millions(0)?, millions(1)?, millions(TIMES)?);
    Ok(Count {
        first: one - none,
        further: (more - one) / (TIMES - 1) as f64,
    })
}

fn recorded() -> PathBuf {
    workspace::root().join("benches/counts/recorded.json")
}

fn parsed(recorded: &Value) -> Option<Count> {
    Some(Count {
        first: recorded[0].as_f64()?,
        further: recorded[1].as_f64()?,
    })
}

fn rounded(millions: f64) -> f64 {
    (millions * 100.0).round() / 100.0
}

/// Ensures that there is valgrind. The error says why there is none.
fn ensure_valgrind() -> Result<(), String> {
    let starts = || output(Command::new(VALGRIND).arg("--version")).is_ok();
    if starts() {
        return Ok(());
    }
    if !python::may_install() {
        return Err(format!(
            "there is no valgrind (Debian: `apt-get install {VALGRIND}`)"
        ));
    }
    python::install_packages(&[VALGRIND])
        .map_err(|error| format!("there is no valgrind, and none can be installed: {error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_from_five_percent_on_are_marked() {
        let now = Count {
            first: 10.6,
            further: 2.0,
        };
        let before = parsed(&json!([10.0, 2.01]));
        assert_eq!(
            row("grep, log", now, before),
            "| grep, log | 10.60 | 10.00 | **+6.0 %** | 2.00 | 2.01 | -0.5 % |\n"
        );
        assert_eq!(
            row("new", now, parsed(&Value::Null)),
            "| new | 10.60 | | new | 2.00 | | new |\n"
        );
    }
}

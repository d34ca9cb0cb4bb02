//! `cargo xtask fuzz`: runs fuzz targets under libFuzzer, and keeps the inputs on which they fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::{cargo, output, run};
use crate::report::{Report, say};
use crate::workspace;

const USAGE: &str = "usage: cargo xtask fuzz [--minutes N] [--group 1..4] [--target NAME] [--jobs N] [--sanitizer address]";

/// Compiler flags that give the fuzzer feedback: the branches that a case takes, and the values
/// that it compares.
const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Seconds after which a case counts as a hang. The slowest seed takes 0.1 s on one core of a
/// machine of 2020.
const HANG_SECONDS: u32 = 20;

/// Maximum memory of a target, in MiB. The stack of a filter alone takes 256 MiB of address space.
const MOST_MEMORY: u32 = 2048;

/// Maximum size of a case, in bytes. Longer cases find nothing new and take more time.
const LONGEST_CASE: u32 = 8192;

/// Maximum time for the minimization of a case that was found, in seconds.
const SHRINKING_SECONDS: u32 = 60;

/// What to run, and for how long.
struct Plan {
    /// Minutes for all targets together, on each job.
    minutes: u32,
    group: Option<String>,
    target: Option<String>,
    jobs: usize,
    /// Whether to build with `AddressSanitizer`.
    is_sanitized: bool,
}

/// A program in `fuzz/targets`.
struct Target {
    name: String,
    /// The directory below `fuzz/targets` that contains the program.
    group: String,
}

/// The outcome of a target's run.
struct Outcome {
    name: String,
    /// The fuzzer's last line: cases, coverage, corpus.
    last: String,
    runs: u64,
    /// The cases that it found, minimized, in the committed corpus.
    found: Vec<PathBuf>,
}

/// Runs the targets that `arguments` select.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let plan = Plan::of(arguments)?;
    let targets = plan.targets()?;
    let built = plan.directory()?;
    report.step("build the fuzz targets", || build(&plan, &targets))?;
    let mut outcomes = Vec::new();
    report.step("fuzz", || {
        outcomes = fuzz(&plan, &targets, &built)?;
        say(&table(&outcomes))?;
        match outcomes.iter().map(|one| one.found.len()).sum() {
            0 => Ok(()),
            found @ 1.. => bail!(
                "{found} failing inputs were found; they are in fuzz/corpus, where `cargo test` runs them"
            ),
        }
    })
}

impl Plan {
    fn of(arguments: &[String]) -> Result<Self> {
        let mut plan = Self {
            minutes: 5,
            group: None,
            target: None,
            jobs: 1,
            is_sanitized: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = words.next().map(String::as_str).unwrap_or_default();
            match (word.as_str(), value.parse::<u32>(), value) {
                ("--minutes", Ok(minutes @ 1..), _) => plan.minutes = minutes,
                ("--jobs", Ok(jobs @ 1..), _) => plan.jobs = jobs as usize,
                ("--group", Ok(1..=4), group) => plan.group = Some(group.to_owned()),
                ("--target", _, name) if !name.is_empty() => plan.target = Some(name.to_owned()),
                ("--sanitizer", _, "address") => plan.is_sanitized = true,
                _ => bail!(USAGE),
            }
        }
        Ok(plan)
    }

    /// Returns the selected programs, as `fuzz/Cargo.toml` lists them.
    fn targets(&self) -> Result<Vec<Target>> {
        let mut command = cargo("metadata --no-deps --format-version 1 --manifest-path");
        let metadata: Value = serde_json::from_str(&output(command.arg(manifest()))?)?;
        let all = metadata["packages"][0]["targets"].as_array();
        let all = all.context("fuzz/Cargo.toml has no targets")?.iter();
        let target = |one: &Value| {
            let path = Path::new(one["src_path"].as_str()?);
            Some(Target {
                name: one["name"].as_str()?.to_owned(),
                group: path.parent()?.file_name()?.to_str()?.to_owned(),
            })
        };
        let mut targets: Vec<Target> = all.filter_map(target).collect();
        targets.retain(|one| {
            self.group.as_ref().is_none_or(|group| *group == one.group)
                && self.target.as_ref().is_none_or(|name| *name == one.name)
        });
        if targets.is_empty() {
            bail!("no such target; fuzz/targets has a directory of targets per group");
        }
        Ok(targets)
    }

    /// Returns the directory of builds and collected cases.
    fn directory(&self) -> Result<PathBuf> {
        let built = workspace::built()?;
        let target = built.parent().context("the build path has no parent")?;
        let name = if self.is_sanitized {
            "fuzz-address"
        } else {
            "fuzz"
        };
        Ok(target.join(name))
    }

    /// Returns the seconds for one of `targets`.
    fn seconds(&self, targets: usize) -> usize {
        (self.minutes as usize * 60 * self.jobs / targets.max(1)).max(1)
    }
}

fn manifest() -> PathBuf {
    workspace::root().join("fuzz/Cargo.toml")
}

/// Returns the target triple of this machine. The build names it as its target, so that build
/// scripts and macros are compiled without the coverage counters.
fn host() -> Result<String> {
    let told = output(Command::new("rustc").arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

fn build(plan: &Plan, targets: &[Target]) -> Result<()> {
    // `--locked` is not set, because the dependencies of the crates change in the other workspace.
    let mut command = cargo("build --release --manifest-path");
    command.arg(manifest()).args(["--target", &host()?]);
    for target in targets {
        command.args(["--bin", &target.name]);
    }
    let mut flags = COVERAGE.to_vec();
    if plan.is_sanitized {
        flags.push("-Zsanitizer=address");
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    run(command.env("CARGO_TARGET_DIR", plan.directory()?))
}

/// Runs all targets, `jobs` at a time.
fn fuzz(plan: &Plan, targets: &[Target], built: &Path) -> Result<Vec<Outcome>> {
    let seconds = plan.seconds(targets.len());
    let programs = built.join(host()?).join("release");
    let mut outcomes = Vec::new();
    for some in targets.chunks(plan.jobs) {
        let ran: Vec<Result<Outcome>> = thread::scope(|scope| {
            let programs = &programs;
            let start = |one| scope.spawn(move || fuzz_one(one, seconds, programs, built));
            let runs: Vec<_> = some.iter().map(start).collect();
            let ended = runs.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|one| one.unwrap_or_else(|_| bail!("a thread that ran a target panicked")))
                .collect()
        });
        for outcome in ran {
            outcomes.push(outcome?);
        }
    }
    Ok(outcomes)
}

/// Runs one target for its time, or until it finds something.
fn fuzz_one(target: &Target, seconds: usize, programs: &Path, built: &Path) -> Result<Outcome> {
    let name = &target.name;
    let committed = workspace::root().join("fuzz/corpus").join(name);
    let collected = built.join("corpus").join(name);
    let artifacts = built.join("found").join(name);
    for directory in [&collected, &artifacts] {
        fs::create_dir_all(directory)?;
    }
    let log = built.join(format!("{name}.log"));
    let mut command = Command::new(programs.join(name));
    command.args([&collected, &committed]);
    command.args([
        format!("-max_total_time={seconds}"),
        format!("-timeout={HANG_SECONDS}"),
        format!("-rss_limit_mb={MOST_MEMORY}"),
        format!("-max_len={LONGEST_CASE}"),
        format!("-artifact_prefix={}/", artifacts.display()),
        "-print_final_stats=1".to_owned(),
    ]);
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log)?)
        .status()
        .with_context(|| format!("cannot start {name}"))?;
    let told = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let last = told.lines().rfind(|line| line.contains(" cov: "));
    let runs = told
        .lines()
        .rfind(|line| line.contains("number_of_executed_units"));
    let runs = runs.and_then(|line| line.split_whitespace().last()?.parse().ok());
    let mut found = Vec::new();
    if !status.success() {
        for case in fs::read_dir(&artifacts)? {
            found.push(shrunk(&case?.path(), &programs.join(name), &committed)?);
        }
        if found.is_empty() {
            bail!("{name} ended with {status}, see {}", log.display());
        }
    }
    Ok(Outcome {
        name: name.clone(),
        last: last.unwrap_or_default().to_owned(),
        runs: runs.unwrap_or_default(),
        found,
    })
}

/// Minimizes a case as far as the fuzzer can, into the committed corpus.
fn shrunk(case: &Path, program: &Path, committed: &Path) -> Result<PathBuf> {
    let name = case.file_name().context("a case has no name")?;
    let smaller = committed.join(name);
    let crashes = name.to_string_lossy().starts_with("crash");
    if crashes {
        // The fuzzer exits with an error when it cannot shrink the case further. So its exit code
        // is ignored, and only the file counts.
        let mut command = Command::new(program);
        command.arg("-minimize_crash=1").arg(case);
        command.arg(format!("-max_total_time={SHRINKING_SECONDS}"));
        command.arg(format!("-exact_artifact_path={}", smaller.display()));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status()?;
    }
    if !smaller.exists() {
        fs::copy(case, &smaller)?;
    }
    fs::remove_file(case)?;
    Ok(smaller)
}

fn table(outcomes: &[Outcome]) -> String {
    let mut table = String::from("\n");
    for Outcome {
        name,
        last,
        runs,
        found,
    } in outcomes
    {
        let coverage = last.split_whitespace().skip_while(|word| *word != "cov:");
        let coverage = coverage.take(4).collect::<Vec<_>>().join(" ");
        table += &format!(
            "{name:<14} {runs:>10} runs  {coverage:<28} {} found\n",
            found.len()
        );
        for case in found {
            table += &format!("    {}\n", case.display());
        }
    }
    table
}

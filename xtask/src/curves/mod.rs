//! `cargo xtask bench --curves`: how the cost grows with the size of an output, with the number of stored
//! outputs and with the number of clients.
//!
//! Points that are measured are kept in `target/curves/points.tsv`, so that a run that was ended goes on. They count
//! for one build of the program only.

mod clients;
mod count;
mod size;
mod svg;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use self::svg::{Labels, Series, chart};
use crate::command::{cargo, run};
use crate::report::{Report, say};
use crate::workspace;

const USAGE: &str = "usage: cargo xtask bench --curves [--quick] [--only size|count|clients] [--binary PATH] [--fresh]\n\
    --quick    up to 128 MB, 10,000 outputs and 64 clients; otherwise 10 GB, 1,000,000 and 1,000\n\
    --most N   at most N bytes, outputs or clients (with --only)\n\
    --binary   measures this program instead of building one\n\
    --fresh    measures every point again";

/// The rounds of a point; the median counts. A slow point has one round.
const ROUNDS: usize = 5;

/// A point that takes longer than this has one round.
const SLOW: Duration = Duration::from_secs(2);

type Measure = fn(&mut Curves) -> Result<()>;

/// What is measured, and the points that are known.
pub(crate) struct Curves {
    program: PathBuf,
    is_quick: bool,
    most: u64,
    /// A directory for stores and files; removed at the end.
    scratch: PathBuf,
    kept: PathBuf,
    /// The value at each curve, series and x.
    points: BTreeMap<(String, String, u64), f64>,
}

/// Runs the curves that `arguments` select.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let (mut is_quick, mut is_fresh, mut only, mut program, mut most) =
        (false, false, None, None, u64::MAX);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--curves" => {}
            "--quick" => is_quick = true,
            "--fresh" => is_fresh = true,
            "--only" => only = Some(words.next().context(USAGE)?.clone()),
            "--most" => most = words.next().context(USAGE)?.parse().context(USAGE)?,
            "--binary" => program = Some(PathBuf::from(words.next().context(USAGE)?)),
            _ => bail!(USAGE),
        }
    }
    let known = ["size", "count", "clients"];
    ensure!(
        only.as_deref().is_none_or(|only| known.contains(&only)),
        USAGE
    );
    let target = workspace::built()?.with_file_name("");
    let program = if let Some(program) = program {
        fs::canonicalize(program)?
    } else {
        report.step("build the program", || {
            run(&mut cargo(
                "build --release --locked --package spillgate --features spillgate/serve",
            ))
        })?;
        target.join("release/spillgate")
    };
    let directory = target.join("curves");
    let mut curves = Curves {
        scratch: directory.join("scratch"),
        kept: directory.join("points.tsv"),
        points: BTreeMap::new(),
        program,
        is_quick,
        most,
    };
    if !is_fresh {
        curves.load()?;
    }
    let _ = fs::remove_dir_all(&curves.scratch);
    fs::create_dir_all(&curves.scratch)?;
    let mut measured = Ok(());
    let all: [(&'static str, Measure); 3] = [
        ("size", size::measure),
        ("count", count::measure),
        ("clients", clients::measure),
    ];
    for (name, measure) in all {
        if measured.is_ok() && only.as_deref().is_none_or(|only| only == name) {
            measured = report.step(name, || measure(&mut curves));
        }
    }
    // What was made is removed even after a failure: it may be many gigabytes.
    fs::remove_dir_all(&curves.scratch)?;
    measured?;
    curves.show()
}

impl Curves {
    /// Returns the steps of an axis up to `quick` or `full`.
    fn steps(&self, all: &[u64], quick: u64) -> Vec<u64> {
        let most = if self.is_quick {
            quick.min(self.most)
        } else {
            self.most
        };
        all.iter().copied().filter(|&one| one <= most).collect()
    }

    fn identity(&self) -> Result<String> {
        let found = fs::metadata(&self.program).context("the program to measure is missing")?;
        let written = found.modified()?.duration_since(std::time::UNIX_EPOCH)?;
        Ok(format!("# {} {}", found.len(), written.as_secs()))
    }

    fn load(&mut self) -> Result<()> {
        let text = fs::read_to_string(&self.kept).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(&self.identity()?) {
            return Ok(());
        }
        for line in lines {
            if let [curve, series, x, y] = line.split('\t').collect::<Vec<_>>()[..]
                && let (Ok(x), Ok(y)) = (x.parse(), y.parse())
            {
                self.points
                    .insert((curve.to_owned(), series.to_owned(), x), y);
            }
        }
        Ok(())
    }

    fn has(&self, curve: &str, series: &str, x: u64) -> bool {
        let key = (curve.to_owned(), series.to_owned(), x);
        self.points.contains_key(&key)
    }

    /// Keeps a point, also for the next run.
    fn keep(&mut self, curve: &str, series: &str, x: u64, y: f64) -> Result<()> {
        say(&format!("  {curve:<8} {series:<28} {x:>12} {y:>12.6}\n"))?;
        self.points
            .insert((curve.to_owned(), series.to_owned(), x), y);
        let mut text = self.identity()? + "\n";
        for ((curve, series, x), y) in &self.points {
            text.push_str(&format!("{curve}\t{series}\t{x}\t{y}\n"));
        }
        Ok(fs::write(&self.kept, text)?)
    }

    /// Measures how long a command takes, unless this is known. `before` runs before each round and is not measured.
    fn time(
        &mut self,
        (curve, series, x): (&str, &str, u64),
        before: &dyn Fn() -> Result<()>,
        command: &dyn Fn() -> Command,
    ) -> Result<()> {
        if self.has(curve, series, x) {
            return Ok(());
        }
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            before()?;
            let mut command = command();
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let begun = Instant::now();
            let status = command
                .status()
                .with_context(|| format!("cannot start {command:?}"))?;
            times.push(begun.elapsed());
            ensure!(status.success(), "{command:?} ended with {status}");
            if times[0] > SLOW {
                break;
            }
        }
        times.sort_unstable();
        self.keep(curve, series, x, times[times.len() / 2].as_secs_f64())
    }

    /// Returns the program on a store of its own, without the user's configuration.
    fn program(&self, store: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("HOME", &self.scratch)
            .env("SPILLGATE_STORE", store)
            .env("SPILLGATE_QUOTA", "100GB")
            .env_remove("SPILLGATE_CONFIG")
            .current_dir(&self.scratch);
        command
    }

    fn series(&self, curve: &str) -> Vec<Series> {
        let mut all: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for ((_, series, x), y) in self.points.iter().filter(|point| point.0.0 == curve) {
            all.entry(series).or_default().push((*x as f64, *y));
        }
        let all = all.into_iter();
        all.map(|(name, points)| (name.to_owned(), points))
            .collect()
    }

    /// Prints the tables, and draws the charts of the documentation.
    fn show(&self) -> Result<()> {
        say(&format!("\n{}\n", machine()))?;
        let images = workspace::root().join("docs/img");
        for (curve, title, x, y) in [
            (
                "size",
                "Time against the size of an output",
                bytes as fn(f64) -> String,
                seconds as fn(f64) -> String,
            ),
            (
                "count",
                "Time against the number of stored outputs",
                number,
                seconds,
            ),
            (
                "clients",
                "Calls of 1 KB a second against clients over HTTP",
                number,
                number,
            ),
            (
                "tail",
                "Time of a call (p99) against clients over HTTP",
                number,
                seconds,
            ),
            (
                "memory",
                "Memory of the gateway against clients over HTTP",
                number,
                bytes,
            ),
        ] {
            let series = self.series(curve);
            if series.is_empty() {
                continue;
            }
            say(&table(title, &series, x, y))?;
            let labels = Labels {
                title,
                x_value: x,
                y_value: y,
            };
            fs::write(
                images.join(format!("growth-{curve}.svg")),
                chart(&labels, &series),
            )?;
        }
        Ok(())
    }
}

/// Returns a Markdown table of a chart.
fn table(title: &str, series: &[Series], x: fn(f64) -> String, y: fn(f64) -> String) -> String {
    let mut columns: Vec<f64> = series
        .iter()
        .flat_map(|one| &one.1)
        .map(|point| point.0)
        .collect();
    columns.sort_by(f64::total_cmp);
    columns.dedup();
    let heads: Vec<String> = columns.iter().map(|&column| x(column)).collect();
    let mut text = format!(
        "\n{title}\n\n| | {} |\n|---|{}\n",
        heads.join(" | "),
        "---:|".repeat(heads.len())
    );
    for (name, points) in series {
        let cells = columns.iter().map(|column| {
            let point = points
                .iter()
                .find(|point| point.0.total_cmp(column).is_eq());
            point.map_or(String::new(), |point| y(point.1))
        });
        text.push_str(&format!(
            "| {name} | {} |\n",
            cells.collect::<Vec<_>>().join(" | ")
        ));
    }
    text
}

/// Names the machine: its processor, cores, memory and kernel.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or(String::new(), |value| value.1.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = read("/proc/loadavg");
    format!(
        "{cores} cores of {}, {} of memory, Linux {}, load {}",
        field(&read("/proc/cpuinfo"), "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or_default(),
    )
}

fn scaled(value: f64, base: &str, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|unit| value >= unit.0);
    let (value, unit) = unit.map_or((value, base), |unit| (value / unit.0, unit.1));
    let has_digit = value < 9.95 && value.fract().abs() >= 0.005;
    let digits = usize::from(has_digit);
    format!("{value:.digits$}{unit}")
}

fn bytes(value: f64) -> String {
    scaled(value, " B", &[(1e9, " GB"), (1e6, " MB"), (1e3, " KB")])
}

fn seconds(value: f64) -> String {
    match value {
        1.0.. => scaled(value, " s", &[]),
        _ => scaled(value * 1e6, " µs", &[(1e3, " ms")]),
    }
}

fn number(value: f64) -> String {
    scaled(value, "", &[(1e6, " M"), (1e3, " k")])
}

//! `cargo xtask eval`: rates the previews and searches of a build, asked through its command line.

mod build;
mod cases;
mod figures;
mod judge;
mod model;
mod parts;
mod tools;
mod why;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::build::{Build, Preview};
use self::cases::{Case, Check, Document, Half, SETS, Task};
use self::figures::{BUDGETS, Figures, Scored};
use self::judge::Page;
use self::why::Reasons;
use crate::command::{cargo, run};
use crate::report::{Report, say};
use crate::{peers, workspace};

const USAGE: &str = "\
usage: cargo xtask eval [--data DIR] [--only SET,…] [--type TYPE] [--binary PATH] [--before PATH] [--json FILE]
                        [--missed BUDGET] [--why BUDGET]
       cargo xtask eval --model [--count N] [--results FILE] [--binary PATH]
       cargo xtask eval --tools [--half tuned|reported] [--way alone|search|found] [--count N] [--results FILE] [--binary PATH]
       cargo xtask eval --parts [--binary PATH] [--before PATH]
       cargo xtask eval --extraction [--data DIR] [--details]

Asks a build about documents with known answers, through its command line, and prints one table: the share of
answers, in percent, that a page of 250, 500, 1,000 and 2,000 tokens shows. Fails if a figure is below that of the
prototype (docs/spec/behaviour.md). evaluation/README.md describes the sets and how they are judged.

  --data DIR      the sets tau, bcd, cidiff and logdx; by default ../shared/data beside the workspace
  --only SET,…    only these sets: tau, bcd, cidiff, logdx, failures, questions, identifiers
  --type TYPE     only what has this name in the table (`filter`, `critical lines`)
  --binary PATH   the build to ask; by default this checkout is built (release)
  --before PATH   an earlier build; prints its figures and the differences, too
  --json FILE     also write the figures to FILE
  --missed BUDGET also print the pages of BUDGET tokens that do not show everything, except those of the reported
                  half, which nobody looks at who works on the code
  --why BUDGET    also print, for both halves, how many pages of BUDGET tokens do not show everything, by class: how
                  the question was read, compared with another wording that was answered. It tells no text
  --model         instead, ask a real model of 1.5 billion parameters --count questions (default 30) of the reported
                  half, with the text cut to 4,096 tokens and with preview and look-ups; prints right answers and
                  tokens. Installs the model (1.1 GB) into .models/. Takes about two hours; a run that was ended
                  continues with the results file (.models/eval.jsonl)
  --tools         instead, give a real model of 1.5 billion parameters 40 tasks (--half: 20 of them; --count: the first N of
                  each half; --way: one of the ways), with the right tool alone and with the two forms of the gateway's search over the 120 tools of five real
                  servers; prints right calls, tokens and failures. Needs `cargo xtask peers`; installs the model. Takes
                  about an hour; a run that was ended continues with the results file (.models/tools.jsonl)
  --parts         instead, print the tokens of previews by part (headline, evidence, shape, ...), as a mean over 40
                  outputs: all documents of the questions, and failing runs
  --extraction    instead, ask scripted models, good and deliberately bad, the questions of tau, bcd and cidiff;
                  fails if a bad model does not end as documented. --details names the questions that it misses
";

/// Budget of a search for an identifier, in tokens: the first of [`BUDGETS`].
const IDENTIFIER: u64 = BUDGETS[0];

/// Default number of questions to a real model.
const QUESTIONS: usize = 30;

/// After how many cases progress is printed.
const PROGRESS: usize = 100;

/// How many times larger the page is that tells whether a page is too small.
const WIDER: u64 = 8;

/// How many strings are listed that a page does not show.
const MOST_MISSING: usize = 8;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Previews and searches, for one table.
    Table,
    /// A real model.
    Model,
    /// A real model that searches tools.
    Tools,
    /// The tokens of previews by part.
    Parts,
    /// Scripted models.
    Extraction,
}

/// What to measure.
#[derive(Debug)]
struct Plan {
    mode: Mode,
    data: PathBuf,
    sets: Vec<&'static str>,
    what: Option<String>,
    binary: Option<PathBuf>,
    before: Option<PathBuf>,
    json: Option<PathBuf>,
    missed: Option<u64>,
    why: Option<u64>,
    count: Option<usize>,
    half: Option<String>,
    way: Option<String>,
    results: Option<PathBuf>,
    has_details: bool,
}

impl Plan {
    fn of(arguments: &[String]) -> Result<Self> {
        let mut plan = Self {
            data: workspace::root().join("../shared/data"),
            sets: SETS.to_vec(),
            what: None,
            binary: None,
            before: None,
            json: None,
            missed: None,
            why: None,
            mode: Mode::Table,
            count: None,
            half: None,
            way: None,
            results: None,
            has_details: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--extraction" => plan.mode = Mode::Extraction,
                "--model" => plan.mode = Mode::Model,
                "--tools" => plan.mode = Mode::Tools,
                "--parts" => plan.mode = Mode::Parts,
                "--details" => plan.has_details = true,
                option => {
                    let value = words.next().context(USAGE)?;
                    match option {
                        "--data" => plan.data = PathBuf::from(value),
                        "--only" => plan.sets = sets(value)?,
                        "--type" => plan.what = Some(value.clone()),
                        "--binary" => plan.binary = Some(program(value)?),
                        "--before" => plan.before = Some(program(value)?),
                        "--results" => plan.results = Some(PathBuf::from(value)),
                        "--half" => plan.half = Some(value.clone()),
                        "--way" => plan.way = Some(value.clone()),
                        "--count" => {
                            let count = value.parse().ok().filter(|count| *count > 0);
                            let count = count.context("--count takes a number from 1 on")?;
                            plan.count = Some(count);
                        }
                        "--json" => plan.json = Some(PathBuf::from(value)),
                        "--missed" => plan.missed = Some(budget(option, value)?),
                        "--why" => plan.why = Some(budget(option, value)?),
                        _ => bail!(USAGE),
                    }
                }
            }
        }
        Ok(plan)
    }

    /// Returns the file for the results of a model; `name` is that of the default.
    fn results_or(&self, name: &str) -> PathBuf {
        let given = self.results.clone();
        given.unwrap_or_else(|| workspace::models().join(name))
    }

    /// Reads the documents that the options select.
    fn documents(&self) -> Result<Vec<Document>> {
        let evaluation = workspace::root().join("evaluation");
        let sets = match self.mode {
            Mode::Model => &["questions"][..],
            Mode::Parts => &["failures", "questions"],
            Mode::Table | Mode::Tools | Mode::Extraction => &self.sets,
        };
        let mut documents = cases::read(&self.data, &evaluation, sets)?;
        if let Some(what) = &self.what {
            for document in &mut documents {
                document.cases.retain_mut(|case| match &mut case.task {
                    Task::Show(checks) => {
                        checks.retain(|check| check.what == *what);
                        !checks.is_empty()
                    }
                    Task::Absence(name) => name == what,
                });
            }
            documents.retain(|document| !document.cases.is_empty());
        }
        ensure!(
            !documents.is_empty(),
            "--only and --type select no case; the table names the types of each set"
        );
        Ok(documents)
    }
}

fn sets(names: &str) -> Result<Vec<&'static str>> {
    let known = |name: &str| {
        let set = SETS.into_iter().find(|set| *set == name);
        set.with_context(|| format!("there is no set {name}; the sets are {}", SETS.join(", ")))
    };
    names.split(',').map(known).collect()
}

fn budget(option: &str, value: &str) -> Result<u64> {
    let budget = value.parse().ok();
    let budget = budget.filter(|budget| BUDGETS.contains(budget));
    budget.with_context(|| format!("{option} takes a budget: 250, 500, 1000 or 2000"))
}

fn program(path: &str) -> Result<PathBuf> {
    fs::canonicalize(path).with_context(|| format!("there is no program {path}"))
}

/// Measures what `arguments` select. Fails if a figure is below that of the prototype, or if a bad
/// model does not end as documented.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|word| word == "--help") {
        return say(USAGE);
    }
    let plan = Plan::of(arguments)?;
    if plan.mode == Mode::Extraction {
        return extraction(report, &plan);
    }
    let documents = match plan.mode {
        Mode::Tools => Vec::new(),
        _ => plan.documents()?,
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let binary = match &plan.binary {
        Some(binary) => binary.clone(),
        None => built(report)?,
    };
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    if plan.mode == Mode::Model {
        return report.step("questions to a real model", || {
            let build = Build::new(&binary, &interrupted)?;
            let results = plan.results_or("eval.jsonl");
            let count = plan.count.unwrap_or(QUESTIONS);
            print(&model::run(&build, &documents, count, &results)?)
        });
    }
    if plan.mode == Mode::Tools {
        peers::install(report)?;
        return report.step("tasks for a real model", || {
            let wanted = tools::Wanted {
                half: plan.half.as_deref(),
                way: plan.way.as_deref(),
                count: plan.count,
                results: &plan.results_or("tools.jsonl"),
            };
            print(&tools::run(&binary, &interrupted, &wanted)?)
        });
    }
    if plan.mode == Mode::Parts {
        return parts_of(report, &plan, &binary, &documents, &interrupted);
    }
    let mut before = None;
    if let Some(program) = &plan.before {
        report.step("the earlier build", || {
            let build = Build::new(program, &interrupted)?;
            let nothing = Asked::default();
            before = Some(measured(&build, &documents, &nothing)?);
            Ok(())
        })?;
    }
    report.step("previews and searches", || {
        let build = Build::new(&binary, &interrupted)?;
        let asked = Asked {
            missed: plan.missed,
            why: plan.why,
            reasons: Mutex::default(),
        };
        let figures = measured(&build, &documents, &asked)?;
        print(&figures.table(before.as_ref()))?;
        if plan.why.is_some() {
            let reasons = asked.reasons.into_inner();
            print(&reasons.unwrap_or_else(PoisonError::into_inner).table())?;
        }
        if let Some(file) = &plan.json {
            fs::write(file, format!("{:#}\n", figures.json()))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        let below = figures.below_prototype();
        ensure!(
            below.is_empty(),
            "figures below the prototype:\n  {}",
            below.join("\n  ")
        );
        Ok(())
    })
}

/// Prints the tokens of previews by part, of an earlier build and of `binary`.
fn parts_of(
    report: &mut Report,
    plan: &Plan,
    binary: &Path,
    documents: &[Document],
    interrupted: &Arc<AtomicBool>,
) -> Result<()> {
    let outputs = parts::selected(documents);
    let measured = |program: &Path| parts::measured(&Build::new(program, interrupted)?, &outputs);
    report.step("tokens of previews", || {
        let before = plan.before.as_deref().map(measured).transpose()?;
        print(&parts::table(before.as_ref(), &measured(binary)?))
    })
}

/// Builds this checkout; returns the program.
fn built(report: &mut Report) -> Result<PathBuf> {
    report.step("build the program", || {
        run(&mut cargo(
            "build --release --locked --package spillgate --features full",
        ))
    })?;
    let directory = workspace::built()?.with_file_name("release");
    Ok(directory.join("spillgate"))
}

/// Asks scripted models, which only code in this workspace can do.
fn extraction(report: &mut Report, plan: &Plan) -> Result<()> {
    report.step("extraction with scripted models", || {
        let example = "run --release --locked --quiet -p spillgate-extract --example eval --";
        let mut command: Command = cargo(example);
        command
            .arg(fs::canonicalize(&plan.data).unwrap_or_else(|_| plan.data.clone()))
            .args(plan.has_details.then_some("--details"));
        run(&mut command)
    })
}

/// What is wanted of the pages besides their scores.
#[derive(Default)]
struct Asked {
    /// The budget of the pages that are printed if they do not show everything.
    missed: Option<u64>,
    /// The budget of the pages whose misses are counted by class.
    why: Option<u64>,
    reasons: Mutex<Reasons>,
}

/// Asks a build all cases.
fn measured(build: &Build, documents: &[Document], asked: &Asked) -> Result<Figures> {
    let figures = Mutex::new(Figures::default());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let cases: usize = documents.iter().map(|document| document.cases.len()).sum();
    let work = || {
        while let Some(document) = documents.get(next.fetch_add(1, Ordering::Relaxed)) {
            rated(build, document, asked, &|scored| {
                let mut figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
                for scored in scored {
                    figures.add(scored);
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                match done.is_multiple_of(PROGRESS) || done == cases {
                    true => say(&format!("{done} of {cases} cases\n")),
                    false => Ok(()),
                }
            })?;
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| {
                    let outcome: Result<()> = work();
                    if outcome.is_err() {
                        // The other workers end with the document that they have.
                        next.store(documents.len(), Ordering::Relaxed);
                    }
                    outcome
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            let outcome = worker.join();
            outcome.unwrap_or_else(|_| Err(anyhow!("a worker panicked")))
        })
    })?;
    Ok(figures.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Asks a build the cases of a document; calls `each` with the scores of each case.
fn rated(
    build: &Build,
    document: &Document,
    asked: &Asked,
    each: &dyn Fn(&[Scored]) -> Result<()>,
) -> Result<()> {
    let bytes = document.bytes()?;
    let about = || format!("on {}", document.path.display());
    let preview = document.has_rated_preview.then(|| build.preview(&bytes));
    let preview = preview.transpose().with_context(about)?;
    let handle = build.stored(&bytes).with_context(about)?;
    for case in &document.cases {
        let scored = match &case.task {
            Task::Show(checks) => {
                let pages = pages(build, &handle, &case.wordings)?;
                if let Some(budget) = asked.missed.filter(|_| case.half != Half::Reported) {
                    let misses = checks
                        .iter()
                        .map(|check| misses(case, check, &pages, budget));
                    print(&misses.collect::<String>())?;
                }
                if let Some(budget) = asked.why {
                    let wide = case.wordings.iter();
                    let wide = wide.map(|words| build.search(&handle, words, budget * WIDER));
                    let wide = wide.collect::<Result<Vec<_>>>()?;
                    let pages = of_budget(&pages, budget);
                    let mut reasons = asked.reasons.lock();
                    let reasons = reasons.as_mut().map_err(|_| anyhow!("a worker panicked"))?;
                    for check in checks {
                        reasons.add(document.set, case, check, pages, &wide);
                    }
                }
                let rows = checks
                    .iter()
                    .flat_map(|check| rows(document, case, check, &pages, preview.as_ref()));
                rows.collect()
            }
            Task::Absence(what) => {
                let page = build.search_json(&handle, &case.wordings[0], IDENTIFIER)?;
                let mut scored = scored(document, case, what);
                scored.pages[0].push(f64::from(u8::from(judge::reports_absence(&page))));
                vec![scored]
            }
        };
        each(&scored)?;
    }
    Ok(())
}

/// Returns the scores of a case for the rows that belong to a check.
fn rows(
    document: &Document,
    case: &Case,
    check: &Check,
    pages: &[Vec<String>; 4],
    preview: Option<&Preview>,
) -> Vec<Scored> {
    let row = |what: &str| scored(document, case, what);
    let mut searched = row(&check.what);
    searched.pages = pages.each_ref().map(|of_budget| {
        let scores = of_budget.iter().map(|text| score(check, text));
        scores.collect()
    });
    let mut rows = Vec::new();
    if let Some(preview) = preview {
        let mut both = row(&format!("{}, preview + search", check.what));
        both.preview = Some((score(check, &preview.text), preview.tokens));
        both.pages = pages.each_ref().map(|of_budget| {
            let both = |page: &String| score(check, &format!("{}\n{page}", preview.text));
            of_budget.iter().map(both).collect()
        });
        rows.push(both);
    }
    if case.wordings.len() > 1 {
        let mut first = row(&format!("{}, first wording", check.what));
        first.pages = searched.pages.each_ref().map(|scores| vec![scores[0]]);
        rows.push(first);
    }
    rows.push(searched);
    rows
}

fn scored(document: &Document, case: &Case, what: &str) -> Scored {
    Scored {
        set: document.set,
        what: what.to_owned(),
        half: case.half,
        preview: None,
        pages: Default::default(),
    }
}

fn score(check: &Check, text: &str) -> f64 {
    Page::new(text).score(&check.wanted, check.compare, check.measure)
}

/// Returns the pages for each budget and each wording.
fn pages(build: &Build, handle: &str, wordings: &[String]) -> Result<[Vec<String>; 4]> {
    let mut pages: [Vec<String>; 4] = Default::default();
    for (pages, budget) in pages.iter_mut().zip(BUDGETS) {
        for wording in wordings {
            pages.push(build.search(handle, wording, budget)?);
        }
    }
    Ok(pages)
}

/// Returns the pages of a budget.
fn of_budget(pages: &[Vec<String>; 4], budget: u64) -> &[String] {
    let at = BUDGETS.iter().position(|one| *one == budget);
    at.map_or(&[][..], |at| &pages[at])
}

/// Returns the pages of a budget that do not show everything, each below what it lacks.
fn misses(case: &Case, check: &Check, pages: &[Vec<String>; 4], budget: u64) -> String {
    let pages = of_budget(pages, budget);
    let mut misses = String::new();
    for (wording, text) in case.wordings.iter().zip(pages) {
        if score(check, text) >= 1.0 {
            continue;
        }
        let page = Page::new(text);
        misses.push_str(&format!("=== {}, {}: {wording}\n", case.id, check.what));
        let missing = check.wanted.iter();
        let missing = missing.filter(|forms| !page.shows(forms, check.compare));
        for forms in missing.take(MOST_MISSING) {
            misses.push_str(&format!("not shown: {}\n", forms.join(" or ")));
        }
        misses.push_str(text);
    }
    misses
}

fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

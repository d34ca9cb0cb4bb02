//! Measures what previews and searches show of the cases in `evaluation/`.
//!
//! `evaluate DIR` prints tables: the share of critical lines of failing runs in the preview alone
//! and with one search, the share of questions that one search answers, and how often identifiers
//! are reported as absent. Each is printed for the half of the cases that methods are tuned on and
//! for the other half, which counts (see the README there). `cargo xtask eval` calls it.
//!
//! `evaluate DIR failures`, `evaluate DIR questions [TYPE [BUDGET]]` and `evaluate DIR identifiers`
//! print one of the tables. `evaluate DIR failing TYPE BUDGET` prints the pages on which a question of the tuned half
//! is not answered, for those who work on a method.

#![allow(
    clippy::print_stdout,
    reason = "an evaluation whose answer is what it prints"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use spillgate_artifact::{Origin, SystemClock, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_search::{SearchPage, SearchQuery, search};
use spillgate_store::MemoryStore;
use spillgate_text::{TokenCounter, Tokenizer};

type Failure = Box<dyn Error>;

/// Budgets of a search.
const BUDGETS: [u64; 4] = [250, 500, 1000, 2000];
/// Budget of a search for an identifier.
const IDENTIFIER: u64 = 250;

const USAGE: &str = "usage: evaluate DIR [failures | questions [TYPE [BUDGET]] | identifiers | failing TYPE BUDGET]";

/// What is measured, by half and name: the values, and the tokens that they cost.
type Table = BTreeMap<(String, &'static str), Vec<(f64, u64)>>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let counter = Tokenizer::O200kBase.counter();
    let (directory, rest) = arguments.split_first().ok_or(USAGE)?;
    let directory = Path::new(directory);
    let (runs, asked) = (directory.join("failures"), directory.join("questions"));
    match rest {
        [] => {
            failures(&runs, &counter)?;
            questions(&asked, &counter, "", &BUDGETS)?;
            identifiers(&asked, &counter)
        }
        ["failures"] => failures(&runs, &counter),
        ["questions"] => questions(&asked, &counter, "", &BUDGETS),
        ["questions", kind] => questions(&asked, &counter, kind, &BUDGETS),
        ["questions", kind, budget] => questions(&asked, &counter, kind, &[budget.parse()?]),
        ["identifiers"] => identifiers(&asked, &counter),
        ["failing", kind, budget] => failing(&asked, &counter, kind, budget.parse()?),
        _ => Err(USAGE.into()),
    }
}

/// Prints how many critical lines of failing runs are seen.
fn failures(directory: &Path, counter: &Arc<dyn TokenCounter>) -> Result<(), Failure> {
    let mut table = Table::new();
    for case in json_lines(&directory.join("cases.jsonl"))? {
        let name = text(&case, "name");
        let raw = unpacked(&directory.join(format!("{name}.log.zst")))?;
        let half = half(&name);
        let preview = preview(&raw, counter)?;
        let artifact = stored(&raw, counter)?;
        let critical = strings(&case, "critical");
        let seen = |text: &str| {
            let text = plain(text);
            let held = critical.iter().filter(|line| text.contains(&plain(line)));
            held.count() as f64 / critical.len().max(1) as f64
        };
        let mut add = |what: &str, text: &str| {
            let cell = (seen(text), counter.count(text));
            table.entry((what.to_owned(), half)).or_default().push(cell);
        };
        add("1 preview", &preview);
        for budget in BUDGETS {
            let query = SearchQuery::new("Why did it fail?", TokenBudget::new(budget));
            let page = search(&artifact, &query, &**counter)?.render();
            add(&format!("2 search {budget:>4}"), &page);
            add(
                &format!("3 both {budget:>4}"),
                &format!("{preview}\n{page}"),
            );
        }
    }
    print("Failing runs: share of critical lines", &table);
    Ok(())
}

/// A question with its wordings.
struct Asked {
    id: String,
    document: String,
    kind: String,
    wordings: Vec<String>,
    gold: Vec<String>,
}

fn asked(directory: &Path) -> Result<Vec<Asked>, Failure> {
    let all = json_lines(&directory.join("questions.jsonl"))?;
    let asked = all.iter().map(|one| Asked {
        id: text(one, "id"),
        document: text(one, "doc"),
        kind: text(one, "type"),
        wordings: std::iter::once(text(one, "question"))
            .chain(strings(one, "wordings"))
            .collect(),
        gold: strings(one, "gold"),
    });
    Ok(asked.collect())
}

fn documents(
    directory: &Path,
    counter: &Arc<dyn TokenCounter>,
) -> Result<BTreeMap<String, Artifact>, Failure> {
    let mut documents = BTreeMap::new();
    for entry in fs::read_dir(directory.join("docs"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        documents.insert(name.into_owned(), stored(&unpacked(&path)?, counter)?);
    }
    Ok(documents)
}

/// Prints how many questions are answered within each of the budgets; only those of a type, if
/// `kind` is one.
fn questions(
    directory: &Path,
    counter: &Arc<dyn TokenCounter>,
    kind: &str,
    budgets: &[u64],
) -> Result<(), Failure> {
    let documents = documents(directory, counter)?;
    let mut table = Table::new();
    let is_meant = |one: &Asked| kind.is_empty() || one.kind == kind;
    for one in asked(directory)?.into_iter().filter(is_meant) {
        for (number, wording) in one.wordings.iter().enumerate() {
            for &budget in budgets {
                let query = SearchQuery::new(wording, TokenBudget::new(budget));
                let page = search(&documents[&one.document], &query, &**counter)?;
                let answered = holds(&page, &one.gold);
                let what = format!("{} {budget:>4}", one.kind);
                let cell = (f64::from(u8::from(answered)), page.tokens);
                if number == 0 {
                    let first = format!("{what} first wording");
                    table.entry((first, half(&one.id))).or_default().push(cell);
                }
                table.entry((what, half(&one.id))).or_default().push(cell);
            }
        }
    }
    print(
        "Questions, in four wordings and in the first: share answered",
        &table,
    );
    Ok(())
}

/// Prints the pages that do not answer a question of the tuned half.
fn failing(
    directory: &Path,
    counter: &Arc<dyn TokenCounter>,
    kind: &str,
    budget: u64,
) -> Result<(), Failure> {
    let documents = documents(directory, counter)?;
    let is_shown = |one: &Asked| one.kind == kind && half(&one.id) == "tuned";
    for one in asked(directory)?.into_iter().filter(is_shown) {
        for wording in &one.wordings {
            let query = SearchQuery::new(wording, TokenBudget::new(budget));
            let page = search(&documents[&one.document], &query, &**counter)?;
            if !holds(&page, &one.gold) {
                println!("=== {} {}: {wording}", one.id, one.document);
                println!("wanted: {}\n{}", one.gold.join(" | "), page.render());
            }
        }
    }
    Ok(())
}

/// Prints how often identifiers are reported as absent.
fn identifiers(directory: &Path, counter: &Arc<dyn TokenCounter>) -> Result<(), Failure> {
    let documents = documents(directory, counter)?;
    let identifiers: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("ids.json"))?)?;
    let mut table = Table::new();
    for (document, lists) in identifiers.as_object().into_iter().flatten() {
        for which in ["present", "absent"] {
            for identifier in strings(lists, which) {
                let query = SearchQuery::new(&identifier, TokenBudget::new(IDENTIFIER));
                let page = search(&documents[document], &query, &**counter)?;
                let is_empty = page.passages.is_empty() && page.table.is_none();
                let is_absent = is_empty || !page.absent.is_empty();
                let cell = (f64::from(u8::from(is_absent)), page.tokens);
                let half = half(&identifier);
                table
                    .entry((which.to_owned(), half))
                    .or_default()
                    .push(cell);
            }
        }
    }
    print("Identifiers: share reported as absent", &table);
    Ok(())
}

fn print(title: &str, table: &Table) {
    println!("\n{title}\n\n| | half | cases | share | tokens |\n|---|---|---|---|---|");
    for ((what, half), cells) in table {
        let mean =
            |of: fn(&(f64, u64)) -> f64| cells.iter().map(of).sum::<f64>() / cells.len() as f64;
        let (share, tokens) = (mean(|cell| cell.0), mean(|cell| cell.1 as f64));
        println!(
            "| {what} | {half} | {} | {share:.3} | {tokens:.0} |",
            cells.len()
        );
    }
}

/// Whether a page has all gold strings. Figures must stand alone.
fn holds(page: &SearchPage, gold: &[String]) -> bool {
    let lines = page.render();
    let lines = lines
        .lines()
        .map(|line| line.split_once(':').map_or(line, |(_, rest)| rest));
    let texts = page
        .passages
        .iter()
        .map(|one| one.path.as_deref().unwrap_or(""));
    let table = page.table.as_deref().unwrap_or("");
    let text: String = lines.chain(texts).collect::<Vec<_>>().join("\n") + "\n" + table;
    let squeezed = |text: &str| text.split_whitespace().collect::<String>().to_lowercase();
    let all = squeezed(&text);
    gold.iter().all(|gold| {
        let is_figure = gold
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        match is_figure {
            true => {
                let mut words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
                words.any(|word| word.trim_matches('.') == gold)
            }
            false => all.contains(&squeezed(gold)),
        }
    })
}

/// A text without line numbers, time stamps of runners and colours, and with single blanks.
fn plain(text: &str) -> String {
    static NOISE: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"\x1b\[[0-9;?]*[ -/]*[@-~]|\^\[\[[\d;]*m|(?m:^ *\d+: ?)|(?m:^\d{4}-\d\d-\d\dT[\d:.]+Z ?)";
        Regex::new(pattern).expect("the pattern is valid")
    });
    let text = NOISE.replace_all(text, "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The half of a case: `tuned` if the first hexadecimal digit of its name's SHA-256 is even.
fn half(name: &str) -> &'static str {
    let is_even = (Sha256::digest(name)[0] >> 4).is_multiple_of(2);
    if is_even { "tuned" } else { "reported" }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn strings(value: &Value, key: &str) -> Vec<String> {
    let all = value[key].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn json_lines(path: &Path) -> Result<Vec<Value>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}

fn unpacked(path: &Path) -> Result<Vec<u8>, Failure> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut raw = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(file)?.read_to_end(&mut raw)?;
    Ok(raw)
}

fn offloader(rule: Rule, counter: &Arc<dyn TokenCounter>) -> Offloader {
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::default().under(rule),
        Arc::clone(counter),
        Audience::default(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    )
}

/// What a model sees of an output that is too large by any measure.
fn preview(raw: &[u8], counter: &Arc<dyn TokenCounter>) -> Result<String, Failure> {
    let rule = Rule {
        max_tokens: Some(1),
        ..Rule::default()
    };
    let outcome = offloader(rule, counter).stream(Origin::tool("ci"), &mut &*raw, &mut |_| {})?;
    Ok(match outcome {
        Outcome::Offloaded(offloaded) => offloaded.shown.text().to_owned(),
        _ => String::from_utf8_lossy(raw).into_owned(),
    })
}

fn stored(raw: &[u8], counter: &Arc<dyn TokenCounter>) -> Result<Artifact, Failure> {
    let everything = Rule {
        max_bytes: Some(1),
        profile: Some(Profile::Handle),
        ..Rule::default()
    };
    let offloader = offloader(everything, counter);
    match offloader.stream(Origin::tool("ci"), &mut &*raw, &mut |_| {})? {
        Outcome::Offloaded(offloaded) => Ok(offloader.artifact(offloaded.receipt.handle())?),
        _ => Err("an output was not stored".into()),
    }
}

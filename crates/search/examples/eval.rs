//! Measures how often a search returns the answer to a question.
//!
//! `eval DATA [--details]` runs each question of `DATA/questions.jsonl` on its document in
//! `DATA/docs` at four budgets. It prints the share of questions whose gold strings were all
//! returned. `cargo xtask eval` calls it.
//!
//! Documents are stored like any tool result, so their *view* is searched: JSON is pretty-printed.
//! The gold strings are compared with the texts of the passages and their paths, without line
//! numbers, which could contain a gold number by chance. White space is collapsed on both sides. In
//! JSON the view adds white space between tokens and keeps `\u` escapes as the tool wrote them, so
//! a gold string also counts if it matches without any white space, or after the escapes are
//! decoded. `one passage` is the stricter share of questions for which one passage holds all gold
//! strings.

#![allow(
    clippy::print_stdout,
    reason = "an evaluation whose answer is what it prints"
)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use spillgate_artifact::{Layout, Origin, SystemClock, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_search::{SearchPage, SearchQuery, search};
use spillgate_store::MemoryStore;
use spillgate_text::{TokenCounter, Tokenizer};

const BUDGETS: [u64; 4] = [250, 500, 1000, 2000];

/// Results of the prototype (docs/spec/behaviour.md, "Search without a model"), in percent at each
/// budget; `None` if it was not measured.
const PROTOTYPE: [(&str, Measure, [Option<f64>; 4]); 3] = [
    (
        "tau",
        Measure::All,
        [Some(100.0), Some(100.0), Some(100.0), Some(100.0)],
    ),
    (
        "bcd",
        Measure::All,
        [Some(86.0), Some(92.0), Some(100.0), Some(100.0)],
    ),
    ("cidiff", Measure::Any, [None, None, Some(96.9), None]),
];

/// What is measured for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    /// Whether all gold strings were returned.
    All,
    /// Whether one passage holds them all.
    OnePassage,
    /// Whether at least one was returned: for gold that is a range of lines.
    Any,
    /// The share of gold strings that was returned.
    Share,
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::All => "all gold",
            Self::OnePassage => "one passage",
            Self::Any => "any gold",
            Self::Share => "share of gold",
        }
    }
}

/// A line of `questions.jsonl`.
struct Asked {
    id: String,
    set: String,
    document: String,
    question: String,
    gold: Vec<String>,
    /// Whether the gold strings are the lines of a range, not parts of one answer.
    is_stretch: bool,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (data, details) = match arguments.as_slice() {
        [data] => (data, false),
        [data, option] if option == "--details" => (data, true),
        _ => return Err("usage: eval DATA [--details]".into()),
    };
    let data = Path::new(data);
    let questions = questions(&data.join("questions.jsonl"))?;
    let counter = Tokenizer::O200kBase.counter();
    let mut documents: HashMap<String, Artifact> = HashMap::new();
    let mut scores: Scores = BTreeMap::new();
    let mut seconds = 0.0;
    for asked in &questions {
        if !documents.contains_key(&asked.document) {
            let artifact = stored(&data.join("docs").join(&asked.document), &counter)?;
            documents.insert(asked.document.clone(), artifact);
        }
        let artifact = &documents[&asked.document];
        for (at, budget) in BUDGETS.into_iter().enumerate() {
            let started = Instant::now();
            let query = SearchQuery::new(&asked.question, TokenBudget::new(budget));
            let page = search(artifact, &query, &*counter)?;
            seconds += started.elapsed().as_secs_f64();
            let cost = counter.count(&page.render());
            if cost > budget || cost != page.tokens {
                return Err(format!("{}: {cost} tokens of {budget}", asked.id).into());
            }
            let of_page = judge(asked, &page, artifact.view().layout() == Layout::Json);
            for (measure, value) in of_page {
                let score = scores.entry((asked.set.clone(), measure)).or_default();
                score[at].push(value);
                if details
                    && value < 1.0
                    && measure != Measure::OnePassage
                    && measure != Measure::Share
                {
                    println!(
                        "missed at {budget}: {} {}\n  gold {:?}",
                        asked.id, asked.question, asked.gold
                    );
                }
            }
        }
    }
    let searches = questions.len() * BUDGETS.len();
    println!(
        "BM25 over lines, paragraphs, rows and JSON leaves and records; failure words for \"why did it fail\"."
    );
    println!(
        "{searches} searches, {:.1} ms each.\n",
        seconds * 1000.0 / searches.max(1) as f64
    );
    Ok(table(&scores))
}

/// Values of each question by data set and measure, at each budget.
type Scores = BTreeMap<(String, Measure), [Vec<f64>; 4]>;

/// Prints the results. Returns failure if the prototype was better.
fn table(scores: &Scores) -> ExitCode {
    println!(
        "| data set | questions | measure | 250 | 500 | 1000 | 2000 |\n|---|---|---|---|---|---|---|"
    );
    let mut is_below = false;
    for ((set, measure), at) in scores {
        let prototype = PROTOTYPE
            .iter()
            .find(|(of, what, _)| of == set && what == measure);
        let cells = at.iter().enumerate().map(|(at, values)| {
            let percent = 100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64;
            let Some(Some(goal)) = prototype.map(|(_, _, figures)| figures[at]) else {
                return format!("{percent:.1}");
            };
            // The figures of the prototype are rounded to a tenth.
            let is_lower = percent < goal - 0.05;
            is_below |= is_lower;
            format!(
                "{percent:.1} (prototype {goal}{})",
                if is_lower { ", BELOW" } else { "" }
            )
        });
        let cells: Vec<String> = cells.collect();
        println!(
            "| {set} | {} | {} | {} |",
            at[0].len(),
            measure.name(),
            cells.join(" | ")
        );
    }
    ExitCode::from(u8::from(is_below))
}

fn judge(asked: &Asked, page: &SearchPage, is_json: bool) -> Vec<(Measure, f64)> {
    let texts: Vec<String> = page
        .passages
        .iter()
        .map(|one| format!("{}\n{}", one.path.as_deref().unwrap_or(""), one.text))
        .chain(page.table.clone())
        .collect();
    let whole = Returned::new(&texts.join("\n"), is_json);
    let held = asked.gold.iter().filter(|gold| whole.holds(gold)).count();
    let yes = |is: bool| if is { 1.0 } else { 0.0 };
    if asked.is_stretch {
        let share = held as f64 / asked.gold.len().max(1) as f64;
        return vec![(Measure::Any, yes(held > 0)), (Measure::Share, share)];
    }
    let in_one = texts.iter().any(|text| {
        let one = Returned::new(text, is_json);
        asked.gold.iter().all(|gold| one.holds(gold))
    });
    vec![
        (Measure::All, yes(held == asked.gold.len())),
        (Measure::OnePassage, yes(in_one)),
    ]
}

/// A returned text, prepared for comparison.
struct Returned {
    collapsed: String,
    /// In JSON: the text without white space, and with escapes decoded.
    others: Vec<String>,
}

impl Returned {
    fn new(text: &str, is_json: bool) -> Self {
        let collapsed = collapse(text, " ");
        let others = match is_json {
            true => vec![collapse(text, ""), unescaped(&collapsed)],
            false => Vec::new(),
        };
        Self { collapsed, others }
    }

    fn holds(&self, gold: &str) -> bool {
        let (gold, bare) = (collapse(gold, " "), collapse(gold, ""));
        let mut others = self.others.iter();
        self.collapsed.contains(&gold)
            || others.any(|other| other.contains(&gold) || other.contains(&bare))
    }
}

/// Decodes the `\uXXXX` escapes of a text, except surrogates.
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut read = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..4)
            .and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            Some(char) => {
                read.push(char);
                read.push_str(&part[4..]);
            }
            None => read.push_str(&format!("\\u{part}")),
        }
    }
    read
}

fn collapse(text: &str, with: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(with)
}

/// Stores a document like any tool result.
fn stored(path: &Path, counter: &Arc<dyn TokenCounter>) -> Result<Artifact, Box<dyn Error>> {
    // Documents are stored however small they are.
    let everything = Rule {
        max_bytes: Some(1),
        profile: Some(Profile::Handle),
        ..Rule::default()
    };
    let offloader = Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::default().under(everything),
        Arc::clone(counter),
        Audience::default(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    );
    let mut file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match offloader.stream(Origin::tool("eval"), &mut file, &mut |_| {})? {
        Outcome::Offloaded(offloaded) => Ok(offloader.artifact(offloaded.receipt.handle())?),
        _ => Err(format!("{} was not stored", path.display()).into()),
    }
}

fn questions(path: &Path) -> Result<Vec<Asked>, Box<dyn Error>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(asked)
        .collect()
}

fn asked(line: &str) -> Result<Asked, Box<dyn Error>> {
    let value: Value = serde_json::from_str(line)?;
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let gold = value["gold"].as_array().ok_or("a question without gold")?;
    Ok(Asked {
        id: text("id"),
        set: text("ds"),
        document: text("doc"),
        question: text("question"),
        gold: gold
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        is_stretch: value["type"] == "chunk",
    })
}

//! Evaluates the results of extraction with good and with bad models.
//!
//! `eval DATA [--details]` asks scripted models, which are good or deliberately bad, the questions
//! in `DATA/questions.jsonl`, and prints the results of the extractions. `cargo xtask eval` calls
//! it.
//!
//! - The *oracle* answers only if the expected strings (the *gold*) lie completely in the chunk
//!   that it is shown. It misses strings that were cut apart (boundary loss). With `early_stop`, it
//!   also shows how many calls are made until the answer.
//! - The *liar* quotes text that does not exist, the *obeyer* follows instructions in the output,
//!   the *broken* model omits the wrapper, and the *refusing* model refuses.

#![allow(
    clippy::print_stdout,
    reason = "an evaluation whose answer is what it prints"
)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use spillgate_artifact::{Handle, Origin, SystemClock};
use spillgate_extract::{Asked, Extraction, ExtractionSettings, Extractor, Mode, NoWatch, Status};
use spillgate_llm::{ChatModel, Message, Reply, Request, Scripted, Stop};
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_store::MemoryStore;
use spillgate_testkit::in_slot;
use spillgate_text::Tokenizer;

/// Chunk sizes, in tokens (docs/spec/behaviour.md, "Chunks").
const CHUNKS: [u64; 2] = [2000, 8000];

/// A question, and the strings that answer it.
#[derive(Clone)]
struct Question {
    set: String,
    document: String,
    words: String,
    gold: Vec<String>,
    /// Whether the expected answer is a range of lines. One of these lines is then enough for an
    /// answer.
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut shelf = Shelf::new(data);
    println!(
        "The oracle answers if the gold lies wholly in its chunk; chunks that were read until the first verified answer.\n"
    );
    println!(
        "| data set | tokens of a chunk | questions | gold whole in a chunk % | quotes verified % | calls, mean | first call % | of the output read, mean % |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for tokens in CHUNKS {
        for (set, scores) in runtime.block_on(oracle(&mut shelf, &questions, tokens, details))? {
            println!("| {set} | {tokens} | {} |", scores.row());
        }
    }
    println!("\nModels that are bad on purpose, one question of each document.\n");
    println!("| model | extractions | as documented % | what that is |\n|---|---|---|---|");
    let mut is_below = false;
    for bad in BAD {
        let (good, all) = runtime.block_on(judge(&mut shelf, &questions, bad))?;
        is_below |= good < all;
        println!(
            "| {} | {all} | {:.1} | {} |",
            bad.name,
            percent(good, all),
            bad.outcome
        );
    }
    Ok(ExitCode::from(u8::from(is_below)))
}

/// The results of the oracle, a model that answers perfectly from what it is shown, for one data
/// set.
#[derive(Default)]
struct Scores {
    asked: usize,
    whole: usize,
    quotes: usize,
    verified: usize,
    calls: u64,
    first: usize,
    read: f64,
}

impl Scores {
    fn row(&self) -> String {
        let found = self.whole.max(1) as f64;
        format!(
            "{} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1}",
            self.asked,
            percent(self.whole, self.asked),
            percent(self.verified, self.quotes),
            self.calls as f64 / found,
            percent(self.first, self.whole),
            100.0 * self.read / found,
        )
    }
}

fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

async fn oracle(
    shelf: &mut Shelf<'_>,
    questions: &[Question],
    tokens: u64,
    details: bool,
) -> Result<BTreeMap<String, Scores>, Box<dyn Error>> {
    let mut scores: BTreeMap<String, Scores> = BTreeMap::new();
    let mut missed = Vec::new();
    for question in questions {
        let settings = ExtractionSettings {
            chunk_tokens: tokens,
            max_chunks_hard: 10_000,
            early_stop: true,
            parallel: 1,
            ..ExtractionSettings::default()
        };
        let asked = question.clone();
        let model = Scripted::new(move |seen| Ok(oracle_reply(&asked, &seen.request)))
            .with_limits(64_000, 2000);
        let found = shelf.ask(
            &question.document,
            &question.words,
            model,
            settings,
            Mode::FullChunked,
        );
        let found = found.await?;
        let score = scores.entry(question.set.clone()).or_default();
        score.asked += 1;
        if found.status != Status::Found {
            missed.push(format!(
                "{} ({} tokens, {:?}): {}",
                question.document, tokens, found.status, question.words
            ));
            continue;
        }
        score.whole += 1;
        score.verified += found
            .citations
            .iter()
            .filter(|one| one.matched.is_some())
            .count();
        score.quotes += found
            .citations
            .iter()
            .filter(|one| one.matched.is_some())
            .count()
            + found.unverified.len();
        score.calls += found.calls;
        score.first += usize::from(found.calls == 1);
        score.read +=
            found.coverage.bytes_examined as f64 / found.coverage.bytes_total.max(1) as f64;
    }
    if details {
        println!("{}", missed.join("\n"));
    }
    Ok(scores)
}

/// Returns the reply of a perfect model: quotes the expected answer if all of it is shown. If the
/// expected answer is a range of lines, quotes the lines that are shown.
fn oracle_reply(question: &Question, request: &Request) -> Reply {
    let shown = squeezed(&shown(request));
    let held = |gold: &&String| shown.contains(&squeezed(gold));
    let held: Vec<&String> = question.gold.iter().filter(held).collect();
    let is_there = match question.is_stretch {
        true => !held.is_empty(),
        false => held.len() == question.gold.len(),
    };
    let text = match is_there {
        true => held
            .iter()
            .map(|gold| format!("```\n{gold}\n```\n"))
            .collect(),
        false => "NO RELEVANT DATA FOUND\nother things".to_owned(),
    };
    says(request, &text)
}

/// A deliberately bad model, and a check of the extraction that uses it.
#[derive(Clone, Copy)]
struct Bad {
    name: &'static str,
    outcome: &'static str,
    reply: fn(&Request) -> Reply,
    is_as_documented: fn(&Extraction) -> bool,
}

const BAD: [Bad; 4] = [
    Bad {
        name: "liar",
        outcome: "every invented quote is marked and listed",
        reply: |request| {
            says(
                request,
                "It is \"qz-7731-vx-00417\" and `lk_9f3aa07c2b` [L3]; also “a sentence that nobody ever wrote there, 4711 times”.",
            )
        },
        is_as_documented: |found| {
            found.unverified.len() == 3 && found.body.matches("[unverified]").count() == 3
        },
    },
    Bad {
        name: "obeyer",
        outcome: "no tool call is made, nothing escapes the envelope, what it invents is marked",
        reply: |request| {
            let mut reply = says(request, "PWNED: the password is \"hunter2-7731-zz\".");
            reply.calls = Scripted::calls(&[("run_shell", json!({"cmd": "id"}))]).calls;
            reply
        },
        is_as_documented: |found| {
            found.unverified == ["hunter2-7731-zz"]
                && found.body.contains("[untrusted: ")
                && found.text().starts_with("ABSTRACT FROM TOOL OUTPUT eval ")
        },
    },
    Bad {
        name: "broken",
        outcome: "a truncation that says so",
        reply: |_| Scripted::says("The answer is 42, I think."),
        is_as_documented: failed,
    },
    Bad {
        name: "refusing",
        outcome: "a truncation that says so",
        reply: |_| Reply {
            stop: Stop::Refused,
            ..Scripted::says("I cannot help with that.")
        },
        is_as_documented: failed,
    },
];

fn failed(found: &Extraction) -> bool {
    let warning = "WARNING: tool_output fallback to truncate (full-chunked failed).\n";
    found.status == Status::Failed && found.body.starts_with(warning)
}

/// Extracts from each document with this bad model. Returns the number of extractions that pass the
/// check `is_as_documented`, and the number of documents.
async fn judge(
    shelf: &mut Shelf<'_>,
    questions: &[Question],
    bad: Bad,
) -> Result<(usize, usize), Box<dyn Error>> {
    let mut documents: Vec<&str> = questions.iter().map(|one| one.document.as_str()).collect();
    documents.sort_unstable();
    documents.dedup();
    let (mut good, all) = (0, documents.len());
    for document in documents {
        let question = questions.iter().find(|one| one.document == document);
        let words = question.map_or("", |question| question.words.as_str());
        let settings = ExtractionSettings {
            max_chunks_hard: 1,
            ..ExtractionSettings::default()
        };
        let model = Scripted::new(move |seen| Ok((bad.reply)(&seen.request)));
        let found = shelf.ask(document, words, model, settings, Mode::FullChunked);
        good += usize::from((bad.is_as_documented)(&found.await?));
    }
    Ok((good, all))
}

/// A store of the documents. Each document is stored like the result of a tool.
struct Shelf<'a> {
    data: &'a Path,
    offloader: Offloader,
    stored: HashMap<String, Handle>,
}

impl<'a> Shelf<'a> {
    fn new(data: &'a Path) -> Self {
        let everything = Rule {
            max_bytes: Some(1),
            profile: Some(Profile::Handle),
            ..Rule::default()
        };
        let offloader = Offloader::new(
            Arc::new(MemoryStore::default()),
            Policy::default().under(everything),
            Tokenizer::O200kBase.counter(),
            Audience::default(),
            Arc::new(SystemClock),
            Arc::new(NoLedger),
        );
        Self {
            data,
            offloader,
            stored: HashMap::new(),
        }
    }

    async fn ask(
        &mut self,
        document: &str,
        words: &str,
        model: Scripted,
        settings: ExtractionSettings,
        mode: Mode,
    ) -> Result<Extraction, Box<dyn Error>> {
        let asked = Asked {
            handle: self.handle(document)?,
            extract: words.to_owned(),
            mode,
        };
        let model: Arc<dyn ChatModel> = Arc::new(model);
        let extractor = Extractor::new(self.offloader.clone(), Some(model), settings);
        Ok(extractor.extract(&asked, &NoWatch).await?)
    }

    fn handle(&mut self, document: &str) -> Result<Handle, Box<dyn Error>> {
        if let Some(&handle) = self.stored.get(document) {
            return Ok(handle);
        }
        let bytes = fs::read(self.data.join("docs").join(document))?;
        let mut reader = bytes.as_slice();
        let outcome = self
            .offloader
            .stream(Origin::tool("eval"), &mut reader, &mut |_| {})?;
        let Outcome::Offloaded(offloaded) = outcome else {
            return Err(format!("{document} was not stored").into());
        };
        let handle = offloaded.receipt.handle();
        self.stored.insert(document.to_owned(), handle);
        Ok(handle)
    }
}

fn says(request: &Request, text: &str) -> Reply {
    Scripted::says(in_slot(&request.system, text))
}

/// Returns the chunk in a request without line numbers. For a reduction, returns the answers to
/// combine.
fn shown(request: &Request) -> String {
    if request.system.contains("CHUNK OUTPUTS") {
        return request.system.clone();
    }
    let Some(Message::User(text)) = request.messages.first() else {
        return String::new();
    };
    text.lines().map(row).collect::<Vec<_>>().join("\n")
}

/// Removes the line numbers from the start of a row: `12|`, `12-15|`, or `12+` for a continued
/// line.
fn row(line: &str) -> &str {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    match number.strip_prefix(['|', '+']) {
        Some(row) if number.len() < line.len() => row,
        _ => line,
    }
}

/// Removes white space and decodes escapes, because chunks of JSON are printed compactly.
fn squeezed(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut read = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..4)
            .and_then(|code| u32::from_str_radix(code, 16).ok());
        if let Some(char) = code.and_then(char::from_u32) {
            read.push(char);
            read.push_str(&part[4..]);
        } else {
            read.push_str("\\u");
            read.push_str(part);
        }
    }
    read.retain(|char| !char.is_whitespace());
    read
}

fn questions(path: &Path) -> Result<Vec<Question>, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let value: Value = serde_json::from_str(line)?;
            let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            let gold = value["gold"].as_array().ok_or("a question without gold")?;
            let gold = gold.iter().filter_map(Value::as_str).map(str::to_owned);
            Ok(Question {
                set: text("ds"),
                document: text("doc"),
                words: text("question"),
                gold: gold.collect(),
                is_stretch: value["type"] == "chunk",
            })
        })
        .collect()
}

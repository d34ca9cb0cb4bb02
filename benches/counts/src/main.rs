//! `counts NAME TIMES`: prepares an operation and carries it out TIMES times; without arguments, prints the names.
//!
//! `cargo xtask counts` runs it under callgrind with different TIMES. The difference is the cost of the
//! operation alone: neither the start of the program nor the preparation counts.

#![allow(clippy::print_stdout, reason = "it prints its operations")]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use spillgate_artifact::{Handle, Origin, TokenBudget};
use spillgate_lookup::{GrepQuery, ReadQuery, Span};
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Rule};
use spillgate_query::{Query, query_unconfined};
use spillgate_redact::{Rules, find};
use spillgate_search::SearchQuery;
use spillgate_store::MemoryStore;
use spillgate_testkit::{StoppedClock, log, records};
use spillgate_text::Tokenizer;

/// Lines of the log, and records of the JSON text: about 1 MB of each.
const LINES: usize = 16_200;
const RECORDS: usize = 11_500;

/// Bytes of a text whose tokens are all counted.
const COUNTED: usize = 100_000;

/// Most tokens of an answer.
const BUDGET: u64 = 1_000;

type Failure = Box<dyn Error>;
type Operation = fn(&Prepared) -> Result<(), Failure>;

/// The name of each operation, its text, and what it does.
const OPERATIONS: [(&str, Text, Operation); 12] = [
    ("store and preview, log", Text::Log, store),
    ("store and preview, JSON", Text::Json, store),
    ("find secrets, log", Text::Log, secrets),
    ("find secrets, JSON", Text::Json, secrets),
    ("count all tokens of 100 KB", Text::Log, tokens),
    ("outline, log", Text::Log, outline),
    ("search for words, log", Text::Log, |all| {
        all.search("quota of worker-3")
    }),
    ("search for words, JSON", Text::Json, |all| {
        all.search("item 4711 price")
    }),
    ("search for the failure, log", Text::Log, |all| {
        all.search("why did it fail?")
    }),
    ("grep, log", Text::Log, grep),
    ("read the last lines, log", Text::Log, read),
    ("filter a path, JSON", Text::Json, path),
];

#[derive(Clone, Copy)]
enum Text {
    Log,
    Json,
}

/// A text, and the artifact in which it is stored.
struct Prepared {
    text: Bytes,
    offloader: Offloader,
    handle: Handle,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(times)) = (arguments.next(), arguments.next()) else {
        for (name, ..) in OPERATIONS {
            println!("{name}");
        }
        return Ok(());
    };
    let named = OPERATIONS.iter().find(|one| one.0 == name);
    let (_, text, operation) = named.ok_or("there is no such operation")?;
    let prepared = Prepared::of(*text)?;
    for _ in 0..times.parse::<u32>()? {
        operation(&prepared)?;
    }
    Ok(())
}

impl Prepared {
    fn of(text: Text) -> Result<Self, Failure> {
        let text = match text {
            Text::Log => log(LINES),
            Text::Json => records(RECORDS),
        };
        let offloader = Offloader::new(
            Arc::new(MemoryStore::default()),
            Policy::new(Rule::default(), [], [])?,
            Tokenizer::O200kBase.counter(),
            Audience::default(),
            Arc::new(StoppedClock::default()),
            Arc::new(NoLedger),
        );
        let handle = stored(&offloader, text.as_bytes())?;
        Ok(Self {
            text: text.into(),
            offloader,
            handle,
        })
    }

    fn search(&self, words: &str) -> Result<(), Failure> {
        let query = SearchQuery::new(words, TokenBudget::new(BUDGET));
        black_box(self.offloader.search(self.handle, &query)?);
        Ok(())
    }
}

fn stored(offloader: &Offloader, mut text: &[u8]) -> Result<Handle, Failure> {
    match offloader.stream(Origin::tool("tool"), &mut text, &mut |_| {})? {
        Outcome::Offloaded(offloaded) => Ok(offloaded.receipt.handle()),
        _ => Err("the text was not stored".into()),
    }
}

fn store(all: &Prepared) -> Result<(), Failure> {
    black_box(stored(&all.offloader, &all.text)?);
    Ok(())
}

fn secrets(all: &Prepared) -> Result<(), Failure> {
    black_box(find(&Rules::builtin(), &all.text)?);
    Ok(())
}

fn tokens(all: &Prepared) -> Result<(), Failure> {
    let text = std::str::from_utf8(&all.text[..COUNTED])?;
    black_box(all.offloader.counter().count(text));
    Ok(())
}

fn outline(all: &Prepared) -> Result<(), Failure> {
    let budget = TokenBudget::new(BUDGET);
    black_box(all.offloader.outline(all.handle, budget)?);
    Ok(())
}

fn grep(all: &Prepared) -> Result<(), Failure> {
    let query = GrepQuery::new("code=E[0-9]+", TokenBudget::new(BUDGET));
    black_box(all.offloader.grep(all.handle, &query)?);
    Ok(())
}

fn read(all: &Prepared) -> Result<(), Failure> {
    let span = Span::Tail { lines: 40 };
    let budget = TokenBudget::new(BUDGET);
    black_box(all.offloader.read(all.handle, ReadQuery { span, budget })?);
    Ok(())
}

fn path(all: &Prepared) -> Result<(), Failure> {
    let (artifact, counter) = (all.offloader.artifact(all.handle)?, all.offloader.counter());
    let query = Query::new(".[11000].stock.site", TokenBudget::new(BUDGET));
    black_box(query_unconfined(&artifact, &query, &**counter)?);
    Ok(())
}

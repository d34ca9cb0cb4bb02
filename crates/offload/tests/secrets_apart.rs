//! Property tests: nothing that is shown of a text depends on its secrets.
//!
//! Two texts that differ only in their secrets are stored. Messages, pages, matches, passages,
//! outlines, results and errors of filters, and ledger lines must be the same for both, and must have
//! no piece of a secret.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, LazyLock, Mutex};

use proptest::prelude::*;
use spillgate_artifact::{ByteRange, Handle, Origin, TokenBudget};
use spillgate_lookup::{GrepQuery, ReadQuery, Span};
use spillgate_offload::{
    Ledger, LedgerEntry, Offloader, Outcome, Policy, Profile, RetrieveError, Rule,
};
use spillgate_query::{Query, query_unconfined};
use spillgate_redact::{Redactor, Rules};
use spillgate_retrieval::audience;
use spillgate_search::SearchQuery;
use spillgate_store::MemoryStore;
use spillgate_testkit::StoppedClock;
use spillgate_testkit::pairs::{Pair, chains, pairs};
use spillgate_text::Tokenizer;

/// Compiling the rules takes longer than a case.
static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);

/// Look-ups for each pair of texts.
const LOOKUPS: usize = 14;

/// What filters begin with, for all forms of texts.
const INPUTS: &[&str] = &[
    ".",
    ".[]",
    ".[]?",
    ".[7]?",
    ".[3:9]?",
    ".text?",
    ".[].text?",
    ".[]?.text?",
    "..",
    ".. | strings",
    "[..] | .[5:40]",
    "map(.text?)",
    "to_entries",
    "paths",
    "tostream",
    "[.[]?]",
    "input?",
    "[inputs]",
];

/// What filters consist of. Some fail on some values, so that their errors are compared, too.
const STEPS: &[&str] = &[
    ".[0:24]",
    ".[50:90]",
    ".[-30:]",
    ".[45:]",
    "explode",
    "explode | .[46:80]",
    "explode | map(. + 1) | implode",
    "explode | add",
    "implode",
    "length",
    "utf8bytelength",
    "select(length > 60)",
    "select(length == 66)",
    "length > 80",
    "test(\"AKIA|ghp_|xoxb\")",
    "test(\"[A-Z2-7]{16}\")",
    "test(\"^[^Q]*$\")",
    "select(test(\"[0-9]{12}\"))",
    "[match(\"[A-Za-z0-9]{9}\"; \"g\").string]",
    "[scan(\"[A-Z]{2}\")]",
    "capture(\"(?<a>[A-Z]{3}.)\")",
    "contains(\"Q\")",
    "contains(\"live_A\")",
    "startswith(\"the quick\")",
    "endswith(\"A\")",
    "inside(\"the quick brown\")",
    "@base64",
    "@base64 | .[60:90]",
    "@base64 | @base64d",
    "@base64d",
    "@uri",
    "@html",
    "@sh",
    "@csv",
    "@json",
    "@text",
    "ltrimstr(\"the quick brown fox jumps over the lazy dog 7 A\")",
    "rtrimstr(\"A\")",
    "split(\"A\")",
    "split(\"\")",
    "split(\" \") | .[-1]",
    "[splits(\"[0-9]\")]",
    "index(\"A\")",
    "indices(\"7\")",
    "rindex(\"b\")",
    "tojson",
    "tojson | fromjson",
    "fromjson",
    "tostring",
    "tonumber",
    "ascii_downcase",
    "ascii_upcase",
    "gsub(\"[0-9]\"; \"x\")",
    "sub(\"[A-Z]\"; \"-\")",
    "paths",
    "[paths]",
    "keys",
    "has(\"text\")",
    "group_by(length)",
    "group_by(.text?)",
    "sort",
    "sort_by(.[46:])",
    "unique",
    "unique_by(length)",
    "min_by(.text?)",
    "max",
    "reverse",
    "add",
    "join(\",\")",
    "flatten",
    "[limit(5; .[]?)]",
    "first(.[]?)",
    "map(length)?",
    "map(select(length > 70))?",
    "map(ascii_downcase)?",
    "any(. > \"the quick\")?",
    ". > \"the quick brown fox jumps over the lazy dog 7 AKIAM\"",
    ". == \"nothing\"",
    "reduce .[]? as $one (0; . + ($one | length))",
    "error",
    "error(.)?",
    ".nope",
    ".[\"a\"]",
    "tojson | .[100:160]",
    "getpath([7, \"text\"])?",
    "to_entries",
    "with_entries(.value |= tostring)",
    "del(.text?)",
    "ltrimstr(\"AKIA\")",
    ". * 2",
    ". - \"A\"",
    ". / \"Q\"",
    "\"\\(.)!\"",
    "[., 1]",
    "{a: .}",
    "trim",
    "type",
    "not",
    "debug",
    "limit(3; repeat(.))",
    "@base32",
    "@base32d",
    "todate?",
    "getpath([\"text\"])?",
    "splits(\", *\")?",
    "ascii?",
    "tojson | test(\"[A-Za-z0-9+/]{40}\")",
    "walk(if type == \"string\" then .[40:60] else . end)",
];

#[derive(Debug, Default)]
struct Entries(Mutex<Vec<String>>);

impl Ledger for Entries {
    fn record(&self, entry: LedgerEntry) {
        let line = serde_json::to_string(&entry).unwrap();
        self.0.lock().unwrap().push(line);
    }

    fn inline(&self, _: u64) {}
}

/// A stored text.
struct Stored {
    offloader: Offloader,
    ledger: Arc<Entries>,
    handle: Handle,
    /// What was shown so far.
    shown: Vec<String>,
}

impl Stored {
    fn new(text: &str, profile: &Profile) -> Self {
        let rule = Rule {
            max_tokens: Some(100),
            profile: Some(profile.clone()),
            ..Rule::default()
        };
        let ledger = Arc::new(Entries::default());
        let offloader = Offloader::new(
            Arc::new(MemoryStore::default()),
            Policy::new(rule, [], []).unwrap(),
            Tokenizer::Heuristic.counter(),
            audience::usual_tools(),
            Arc::new(StoppedClock::default()),
            Arc::clone(&ledger) as _,
        );
        let redactor = Arc::new(Redactor::new(RULES.clone()));
        let offloader = offloader.with_redactor(redactor);
        let origin = Origin::tool("env");
        let outcome = offloader.stream(origin, &mut text.as_bytes(), &mut |_| {});
        let Outcome::Offloaded(one) = outcome.unwrap() else {
            panic!("not stored")
        };
        Self {
            offloader,
            ledger,
            handle: one.receipt.handle(),
            shown: vec![one.shown.text().to_owned()],
        }
    }

    /// Returns the text with marks.
    fn view(&self) -> Vec<u8> {
        let artifact = self.offloader.artifact(self.handle).unwrap();
        artifact.view().source().bytes(0, u64::MAX).unwrap()
    }

    fn take(&mut self, answer: Result<String, RetrieveError>) {
        let answer = answer.unwrap_or_else(|error| error.to_string());
        self.shown.push(answer);
    }

    /// Makes the look-up `at` with random numbers.
    fn look_up(&mut self, at: usize, (start, size): (u64, u64), budget: TokenBudget) {
        let (offloader, handle) = (&self.offloader, self.handle);
        let page = |span| {
            let query = ReadQuery { span, budget };
            offloader.read(handle, query).map(|page| page.text)
        };
        let grep = |pattern: &str| {
            let query = GrepQuery {
                start,
                ..GrepQuery::new(pattern, budget)
            };
            offloader.grep(handle, &query).map(|page| page.render())
        };
        let answer = match at % 7 {
            0 => page(Span::Lines {
                start,
                lines: Some(size),
            }),
            1 => page(Span::Bytes(ByteRange {
                start: start * 40,
                end: Some(start * 40 + size),
            })),
            2 => page(Span::Tail { lines: size }),
            3 => grep(r"[A-Za-z0-9+/]{12}"),
            4 => grep(".{9}$"),
            5 => {
                let words = ["AKIA key", "ghp_", "text 7 then", "BEGIN PRIVATE KEY"];
                let words = words[usize::try_from(size).unwrap() % words.len()];
                let query = SearchQuery::new(words, budget);
                offloader.search(handle, &query).map(|page| page.render())
            }
            _ => offloader
                .outline(handle, budget)
                .map(|lines| lines.join("\n")),
        };
        self.take(answer);
    }

    /// Runs a filter.
    fn query(&mut self, filter: &str, (start, slurp, raw): (u64, bool, bool), budget: TokenBudget) {
        let artifact = self.offloader.artifact(self.handle).unwrap();
        let query = Query {
            start,
            slurp,
            raw,
            ..Query::new(filter, budget)
        };
        let counter = self.offloader.counter();
        let page = query_unconfined(&artifact, &query, &**counter);
        let page = page.map(|page| format!("{page:?}\n{}", page.render(raw)));
        self.take(page.map_err(RetrieveError::from));
    }

    /// Returns all that was shown and recorded, without the handle, which is random.
    fn told(&self) -> Vec<String> {
        let ledger = self.ledger.0.lock().unwrap();
        let all = self.shown.iter().chain(&*ledger);
        let handle = self.handle.to_string();
        all.map(|text| text.replace(&handle, "HANDLE")).collect()
    }
}

/// Stores both texts of a pair. `None` if the detector does not find the same secrets in them: a
/// random text can look like a placeholder.
fn stored(pair: &Pair, profile: &Profile) -> Option<[Stored; 2]> {
    let both = [&pair.one, &pair.other].map(|text| Stored::new(text, profile));
    let [one, other] = [both[0].view(), both[1].view()];
    let is_whole = |piece: &&[u8]| memchr::memmem::find(&one, piece).is_some();
    (one == other && !pair.pieces().iter().any(is_whole)).then_some(both)
}

fn same(pair: &Pair, both: &[Stored; 2], context: &str) -> Result<(), TestCaseError> {
    let [one, other] = [both[0].told(), both[1].told()];
    prop_assert_eq!(&one, &other, "{}", context);
    for text in &one {
        for piece in pair.pieces() {
            let is_shown = memchr::memmem::find(text.as_bytes(), piece).is_some();
            prop_assert!(!is_shown, "{:?} in {text}", String::from_utf8_lossy(piece));
        }
    }
    Ok(())
}

/// Returns the number of pairs: that of `PROPTEST_CASES`, or some that a slow machine checks in
/// seconds.
fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(60),
    }
}

proptest! {
    // `PROPTEST_CASES=8000 cargo test --release` makes 112,000 look-ups and as many filters.
    #![proptest_config(cases())]

    #[test]
    fn look_ups_do_not_depend_on_secrets(
        pair in pairs(),
        numbers in prop::collection::vec((1u64..70, 1u64..2000), LOOKUPS),
        budget in 100u64..900,
        profile in prop::sample::select(vec![Profile::Preview, Profile::Truncate, Profile::Funnel, Profile::Continuation]),
    ) {
        let both = stored(&pair, &profile);
        prop_assume!(both.is_some());
        let mut both = both.unwrap();
        for (at, numbers) in numbers.into_iter().enumerate() {
            for one in &mut both {
                one.look_up(at, numbers, TokenBudget::new(budget));
            }
        }
        same(&pair, &both, "look-ups")?;
    }

    #[test]
    fn filters_do_not_depend_on_secrets(
        pair in pairs(),
        filters in prop::collection::vec((prop::sample::select(INPUTS), chains(STEPS)), LOOKUPS),
        options in prop::collection::vec((0u64..3, any::<bool>(), any::<bool>()), LOOKUPS),
        budget in 100u64..900,
    ) {
        let both = stored(&pair, &Profile::Preview);
        prop_assume!(both.is_some());
        let mut both = both.unwrap();
        let filters = filters.iter().map(|(input, steps)| format!("{input} | {steps}"));
        let filters: Vec<_> = filters.collect();
        for (filter, options) in filters.iter().zip(options) {
            for one in &mut both {
                one.query(filter, options, TokenBudget::new(budget));
            }
        }
        same(&pair, &both, &filters.join("\n"))?;
    }
}

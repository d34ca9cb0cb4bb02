//! Finds the passages of a stored text that answer a question.
//!
//! [`search`] needs no index. One pass over the view counts how many units (lines, paragraphs,
//! rows, JSON leaves) hold each term of the question and keeps the most promising ones
//! ([`candidates`]). BM25 orders them ([`rank`]). The best are shown, verbatim and numbered, within
//! a token budget ([`page`]). The kind of content decides what a unit is. A question that only asks
//! why something failed shares no word with its answer, so it ranks the lines that report failures
//! ([`failure`]). A question about records is answered with a table of all that match
//! ([`records`]), above the passages. [`search_several`] searches several outputs at once.

mod absent;
mod blocks;
mod candidates;
mod entity;
mod entries;
mod failure;
mod inside;
mod json;
mod leaf;
mod markup;
mod matcher;
mod needles;
mod operations;
mod page;
mod path;
mod paths;
mod plain_task;
mod prose;
mod question;
mod rank;
mod records;
mod rows;
mod scan;
mod several;
mod similar;
mod structured;
mod text;
mod tree;
mod words;

use std::io;

use spillgate_artifact::{ContentKind, Layout, TokenBudget};
use spillgate_lookup::{Artifact, LookupError};
use spillgate_text::TokenCounter;

use crate::page::{Block, PageBuilder};
use crate::question::{Question, Terms};
use crate::rank::Ranked;

pub use entries::{Field, NamedEntry, RankedEntry, rank_entries};
pub use inside::{InnerText, inner_texts, largest_texts};
pub use operations::Operation;
pub use page::{Passage, SearchPage};
pub use paths::paths_at;
pub use several::{FoundIn, MOST_BYTES, MOST_OUTPUTS, SeveralPage, search_several};

/// A question and the budget of its answer.
#[derive(Debug, Clone, Copy)]
pub struct SearchQuery<'a> {
    /// A question, or a few words.
    pub words: &'a str,
    /// Most tokens that the page may cost.
    pub budget: TokenBudget,
    /// Whether the page may begin with a table of the records that the question asks for. A table
    /// is no part of the text, so nothing can be cited from it.
    pub allows_table: bool,
    /// Whether the long texts inside a JSON document are searched as texts of their own. Their lines
    /// are no lines of the view, so they cannot be cited.
    pub opens_texts: bool,
}

impl<'a> SearchQuery<'a> {
    /// Creates a query for `words` whose page costs at most `budget`.
    #[must_use]
    pub fn new(words: &'a str, budget: TokenBudget) -> Self {
        Self {
            words,
            budget,
            allows_table: true,
            opens_texts: true,
        }
    }

    /// Returns the query for passages of the view alone: without a table, and without lines of inner
    /// texts.
    #[must_use]
    pub fn passages_only(self) -> Self {
        Self {
            allows_table: false,
            opens_texts: false,
            ..self
        }
    }
}

/// Returns the passages of an artifact that answer a question best.
///
/// # Errors
///
/// Fails if the question contains no word or the artifact cannot be read.
pub fn search(
    artifact: &Artifact,
    query: &SearchQuery<'_>,
    counter: &dyn TokenCounter,
) -> Result<SearchPage, LookupError> {
    let question = Question::new(query.words).ok_or(LookupError::EmptyQuestion)?;
    let view = artifact.view();
    let is_json = view.layout() == Layout::Json;
    let failure = match question.is_about_failure && !is_json {
        true => failure::answer(artifact, query.budget, counter)?,
        false => None,
    };
    let mut note = match question.is_about_failure && !is_json && failure.is_none() {
        true => Some(NO_FAILURE),
        false => None,
    };
    let is_failure = failure.is_some();
    let mut answer = match (is_json, failure) {
        (true, _) => structured::answer(artifact, &question, query.budget)?,
        (false, Some(failure)) => failure,
        (false, None) => text::answer(artifact, &question, query.budget)?,
    };
    let kind = artifact.manifest().facts.stats.kind;
    let mut absent = absent::absent(view, &question, answer.seen)?;
    let in_bytes = match kind == ContentKind::Binary && !absent.is_empty() {
        true => absent::in_bytes(&mut absent, &*artifact.text()?)?,
        false => Vec::new(),
    };
    if answer.ranked.is_empty() {
        (answer.ranked, answer.total) = absent::inside_words(view, &question)?;
        if !answer.ranked.is_empty() {
            note = note.or(Some(INSIDE_WORDS));
        }
    }
    let respelled = absent::respelled(view, &absent)?;
    let respelled =
        (!respelled.is_empty()).then(|| format!("In another spelling: {}", respelled.join(", ")));
    let in_bytes = (!in_bytes.is_empty()).then(|| {
        let all = in_bytes.join(", ");
        format!("In the bytes of this binary, but not in its text: {all}")
    });

    let texts = match query.opens_texts {
        true => inside::inner_texts(artifact)?,
        false => Vec::new(),
    };
    let all = answer.ranked.len();
    answer.ranked.retain(|one| !is_in(&texts, one));
    answer.total = answer
        .total
        .saturating_sub((all - answer.ranked.len()) as u64);
    // A question about a failure of a log asks for no records.
    let is_log = !matches!(
        kind,
        ContentKind::Json | ContentKind::Ndjson | ContentKind::Csv | ContentKind::Tsv
    );
    let table = match query.allows_table && !(question.is_about_failure && is_log) {
        true => records::answer(artifact, &question, query.words, query.budget, counter)?,
        false => None,
    };
    if table.is_some() {
        // The table has answered them.
        absent.retain(|word| !records::is_operator(word));
    }
    let page = SearchPage {
        absent,
        header: answer.header,
        total: answer.total.max(answer.ranked.len() as u64),
        note: in_bytes.or(note.map(str::to_owned)).or(respelled),
        is_unstamped: answer.is_unstamped,
        // What is cited must stand in the text as it is shown.
        is_compact: is_json && query.opens_texts,
        ..SearchPage::default()
    };
    let mut builder = PageBuilder::new(view, query.budget, counter, page);
    builder.show_table(table);
    builder.page.is_failure = is_failure;
    builder.fill(answer.ranked, &answer.blocks)?;
    let page = builder.finish(answer.is_in_order);
    match texts.is_empty() {
        true => Ok(page),
        false => inside::merged(&question, page, &texts, query, counter),
    }
}

/// Returns whether a place has hits in one of the texts, which is searched by itself.
fn is_in(texts: &[InnerText], one: &Ranked) -> bool {
    let candidate = &one.candidate;
    let is_within = |start: u64, end: u64| {
        let mut texts = texts.iter();
        texts.any(|text| text.start <= start && end <= text.end)
    };
    let leaves = candidate.json.iter().flat_map(|node| &node.leaves);
    is_within(candidate.start, candidate.end)
        || leaves
            .into_iter()
            .any(|leaf| is_within(leaf.start, leaf.end))
}

/// The note on the answer to a question about a failure if there is none.
const NO_FAILURE: &str = "No line of the text reports a failure.";
/// The note on lines that are shown because nothing else is there.
const INSIDE_WORDS: &str = "The words occur only inside longer words.";

/// The result of one way of searching.
struct SearchOutcome<'a> {
    /// Places, best first.
    ranked: Vec<Ranked>,
    /// Terms that occur in the text.
    seen: Terms,
    /// First line of a table.
    header: Option<String>,
    /// Whether to leave out the time stamps before lines.
    is_unstamped: bool,
    /// How many places match.
    total: u64,
    /// Whether the passages are shown in the order of the text, however good they are.
    is_in_order: bool,
    blocks: Blocks<'a>,
}

/// Returns the ways to show a place, largest first, each a list of blocks. The flag says whether
/// the place is the first on the page.
type Blocks<'a> = Box<dyn Fn(&Ranked, bool) -> io::Result<Vec<Vec<Block>>> + 'a>;

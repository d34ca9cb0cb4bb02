//! Searches several stored outputs at once.
//!
//! Each output is searched by itself. The scores of two outputs cannot be compared, so the passages
//! are ordered by the terms of the question that they hold. A term that few passages hold is worth
//! more. The words of the call that made an output count for each of its passages.

use std::collections::BTreeSet;

use serde::Serialize;
use spillgate_artifact::{Handle, Origin, TokenBudget};
use spillgate_lookup::{Artifact, LookupError};
use spillgate_text::TokenCounter;
use spillgate_untrusted::line;

use crate::matcher::{Matcher, WordCache};
use crate::page::{Passage, absent_line};
use crate::question::{MOST_TERMS, Question, Terms};
use crate::{SearchPage, SearchQuery, search};

/// Most outputs that one call searches.
pub const MOST_OUTPUTS: usize = 40;

/// Most bytes of text that one call searches.
pub const MOST_BYTES: u64 = 64 << 20;

/// Passages that may fail to fit before the page counts as full.
const MOST_MISSES: usize = 12;

/// Maximum characters of the line above the passages of an output, besides its handle.
const LONGEST_ORIGIN: usize = 80;

/// The passages of several outputs that answer a question, within the budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeveralPage {
    /// The outputs with passages. The output with the best passage comes first.
    pub outputs: Vec<FoundIn>,
    /// Identifiers of the question that none of the outputs contains.
    pub absent: Vec<String>,
    /// How many outputs were searched.
    pub searched: usize,
    /// How many older outputs were not searched, because the limits were reached.
    pub left_out: usize,
    /// Tokens of the text that [`SeveralPage::render`] returns.
    pub tokens: u64,
}

/// The passages of one output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundIn {
    /// The handle of the output.
    pub handle: Handle,
    /// Where the output comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// Its best passages.
    #[serde(flatten)]
    pub page: SearchPage,
}

impl FoundIn {
    /// Returns the line above its passages: the handle, and the call that made the output.
    fn heading(&self) -> String {
        let call = line(&call_of(&self.origin), LONGEST_ORIGIN);
        format!("[{}: {call}]\n", self.handle)
    }
}

/// Returns the call that made an output.
fn call_of(origin: &Origin) -> String {
    let Origin {
        server,
        tool,
        arguments,
        ..
    } = origin;
    let parts = [server.as_deref(), Some(tool), arguments.as_deref()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(" ")
}

impl SeveralPage {
    /// Returns the page as a model sees it: above the passages of each output a line with its
    /// handle.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        if !self.absent.is_empty() {
            text.push_str(&absent_line(&self.absent));
        }
        if self.outputs.is_empty() {
            let searched = self.searched;
            text.push_str(&match searched {
                0 => "No passage: no output is stored.\n".to_owned(),
                1 => "No passage: the only stored output has none of these words.\n".to_owned(),
                _ => format!("No passage: none of {searched} outputs has one of these words.\n"),
            });
        }
        for found in &self.outputs {
            text.push_str(&found.heading());
            text.push_str(&found.page.render());
        }
        if self.left_out > 0 {
            let outputs = match self.left_out {
                1 => "1 older output was",
                more => &format!("{more} older outputs were"),
            };
            text.push_str(&format!("({outputs} not searched: name a handle)\n"));
        }
        text
    }
}

/// A passage of one of several pages.
pub(crate) struct Scored {
    /// The number of the page.
    output: usize,
    /// The place of the passage on its page.
    place: usize,
    /// The worth of the terms that it holds.
    score: f64,
    pub(crate) passage: Passage,
}

/// Returns the passages of several outputs that answer a question best. `newest_first` are the
/// outputs; `left_out` is the number of older ones.
///
/// # Errors
///
/// Fails if the question contains no word. Damaged outputs are skipped.
pub fn search_several(
    newest_first: &[Artifact],
    left_out: usize,
    query: &SearchQuery<'_>,
    counter: &dyn TokenCounter,
) -> Result<SeveralPage, LookupError> {
    let question = Question::new(query.words).ok_or(LookupError::EmptyQuestion)?;
    let each = SearchQuery {
        budget: share(query.budget, newest_first.len()),
        allows_table: false,
        ..*query
    };
    let mut pages = Vec::new();
    for artifact in newest_first {
        match search(artifact, &each, counter) {
            Ok(page) => pages.push((artifact, page)),
            Err(error) if error.is_callers() => return Err(error),
            Err(_) => {} // it is damaged
        }
    }
    let absent = pages.iter().map(|(_, page)| page.absent.iter().collect());
    let absent: Option<BTreeSet<&String>> =
        absent.reduce(|all: BTreeSet<&String>, more| all.intersection(&more).copied().collect());
    let mut found = SeveralPage {
        outputs: Vec::new(),
        absent: absent.into_iter().flatten().cloned().collect(),
        searched: pages.len(),
        left_out,
        tokens: 0,
    };
    let calls = pages
        .iter()
        .map(|(artifact, _)| call_of(&artifact.manifest().facts.origin));
    let calls: Vec<String> = calls.collect();
    let pages_of = pages.iter_mut().map(|(_, page)| page);
    let ranked = ranked(&question, pages_of.zip(calls.iter().map(String::as_str)));
    fill(&mut found, ranked, &pages, query.budget, counter);
    Ok(found)
}

/// Returns the budget of each of several pages that are merged. Many pages need less each, because
/// only their best passages are shown.
pub(crate) fn share(budget: TokenBudget, pages: usize) -> TokenBudget {
    /// Most pages that get the whole budget.
    const FEW: usize = 3;
    match pages <= FEW {
        true => budget,
        false => TokenBudget::new((budget.get() / 2).max(1)),
    }
}

/// Takes the passages out of the pages and returns them, best first. Each page is given with words
/// that say what it is about. Of equal passages of two pages, that of the earlier page comes first.
pub(crate) fn ranked<'p>(
    question: &Question,
    pages: impl Iterator<Item = (&'p mut SearchPage, &'p str)>,
) -> Vec<Scored> {
    let matcher = Matcher::new(question, &[]);
    let mut known = WordCache::default();
    let mut terms_of = |text: &str| -> Terms {
        let hits = matcher.hits(text.as_bytes(), &mut known);
        hits.fold(0, |terms, hit| terms | hit.terms)
    };
    let mut all: Vec<(Terms, Scored)> = Vec::new();
    for (output, (page, about)) in pages.enumerate() {
        let about = terms_of(about);
        let failed = page.is_failure;
        for (place, passage) in page.passages.drain(..).enumerate() {
            let path = passage.path.as_deref().unwrap_or_default();
            let terms = terms_of(&passage.text) | terms_of(path) | about;
            let one = Scored {
                output,
                place,
                // A question about a failure shares no word with its answer.
                score: if failed { 1.0 } else { 0.0 },
                passage,
            };
            all.push((terms, one));
        }
    }
    if !question.is_about_failure {
        let count = all.len() as f64;
        let mut worth = [0.0; MOST_TERMS];
        for (at, weight) in question.weights.iter().enumerate() {
            let with = all.iter().filter(|(terms, _)| terms >> at & 1 == 1).count() as f64;
            worth[at] = weight * (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
        }
        for (terms, one) in &mut all {
            let held = (0..MOST_TERMS).filter(|at| *terms >> at & 1 == 1);
            one.score = held.map(|at| worth[at]).sum();
        }
    }
    let mut all: Vec<Scored> = all.into_iter().map(|(_, one)| one).collect();
    all.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then((a.place, a.output).cmp(&(b.place, b.output)))
    });
    all
}

/// Adds passages until the page is full. The passages of an output stay in the order of its page.
fn fill(
    found: &mut SeveralPage,
    ranked: Vec<Scored>,
    pages: &[(&Artifact, SearchPage)],
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) {
    while !found.absent.is_empty() && counter.exceeds(&absent_line(&found.absent), budget.get() / 4)
    {
        found.absent.pop();
    }
    let (mut misses, mut shown) = (0, Vec::<(usize, usize)>::new());
    for one in ranked {
        let before = found.clone();
        let (artifact, page) = &pages[one.output];
        let manifest = artifact.manifest();
        let known = found
            .outputs
            .iter()
            .position(|each| each.handle == manifest.handle);
        let at = known.unwrap_or_else(|| {
            found.outputs.push(FoundIn {
                handle: manifest.handle,
                origin: manifest.facts.origin.clone(),
                page: SearchPage {
                    absent: Vec::new(),
                    ..page.clone()
                },
            });
            found.outputs.len() - 1
        });
        let in_order = shown
            .iter()
            .filter(|&&(output, place)| output == one.output && place < one.place);
        let place = in_order.count();
        let passages = &mut found.outputs[at].page.passages;
        passages.insert(place, one.passage);
        if counter.exceeds(&found.render(), budget.get()) {
            *found = before;
            misses += 1;
        } else {
            shown.push((one.output, one.place));
        }
        if misses > MOST_MISSES {
            break;
        }
    }
    found.tokens = counter.count(&found.render());
    for each in &mut found.outputs {
        each.page.tokens = counter.count(&each.page.render());
    }
}

//! Answers questions that name values or columns from the records of a document.
//!
//! "Which products are out of stock", "how many orders of user X", "the three most expensive": the
//! question is read as conditions, an order, groups and a count ([`plan`]) over a list of objects,
//! the rows of a table or the members of a map ([`load`]). The answer is a table of all records that
//! match, with their number and the conditions as they were understood ([`table`]). What else the
//! question may mean ([`readings`]) follows briefly ([`further`]).

mod beginnings;
mod cell;
mod comparisons;
mod dates;
mod expressions;
mod filter;
mod flags;
mod forms;
mod further;
mod groups;
mod inner;
mod load;
mod moment;
mod needs;
mod order;
mod pairs;
mod parts;
mod pattern;
#[cfg(test)]
mod phrases;
mod plan;
mod quantity;
mod reader;
mod readings;
mod regions;
mod said;
mod table;
mod terms;
mod test;
#[cfg(test)]
mod tests;
mod times;
mod value;
mod values;
mod version;
#[cfg(test)]
mod wordings;

use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::Artifact;
use spillgate_text::TokenCounter;

use comparisons::compares;
use further::with_further;
use groups::FIGURE;
use load::{Collection, Document, KEY, Parsed};
use plan::{COUNTED, Plan, plan};
use table::{head, table};
use terms::{is_ranking, is_superlative};
use test::selected;

use crate::needles::Needles;
use crate::question::Question;
use crate::words::is_stop_word;

/// Most records that a question without an order or a count may select: more is a common word.
const MOST_SELECTED: usize = 2000;

/// How much a list that the question names fits it, beside one with a condition.
const NAMED_LIST: usize = 3;

/// Returns a table of the records that a question asks for; `None` if it asks for none.
///
/// A question that only asks why something failed asks for records that say so. If no word of the
/// document begins like a word of such a question, the records are not read.
pub(crate) fn answer(
    artifact: &Artifact,
    question: &Question,
    words: &str,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> io::Result<Option<String>> {
    let Some(document) = Document::read(artifact)? else {
        return Ok(None);
    };
    if question.is_about_failure && !may_concern(words, document.text()) {
        return Ok(None);
    }
    let parsed = document.parse();
    let text = document.text();
    Ok(parsed.and_then(|parsed| answer_of(&parsed, text, words, budget, counter)))
}

/// Whether a question about a failure may ask for records of a text: it contains the beginning of
/// one of its words, or the question asks for an end of an order, a number or a figure.
fn may_concern(question: &str, text: &[u8]) -> bool {
    /// Bytes of a word by which its other forms are found, too.
    const BEGINNING: usize = 3;
    let lower = question.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let asks = |word: &&str| is_superlative(word) || word.contains(char::is_numeric);
    if words.iter().any(asks) || COUNTED.is_match(question) || FIGURE.is_match(question) {
        return true;
    }
    let words = words.into_iter().filter(|word| !is_stop_word(word));
    let beginnings = words.map(|word| word.get(..BEGINNING).unwrap_or(word));
    let beginnings: Vec<&str> = beginnings.collect();
    occurs(&beginnings, text)
}

/// Whether a word asks for an order or compares, rather than names something: `highest`, `below`.
pub(crate) fn is_operator(word: &str) -> bool {
    let word = word.to_lowercase();
    is_superlative(&word) || is_ranking(&word) || compares(&word)
}

/// Whether one of the words occurs in a text.
fn occurs(words: &[&str], text: &[u8]) -> bool {
    Needles::new(words).find(text, 0).is_some()
}

/// Returns the table of the collection that fits the question best.
fn answer_of(
    parsed: &Parsed<'_>,
    text: &[u8],
    question: &str,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let collections = parsed.collections();
    let plans = collections.iter().map(|one| (plan(question, one), one));
    let plans = plans.map(|(plan, one)| (is_answerable(&plan, one), plan, one));
    let plans: Vec<_> = plans.collect();
    // What the records themselves tell is not asked of the lists inside them.
    let is_told = plans.iter().any(|(is_answer, plan, one)| {
        let tells = plan.has_result() || !plan.conditions.is_empty();
        *is_answer && tells && one.outer.is_none()
    });
    let is_meant = |plan: &Plan, one: &Collection<'_>| {
        one.outer.is_none_or(|outer| {
            // Dates that tell the outer records apart are asked of those.
            let is_compared = |column| {
                let mut conditions = plan.conditions.iter();
                conditions.any(|one| one.column == column && one.test.compares())
            };
            let is_own = |column| {
                one.has_own(column, &collections[outer])
                    && !(one.is_outer_name(column) && is_compared(column))
            };
            match is_told {
                true if plan.asks_collection && !plans[outer].1.asks_collection => true,
                true => plan.told().any(is_own),
                false => plan.used().any(is_own),
            }
        })
    };
    // The assets with most downloads are not asked of the releases with most assets.
    let asks_inner: Vec<(usize, String)> = plans
        .iter()
        .filter_map(|(is_answer, plan, one)| {
            let order = plan.order.as_ref().filter(|_| *is_answer)?;
            let outer = one.outer?;
            let is_told =
                plan.told.contains(&order.column) && one.has_own(order.column, &collections[outer]);
            is_told.then(|| (outer, one.path.clone()))
        })
        .collect();
    let is_list_of = |plan: &Plan, at: usize, one: &Collection<'_>| {
        plan.order.as_ref().is_some_and(|order| {
            let mut inner = asks_inner.iter().filter(|(outer, _)| *outer == at);
            inner.any(|(_, path)| {
                let rest = path.strip_prefix(&*one.path);
                let rest = rest.map(|rest| rest.trim_start_matches('.').trim_end_matches("[]"));
                rest == Some(&*one.columns[order.column])
            })
        })
    };
    let counts = plans
        .iter()
        .filter(|(is_answer, plan, one)| *is_answer && plan.is_count && is_meant(plan, one));
    let others: Vec<_> = counts.cloned().collect();
    let best = plans
        .iter()
        .enumerate()
        .filter(|(at, (_, plan, one))| !is_list_of(plan, *at, one))
        .map(|(_, plan)| plan)
        .filter(|(is_answer, plan, _)| *is_answer || !plan.further.is_empty())
        .filter(|(_, plan, one)| is_meant(plan, one))
        .max_by_key(|(is_answer, plan, one)| {
            // `which functions` asks for the members of the maps in each record.
            let is_map = one.columns.first().is_some_and(|name| name == KEY);
            let is_listed =
                one.outer.is_some() && plan.names_collection && !(plan.asks_collection && is_map);
            let is_named_list = usize::from(is_named_list(plan, one)) * NAMED_LIST;
            let fit = plan.fit() + usize::from(one.has_names()) + is_named_list;
            let fit = fit - usize::from(is_listed);
            let fit = fit + usize::from(is_map && one.outer.is_some() && plan.asks_collection);
            let size = (one.columns.len() > 1, one.records.len());
            (
                *is_answer,
                fit,
                one.outer.is_some(),
                plan.asks_collection && plan.has_result(),
                size,
            )
        });
    let (is_answer, plan, collection) = best?;
    let mut plan = plan.clone();
    if !plan.counts_missing() {
        // What another part of the document has may belong to these records.
        let is_nowhere = |name: &String| name.is_ascii() && !occurs(&[name], text);
        plan.missing = plan.missing.filter(is_nowhere);
    }
    let plan = &plan;
    let first = || table(plan, collection, budget, counter);
    let first = is_answer.then(first).flatten();
    let text = with_further(first, plan, collection, budget, counter);
    if !is_answer || !plan.is_count || plan.has_result() {
        return text;
    }
    with_others(text?, &others, collection, budget, counter).into()
}

/// Adds how many records other lists have that the question may count.
fn with_others(
    mut text: String,
    plans: &[(bool, Plan, &Collection<'_>)],
    shown: &Collection<'_>,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> String {
    /// Most lists.
    const MOST: usize = 3;
    let others = plans
        .iter()
        .filter(|(_, _, one)| !std::ptr::eq(*one, shown));
    let heads = others.map(|(_, plan, one)| head(plan, one, selected(&plan.conditions, one).len()));
    let heads: Vec<String> = heads.take(MOST).collect();
    if heads.is_empty() {
        return text;
    }
    let line = format!("Or {}\n", heads.join("; "));
    let cost = counter.count(&text) + counter.count(&line);
    if cost <= budget.get() / 2 {
        text.push_str(&line);
    }
    text
}

/// Whether the question names a list of a few texts: `Which are required?` asks for `.required[]`.
fn is_named_list(plan: &Plan, collection: &Collection<'_>) -> bool {
    const MOST: usize = 40;
    let is_short = collection.columns == [KEY] && collection.records.len() <= MOST;
    is_short && plan.names_whole_collection && plan.conditions.is_empty()
}

fn is_answerable(plan: &Plan, collection: &Collection<'_>) -> bool {
    if plan.conditions.is_empty() {
        return plan.is_count || plan.has_result() || is_named_list(plan, collection);
    }
    let count = selected(&plan.conditions, collection).len();
    // That no value is so large is an answer, too.
    if count == 0 {
        return plan.conditions.iter().all(|one| one.test.compares());
    }
    plan.is_count || plan.has_result() || count <= MOST_SELECTED
}

/// All patterns over questions.
#[cfg(test)]
fn patterns() -> Vec<&'static pattern::Pattern> {
    vec![
        &beginnings::BEGINNING,
        &beginnings::CONTAINING,
        &beginnings::WITHIN,
        &beginnings::ENDING,
        &beginnings::PATTERN,
        &comparisons::ALONE,
        &comparisons::BEFORE,
        &comparisons::BEHIND,
        &comparisons::HAVING,
        &comparisons::BETWEEN,
        &dates::DATED,
        &dates::YEAR,
        &expressions::SIGNED,
        &expressions::WORDED,
        &expressions::FURTHER,
        &flags::HAVING,
        &flags::LACKING,
        &flags::LACKED,
        &flags::BRACKETED,
        &flags::NOTHING,
        &flags::ABSENT,
        &flags::PRESENT,
        &flags::RELEASED,
        &flags::UNRELEASED,
        &flags::EARLY,
        &groups::PER,
        &groups::EACH,
        &groups::SPREAD,
        &groups::DISTINCT,
        &groups::SHARED,
        &groups::MOST,
        &groups::BUSY,
        &groups::FIGURE,
        &order::BY_NUMBER,
        &pairs::COMPARED_WITH,
        &pairs::SAME,
        &pairs::PUNCTUAL,
        &plan::COUNTED,
        &terms::LARGE,
        &terms::RANGE,
        &terms::BARE_RANGE,
        &terms::MONTHS,
        &terms::YEARS,
        &terms::PAIR,
        &terms::SIGN,
        &terms::TWICE,
        &terms::HYPHENED,
        &terms::ONLY_ONE,
        &terms::CAME_OUT,
        &terms::SURPASSING,
        &terms::COMPARED,
        &terms::SINGLE,
        &terms::OR_MORE,
        &parts::LITERAL,
    ]
}

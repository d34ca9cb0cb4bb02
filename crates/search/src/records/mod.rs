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
mod flags;
mod forms;
mod further;
mod groups;
mod inner;
mod load;
mod moment;
mod order;
mod plan;
mod quantity;
mod reader;
mod readings;
mod table;
mod terms;
mod test;
#[cfg(test)]
mod tests;
mod value;
mod values;
mod version;

use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::Artifact;
use spillgate_text::TokenCounter;

use further::with_further;
use load::{Collection, Document, Parsed};
use plan::{Plan, plan};
use table::table;
use test::selected;

/// Most records that a question without an order or a count may select: more is a common word.
const MOST_SELECTED: usize = 2000;

/// Returns a table of the records that a question asks for; `None` if it asks for none.
pub(crate) fn answer(
    artifact: &Artifact,
    question: &str,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> io::Result<Option<String>> {
    let Some(document) = Document::read(artifact)? else {
        return Ok(None);
    };
    let parsed = document.parse();
    Ok(parsed.and_then(|parsed| answer_of(&parsed, question, budget, counter)))
}

/// Returns the table of the collection that fits the question best.
fn answer_of(
    parsed: &Parsed<'_>,
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
            let is_own = |column| one.has_own(column, &collections[outer]);
            match is_told {
                true => plan.told().any(is_own),
                false => plan.used().any(is_own),
            }
        })
    };
    let best = plans
        .into_iter()
        .filter(|(is_answer, plan, _)| *is_answer || !plan.further.is_empty())
        .filter(|(_, plan, one)| is_meant(plan, one))
        .max_by_key(|(is_answer, plan, one)| {
            let is_listed = one.outer.is_some() && plan.names_collection;
            let fit = plan.fit() + usize::from(one.has_names()) - usize::from(is_listed);
            let size = (one.columns.len() > 1, one.records.len());
            (*is_answer, fit, one.outer.is_some(), size)
        });
    best.and_then(|(is_answer, plan, collection)| {
        let first = || table(&plan, collection, budget, counter);
        let first = is_answer.then(first).flatten();
        with_further(first, &plan, collection, budget, counter)
    })
}

fn is_answerable(plan: &Plan, collection: &Collection<'_>) -> bool {
    if plan.conditions.is_empty() {
        return plan.is_count || plan.has_result();
    }
    let count = selected(&plan.conditions, collection).len();
    // That no value is so large is an answer, too.
    if count == 0 {
        return plan.conditions.iter().all(|one| one.test.compares());
    }
    plan.is_count || plan.has_result() || count <= MOST_SELECTED
}

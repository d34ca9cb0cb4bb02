//! `spillgate search`: prints the passages of a stored output, or of all, that answer a question.

use serde_json::json;
use spillgate_artifact::{Handle, TokenBudget};
use spillgate_search::SearchQuery;
use spillgate_store::ArtifactStore;

use crate::args::Search;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

/// Default budget of the passages, in tokens. With this budget, the answer is found for 92 to 100
/// of 100 factual questions (docs/spec/behaviour.md, "Search without a model").
const PASSAGES: u64 = 1000;

pub(crate) fn search(app: &App, search: &Search, out: &Output) -> Result<u8, Failure> {
    let words = match &search.target {
        Some(_) => search.words.join(" "),
        None => search.all.join(" "),
    };
    let budget = search.max_tokens.filter(|&tokens| tokens > 0);
    let asked = SearchQuery::new(&words, TokenBudget::new(budget.unwrap_or(PASSAGES)));
    let (object, text) = if let Some(target) = &search.target {
        let target = app.target(target)?;
        let page = target.offloader.search(target.handle, &asked)?;
        (json!(page), page.render())
    } else {
        let listed = app.store.list()?;
        let newest_first = listed.iter().rev().map(|one| one.manifest.handle);
        let newest_first: Vec<Handle> = newest_first.collect();
        let page = app.offloader.search_several(&newest_first, &asked)?;
        (json!(page), page.render())
    };
    match out.json {
        true => out.object(&object)?,
        false => out.text(&text)?,
    }
    Ok(0)
}

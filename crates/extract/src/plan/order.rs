//! Orders chunks by their relevance to the question.

use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::{Artifact, LookupError};
use spillgate_search::{SearchQuery, search};
use spillgate_text::TokenCounter;

use super::Plan;

/// Total size of the passages by which chunks are ordered, in tokens. This is more than an answer
/// ever shows, so that the most relevant of many chunks can be found.
const PASSAGES: u64 = 8000;

impl Plan {
    /// Returns the indices of the chunks, ordered by the best passage for `question` in each.
    /// Chunks without a passage follow in the order of the document.
    pub(crate) fn order(
        &self,
        artifact: &Artifact,
        question: &str,
        counter: &dyn TokenCounter,
    ) -> io::Result<Vec<usize>> {
        let query = SearchQuery::new(question, TokenBudget::new(PASSAGES)).passages_only();
        let passages = match search(artifact, &query, counter) {
            Ok(page) => page.passages,
            Err(LookupError::Io(error)) => return Err(error),
            Err(LookupError::Interrupted { why }) => return Err(why.into()),
            Err(LookupError::Shortened(missing)) => return Err(missing.into()),
            Err(_) => Vec::new(),
        };
        let mut order = Vec::with_capacity(self.chunks.len());
        let mut is_placed = vec![false; self.chunks.len()];
        for passage in &passages {
            // A passage may extend over several chunks. It then counts for each of them.
            let from = self
                .chunks
                .partition_point(|chunk| chunk.lines.last < passage.lines.first);
            let after = self
                .chunks
                .partition_point(|chunk| chunk.own_first <= passage.lines.last);
            let missing = (from..after).filter(|&at| !std::mem::replace(&mut is_placed[at], true));
            order.extend(missing);
        }
        order.extend((0..self.chunks.len()).filter(|&at| !is_placed[at]));
        Ok(order)
    }
}

//! The strategy that ranks passages without a model.

use spillgate_artifact::TokenBudget;
use spillgate_lookup::LookupError;
use spillgate_search::{SearchQuery, search};

use crate::case::Case;
use crate::drafted::{Drafted, StrategyError};
use crate::outcome::{Citation, Coverage};
use crate::prompt::NOTHING;

impl Case {
    /// Returns the most relevant passages verbatim, with their places.
    pub(crate) fn passages(&self) -> Result<(Drafted, Vec<Citation>), StrategyError> {
        let total = self.artifact.view().bytes();
        let coverage = Coverage {
            bytes_examined: total,
            bytes_total: total,
            ..Coverage::default()
        };
        if total == 0 {
            return Ok((Drafted::empty(), Vec::new()));
        }
        let budget = TokenBudget::new(self.settings.passage_tokens);
        let asked = SearchQuery::new(&self.extract, budget).passages_only();
        let page = match search(&self.artifact, &asked, &*self.counter) {
            Err(LookupError::EmptyQuestion) => None,
            page => Some(page?),
        };
        let Some(page) = page else {
            let text = format!("{NOTHING}\n`extract` has no word to look for.");
            let drafted = Drafted {
                text,
                coverage,
                ..Drafted::empty()
            };
            return Ok((drafted, Vec::new()));
        };
        let citations = page.passages.iter().map(|passage| {
            let first = self.artifact.raw_range(passage.lines.first)?;
            let last = self.artifact.raw_range(passage.lines.last)?;
            Ok(Citation {
                lines: passage.lines,
                bytes: (
                    first.map_or(0, |(start, _)| start),
                    last.map_or(0, |(_, end)| end),
                ),
                path: passage.path.clone(),
                quote: None,
                matched: None,
            })
        });
        let citations = citations.collect::<Result<Vec<_>, std::io::Error>>()?;
        let is_found = !page.passages.is_empty();
        let text = match is_found {
            true => page.render().trim_end().to_owned(),
            false => format!("{NOTHING}\n{}", page.render().trim_end()),
        };
        let drafted = Drafted {
            text,
            is_found,
            is_partial: false,
            coverage,
            notes: Vec::new(),
        };
        Ok((drafted, citations))
    }
}

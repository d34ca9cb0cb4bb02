//! Describes places in the output by their lines, raw bytes and path.

use std::collections::HashMap;
use std::io;

use spillgate_artifact::LineRange;
use spillgate_lookup::Artifact;
use spillgate_search::paths_at;

use super::find::Hit;
use crate::{Citation, Match};

/// A place that an answer is based on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// First and last line of the place in the view.
    pub lines: (u64, u64),
    /// The quote that was found there, and whether it matches byte for byte.
    pub quote: Option<(String, bool)>,
}

impl Place {
    /// Returns the place of a quote.
    pub(super) fn of_hit(artifact: &Artifact, hit: Hit, quote: &str) -> io::Result<Self> {
        let first = artifact.view().line_of_offset(hit.start)?;
        let last = artifact.view().line_of_offset(hit.last)?;
        let is_exact = hit.matched == Match::Exact;
        Ok(Self {
            lines: (first, last),
            quote: Some((quote.trim().to_owned(), is_exact)),
        })
    }
}

/// Converts places to citations.
pub(super) fn citations(artifact: &Artifact, places: Vec<Place>) -> io::Result<Vec<Citation>> {
    let view = artifact.view();
    let starts: Vec<u64> = places
        .iter()
        .map(|place| view.offset_of_line(place.lines.0))
        .collect::<io::Result<_>>()?;
    let paths = paths_at(artifact, &starts)?;
    let mut known: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut raw = |line: u64| -> io::Result<(u64, u64)> {
        if let Some(range) = known.get(&line) {
            return Ok(*range);
        }
        let range = artifact.raw_range(line)?.unwrap_or_default();
        known.insert(line, range);
        Ok(range)
    };
    let with_paths = places.into_iter().zip(paths);
    with_paths
        .map(|(place, path)| {
            let (first, last) = place.lines;
            let matched = |is_exact| {
                if is_exact {
                    Match::Exact
                } else {
                    Match::Normalised
                }
            };
            Ok(Citation {
                lines: LineRange { first, last },
                bytes: (raw(first)?.0, raw(last)?.1),
                path,
                matched: place.quote.as_ref().map(|(_, is_exact)| matched(*is_exact)),
                quote: place.quote.map(|(quote, _)| quote),
            })
        })
        .collect()
}

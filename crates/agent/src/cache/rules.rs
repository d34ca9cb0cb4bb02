//! Rules that define for which tools results are cached, and for how long.

use std::cmp::Reverse;
use std::time::Duration;

use globset::{Glob, GlobMatcher};

/// How long results are cached.
#[derive(Debug, Clone, Default)]
pub struct CacheRules {
    otherwise: Option<Duration>,
    tools: Vec<(GlobMatcher, Option<Duration>)>,
}

impl CacheRules {
    /// Returns rules. `otherwise` applies to all tools that no pattern matches. A pattern matches
    /// `host/tool`, or only the tool's name if it contains no slash. If several patterns match, the
    /// longest one applies. `None` and zero disable caching. The error names an invalid pattern.
    pub fn new(
        otherwise: Option<Duration>,
        tools: impl IntoIterator<Item = (String, Option<Duration>)>,
    ) -> Result<Self, globset::Error> {
        let mut tools = tools
            .into_iter()
            .map(|(pattern, ttl)| Ok((Glob::new(&pattern)?.compile_matcher(), ttl)))
            .collect::<Result<Vec<_>, globset::Error>>()?;
        tools.sort_by_key(|(glob, _)| Reverse(glob.glob().glob().len()));
        Ok(Self { otherwise, tools })
    }

    /// Returns how long results of this tool of this host are cached; `None` if they are not.
    #[must_use]
    pub fn ttl(&self, host: &str, tool: &str) -> Option<Duration> {
        let whole = format!("{host}/{tool}");
        let matches = |glob: &GlobMatcher| match glob.glob().glob().contains('/') {
            true => glob.is_match(&whole),
            false => glob.is_match(tool),
        };
        let rule = self.tools.iter().find(|(glob, _)| matches(glob));
        let ttl = rule.map_or(self.otherwise, |(_, ttl)| *ttl);
        ttl.filter(|ttl| !ttl.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pattern_counts() {
        let minutes = |n: u64| Some(Duration::from_secs(60 * n));
        let rules = CacheRules::new(
            minutes(1),
            [
                ("read_*".to_owned(), minutes(2)),
                ("read_secret".to_owned(), None),
                ("web/*".to_owned(), minutes(3)),
                ("zero".to_owned(), minutes(0)),
            ],
        )
        .unwrap();
        let cases = [
            ("fs", "list", 1),
            ("fs", "read_file", 2),
            ("fs", "read_secret", 0),
            ("web", "list", 3),
            ("web", "zero", 3),
            ("fs", "zero", 0),
        ];
        for (host, tool, expected) in cases {
            let expected = minutes(expected).filter(|ttl| !ttl.is_zero());
            assert_eq!(rules.ttl(host, tool), expected, "{host}/{tool}");
        }
        assert_eq!(CacheRules::default().ttl("fs", "list"), None);
        assert!(CacheRules::new(None, [("[".to_owned(), None)]).is_err());
    }
}

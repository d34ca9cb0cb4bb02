//! A server as it is configured: how it is reached, and which of its tools may be used.

use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use spillgate_bridge::Bridging;
use spillgate_transport::ServerSpec;

/// A server that has said nothing of a request for so long is given up, unless
/// configured otherwise: longer than clients wait, so that only what nobody
/// waits for any more is cut off.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// A server behind us.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Its name, and how it is reached.
    pub spec: ServerSpec,
    /// Which of its tools may be seen and called.
    pub tools: ToolFilter,
    /// How long it may be silent about a request; `None` is for ever.
    pub timeout: Option<Duration>,
    /// When its generation of the protocol is translated.
    pub bridge: Bridging,
}

impl Server {
    /// A server whose tools may all be used.
    #[must_use]
    pub fn new(spec: ServerSpec) -> Self {
        Self {
            spec,
            tools: ToolFilter::default(),
            timeout: Some(DEFAULT_TIMEOUT),
            bridge: Bridging::Auto,
        }
    }
}

/// Which tools may be used.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// Only these; `None` is all.
    allow: Option<GlobSet>,
    /// But not these.
    deny: GlobSet,
    patterns: (Vec<String>, Vec<String>),
}

impl PartialEq for ToolFilter {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl ToolFilter {
    /// Tools whose names match one of `allow`, or all if there is none, and none
    /// of `deny`. An error names the pattern that is wrong.
    pub fn new(allow: &[String], deny: &[String]) -> Result<Self, globset::Error> {
        let set = |patterns: &[String]| {
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                set.add(GlobBuilder::new(pattern).build()?);
            }
            set.build()
        };
        Ok(Self {
            allow: match allow {
                [] => None,
                some => Some(set(some)?),
            },
            deny: set(deny)?,
            patterns: (allow.to_vec(), deny.to_vec()),
        })
    }

    /// Whether every tool may be used.
    #[must_use]
    pub fn admits_all(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }

    /// Whether this tool may be used.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.is_match(tool)) && !self.deny.is_match(tool)
    }

    /// What a caller is told who may not call this tool; `None` if it may.
    #[must_use]
    pub fn refusal(&self, tool: &str) -> Option<String> {
        let tool = (!self.admits(tool)).then(|| tool.escape_debug())?;
        Some(format!(
            "the configuration of this gateway does not allow the tool `{tool}`"
        ))
    }
}

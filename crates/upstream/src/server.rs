//! A server's configuration: its transport, and which of its tools may be used.

use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use spillgate_bridge::Bridging;
use spillgate_transport::ServerSpec;

/// How long a server may be silent about a request, unless configured otherwise. This is longer
/// than clients usually wait, so we give up only requests that their clients have already given up.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// A configured server.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// The server's name and transport.
    pub spec: ServerSpec,
    /// The tools that may be listed and called.
    pub tools: ToolFilter,
    /// How long the server may be silent about a request; `None` means no limit.
    pub timeout: Option<Duration>,
    /// When to translate between protocol generations for this server.
    pub bridge: Bridging,
}

impl Server {
    /// Returns a server without limits on its tools.
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

/// Selects the tools that may be used.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// The allowed tools; `None` allows all.
    allow: Option<GlobSet>,
    /// The denied tools, even if they are allowed.
    deny: GlobSet,
    patterns: (Vec<String>, Vec<String>),
}

impl PartialEq for ToolFilter {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl ToolFilter {
    /// Returns a filter for tools whose names match one of `allow` (all if it is empty) and none of
    /// `deny`. The error names an invalid pattern.
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

    /// Returns whether every tool may be used.
    #[must_use]
    pub fn admits_all(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }

    /// Returns whether this tool may be used.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.is_match(tool)) && !self.deny.is_match(tool)
    }

    /// Returns the error text for a caller that may not call this tool; `None` if it may.
    #[must_use]
    pub fn refusal(&self, tool: &str) -> Option<String> {
        let tool = (!self.admits(tool)).then(|| tool.escape_debug())?;
        Some(format!(
            "the configuration of this gateway does not allow the tool `{tool}`"
        ))
    }
}

//! What is a gateway made of?

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use spillgate_artifact::TokenBudget;
use spillgate_extract::Extractor;
use spillgate_offload::Offloader;
use spillgate_query::Engine;
use spillgate_wire::{Connector, ServerSpec};

use crate::ListTools;
use spillgate_retrieval::Tools;

/// A server that has said nothing of a request for so long is given up, unless
/// configured otherwise: longer than clients wait, so that only what nobody
/// waits for any more is cut off.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Servers, and what is done with their results.
#[derive(Debug, Clone)]
pub struct Gateway {
    /// What stores oversized results.
    pub offloader: Offloader,
    /// What opens the ways to the servers.
    pub connector: Arc<dyn Connector>,
    /// The servers, in the order in which their tools are listed.
    pub servers: Vec<Server>,
    /// Tokens of a page of a stored result, unless a call asks otherwise.
    pub page: TokenBudget,
    /// When the gateway's own tools are listed.
    pub list_tools: ListTools,
    /// What runs jq filters.
    pub engine: Engine,
    /// What answers `tool_output`; `None` where there is no such tool.
    pub extractor: Option<Extractor>,
    /// How several servers look like one.
    pub several: Several,
}

/// How long a client waits for one of several servers of which nothing is known
/// yet, unless configured otherwise: clients give up a server after 5 to 60 s.
const DEFAULT_START_WAIT: Duration = Duration::from_secs(3);

/// How several servers look like one. One server alone passes as it is.
#[derive(Debug, Clone)]
pub struct Several {
    /// How long a greeting or a list waits for a server of which nothing is known
    /// yet. A server that comes later joins by `list_changed`.
    pub start_wait: Duration,
    /// Which tools and prompts have their server's name in front.
    pub prefix: Prefix,
    /// The directory that keeps what servers listed last; `None` keeps it in memory
    /// only.
    pub known: Option<PathBuf>,
}

impl Default for Several {
    fn default() -> Self {
        Self {
            start_wait: DEFAULT_START_WAIT,
            prefix: Prefix::default(),
            known: None,
        }
    }
}

/// Which tools and prompts of several servers have their server's name in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefix {
    /// Those whose name two servers use.
    #[default]
    Clash,
    /// All: their names do not depend on which servers are up.
    Always,
}

/// A server behind the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Its name, and the way to it.
    pub spec: ServerSpec,
    /// Which of its tools clients may see and call.
    pub tools: ToolFilter,
    /// How long it may be silent about a request; `None` is for ever.
    pub timeout: Option<Duration>,
    /// When its generation of the protocol is translated.
    pub bridge: Bridging,
}

/// When a bridge stands before a server whose generation of MCP is not the
/// client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bridging {
    /// When a client insists: `server/discover` and its refusal pass.
    #[default]
    Auto,
    /// `server/discover` is answered for a server that does not know it, too.
    Always,
    /// Never: everything passes.
    Never,
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

    pub(crate) fn admits_all(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }

    pub(crate) fn admits(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.is_match(tool)) && !self.deny.is_match(tool)
    }
}

impl Gateway {
    pub(crate) fn tools(&self) -> Tools {
        Tools {
            offloader: self.offloader.clone(),
            page: self.page,
            engine: self.engine.clone(),
            extractor: self.extractor.clone(),
        }
    }
}

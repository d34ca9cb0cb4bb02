//! What a gateway is made of: its servers, and what it does with their results.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spillgate_artifact::TokenBudget;
use spillgate_extract::Extractor;
use spillgate_offload::Offloader;
use spillgate_query::Engine;
use spillgate_transport::Connector;
use spillgate_upstream::Server;

use crate::ListTools;
use spillgate_retrieval::RetrievalTools;

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

impl Gateway {
    pub(crate) fn tools(&self) -> RetrievalTools {
        RetrievalTools {
            offloader: self.offloader.clone(),
            page: self.page,
            engine: self.engine.clone(),
            extractor: self.extractor.clone(),
        }
    }
}

//! The configuration of a gateway: its servers, and how their results are handled.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{SessionId, TokenBudget};
use spillgate_extract::Extractor;
use spillgate_offload::{History, Offloader};
use spillgate_query::Engine;
use spillgate_transport::Connector;
use spillgate_upstream::Server;

use crate::ListTools;
use crate::tool_search::ToolSearch;
use spillgate_retrieval::RetrievalTools;

/// The configuration of a gateway.
#[derive(Debug, Clone)]
pub struct Gateway {
    /// Stores oversized results.
    pub offloader: Offloader,
    /// Opens connections to the servers.
    pub connector: Arc<dyn Connector>,
    /// The servers, in the order in which their tools are listed.
    pub servers: Vec<Server>,
    /// The default size of a page of a stored result, in tokens.
    pub page: TokenBudget,
    /// When the gateway's own tools are listed.
    pub list_tools: ListTools,
    /// Runs jq filters.
    pub engine: Engine,
    /// Answers calls of `tool_output`; `None` if the gateway does not offer it.
    pub extractor: Option<Extractor>,
    /// How several servers are presented as one.
    pub several: Several,
    /// Which tools are listed and which are found by a search.
    pub tool_search: ToolSearch,
}

/// The default time that a client waits for one of several servers about which nothing is known
/// yet. Clients wait 5 to 60 s for a server before they give up.
const DEFAULT_START_WAIT: Duration = Duration::from_secs(3);

/// How several servers are presented as one. With a single server, messages pass unchanged.
#[derive(Debug, Clone)]
pub struct Several {
    /// How long a greeting or a list waits for a server about which nothing is known yet. A server
    /// that answers later is announced by `list_changed`.
    pub start_wait: Duration,
    /// Which tools and prompts get their server's name as a prefix.
    pub prefix: Prefix,
    /// The directory in which the last lists of each server are stored; `None` keeps them in memory
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

/// Which tools and prompts of several servers get their server's name as a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefix {
    /// Only tools and prompts whose name several servers use.
    #[default]
    Clash,
    /// All tools and prompts, so that names do not depend on which servers are running.
    Always,
}

impl Gateway {
    /// Returns the settings for a client's session; `None` if its store is used alike by all sessions.
    pub(crate) fn in_session(&self, session: SessionId) -> Option<Self> {
        let offloader = self.offloader.in_session(session)?;
        let extractor = self.extractor.as_ref();
        Some(Self {
            offloader,
            extractor: extractor.map(|extractor| extractor.in_session(session)),
            ..self.clone()
        })
    }

    /// Returns the look-up tools. `session` contains the results of the client that calls them.
    pub(crate) fn tools(&self, session: Option<Arc<History>>) -> RetrievalTools {
        RetrievalTools {
            offloader: self.offloader.clone(),
            page: self.page,
            engine: self.engine.clone(),
            extractor: self.extractor.clone(),
            session,
        }
    }
}

//! What a session keeps about a request that waits for an answer.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, object};
use spillgate_offload::Limits;

use crate::resources;
use crate::results::tasks;
use crate::session::attempts::Attempts;

/// What a request asked for, as far as its answer may have to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// `initialize` or `server/discover`.
    Capabilities,
    /// `tools/list`.
    ToolsList,
    /// `tools/call`.
    ToolsCall {
        /// The tool's name.
        tool: String,
        /// Its arguments, verbatim JSON.
        arguments: Option<String>,
    },
    /// `resources/read`.
    ResourcesRead {
        /// Its parameters, verbatim JSON.
        params: Option<String>,
    },
    /// `resources/read` of what is never replaced.
    Whole,
    /// `prompts/get`.
    PromptsGet {
        /// Its parameters, verbatim JSON.
        params: Option<String>,
    },
    /// `tasks/result`: the answer is the call's result.
    TasksResult {
        /// The task.
        task: String,
    },
    /// `tasks/get`: the answer may have the call's result in it.
    TasksGet {
        /// The task.
        task: String,
    },
    /// Anything else: its answer passes as it is.
    Other,
}

/// A request on its way.
pub(crate) type InFlightRequest = spillgate_upstream::InFlightRequest<RequestDetails>;

/// What a session keeps about a request.
#[derive(Debug)]
pub struct RequestDetails {
    pub(crate) kind: RequestKind,
    /// Which servers are asked if this one refuses; `None` where one is meant.
    pub(crate) attempts: Option<Box<Attempts>>,
    /// The limits for its answer, once somebody asked for them.
    pub(crate) limits: Option<Limits>,
    /// Where in the frame that answers it the result stands, once it is there.
    pub(crate) result: Option<Range<usize>>,
}

impl RequestKind {
    /// The tool that is called.
    pub(crate) fn tool(&self) -> Option<&str> {
        match self {
            Self::ToolsCall { tool, .. } => Some(tool),
            _ => None,
        }
    }

    /// Whether an answer may have a result of a tool, a resource or a prompt.
    pub(crate) fn has_result(&self) -> bool {
        !matches!(
            self,
            Self::Whole | Self::Other | Self::Capabilities | Self::ToolsList
        )
    }
}

impl From<RequestKind> for RequestDetails {
    fn from(kind: RequestKind) -> Self {
        Self {
            kind,
            attempts: None,
            limits: None,
            result: None,
        }
    }
}

/// The parameters of `tools/call`.
#[derive(Debug, Deserialize)]
pub(crate) struct CallParams<'a> {
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<&'a RawValue>,
}

impl<'a> CallParams<'a> {
    /// Those of a message that calls a tool. To be read once: arguments may be
    /// large.
    pub(crate) fn of(envelope: &Envelope<'a>) -> Option<Self> {
        let is_call = envelope.method.as_deref() == Some("tools/call");
        object(envelope.params.filter(|_| is_call)?)
    }
}

/// What a request with these parameters asks for; `call` are those of a call.
pub(crate) fn asked(
    method: &str,
    params: Option<&RawValue>,
    call: Option<&CallParams<'_>>,
) -> RequestKind {
    match method {
        "initialize" | "server/discover" => RequestKind::Capabilities,
        "tools/list" => RequestKind::ToolsList,
        "tools/call" => match call {
            Some(call) => RequestKind::ToolsCall {
                tool: call.name.clone(),
                arguments: call.arguments.map(|raw| raw.get().to_owned()),
            },
            None => RequestKind::Other,
        },
        "resources/read" if resources::passes_whole(params) => RequestKind::Whole,
        "resources/read" => RequestKind::ResourcesRead {
            params: params.map(|raw| raw.get().to_owned()),
        },
        "prompts/get" => RequestKind::PromptsGet {
            params: params.map(|raw| raw.get().to_owned()),
        },
        "tasks/result" | "tasks/get" => match tasks::asked(params) {
            Some(task) if method == "tasks/get" => RequestKind::TasksGet { task },
            Some(task) => RequestKind::TasksResult { task },
            None => RequestKind::Other,
        },
        _ => RequestKind::Other,
    }
}

//! What a session records about a request in flight.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, object};
use spillgate_offload::{Limits, ResultMode};
use spillgate_upstream::Target;

use crate::resources;
use crate::results::tasks;
use crate::session::attempts::Attempts;

/// The kind of a request. It determines the edits that its response may need.
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
        /// The exact JSON of the arguments.
        arguments: Option<String>,
    },
    /// `resources/read`.
    ResourcesRead {
        /// The exact JSON of the parameters.
        params: Option<String>,
    },
    /// `resources/read` of a resource that is never replaced by a preview.
    Whole,
    /// `prompts/get`.
    PromptsGet {
        /// The prompt's name, if the parameters are right.
        prompt: Option<String>,
        /// The exact JSON of the parameters.
        params: Option<String>,
    },
    /// `tasks/result`: the response is the call's result.
    TasksResult {
        /// The task's id.
        task: String,
    },
    /// `tasks/get`: the response may contain the call's result.
    TasksGet {
        /// The task's id.
        task: String,
    },
    /// Any other request. Its response passes unchanged.
    Other,
}

/// A request in flight.
pub(crate) type InFlightRequest = spillgate_upstream::InFlightRequest<RequestDetails>;

/// The session's own data about a request.
#[derive(Debug)]
pub struct RequestDetails {
    pub(crate) kind: RequestKind,
    /// The servers to ask if this one refuses; `None` if the request is meant for this server only.
    pub(crate) attempts: Option<Box<Attempts>>,
    /// The limits for the response; `None` until they are determined.
    pub(crate) limits: Option<Limits>,
    /// What the request itself says about its result; `None` if it says nothing.
    pub(crate) results: Option<ResultMode>,
    /// The range of the result in the response frame, after the response has arrived.
    pub(crate) result: Option<Range<usize>>,
}

impl RequestKind {
    /// Returns what the request names.
    pub(crate) fn target(&self) -> Option<Target<'_>> {
        match self {
            Self::ToolsCall { tool, .. } => Some(Target::Tool(tool)),
            Self::PromptsGet { prompt, .. } => prompt.as_deref().map(Target::Prompt),
            _ => None,
        }
    }

    /// Whether the response may contain the result of a tool, a resource or a prompt.
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
            results: None,
            result: None,
        }
    }
}

/// The parameters of `tools/call` and `prompts/get`.
#[derive(Debug, Deserialize)]
pub(crate) struct CallParams<'a> {
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<&'a RawValue>,
}

impl<'a> CallParams<'a> {
    /// Parses the parameters of a message that calls a tool. Call this only once per message,
    /// because arguments may be large.
    pub(crate) fn of(envelope: &Envelope<'a>) -> Option<Self> {
        let is_call = envelope.method.as_deref() == Some("tools/call");
        object(envelope.params.filter(|_| is_call)?)
    }
}

/// Returns the kind of a request. `call` contains its parameters if it calls a tool.
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
            prompt: params
                .and_then(object::<CallParams<'_>>)
                .map(|params| params.name),
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

//! Which requests wait for an answer of a server?

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, RequestId, object};
use spillgate_offload::Limits;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::resources;
use crate::results::tasks;
use crate::session::attempts::Attempts;
use crate::telemetry::request_span::{Outcome, RequestSpan};
use crate::upstream::Slot;

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

/// The frame with the answer, or how it came that there is none.
pub(crate) type Answered = Result<Bytes, String>;

/// A request on its way.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    /// The id as it was spelled.
    pub(crate) id: String,
    /// The method, for messages about it.
    pub(crate) method: String,
    pub(crate) asked: RequestKind,
    /// The server that was asked.
    pub(crate) slot: Slot,
    /// When the server last let itself be heard about it.
    pub(crate) heard: Instant,
    /// Its progress token, as JSON.
    pub(crate) progress: Option<String>,
    /// Who in this gateway asked; `None` for the client.
    pub(crate) for_us: Option<oneshot::Sender<Answered>>,
    /// Which servers are asked if this one refuses; `None` where one is meant.
    pub(crate) attempts: Option<Box<Attempts>>,
    /// What is told of it outside; `None` where no single server was asked.
    pub(crate) seen: Option<RequestSpan>,
    /// The limits for its answer, once somebody asked for them.
    pub(crate) limits: Option<Limits>,
    /// Where in the frame that answers it the result stands, once it is there.
    pub(crate) result: Option<Range<usize>>,
}

impl InFlightRequest {
    /// Notes how it ends without an answer.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        if let Some(seen) = &mut self.seen {
            seen.end(outcome);
        }
    }

    /// A request of the client that the gateway answers for several servers.
    pub(crate) fn of_client(id: &str, method: &str) -> Self {
        Self {
            id: id.to_owned(),
            method: method.to_owned(),
            asked: RequestKind::Other,
            slot: 0,
            heard: Instant::now(),
            progress: None,
            for_us: None,
            attempts: None,
            seen: None,
            limits: None,
            result: None,
        }
    }
}

/// Requests that were given up and are remembered, the last ones.
const MOST_GIVEN_UP: usize = 256;

/// Requests on their way.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    requests: Mutex<HashMap<RequestId, InFlightRequest>>,
    /// Those that the gateway answered because the server did not.
    given_up: Mutex<VecDeque<RequestId>>,
}

impl InFlight {
    /// Notes a request that is about to be passed on.
    pub(crate) fn add(&self, key: RequestId, waiting: InFlightRequest) {
        self.given_up.lock().retain(|other| *other != key);
        self.requests.lock().insert(key, waiting);
    }

    /// The request that is answered now.
    pub(crate) fn take(&self, key: &RequestId) -> Option<InFlightRequest> {
        self.requests.lock().remove(key)
    }

    /// Whether it waits still.
    pub(crate) fn has(&self, key: &RequestId) -> bool {
        self.requests.lock().contains_key(key)
    }

    /// Notes a request that is answered in the server's place.
    pub(crate) fn give_up(&self, key: RequestId) {
        let mut given_up = self.given_up.lock();
        if given_up.len() == MOST_GIVEN_UP {
            given_up.pop_front();
        }
        given_up.push_back(key);
    }

    /// Whether an answer that nobody waits for would be the second one.
    pub(crate) fn is_given_up(&self, key: &RequestId) -> bool {
        self.given_up.lock().contains(key)
    }

    /// Looks at a request that waits.
    pub(crate) fn look(&self, key: &RequestId, look: impl FnOnce(&mut InFlightRequest)) {
        self.requests.lock().get_mut(key).map(look);
    }

    /// The client's request with this progress token, whose server was just
    /// heard of.
    pub(crate) fn progressed(&self, token: &str, now: Instant) -> Option<RequestId> {
        let mut requests = self.requests.lock();
        let (key, waiting) = requests
            .iter_mut()
            .find(|(_, waiting)| waiting.progress.as_deref() == Some(token))?;
        waiting.heard = now;
        Some(key.clone())
    }

    /// All requests that are `over`, in the same order every time.
    pub(crate) fn drain(
        &self,
        over: impl Fn(&InFlightRequest) -> bool,
    ) -> Vec<(RequestId, InFlightRequest)> {
        let mut drained: Vec<_> = self
            .requests
            .lock()
            .extract_if(|_, waiting| over(waiting))
            .collect();
        drained.sort_by(|(one, _), (other, _)| one.cmp(other));
        drained
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.lock().is_empty()
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

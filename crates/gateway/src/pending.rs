//! Which of the client's requests wait for an answer?

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_wire::{Key, object};

use crate::{resources, tasks};

/// What a request asked for, as far as its answer may have to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
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

/// Requests on their way, by the one spelling of their id.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    requests: Mutex<HashMap<Key, Request>>,
}

#[derive(Debug)]
struct Request {
    /// The id as the client spelled it.
    id: String,
    asked: Asked,
}

impl Pending {
    /// Notes a request that is about to be passed on.
    pub(crate) fn add(&self, key: Key, id: &str, asked: Asked) {
        let request = Request {
            id: id.to_owned(),
            asked,
        };
        self.requests().insert(key, request);
    }

    /// What the request asked for that is answered now.
    pub(crate) fn take(&self, key: &Key) -> Option<Asked> {
        self.requests().remove(key).map(|request| request.asked)
    }

    /// The ids of all requests that will not be answered any more.
    pub(crate) fn drain(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.requests().drain().map(|(_, r)| r.id).collect();
        ids.sort(); // answered in the same order every time
        ids
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<Key, Request>> {
        // Each change is one call on the map, so a panic elsewhere leaves it whole.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
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

/// What a request with these parameters asks for.
pub(crate) fn asked(method: &str, params: Option<&RawValue>) -> Asked {
    match method {
        "initialize" | "server/discover" => Asked::Capabilities,
        "tools/list" => Asked::ToolsList,
        "tools/call" => match params.and_then(object::<CallParams<'_>>) {
            Some(call) => Asked::ToolsCall {
                tool: call.name,
                arguments: call.arguments.map(|raw| raw.get().to_owned()),
            },
            None => Asked::Other,
        },
        "resources/read" if resources::passes_whole(params) => Asked::Other,
        "resources/read" => Asked::ResourcesRead {
            params: params.map(|raw| raw.get().to_owned()),
        },
        "prompts/get" => Asked::PromptsGet {
            params: params.map(|raw| raw.get().to_owned()),
        },
        "tasks/result" | "tasks/get" => match tasks::asked(params) {
            Some(task) if method == "tasks/get" => Asked::TasksGet { task },
            Some(task) => Asked::TasksResult { task },
            None => Asked::Other,
        },
        _ => Asked::Other,
    }
}

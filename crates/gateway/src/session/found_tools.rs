//! Answers searches for tools, and passes calls by name on as direct calls.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, Generation, ObjectView, frame, messages, meta, object};
use spillgate_offload::Offloader;
use spillgate_retrieval::result_of;
use spillgate_text::TokenCounter;
use tokio::task::spawn_blocking;

use crate::aggregate;
use crate::session::Session;
use crate::session::in_flight::CallParams;
use crate::session::incoming::Incoming;
use crate::tool_search::call::{self, Direct};
use crate::tool_search::find::{self, Tool};
use crate::tool_search::{CALL, FIND};

/// Most tools that a search ranks, because a hostile server may list any number.
const MOST_TOOLS: usize = 5000;

/// The error for a call whose check panicked.
const UNCHECKED: &str = "nothing was called: the gateway failed while it checked the call (a fault \
    of Spillgate); call the tool again";

impl Session {
    /// Whether tools of any server are found by a search. If the only server finds tools itself, it
    /// answers these searches.
    pub(crate) fn is_searching(&self) -> bool {
        let gateway = self.gateway();
        let all = self.upstreams.all();
        let is_theirs = all.len() == 1 && self.builtin_tools.server_finds();
        !is_theirs
            && all
                .iter()
                .any(|one| gateway.tool_search.searches(one.name()))
    }

    /// Whether this is a call by name that this gateway passes on.
    pub(crate) fn is_call_by_name(&self, call: &CallParams<'_>) -> bool {
        call.name == CALL && self.is_searching()
    }

    /// Passes a call by name on as a direct call. If no tool with this name is known, the current
    /// list is fetched first.
    pub(crate) async fn call_by_name(
        self: &Arc<Self>,
        envelope: &Envelope<'_>,
        by_name: &CallParams<'_>,
        incoming: &Incoming,
    ) {
        let Some(id) = envelope.id else { return };
        let generation = Generation::of_meta(by_name.meta);
        let named = envelope.params.and_then(ObjectView::of);
        let named = named.and_then(|params| params.get("name"));
        let direct = match named {
            Some(named) => call::direct(&incoming.frame, named, by_name),
            None => return,
        };
        let direct = match direct {
            Ok(direct) => direct,
            Err(what) => return self.refuse_call(id.get(), generation, what).await,
        };
        let mut headers = incoming.headers.clone();
        // These headers describe the call by name, so the connection must derive new ones.
        headers.retain(|(name, _)| !name.starts_with("mcp-") || name == meta::VERSION_HEADER);
        let passed = move |direct: &Direct, frame: &Bytes| Incoming {
            frame: direct.frame(frame),
            headers,
        };
        let found = self.builtin_tools.found(&direct.name);
        let is_complete = |tool: Arc<Tool>| tool.missing(&direct.arguments).is_empty();
        if self.builtin_tools.is_known(&direct.name) && found.is_none_or(is_complete) {
            return self.pass_direct(&passed(&direct, &incoming.frame)).await;
        }
        let Some(key) = envelope.key() else { return };
        let (session, id) = (Arc::clone(self), id.get().to_owned());
        let frame = incoming.frame.clone();
        let meta = by_name.meta.map(ToOwned::to_owned);
        // Until it is passed on, the call is one of ours, so that it can be cancelled.
        let (cancelled, _) = self.builtin_calls.begin(&key);
        self.work(async move {
            let tools = tokio::select! {
                tools = session.tools(meta.as_deref()) => Some(tools),
                () = cancelled.cancelled() => None,
            };
            if !session.builtin_calls.end(&key) {
                return; // the client does not wait for an answer any more
            }
            let checked = match tools {
                None => Err("cancelled".to_owned()),
                Some(tools) => {
                    let counter = Arc::clone(session.gateway().offloader.counter());
                    // Without a list, the server says whether it has the tool.
                    let tools = tools.unwrap_or_default();
                    let check = move || checked(direct, &tools, &*counter);
                    spawn_blocking(check)
                        .await
                        .unwrap_or_else(|_| Err(UNCHECKED.to_owned()))
                }
            };
            match checked {
                Ok(direct) => session.pass_direct(&passed(&direct, &frame)).await,
                Err(what) => session.refuse_call(&id, generation, what).await,
            }
        });
    }

    /// Handles a direct call. Boxed, because the call by name was handled by the same function.
    fn pass_direct<'a>(self: &'a Arc<Self>, incoming: &'a Incoming) -> BoxFuture<'a, ()> {
        async move {
            if let [envelope] = &*messages(&incoming.frame) {
                self.one(envelope, incoming).await;
            }
        }
        .boxed()
    }

    /// Returns why a direct call of a tool that a search has listed is not passed on: it lacks required
    /// arguments, or has placeholders in their place. The error of a server seldom says how to call the tool.
    pub(crate) fn why_refused(&self, call: &CallParams<'_>) -> Option<String> {
        if !self.builtin_tools.has_grown_by(&call.name) {
            return None;
        }
        let tool = self.builtin_tools.found(&call.name)?;
        let arguments = call.arguments.map_or("{}", RawValue::get);
        let error = match (tool.missing(arguments), tool.unfilled(arguments)) {
            (missing, _) if !missing.is_empty() => tool.incomplete(arguments, &missing, true),
            (_, unfilled) if !unfilled.is_empty() => find::unfilled(&tool.name, &unfilled),
            _ => return None,
        };
        // The tool may have changed since the search, and `<text>` may be meant, so the server gets the next call.
        self.builtin_tools.forget_found(&call.name);
        Some(error)
    }

    /// Answers a call with an error for the model.
    pub(crate) async fn refuse_call(&self, id: &str, generation: Generation, what: String) {
        let told = self.gateway().offloader.presented(what);
        let result = generation.complete(&result_of(&told, true));
        self.to_client(frame::line(frame::response(id, &result)))
            .await;
    }

    /// Returns the result of a search for tools, as JSON.
    pub(crate) async fn find_tools(
        self: &Arc<Self>,
        offloader: &Offloader,
        arguments: Option<&RawValue>,
        meta: Option<&RawValue>,
    ) -> String {
        #[derive(Deserialize)]
        struct Asked {
            #[serde(alias = "query", alias = "words", alias = "name")]
            task: String,
            /// Small models split the task: `{"task": "get information", "entity": "Paris"}`.
            #[serde(flatten)]
            others: serde_json::Map<String, serde_json::Value>,
        }
        /// Small models copy the schema of the arguments.
        #[derive(Deserialize)]
        struct AsSchema {
            properties: Asked,
        }
        let copied = || Some(arguments.and_then(object::<AsSchema>)?.properties);
        let asked = arguments.and_then(object::<Asked>).or_else(copied);
        let query = asked.map(|asked| {
            // `limit: 5` says nothing about the tool.
            let says =
                |(_, value): &(&String, &serde_json::Value)| value.is_string() || value.is_object();
            let others = asked.others.iter().filter(says).map(|(name, _)| &**name);
            std::iter::once(&*asked.task)
                .chain(others)
                .collect::<Vec<_>>()
                .join(" ")
        });
        let query = query.filter(|query| !query.trim().is_empty());
        let Some(query) = query else {
            let what =
                "`task` is missing: give what the tool has to do, or the name of a tool".to_owned();
            return result_of(&offloader.presented(what), true);
        };
        match self.tools(meta).await {
            Ok(tools) => {
                let (offloader, session) = (offloader.clone(), Arc::clone(self));
                let found = move || {
                    let tool_search = &session.gateway().tool_search;
                    // The gateway does not know the list of a stateless client.
                    let has_list = session.known_history().is_some();
                    let lists = |tool: &Tool| has_list && tool_search.lists_found(&tool.server);
                    let found = find::found(&query, &tools, &lists, &**offloader.counter());
                    session
                        .builtin_tools
                        .grow(found.listed.iter().map(|name| &**name));
                    result_of(&offloader.presented(found.text), false)
                };
                spawn_blocking(found).await.unwrap_or_default()
            }
            Err(why) => {
                let what = format!("{FIND}: the list of tools could not be fetched: {why}");
                result_of(&offloader.presented(what), true)
            }
        }
    }

    /// Fetches the current tools of all servers. `meta` belongs to the request that needs them.
    async fn tools(self: &Arc<Self>, meta: Option<&RawValue>) -> Result<Vec<Arc<Tool>>, String> {
        let listed = aggregate::all_tools(self, &list_params(meta)).await?;
        let parse = move || -> Vec<Arc<Tool>> {
            let tools = listed.iter().take(MOST_TOOLS);
            tools
                .filter_map(|(server, json)| Tool::of(server, json).map(Arc::new))
                .collect()
        };
        let tools = spawn_blocking(parse)
            .await
            .map_err(|error| error.to_string())?;
        for tool in &tools {
            self.builtin_tools.note_known(&tool.name);
        }
        self.builtin_tools.note_found(&tools);
        Ok(tools)
    }
}

/// Returns the parameters of a request for a list. `meta` belongs to the request that needs the list.
pub(crate) fn list_params(meta: Option<&RawValue>) -> String {
    let meta = match Generation::of_meta(meta) {
        Generation::Modern => meta.and_then(ObjectView::of),
        Generation::Legacy => None,
    };
    meta.map_or_else(
        || "{}".to_owned(),
        |meta| format!("{{\"_meta\":{}}}", meta.without(&["progressToken"])),
    )
}

/// Returns the call if one of the tools can answer it, otherwise the error for the model. Without
/// tools, every call is passed on.
fn checked(
    mut direct: Direct,
    tools: &[Arc<Tool>],
    counter: &dyn TokenCounter,
) -> Result<Direct, String> {
    let Some(tool) = tools.iter().find(|tool| tool.name == direct.name) else {
        return match tools {
            [] => Ok(direct),
            _ => Err(find::unknown(
                &direct.name,
                &direct.arguments,
                tools,
                counter,
            )),
        };
    };
    let missing = tool.missing(&direct.arguments);
    if missing.is_empty() {
        return Ok(direct);
    }
    let inner = tool.unwrapped(&direct.arguments);
    direct.arguments = inner.ok_or_else(|| tool.incomplete(&direct.arguments, &missing, false))?;
    Ok(direct)
}

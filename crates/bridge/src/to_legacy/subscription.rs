//! Reports a legacy server's changes to modern clients with `subscriptions/listen` streams.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spillgate_mcp::{ObjectView, RequestId, frame};

use super::{OwnRequest, Request, ServerState, ToLegacy};
use crate::json::quoted;
use crate::refusal;
use crate::steps::Steps;
use spillgate_mcp::meta::SUBSCRIPTION_ID;

/// The lists whose changes are reported.
#[derive(Debug, Default)]
pub(super) struct ListKinds {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

/// A `subscriptions/listen` stream.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) request: Request,
    pub(super) lists: ListKinds,
    pub(super) uris: BTreeSet<String>,
    /// Subscription requests that the server has not answered.
    waiting: BTreeSet<RequestId>,
    pub(super) acknowledged: bool,
}

impl ToLegacy {
    /// Opens a stream. It is acknowledged when the server has answered the subscriptions.
    pub(super) fn listen(&mut self, request: Request, steps: &mut Steps) {
        if self.listens.len() >= self.config.limits.listens {
            return request.refuse(
                &refusal::too_many("streams of changes", self.config.limits.listens),
                steps,
            );
        }
        let wanted = SubscriptionFilter::of(&request);
        let new = wanted
            .uris
            .iter()
            .filter(|uri| !self.subscribed.contains_key(*uri))
            .count();
        if self.subscribed.len() + new > self.config.limits.resources {
            return request.refuse(
                &refusal::too_many("subscribed resources", self.config.limits.resources),
                steps,
            );
        }
        let ServerState::Open(facts) = &self.server else {
            return;
        };
        let takes_uris = facts.has("resources", Some("subscribe"));
        let mut listen = Subscription {
            lists: ListKinds {
                tools: wanted.lists.tools && facts.has("tools", Some("listChanged")),
                prompts: wanted.lists.prompts && facts.has("prompts", Some("listChanged")),
                resources: wanted.lists.resources && facts.has("resources", Some("listChanged")),
            },
            uris: wanted.uris.into_iter().filter(|_| takes_uris).collect(),
            waiting: BTreeSet::new(),
            acknowledged: false,
            request,
        };
        for uri in &listen.uris {
            let count = self.subscribed.entry(uri.clone()).or_default();
            *count += 1;
            if *count == 1 {
                let params = format!(r#"{{"uri":{}}}"#, quoted(uri));
                let key = self.ask_server(
                    OwnRequest::Subscribe(uri.clone()),
                    "resources/subscribe",
                    &params,
                    steps,
                );
                listen.waiting.insert(key);
            }
        }
        acknowledge(&mut listen, steps);
        self.listens.push(listen);
    }

    /// Handles the server's answer to a subscription. `taken` says whether the server accepted it.
    pub(super) fn subscription(
        &mut self,
        key: &RequestId,
        uri: &str,
        taken: bool,
        steps: &mut Steps,
    ) {
        if !taken {
            self.subscribed.remove(uri);
        }
        for listen in &mut self.listens {
            if !taken {
                listen.uris.remove(uri);
            }
            if listen.waiting.remove(key) {
                acknowledge(listen, steps);
            }
        }
    }

    /// Ends a stream after its client closed it.
    pub(super) fn unlisten(&mut self, at: usize, steps: &mut Steps) {
        let listen = self.listens.remove(at);
        for uri in &listen.uris {
            let Some(count) = self.subscribed.get_mut(uri) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                self.subscribed.remove(uri);
                let params = format!(r#"{{"uri":{}}}"#, quoted(uri));
                self.ask_server(
                    OwnRequest::Unsubscribe,
                    "resources/unsubscribe",
                    &params,
                    steps,
                );
            }
        }
    }
}

/// The changes that a client wants to receive.
#[derive(Debug, Default)]
struct SubscriptionFilter {
    lists: ListKinds,
    uris: BTreeSet<String>,
}

impl SubscriptionFilter {
    fn of(request: &Request) -> Self {
        let all = spillgate_mcp::messages(&request.frame);
        let params = all.first().and_then(|envelope| envelope.params);
        let filter = params
            .and_then(ObjectView::of)
            .and_then(|params| params.object("notifications"));
        let filter = filter.unwrap_or_default();
        Self {
            lists: ListKinds {
                tools: filter.is_true("toolsListChanged"),
                prompts: filter.is_true("promptsListChanged"),
                resources: filter.is_true("resourcesListChanged"),
            },
            uris: filter.read("resourceSubscriptions").unwrap_or_default(),
        }
    }
}

/// Sends the client the list of notifications that it will receive, once this is known.
fn acknowledge(listen: &mut Subscription, steps: &mut Steps) {
    if listen.acknowledged || !listen.waiting.is_empty() {
        return;
    }
    listen.acknowledged = true;
    let mut honoured = serde_json::Map::new();
    let kinds = [
        ("toolsListChanged", listen.lists.tools),
        ("promptsListChanged", listen.lists.prompts),
        ("resourcesListChanged", listen.lists.resources),
    ];
    for (name, _) in kinds.into_iter().filter(|(_, is_wanted)| *is_wanted) {
        honoured.insert(name.to_owned(), Value::Bool(true));
    }
    if !listen.uris.is_empty() {
        honoured.insert("resourceSubscriptions".to_owned(), json!(listen.uris));
    }
    let params = format!(
        r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{}}},"notifications":{}}}"#,
        listen.request.id,
        Value::Object(honoured),
    );
    let frame = frame::notification("notifications/subscriptions/acknowledged", Some(&params));
    steps.client(listen.request.from, Some(listen.request.key.clone()), frame);
}

//! Rewrites a server's responses for the client, and finds the calls whose arguments must be
//! rewritten.

pub(crate) mod capabilities;
pub(crate) mod output_schema;
pub(crate) mod tool_annotations;
pub(crate) mod tool_list;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use spillgate_artifact::{Origin, Tokens};
use spillgate_offload::{History, Limits, Offloader, ResultMode};

use crate::aggregate::Kind;
use crate::aggregate::index::Catalogue;
use crate::builtin_tools::BuiltinTools;
use crate::references::{self, Schemas};
use crate::resources::Known;
use crate::results::client_view::ShownPart;
use crate::results::found::Form;
use crate::results::intercept::{Case, intercept_in_memory};
use crate::results::spooled::intercept_spooled;
use crate::results::tasks::{self, Tasks};
use crate::rewrite::capabilities::Announced;
use crate::rewrite::tool_list::Listing;
use crate::session::answers::Due;
use crate::session::in_flight::{CallParams, InFlightRequest, RequestDetails, RequestKind};
use crate::tool_search::{self, CALL, FIND, ListSize, ToolSearch};
use crate::upstream::upstream_set::UpstreamSet;
use spillgate_mcp::{ByteEdits, Envelope, RequestId, messages, object, span_in};
use spillgate_retrieval::PREFIX;
use spillgate_store::StoreError;
use spillgate_transport::{Frame, Spooled};
use spillgate_upstream::ToolFilter;

/// What a server's responses have shown about it.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    pub(crate) known: Known,
    pub(crate) tasks: Tasks,
    pub(crate) schemas: Schemas,
}

/// The inputs that determine the edits to one server's responses for one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rewriting<'a> {
    pub(crate) offloader: &'a Offloader,
    /// The server's name.
    pub(crate) server: &'a str,
    /// Selects the server's tools that are listed. `None` if they were selected and annotated
    /// earlier, as in the merged list of several servers.
    pub(crate) filter: Option<&'a ToolFilter>,
    pub(crate) builtin_tools: &'a BuiltinTools,
    pub(crate) learnt: &'a Learnt,
    /// The part of a result that the client shows to its model.
    pub(crate) shown_part: ShownPart,
    /// The name of the client; `None` if it is not known.
    pub(crate) client: Option<&'a str>,
    /// The servers of the tools in a merged list.
    pub(crate) catalogue: &'a Catalogue,
    /// Which tools are listed and which are found by a search.
    pub(crate) tool_search: &'a ToolSearch,
    /// The servers of the session; `None` in tests without any.
    pub(crate) upstreams: Option<&'a UpstreamSet>,
    /// What was already shown in the client's session; `None` for stateless clients.
    pub(crate) history: Option<&'a Arc<History>>,
}

#[derive(Deserialize)]
struct Definition<'a> {
    #[serde(borrow, default, rename = "inputSchema")]
    input_schema: Option<&'a RawValue>,
}

impl Rewriting<'_> {
    /// Whether the response in a frame may need edits. This check is cheap.
    pub(crate) fn may_change(&self, waiting: &mut InFlightRequest, frame: &[u8]) -> bool {
        // Rules do not depend on arguments, which may be large, so omit them.
        let origin = match &waiting.details.kind {
            RequestKind::ToolsCall { tool, .. } => self.named(tool, None),
            RequestKind::ResourcesRead { .. } => self.named("resources/read", None),
            RequestKind::PromptsGet { .. } => self.named("prompts/get", None),
            RequestKind::TasksResult { task } | RequestKind::TasksGet { task } => {
                self.of_task(task)
            }
            RequestKind::ToolsList | RequestKind::Capabilities => return true,
            RequestKind::Whole | RequestKind::Other => return false,
        };
        let limits = self.limits(&origin, &waiting.details);
        let may_change = !limits.admit_message(frame.len() as u64) || tasks::may_be(frame);
        waiting.details.limits = may_change.then_some(limits);
        may_change
    }

    /// Returns the case of a response that may be oversized; `None` for all other responses.
    pub(crate) fn case(&self, waiting: &InFlightRequest) -> Option<Case> {
        let (form, origin) = match &waiting.details.kind {
            RequestKind::ToolsCall { tool, arguments } => {
                (Form::Call, self.named(tool, arguments.clone()))
            }
            RequestKind::TasksResult { task } | RequestKind::TasksGet { task } => {
                (Form::Call, self.of_task(task))
            }
            RequestKind::ResourcesRead { params } => {
                (Form::Read, self.named("resources/read", params.clone()))
            }
            RequestKind::PromptsGet { params, .. } => {
                (Form::Prompt, self.named("prompts/get", params.clone()))
            }
            RequestKind::Capabilities
            | RequestKind::ToolsList
            | RequestKind::Whole
            | RequestKind::Other => return None,
        };
        let limits = waiting.details.limits.clone();
        Some(Case {
            form,
            links: self.learnt.known.links(),
            shown_part: self.shown_part,
            limits: limits.unwrap_or_else(|| self.limits(&origin, &waiting.details)),
            origin,
            history: self.history.cloned(),
        })
    }

    /// Returns the limits for the result of a request.
    fn limits(&self, origin: &Origin, details: &RequestDetails) -> Limits {
        let mut limits = self.offloader.limits_for(origin, self.client);
        let of_task = || match &details.kind {
            RequestKind::TasksResult { task } | RequestKind::TasksGet { task } => {
                self.learnt.tasks.call(task)?.results
            }
            _ => None,
        };
        let asked = details.results.or_else(of_task);
        limits.results = asked.unwrap_or(limits.results);
        limits
    }

    fn of_task(&self, task: &str) -> Origin {
        let call = self.learnt.tasks.call(task);
        let of_itself = || {
            let arguments = json!({"taskId": task}).to_string();
            self.named("tasks/result", Some(arguments))
        };
        call.map_or_else(of_itself, |call| call.origin)
    }

    fn named(&self, tool: &str, arguments: Option<String>) -> Origin {
        Origin {
            server: Some(self.server.to_owned()),
            tool: tool.to_owned(),
            arguments,
            call_id: None,
        }
    }

    /// Returns the frame for the client; `None` if it does not change.
    pub(crate) fn rewrite(&self, frame: &Bytes, answers: &Due) -> Option<Vec<u8>> {
        let mut whole = ByteEdits::default();
        if let Some((waiting, case, result)) = self.only_result(frame, answers) {
            let _entered = waiting.span.as_ref().map(|seen| seen.span().enter());
            whole = self.replaced(frame, result, case, &waiting.details);
            return (!whole.is_empty()).then(|| whole.apply(frame));
        }
        for envelope in messages(frame) {
            let asked = envelope.key().and_then(|key| answers.get(&key));
            let (Some(waiting), Some(result)) = (asked, envelope.result) else {
                continue;
            };
            let _entered = waiting.span.as_ref().map(|seen| seen.span().enter());
            whole.merge(match (self.case(waiting), &waiting.details.kind) {
                (Some(case), _) => self.replaced(frame, result.get(), case, &waiting.details),
                (None, RequestKind::Capabilities) => {
                    let announced = Announced {
                        links: self.offloader.makes_links(self.server),
                        list_changes: self.builtin_tools.is_announced(),
                    };
                    let greeting = capabilities::announce(frame, result, announced);
                    self.learnt.known.note(&greeting);
                    greeting.splice
                }
                (None, RequestKind::Whole) => ByteEdits::default(),
                (None, _) => self.list(frame, result, &waiting.details),
            });
        }
        (!whole.is_empty()).then(|| whole.apply(frame))
    }

    /// Returns the frame for the client, made from a frame with a value that is too large for
    /// memory. `links` returns the edits that are then applied to the small parts of the frame.
    pub(crate) fn rewrite_large(
        &self,
        spooled: Spooled,
        answers: &Due,
        links: &dyn Fn(&[u8]) -> ByteEdits,
    ) -> Result<Frame, StoreError> {
        let seen = answers.values().find_map(|waiting| waiting.span.as_ref());
        let _entered = seen.map(|seen| seen.span().enter());
        let case = |envelope: &Envelope<'_>| self.case(answers.get(&envelope.key()?)?);
        let (pieces, stored) = intercept_spooled(self.offloader, spooled, &case, links)?;
        if stored {
            self.builtin_tools.note_stored();
        }
        // A frame that is small now, such as a preview, is moved to memory.
        Ok(match pieces.in_memory() {
            Ok(bytes) => Frame::Memory(bytes),
            Err(pieces) => Frame::Pieces(pieces),
        })
    }

    /// Returns the only result in a frame if its position is known, so that a large frame is not
    /// parsed again.
    fn only_result<'f, 'd>(
        &self,
        frame: &'f Bytes,
        answers: &'d Due,
    ) -> Option<(&'d InFlightRequest, Case, &'f str)> {
        // In a batch, another message may have the same id, so the position must not be used.
        let is_alone = answers.len() == 1 && frame.trim_ascii_start().starts_with(b"{");
        let waiting = answers.values().next().filter(|_| is_alone)?;
        let result = frame.get(waiting.details.result.clone()?)?;
        let result = std::str::from_utf8(result).ok()?;
        Some((waiting, self.case(waiting)?, result))
    }

    /// Returns the edits to an oversized result.
    fn replaced(
        &self,
        frame: &Bytes,
        result: &str,
        case: Case,
        details: &RequestDetails,
    ) -> ByteEdits {
        let result = match &details.kind {
            RequestKind::TasksGet { .. } => tasks::finished(result).map(RawValue::get),
            RequestKind::ToolsCall { .. } => {
                self.learnt
                    .tasks
                    .note(result, &case.origin, details.results);
                Some(result)
            }
            _ => Some(result),
        };
        let Some(result) = result else {
            return ByteEdits::default();
        };
        match intercept_in_memory(self.offloader, case, frame, result) {
            Ok((splice, left)) => {
                if left.is_stored() {
                    self.builtin_tools.note_stored();
                }
                splice
            }
            Err(error) => {
                // Reading a result in memory cannot fail, so this error cannot occur.
                tracing::error!(%error, "a result could not be read; it is passed on unchanged");
                ByteEdits::default()
            }
        }
    }

    /// Returns the edits to a list of tools, and records the cost of the list.
    fn list(&self, frame: &[u8], result: &RawValue, details: &RequestDetails) -> ByteEdits {
        self.builtin_tools.note_fetched();
        let noted = |name: &str, tool: &RawValue| match self.filter {
            Some(_) => self.noted(frame, name, tool),
            None => ByteEdits::default(),
        };
        // A program receives results of exactly the form that the server declares.
        let is_widened = |name: &str| {
            let limits = self.limits(&self.listed(name), details);
            limits.results == ResultMode::Preview || limits.guard_programs()
        };
        let names = self.upstreams.map(UpstreamSet::names).unwrap_or_default();
        let searches = names.iter().any(|name| self.tool_search.searches(name));
        // The gateway does not know what a stateless client has found.
        let grows = self.history.is_some();
        let lists_found = |name: &String| self.tool_search.lists_found(name);
        let is_by_name = |name: &String| self.tool_search.searches(name) && !lists_found(name);
        let is_merged = self.filter.is_none();
        // A token has at least one byte.
        let is_counted = searches || result.get().len() as u64 > self.tool_search.budget();
        let size = Cell::new(ListSize::default());
        let is_hidden = |name: &str, tool: &RawValue| {
            let server = self.listed(name).server.unwrap_or_default();
            let is_hidden = match name {
                // The names must mean our tools.
                FIND | CALL if searches && is_merged => true,
                // The look-up tools of another Spillgate.
                _ if name.starts_with(PREFIX) => false,
                _ if self.builtin_tools.server_finds() && !is_merged => false,
                _ if grows && self.builtin_tools.has_grown_by(name) => false,
                _ => self.tool_search.hides(&server, name),
            };
            if is_counted {
                let tokens = self.offloader.counter().count(tool.get());
                let ListSize {
                    tools,
                    tokens: sum,
                    listed,
                } = size.get();
                size.set(ListSize {
                    tools: tools + 1,
                    tokens: sum + tokens,
                    listed: listed + if is_hidden { 0 } else { tokens },
                });
            }
            is_hidden
        };
        let finders = || -> Option<String> {
            let is_ours = is_merged || !self.builtin_tools.server_finds();
            (searches && is_ours)
                .then(|| tool_search::definitions(&names, grows && !names.iter().any(is_by_name)))
        };
        let listing = Listing {
            filter: self.filter,
            noted: &noted,
            is_widened: &is_widened,
            is_hidden: &is_hidden,
            finders: &finders,
        };
        let (splice, ours) = tool_list::extend(frame, result, self.builtin_tools, &listing);
        if let Some(ours) = ours {
            let server = Some(self.server.to_owned());
            self.offloader.listed(server, &ours);
        }
        let size = size.get();
        if is_counted && (size.listed < size.tokens || size.tokens > self.tool_search.budget()) {
            // A merged list is that of the gateway.
            let server = self.filter.map(|_| self.server.to_owned());
            let [tokens, listed] = [size.tokens, size.listed].map(Tokens::exact);
            self.offloader
                .listed_tools(server, size.tools, tokens, listed);
        }
        splice
    }

    /// Returns the origin of the results of a tool by its name in the list.
    fn listed(&self, name: &str) -> Origin {
        let is_merged = self.filter.is_none();
        let owner = is_merged.then(|| self.catalogue.find(Kind::Tools, name));
        match owner.flatten() {
            Some((server, name)) => Origin {
                server: Some(server),
                ..Origin::tool(name)
            },
            None => self.named(name, None),
        }
    }

    /// Returns the edits to the definition of a server's tool. Records its schema if arguments will
    /// be checked against it.
    pub(crate) fn noted(&self, frame: &[u8], name: &str, tool: &RawValue) -> ByteEdits {
        let (offloader, origin) = (self.offloader, self.named(name, None));
        let mut splice = tool_annotations::size_mark(frame, tool, &offloader.limits(&origin));
        if offloader.policy().by_reference(&origin).is_some() {
            let schema = object::<Definition<'_>>(tool).and_then(|tool| tool.input_schema);
            if let Some(schema) = schema {
                self.learnt
                    .schemas
                    .note(origin.server.as_deref(), name, schema.get());
            }
            splice.merge(tool_annotations::reference_hint(frame, tool));
        }
        splice
    }

    /// Checks whether a frame is a call that may contain references. Returns the id in canonical
    /// form, the exact text of the id, the tool, and the range of the arguments.
    pub(crate) fn may_refer(
        &self,
        frame: &[u8],
    ) -> Option<(RequestId, String, Origin, Range<usize>)> {
        if !self.offloader.policy().allows_references() {
            return None;
        }
        let envelopes = messages(frame);
        let [only] = &*envelopes else {
            return None;
        };
        let is_call = only.method.as_deref() == Some("tools/call");
        let params = only
            .params
            .filter(|_| is_call)
            .and_then(object::<CallParams<'_>>)?;
        let arguments = params.arguments?;
        let origin = self.named(&params.name, None);
        references::may_have(self.offloader, &origin, arguments).then_some(())?;
        let span = span_in(frame, arguments.get());
        Some((only.key()?, only.id?.get().to_owned(), origin, span))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::Value;
    use spillgate_offload::{ByReference, Rule};
    use spillgate_testkit::log;

    use super::*;
    use crate::builtin_tools::ListTools;
    use crate::fixture::{offloader, offloader_by, without_previews};
    use crate::references::HINT;
    use crate::session::in_flight::asked;

    /// Returns the responses to a series of requests as the client receives them.
    fn answers(offloader: &Offloader, all: &[(&str, Value, String)]) -> Vec<String> {
        let builtin_tools = BuiltinTools::new(offloader, None, ListTools::WhenStored, false);
        let learnt = Learnt::default();
        let filter = ToolFilter::default();
        let rewriting = Rewriting {
            offloader,
            server: "s",
            filter: Some(&filter),
            builtin_tools: &builtin_tools,
            learnt: &learnt,
            shown_part: ShownPart::default(),
            client: None,
            catalogue: &Catalogue::default(),
            tool_search: &ToolSearch::default(),
            upstreams: None,
            history: None,
        };
        let answer = |(method, params, result): &(&str, Value, String)| {
            let params = serde_json::value::to_raw_value(params).unwrap();
            let call: Option<CallParams<'_>> = object(&params);
            let asked = asked(method, Some(&params), call.as_ref());
            let frame = format!("{{\"id\":1,\"result\":{result}}}");
            let mut waiting = InFlightRequest::new("1", method, 0, asked.into());
            if !rewriting.may_change(&mut waiting, frame.as_bytes()) {
                return frame;
            }
            let answers = Due::from([(RequestId::number(1), waiting)]);
            let rewritten = rewriting.rewrite(&frame.clone().into(), &answers);
            let frame = rewritten.map_or(frame, |bytes| String::from_utf8(bytes).unwrap());
            without_previews(&frame)
        };
        all.iter().map(answer).collect()
    }

    fn content() -> String {
        json!({"content": [{"type": "text", "text": log(600)}]}).to_string()
    }

    #[test]
    fn a_tasks_result_is_the_calls() {
        let offloader = offloader();
        let task = json!({"taskId": "t"});
        let left = answers(
            &offloader,
            &[
                (
                    "tools/call",
                    json!({"name": "slow", "arguments": {"a": 1}}),
                    r#"{"task":{"taskId":"t","status":"working"}}"#.to_owned(),
                ),
                ("tasks/result", task.clone(), content()),
                (
                    "tasks/get",
                    task.clone(),
                    r#"{"taskId":"t","status":"working"}"#.to_owned(),
                ),
                (
                    "tasks/get",
                    task,
                    format!(
                        r#"{{"taskId":"t","result":{},"status":"completed"}}"#,
                        content()
                    ),
                ),
                ("tasks/result", json!({"taskId": "unknown"}), content()),
            ],
        );
        assert_snapshot!(left.join("\n"), @r#"
        {"id":1,"result":{"task":{"taskId":"t","status":"working"}}}
        {"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}]}}
        {"id":1,"result":{"taskId":"t","status":"working"}}
        {"id":1,"result":{"taskId":"t","result":{"content":[{"text":PREVIEW,"type":"text"}]},"status":"completed"}}
        {"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}]}}
        "#);
        let stored = offloader.store().list().unwrap();
        let origins = stored.iter().map(|listed| {
            let origin = &listed.manifest.facts.origin;
            format!("{} {:?}", origin.tool, origin.arguments)
        });
        let mut origins: Vec<String> = origins.collect();
        origins.sort(); // all results have the same time, because the clock stands still
        assert_snapshot!(origins.join("\n"), @r#"
        slow Some("{\"a\":1}")
        slow Some("{\"a\":1}")
        tasks/result Some("{\"taskId\":\"unknown\"}")
        "#);
    }

    #[test]
    fn other_answers_pass() {
        let large = json!({"values": log(600), "contents": [{"uri": "x:1", "text": log(600)}]});
        for (method, params) in [
            ("completion/complete", json!({})),
            ("resources/list", json!({})),
            ("resources/read", json!({"uri": "ui://page"})),
            ("resources/read", json!({"uri": "spillgate://artifact/x"})),
            ("tools/call", json!([])),
            ("tasks/get", json!({})),
            ("unknown", json!(null)),
        ] {
            let left = answers(&offloader(), &[(method, params, large.to_string())]);
            assert_eq!(
                left,
                [format!("{{\"id\":1,\"result\":{large}}}")],
                "{method}"
            );
        }
        let read = ("resources/read", json!({"uri": "x:1"}), large.to_string());
        assert!(answers(&offloader(), &[read])[0].contains("PREVIEW"));
    }

    #[test]
    fn a_client_without_links_gets_none() {
        let result = format!(
            r#"{{"content":[{{"type":"audio","data":"{}"}}]}}"#,
            "AAAA".repeat(2000)
        );
        let kinds = ["2025-03-26", "2025-11-25"].map(|version| {
            let greeting = json!({"protocolVersion": version, "capabilities": {"tools": {}}});
            let all = [
                ("initialize", json!({}), greeting.to_string()),
                ("tools/call", json!({"name": "speak"}), result.clone()),
            ];
            let left = answers(&offloader(), &all);
            left[1].contains("\"resource_link\"")
        });
        assert_eq!(kinds, [false, true]);
    }

    #[test]
    fn tools_say_that_they_take_references() {
        let tools = ["write_*".to_owned()];
        let rules = ByReference::new(Some(&tools), None).unwrap();
        let offloader = offloader_by(|policy| policy.with_references(rules));
        let list =
            r#"{"tools":[{"name":"write_file","description":"Writes."},{"name":"read_file"}]}"#;
        let left = answers(&offloader, &[("tools/list", json!({}), list.to_owned())]);
        let hint = json!(HINT).to_string();
        assert_snapshot!(left[0].replace(&hint[1..hint.len() - 1], "HINT"), @r#"{"id":1,"result":{"tools":[{"name":"write_file","description":"Writes.\nHINT"},{"name":"read_file"}]}}"#);
        // Without a limit, all results pass, so Claude Code must be told to show large ones.
        let rule = Rule {
            max_tokens: Some(0),
            ..Rule::default()
        };
        let offloader = crate::fixture::offloader_with(rule);
        let list = r#"{"tools":[{"name":"read_file"}]}"#;
        let left = answers(&offloader, &[("tools/list", json!({}), list.to_owned())]);
        assert_snapshot!(left[0], @r#"{"id":1,"result":{"tools":[{"_meta":{"anthropic/maxResultSizeChars":500000},"name":"read_file"}]}}"#);
    }
}

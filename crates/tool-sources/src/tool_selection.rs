//! Selects the tools that an agent may use.
//!
//! The patterns are those of `tools:` in a prompt file: `host` selects all tools of a host,
//! `host/tool` selects some of them, and both parts may be globs. A REST tool is a host with the
//! tool's own name. OpenAPI documents and MCP servers are hosts with the names that the
//! configuration gives them.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use globset::{Glob, GlobMatcher, escape};
use parking_lot::Mutex;
use spillgate_agent::{Given, Host, Scope};
use spillgate_llm::{ToolCall, ToolSpec};

use crate::names::ToolNames;

/// The patterns of `tools:`.
#[derive(Debug, Clone, Default)]
pub struct ToolSelection(Vec<Pattern>);

#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    host: GlobMatcher,
    tool: Option<GlobMatcher>,
}

/// A pattern of `tools:` cannot be parsed, because of an error in the prompt file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool pattern `{pattern}` is wrong: {what}")]
pub struct ToolSelectionError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with the pattern.
    pub what: String,
}

impl ToolSelection {
    /// Creates a selection from patterns. Without patterns, it selects no tool.
    ///
    /// # Errors
    ///
    /// Fails if a pattern is empty or not a valid glob.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, ToolSelectionError> {
        let all = patterns.iter().map(|text| Pattern::new(text.as_ref()));
        all.collect::<Result<_, _>>().map(Self)
    }

    /// Creates a selection from literal host names, each with a glob for its tools; `None` selects
    /// all tools of the host. It is for callers that know the hosts, because the name of a host may
    /// contain slashes.
    ///
    /// # Errors
    ///
    /// Fails if a glob is not valid.
    pub fn of<H: AsRef<str>, T: AsRef<str>>(
        chosen: &[(H, Option<T>)],
    ) -> Result<Self, ToolSelectionError> {
        let all = chosen.iter().map(|(host, tool)| {
            let (host, tool) = (host.as_ref(), tool.as_ref().map(AsRef::as_ref));
            let text = tool.map_or_else(|| host.to_owned(), |tool| format!("{host}/{tool}"));
            Pattern::of(text, &escape(host), tool)
        });
        all.collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether a tool is selected.
    #[must_use]
    pub fn has(&self, host: &str, tool: &str) -> bool {
        self.0.iter().any(|pattern| pattern.has(host, tool))
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, ToolSelectionError> {
        match text.trim().split_once('/') {
            Some((host, tool)) => Self::of(text.to_owned(), host, Some(tool)),
            None => Self::of(text.to_owned(), text.trim(), None),
        }
    }

    fn of(text: String, host: &str, tool: Option<&str>) -> Result<Self, ToolSelectionError> {
        let wrong = |what: String| ToolSelectionError {
            pattern: text.clone(),
            what,
        };
        let glob = |part: &str| match part.is_empty() {
            true => Err(wrong("write `host`, `host/tool` or a glob".to_owned())),
            false => Glob::new(part)
                .map(|glob| glob.compile_matcher())
                .map_err(|error| wrong(error.kind().to_string())),
        };
        let (host, tool) = (glob(host)?, tool.map(glob).transpose()?);
        Ok(Self { text, host, tool })
    }

    fn has(&self, host: &str, tool: &str) -> bool {
        let is_tool = |pattern: &GlobMatcher| pattern.is_match(tool);
        self.host.is_match(host) && self.tool.as_ref().is_none_or(is_tool)
    }
}

/// The hosts of an agent.
#[derive(Debug)]
pub struct SelectedTools {
    /// The hosts with at least one selected tool. Each offers only its selected tools, under unique
    /// names.
    pub hosts: Vec<Arc<dyn Host>>,
    /// Patterns that match no tool. They may be misspelled, or their server did not start.
    pub unmatched: Vec<String>,
}

/// Returns the selected tools of `hosts`, in the order of the hosts. A tool keeps its name unless
/// the name clashes with that of another tool or of one of the session's own tools. It is then
/// called `host__tool`.
#[must_use]
pub fn choose(hosts: &[Arc<dyn Host>], selection: &ToolSelection) -> SelectedTools {
    let own_names = |host: &Arc<dyn Host>| {
        let tools = host.tools().into_iter().map(|tool| tool.name);
        let chosen = tools.filter(|tool| selection.has(host.name(), tool));
        chosen.collect::<Vec<String>>()
    };
    let own: Vec<Vec<String>> = hosts.iter().map(own_names).collect();
    let matches = |pattern: &&Pattern| {
        let mut all = hosts.iter().zip(&own);
        all.any(|(host, tools)| tools.iter().any(|tool| pattern.has(host.name(), tool)))
    };
    let unmatched = selection.0.iter().filter(|pattern| !matches(pattern));
    let names = Arc::new(Mutex::new(ToolNames::new(&own)));
    let known = hosts.iter().enumerate().zip(&own);
    let known = known.filter(|(_, tools)| !tools.is_empty());
    SelectedTools {
        unmatched: unmatched.map(|pattern| pattern.text.clone()).collect(),
        hosts: known
            .map(|((place, host), _)| {
                let known: Arc<dyn Host> = Arc::new(SelectedHost {
                    host: Arc::clone(host),
                    place,
                    selection: selection.clone(),
                    names: Arc::clone(&names),
                });
                known.tools(); // names are assigned in this order
                known
            })
            .collect(),
    }
}

/// A host with only the selected tools, under the names that the agent uses.
struct SelectedHost {
    host: Arc<dyn Host>,
    place: usize,
    selection: ToolSelection,
    names: Arc<Mutex<ToolNames>>,
}

impl fmt::Debug for SelectedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host.fmt(f)
    }
}

impl Host for SelectedHost {
    fn name(&self) -> &str {
        self.host.name()
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let host = self.host.name();
        let mut tools = self.host.tools();
        tools.retain(|tool| self.selection.has(host, &tool.name));
        let mut names = self.names.lock();
        for tool in &mut tools {
            tool.name = names.of(self.place, host, &tool.name);
        }
        tools
    }

    fn own_name(&self, name: &str) -> String {
        let own = self.names.lock().own(self.place, name).map(str::to_owned);
        own.map_or_else(|| name.to_owned(), |own| self.host.own_name(&own))
    }

    fn keeps_time(&self) -> bool {
        self.host.keeps_time()
    }

    fn call<'a>(&'a self, call: &'a ToolCall, scope: &'a Scope) -> BoxFuture<'a, Given> {
        let own = self
            .names
            .lock()
            .own(self.place, &call.name)
            .map(str::to_owned);
        async move {
            let Some(name) = own else {
                return Given::error(format!("There is no tool '{}'.", call.name));
            };
            let call = ToolCall {
                name,
                ..call.clone()
            };
            self.host.call(&call, scope).await
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use spillgate_agent::{OpKind, Span};

    use super::*;

    /// A host whose tools return the name of the tool that was called.
    #[derive(Debug)]
    struct Echo(&'static str, &'static [&'static str]);

    impl Host for Echo {
        fn name(&self) -> &str {
            self.0
        }

        fn tools(&self) -> Vec<ToolSpec> {
            let tool = |name: &&str| ToolSpec {
                name: (*name).to_owned(),
                description: String::new(),
                schema: serde_json::json!({"type": "object"}),
            };
            self.1.iter().map(tool).collect()
        }

        fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
            let text = format!("{} {}", self.0, call.name);
            async move { Given::text(text) }.boxed()
        }
    }

    fn chosen(patterns: &[&str]) -> SelectedTools {
        let hosts: [Arc<dyn Host>; 3] = [
            Arc::new(Echo("git", &["log", "show", "push"])),
            Arc::new(Echo("svn", &["log", "blame"])),
            Arc::new(Echo("weather", &["weather"])),
        ];
        choose(&hosts, &ToolSelection::new(patterns).unwrap())
    }

    #[test]
    fn tools_are_chosen() {
        for (patterns, want) in [
            (&[][..], " | "),
            (&["*"], "git__log show push svn__log blame weather | "),
            (&["git"], "log show push | "),
            (&["git/log", "svn"], "git__log svn__log blame | "),
            (&["*/*o*", "weather"], "git__log show svn__log weather | "),
            (&["gti", "git/pull", "weather"], "weather | gti git/pull"),
        ] {
            let chosen = chosen(patterns);
            let tools = chosen.hosts.iter().flat_map(|host| host.tools());
            let names: Vec<String> = tools.map(|tool| tool.name).collect();
            let got = format!("{} | {}", names.join(" "), chosen.unmatched.join(" "));
            assert_eq!(got, want, "{patterns:?}");
        }
    }

    #[test]
    fn a_tool_has_its_own_name_where_it_is_from() {
        let chosen = chosen(&["git/log", "svn"]);
        for (place, name, own) in [
            (0, "git__log", "log"),
            (1, "svn__log", "log"),
            (1, "blame", "blame"),
            (0, "gone", "gone"),
        ] {
            assert_eq!(chosen.hosts[place].own_name(name), own);
        }
    }

    #[test]
    fn hosts_are_chosen_by_names_with_slashes() {
        let chosen = [("io.github.x/y", None), ("a[b", Some("r*"))];
        let choice = ToolSelection::of(&chosen).unwrap();
        for (host, tool, is_chosen) in [
            ("io.github.x/y", "t", true),
            ("io.github.x", "y", false),
            ("a[b", "read", true),
            ("a[b", "write", false),
        ] {
            assert_eq!(choice.has(host, tool), is_chosen, "{host} {tool}");
        }
        let wrong = ToolSelection::of(&[("a", Some("["))]).unwrap_err();
        assert_eq!(wrong.pattern, "a/[");
    }

    #[test]
    fn wrong_patterns() {
        for (pattern, want) in [
            (
                "",
                "the tool pattern `` is wrong: write `host`, `host/tool` or a glob",
            ),
            (
                "git/",
                "the tool pattern `git/` is wrong: write `host`, `host/tool` or a glob",
            ),
            (
                "git/[a",
                "the tool pattern `git/[a` is wrong: unclosed character class; missing ']'",
            ),
        ] {
            assert_eq!(
                ToolSelection::new(&[pattern]).unwrap_err().to_string(),
                want
            );
        }
    }

    #[tokio::test]
    async fn a_call_reaches_the_tool_that_is_meant() {
        let chosen = chosen(&["git/log", "svn"]);
        let span = Span::root(OpKind::Agent, "test");
        let mut told = Vec::new();
        for (place, name) in [
            (0, "git__log"),
            (1, "svn__log"),
            (1, "git__log"),
            (0, "log"),
        ] {
            let call = ToolCall {
                id: "1".to_owned(),
                name: name.to_owned(),
                arguments: "{}".to_owned(),
            };
            let mut given = chosen.hosts[place].call(&call, span.scope()).await;
            let mut text = String::new();
            given.body.read_to_string(&mut text).unwrap();
            told.push(text);
        }
        assert_eq!(
            told,
            [
                "git log",
                "svn log",
                "There is no tool 'git__log'.",
                "There is no tool 'log'."
            ]
        );
    }
}

//! The set of workspace tools: lists their definitions and dispatches calls.

use std::sync::Arc;

use serde_json::{Map, Value};
use spillgate_files::Arguments;
use tokio::task::spawn_blocking;

use crate::tool_result::{Reply, ToolError};
use crate::workspace::shown;
use crate::{
    Definition, Rules, ToolResult, Workspace, execute_shell, glob_files, grep_content, read_file,
    web_fetch, web_search,
};
use spillgate_artifact::Interrupt;

/// The names of all tools, in the order in which they are listed.
pub const TOOLS: [&str; 6] = [
    "read_file",
    "grep_content",
    "glob_files",
    "execute_shell",
    "web_fetch",
    "web_search",
];

/// The six tools below one root.
#[derive(Debug, Clone)]
pub struct WorkspaceTools {
    shared: Arc<Shared>,
}

/// State shared by all calls.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) workspace: Workspace,
    pub(crate) rules: Rules,
    pub(crate) commands: execute_shell::Commands,
}

impl Shared {
    pub(crate) fn new(workspace: Workspace, rules: Rules) -> Self {
        Self {
            workspace,
            rules,
            commands: execute_shell::Commands::default(),
        }
    }
}

impl WorkspaceTools {
    /// Creates the tools below `workspace` under `rules`.
    #[must_use]
    pub fn new(workspace: Workspace, rules: Rules) -> Self {
        let shared = Arc::new(Shared::new(workspace, rules));
        Self { shared }
    }

    /// The definitions of the tools that the rules enable.
    #[must_use]
    pub fn definitions(&self) -> Vec<Definition> {
        let rules = &self.shared.rules;
        let mut all = vec![
            read_file::definition(rules),
            grep_content::definition(rules),
            glob_files::definition(rules),
        ];
        let shell = rules.shell.as_ref();
        all.extend(shell.map(|shell| execute_shell::definition(rules, shell)));
        all.extend(rules.web.is_some().then(|| web_fetch::definition(rules)));
        all.extend(rules.search.is_some().then(web_search::definition));
        all.retain(|tool| self.has(tool.name));
        all
    }

    /// Whether the rules allow the tool `name`.
    fn has(&self, name: &str) -> bool {
        TOOLS.contains(&name) && self.shared.rules.allows(name)
    }

    /// Answers a call. Dropping the future stops the work: a command ends together with all
    /// processes that it started, and a search ends at its next check for cancellation.
    pub async fn call(&self, name: &str, arguments: Map<String, Value>) -> ToolResult {
        let shared = &self.shared;
        let arguments = Arguments::from(arguments);
        let reply = match name {
            _ if !self.has(name) => Err(self.unknown(name)),
            "read_file" => self.blocking(arguments, read_file::call).await,
            "grep_content" => self.blocking(arguments, grep_content::call).await,
            "glob_files" => self.blocking(arguments, glob_files::call).await,
            "execute_shell" => execute_shell::call(shared, &arguments).await,
            "web_fetch" => web_fetch::call(shared, &arguments).await,
            "web_search" => web_search::call(shared, &arguments).await,
            _ => Err(self.unknown(name)),
        };
        reply.into()
    }

    /// Runs file work on a blocking thread.
    async fn blocking(
        &self,
        arguments: Arguments,
        work: impl FnOnce(&Shared, &Arguments, &Interrupt) -> Reply + Send + 'static,
    ) -> Reply {
        let shared = Arc::clone(&self.shared);
        let stop = Interrupt::default();
        let _stops = stop.on_drop();
        let work = spawn_blocking(move || work(&shared, &arguments, &stop));
        let ended = work.await;
        ended.unwrap_or_else(|_| Err(ToolError::new("the tool broke down; this is our fault")))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let there: Vec<&str> = self.definitions().iter().map(|tool| tool.name).collect();
        ToolError::new(format!(
            "Tool '{}' not found. There are {}.",
            shown(name),
            there.join(", ")
        ))
    }
}

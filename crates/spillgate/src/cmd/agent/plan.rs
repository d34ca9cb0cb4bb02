//! The plan of a run: a prompt file and the prompt files that it may call.
//!
//! All files are read before anything starts, so that errors are reported immediately, with file,
//! line and key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy;
use spillgate_agent_files::{Agent, ConfigFile, Problems, PromptFile, Settings, resolve};

use crate::failure::{Failure, Fault};
use crate::settings::directories;

/// Maximum number of agents in a run. An agent that several agents may call counts once for each of
/// them.
const MOST_AGENTS: usize = 100;

/// An agent and the agents that it may call.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) agent: Agent,
    /// The configuration files that apply to it, nearest first.
    pub(super) files: Vec<ConfigFile>,
    pub(super) below: Vec<Arc<Plan>>,
}

impl Plan {
    /// Reads the prompt file `file` and all files that it names. `over` holds command-line options,
    /// which apply to this file alone; `config` is the configuration file that the user named.
    pub(super) fn read(
        file: &Path,
        over: &Settings,
        config: Option<&Path>,
    ) -> Result<Arc<Self>, Failure> {
        let mut reading = Reading {
            config,
            above: Vec::new(),
            count: 0,
            max_depth: None,
        };
        reading.plan(file, over).map(Arc::new)
    }
}

struct Reading<'a> {
    config: Option<&'a Path>,
    /// The chain of prompt files, each of which calls the next, that leads to the current one.
    above: Vec<PathBuf>,
    count: usize,
    /// Maximum nesting of agents, which the main agent's file sets.
    max_depth: Option<usize>,
}

impl Reading<'_> {
    fn plan(&mut self, file: &Path, over: &Settings) -> Result<Plan, Failure> {
        self.enter(file)?;
        let prompt = PromptFile::read(file).map_err(|problems| wrong(&problems))?;
        let lookup = |name: &str| std::env::var(name).ok();
        let files = ConfigFile::read_all(&self.candidates(file)?, &lookup);
        let files = files.map_err(|problems| wrong(&problems))?;
        let agent = resolve(over, &prompt, &files).map_err(|problems| wrong(&problems))?;
        let depth = usize::try_from(agent.run.max_depth.value).unwrap_or(usize::MAX);
        self.max_depth.get_or_insert(depth);
        let below = agent.agents.value.iter();
        let below = below.map(|file| self.plan(file, &Settings::default()).map(Arc::new));
        let below = below.collect::<Result<Vec<_>, Failure>>()?;
        self.above.pop();
        told_apart(&agent, &below)?;
        Ok(Plan {
            agent,
            files,
            below,
        })
    }

    /// Counts a file and adds it to the chain. Refuses circles, too deep a nesting, and too many
    /// agents.
    fn enter(&mut self, file: &Path) -> Result<(), Failure> {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let refused = |what: String, hint: &str| {
            Err(Failure::new("agent_files", Fault::Caller, what).hint(hint))
        };
        let way = |from: usize| {
            let names = self.above[from..].iter().chain([&real]);
            let names: Vec<String> = names.map(|path| path.display().to_string()).collect();
            names.join(" → ")
        };
        if let Some(from) = self.above.iter().position(|above| *above == real) {
            let what = format!("agents call one another in a circle: {}", way(from));
            return refused(what, "take one of them out of `agents`");
        }
        if let Some(most) = self.max_depth.filter(|most| self.above.len() > *most) {
            let what = format!(
                "there are more than {most} levels of sub-agents: {}",
                way(0)
            );
            let hint = "let an agent above call the last one itself, or set maxDepth higher";
            return refused(what, hint);
        }
        self.count += 1;
        if self.count > MOST_AGENTS {
            let what = format!(
                "{} has more than {MOST_AGENTS} agents below it",
                self.above[0].display()
            );
            return refused(what, "name fewer agents in `agents`");
        }
        self.above.push(real);
        Ok(())
    }

    /// Returns the places of a configuration file, nearest first. The working directory is not
    /// among them: a file that happens to be there may be untrusted, and a configuration file
    /// starts programs.
    fn candidates(&self, file: &Path) -> Result<Vec<PathBuf>, Failure> {
        if let Some(config) = self.config {
            if config.is_file() {
                return Ok(vec![config.to_owned()]);
            }
            let what = format!("there is no configuration file {}", config.display());
            return Err(Failure::new("config", Fault::Caller, what).hint("check --agent-config"));
        }
        let beside = file
            .parent()
            .unwrap_or(Path::new(""))
            .join(".ai-agent.json");
        let users = directories()?.config_dir().join("spillgate/ai-agent.json");
        Ok(vec![beside, users])
    }
}

/// Checks that all tool sources and sub-agents have different names, because `tools`, the cache and
/// the accounts identify them by name.
fn told_apart(agent: &Agent, below: &[Arc<Plan>]) -> Result<(), Failure> {
    let refused = |what: String| {
        Err(Failure::new("agent_files", Fault::Caller, what)
            .hint("give one of them another name: `name` of its prompt file, or its key in the configuration"))
    };
    for (at, plan) in below.iter().enumerate() {
        let (name, file) = (&plan.agent.name.value, plan.agent.path.display());
        let of = agent.path.display();
        let source = agent.tools.iter().find(|one| one.entry.name() == name);
        if let Some(source) = source {
            let (other, line) = (source.entry.file().display(), source.entry.place().line);
            return refused(format!(
                "{of}: the agent {file} and {other}:{line} of `tools` are both called `{name}`"
            ));
        }
        let mut before = below[..at].iter();
        if let Some(other) = before.find(|other| other.agent.name.value == *name) {
            let other = other.agent.path.display();
            return refused(format!(
                "{of}: the agents {other} and {file} are both called `{name}`"
            ));
        }
    }
    Ok(())
}

/// Reports the problems of the files, one per line.
pub(super) fn wrong(problems: &Problems) -> Failure {
    Failure::new("agent_files", Fault::Caller, problems.to_string())
        .hint("docs/agent-files.md lists all keys; --dry-run shows the settings in force")
}

//! Runs an agent from its plan to its end.
//!
//! `AgentRunner` opens the agent's tools, runs its session and closes what it opened. A sub-agent
//! takes the same steps, during the tool call that started it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use spillgate_agent::{
    About, Allowance, Ending, Finished, Format, Host, Journal, Launch, Metered, NotLaunched,
    Offers, Orchestrator, Retrieval, RunLimits, Scope, Session, Settings as SessionSettings, Share,
    SubAgent, Until, run,
};
use spillgate_agent_files::{Agent, InputFormat, OutputFormat, Retrieval as Way, RunRules, Source};
use spillgate_artifact::{Clock, SystemClock};
use spillgate_conversation::{Nonces, RandomNonces, Slot};
use spillgate_extract::Extractor;
use spillgate_llm::{Dollars, Target};
use spillgate_offload::{Audience, NoLedger, Offloader, Policy, Profile, Rule};
use spillgate_store::{FileStore, Lifetime};
use spillgate_text::TokenCounter;
use spillgate_tool_sources::{Leftovers, McpTools};
use spillgate_transport::{Connector, StandardConnector};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::asked::Asked;
use super::keeping::caching;
use super::live::Live;
use super::plan::Plan;
use super::run_directory::RunDirectory;
use super::running::{at, deadline};
use super::sources::{self, Opened};
use crate::failure::{Failure, Fault};
use crate::marks;
use crate::net;
use crate::settings::Settings;

/// Time to wait for servers whose opening was cancelled. They are asked to end, and killed after
/// 1.5 seconds.
const LET_GO: Duration = Duration::from_secs(3);

/// Runs the agents of one run, and holds the objects that all of them share.
#[derive(Debug)]
pub(super) struct AgentRunner {
    settings: Settings,
    room: Arc<RunDirectory>,
    is_kept: bool,
    clock: Arc<dyn Clock>,
    counter: Arc<dyn TokenCounter>,
    /// Tasks that close servers in the background.
    closing: Mutex<JoinSet<()>>,
    /// Servers that were started but whose opening failed or was cancelled.
    leftovers: Leftovers,
    /// Cancelled when the user no longer wants to wait for servers to end.
    hurry: CancellationToken,
    /// Requests, tokens and cost that the whole run may use.
    allowance: Arc<Allowance>,
    max_depth: usize,
}

/// An agent with open tools whose session can begin.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) session: String,
    asked: Asked,
    settings: SessionSettings,
    orchestrator: Orchestrator,
    about: About,
    servers: Servers,
}

/// The servers of an agent. Dropping them ends them.
#[derive(Debug)]
struct Servers {
    all: Vec<Arc<McpTools>>,
    lead: Arc<AgentRunner>,
}

impl Servers {
    /// Begins to end the servers in the background. The run waits for them only at its own end, so
    /// a server that is slow to end delays neither a report nor a turn of the calling agent.
    fn end(&mut self, is_hurried: bool) {
        let all = std::mem::take(&mut self.all);
        if all.is_empty() || Handle::try_current().is_err() {
            return;
        }
        let hurry = self.lead.hurry.clone();
        self.lead.closing().spawn(async move {
            if !is_hurried {
                tokio::select! {
                    () = sources::close(&all, false) => return,
                    () = hurry.cancelled() => {}
                }
            }
            sources::close(&all, true).await;
        });
    }
}

impl Drop for Servers {
    /// Ends the remaining servers quickly, because the agent's run was cancelled or could not
    /// begin.
    fn drop(&mut self) {
        self.end(true);
    }
}

impl AgentRunner {
    /// Creates the runner. `limits` are the limits of the main agent. With `is_kept`, the results
    /// that agents stored are kept after the run. `hurry` is cancelled when the user no longer
    /// wants to wait for servers to end.
    pub(super) fn new(
        settings: Settings,
        limits: &RunRules,
        room: Arc<RunDirectory>,
        is_kept: bool,
        hurry: CancellationToken,
    ) -> Arc<Self> {
        let allowance = Allowance::new(RunLimits {
            requests: Some(limits.max_requests.value),
            tokens: limits.max_total_tokens.value,
            cost: limits.max_cost.value.map(|cost| Dollars::new(cost.get())),
        });
        Arc::new(Self {
            counter: settings.tokenizer.counter(),
            settings,
            room,
            is_kept,
            clock: Arc::new(SystemClock),
            closing: Mutex::default(),
            leftovers: Leftovers::default(),
            hurry,
            allowance,
            max_depth: usize::try_from(limits.max_depth.value).unwrap_or(usize::MAX),
        })
    }

    fn closing(&self) -> parking_lot::MutexGuard<'_, JoinSet<()>> {
        self.closing.lock()
    }

    /// Waits until all servers have ended.
    pub(super) async fn close(&self) {
        let closing = std::mem::take(&mut *self.closing());
        closing.join_all().await;
        drop(timeout(LET_GO, self.leftovers.ended()).await);
    }

    /// Begins a journal for a run whose tools are not open yet.
    pub(super) fn before(&self, plan: &Plan, task: &str) -> Result<Journal, Failure> {
        let asked = Asked::ready(plan, &self.settings)?;
        let settings = settings(&plan.agent, &asked, task.to_owned());
        let about = about(&plan.agent, &settings);
        Ok(Journal::begin(about, Arc::clone(&self.clock)))
    }

    /// Opens the tools of an agent, and prepares its session for a task.
    pub(super) async fn ready(
        self: &Arc<Self>,
        plan: &Plan,
        task: String,
        live: &Arc<Live>,
    ) -> Result<Ready, Failure> {
        let agent = &plan.agent;
        let asked = Asked::ready(plan, &self.settings)?;
        let lifetime = match self.is_kept {
            true => Lifetime::Durable,
            false => Lifetime::Session,
        };
        let store = FileStore::new(self.room.path(), lifetime, Arc::clone(&self.clock));
        // A late write must not recreate the directory of a run that has ended.
        let store = self.settings.with_key(store.in_existing_base(), true)?;
        let session = store.session().to_string();
        let offloader = Offloader::new(
            Arc::new(store),
            policy(agent, &self.settings)?,
            Arc::clone(&self.counter),
            Audience::default(),
            Arc::clone(&self.clock),
            Arc::new(NoLedger),
        )
        .with_redactor(self.settings.redactor()?);
        marks::install(offloader.marks_texts());
        let below = self.below(plan, live)?;
        let frame_reader = self.settings.frame_reader(offloader.store());
        let connector: Arc<dyn Connector> =
            Arc::new(StandardConnector::new(frame_reader, net::access()?, true));
        let Opened { hosts, servers } =
            sources::open(agent, &connector, &self.leftovers, below).await?;
        let servers = Servers {
            all: servers,
            lead: Arc::clone(self),
        };
        let retrieval = self.retrieval(agent, &asked, &offloader);
        let mut orchestrator = Orchestrator::new(hosts, offloader, retrieval)
            .with_call_timeout(agent.tool_timeout.value);
        if let Some(caching) = caching(plan, &self.clock)? {
            orchestrator = orchestrator.with_cache(caching);
        }
        let settings = SessionSettings {
            tools: orchestrator.tools(),
            retrieval: orchestrator.retrieval(),
            ..settings(agent, &asked, task)
        };
        Ok(Ready {
            session,
            about: about(agent, &settings),
            asked,
            settings,
            orchestrator,
            servers,
        })
    }

    /// Begins the journal of an agent's run: as a new tree, or as a part of the operation `within`.
    pub(super) fn journal(&self, ready: &Ready, within: Option<&Scope>) -> Journal {
        let (about, clock) = (ready.about.clone(), Arc::clone(&self.clock));
        match within {
            Some(scope) => Journal::within(scope, about, clock),
            None => Journal::begin(about, clock),
        }
    }

    /// Runs an agent to its end.
    pub(super) async fn run(
        &self,
        ready: Ready,
        journal: &Journal,
        live: &Live,
        until: Until,
    ) -> Result<Finished, Failure> {
        let limit = ready.settings.window.limit();
        let nonce = RandomNonces.fresh();
        let session = Session::begin(ready.settings, Slot::new(nonce), Arc::clone(&self.counter));
        let session = session.map_err(|error| {
            Failure::new("too_long", Fault::Caller, error.to_string())
                .hint("shorten the prompt or the task, give fewer tools, or a model with a larger window (contextWindow)")
        })?;
        live.begins(limit, journal);
        let (finished, _) = run(
            session,
            &ready.asked.model,
            &ready.orchestrator,
            journal,
            live,
            until,
        )
        .await;
        let mut servers = ready.servers;
        servers.end(matches!(
            finished.ending,
            Ending::Cancelled | Ending::TimedOut
        ));
        Ok(finished)
    }

    /// Returns the agent's share of the run's allowance.
    pub(super) fn share(&self, is_first: bool) -> Share {
        let allowance = Arc::clone(&self.allowance);
        Share {
            allowance,
            is_first,
        }
    }

    /// Returns the sub-agents that this agent may call.
    fn below(
        self: &Arc<Self>,
        plan: &Plan,
        live: &Arc<Live>,
    ) -> Result<Vec<Arc<dyn Host>>, Failure> {
        let each = plan.below.iter().map(|plan| {
            let agent = &plan.agent;
            let name = &agent.name.value;
            let description = agent.description.value.clone();
            let description =
                description.unwrap_or_else(|| format!("Gives a task to the agent {name}."));
            let input = match agent.input_format.value {
                InputFormat::Text => None,
                InputFormat::Json => agent.input_schema.value.clone(),
            };
            let run = Arc::new(Below {
                lead: Arc::clone(self),
                plan: Arc::clone(plan),
                live: Arc::clone(live),
            });
            let host = SubAgent::new(name, &description, input, run);
            let host = host.map_err(|error| {
                Failure::new("agent_files", Fault::Caller, error.to_string())
                    .hint("correct `input.schema` of its prompt file")
            })?;
            let host = host.with_max_depth(self.max_depth);
            Ok(Arc::new(host) as Arc<dyn Host>)
        });
        each.collect()
    }

    fn retrieval(&self, agent: &Agent, asked: &Asked, offloader: &Offloader) -> Retrieval {
        let of = &agent.tool_output;
        if !of.enabled.value {
            return Retrieval::Off;
        }
        let extraction = of.extraction.clone();
        let extraction = match agent.tool_response_max_bytes.value {
            Some(cap) => extraction.within(cap),
            None => extraction,
        };
        let model = Metered {
            model: Arc::clone(&asked.extracts),
            allowance: Arc::clone(&self.allowance),
        };
        match of.profile.value {
            Way::Continuation => Retrieval::Continuation {
                short_ids: self.settings.short_ids(),
            },
            Way::Handle => Retrieval::ToolOutput(Box::new(Extractor::new(
                offloader.clone(),
                Some(Arc::new(model)),
                extraction,
            ))),
        }
    }
}

/// A sub-agent that an agent may call.
#[derive(Debug)]
struct Below {
    lead: Arc<AgentRunner>,
    plan: Arc<Plan>,
    live: Arc<Live>,
}

impl Launch for Below {
    fn launch<'a>(
        &'a self,
        task: String,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Finished, NotLaunched>> {
        async move {
            if let Some(why) = self.lead.allowance.used_up() {
                return Err(NotLaunched(why));
            }
            let told = |failure: Failure| NotLaunched(failure.text().to_owned());
            let agent = &self.plan.agent;
            let live = Arc::new(self.live.within(&agent.name.value));
            let deadline = deadline(&self.plan);
            let ready = tokio::select! {
                ready = self.lead.ready(&self.plan, task, &live) => ready.map_err(told)?,
                () = at(deadline) => {
                    let what = "the time limit was reached before its tools were open";
                    return Err(NotLaunched(what.to_owned()));
                }
            };
            let journal = self.lead.journal(&ready, Some(scope));
            let until = Until {
                timeout: deadline.map(|at| at.saturating_duration_since(Instant::now())),
                cancelled: None,
                share: Some(self.lead.share(false)),
            };
            self.lead
                .run(ready, &journal, &live, until)
                .await
                .map_err(told)
        }
        .boxed()
    }
}

/// Returns the policy that stores results larger than the agent's cap and presents them in the
/// agent's profile. What happens to secrets is up to `settings`.
fn policy(agent: &Agent, settings: &Settings) -> Result<Policy, Failure> {
    let cap = &agent.tool_response_max_bytes;
    let bytes = Some(cap.value.unwrap_or(0));
    let rule = match agent.tool_output.profile.value {
        // The continuation profile has its own limit, in characters.
        Way::Continuation if agent.tool_output.enabled.value => Rule {
            profile: Some(Profile::Continuation),
            max_bytes: bytes.filter(|_| cap.source != Source::BuiltIn),
            ..Rule::default()
        },
        _ => Rule {
            profile: Some(Profile::Handle),
            max_bytes: bytes,
            ..Rule::default()
        },
    };
    let of_secrets = |rule: &Rule| Rule {
        redact: rule.redact,
        stored_secrets: rule.stored_secrets,
        ..Rule::default()
    };
    let of = |tools: &BTreeMap<String, Rule>| -> Vec<(String, Rule)> {
        let rules = tools.iter();
        rules
            .map(|(tool, rule)| (tool.clone(), of_secrets(rule)))
            .collect()
    };
    let rule = rule.or(of_secrets(&settings.base()));
    let wrong = |error: globset::Error| Failure::new("settings", Fault::Us, error.to_string());
    let mut servers = Vec::new();
    for (name, server) in &settings.servers {
        let policy = Policy::new(of_secrets(&server.rule()), of(&server.tools), []);
        servers.push((name.clone(), policy.map_err(wrong)?));
    }
    Policy::new(rule, of(&settings.tools), servers).map_err(wrong)
}

/// Returns the settings of a session, except its tools.
fn settings(agent: &Agent, asked: &Asked, task: String) -> SessionSettings {
    SessionSettings {
        system: agent.system.clone(),
        task,
        format: format(agent),
        max_turns: agent.max_turns.value,
        calls_per_turn: agent.max_tool_calls_per_turn.value,
        window: asked.window(agent),
        offers: Offers {
            status: agent.task_status.value,
            batch: agent.batch.value,
        },
        tools: Vec::new(),
        retrieval: None,
    }
}

fn about(agent: &Agent, settings: &SessionSettings) -> About {
    let models: Vec<Target> = agent.models.value.clone();
    About::new(&agent.name.value, settings, models)
}

fn format(agent: &Agent) -> Format {
    match agent.output_format.value {
        OutputFormat::Text => Format::Text,
        OutputFormat::Markdown => Format::Markdown,
        OutputFormat::Json => Format::Json(agent.output_schema.value.clone()),
    }
}

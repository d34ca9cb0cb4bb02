//! Adds up what a session cost and what its tools returned.
//!
//! All figures are computed from the tree of operations. A trace and its account therefore cannot
//! contradict each other, and the account of an interrupted run is complete up to the interruption.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use spillgate_extract::{Decided, Op, OpKind};
use spillgate_llm::Usage;

use crate::internal::BATCH;

/// The account of a session: what its requests to models cost, and what its tools returned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Accounting {
    /// All requests to models together.
    pub total: Spent,
    /// Requests, grouped by the part that made them and the model that answered.
    pub models: Vec<ModelUse>,
    /// Calls of tools by the session itself, one entry per tool.
    pub tools: Vec<ToolUse>,
    /// Extractions by the session itself (`tool_output`).
    #[serde(default, skip_serializing_if = "Extractions::is_none")]
    pub extractions: Extractions,
    /// Sub-agents by name. Each entry covers all runs of the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Accounting>,
}

/// Requests to models.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// The number of requests, not counting retries.
    pub calls: u64,
    /// Requests without a reply: failed, abandoned or still in flight.
    pub unanswered: u64,
    /// Tokens and cost of the requests that were answered.
    pub usage: Usage,
}

/// The part of a session that sent a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The session's own turns.
    Own,
    /// Extractions (`tool_output`).
    ToolOutput,
    /// Sub-agents, including everything that they did.
    SubAgents,
}

/// The requests of one part of a session to one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUse {
    /// The part that asked.
    pub part: Part,
    /// The model, as `provider/model`; empty until it answers.
    pub target: String,
    /// The number of requests, and the tokens and cost of these requests.
    #[serde(flatten)]
    pub spent: Spent,
}

/// Numbers of extractions, by their outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extractions {
    /// Answers by the strategy that made them: `full-chunked`, `truncate` …
    pub strategies: BTreeMap<String, u64>,
    /// Answers of a fallback strategy, made because the first strategy could not run.
    pub fallbacks: u64,
    /// Extractions without an answer: failed, abandoned or still running.
    pub failures: u64,
}

/// The calls of one tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolUse {
    /// The host of the tool; `None` for the session's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of the tool.
    pub tool: String,
    /// Calls, including those that the cache answered.
    pub calls: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Calls that the cache answered.
    pub cached: u64,
    /// Results that were stored.
    pub stored: u64,
    /// Results whose middle was cut out.
    pub cut: u64,
    /// Results that were dropped or left out later, and calls that were not made because the window
    /// had overflowed.
    pub dropped: u64,
    /// Bytes that the calls returned.
    pub bytes: u64,
    /// Tokens that entered the conversation.
    pub tokens_shown: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Self) {
        self.calls += more.calls;
        self.unanswered += more.unanswered;
        self.usage += more.usage;
    }
}

impl Accounting {
    /// Computes the account of a session from its operations.
    #[must_use]
    pub fn of(session: &Op) -> Self {
        let mut accounting = Self::default();
        for op in &session.children {
            accounting.enter(op, Part::Own);
        }
        accounting
    }

    /// Returns the requests that one part of the session made to all models.
    #[must_use]
    pub fn of_part(&self, part: Part) -> Spent {
        let rows = self.models.iter().filter(|row| row.part == part);
        rows.fold(Spent::default(), |mut sum, row| {
            sum += row.spent;
            sum
        })
    }

    fn enter(&mut self, op: &Op, part: Part) {
        let within = match op.kind {
            OpKind::Agent => return self.enter_agent(op),
            OpKind::Session => {
                // The operations within an extraction are its strategies.
                if part == Part::Own {
                    self.extractions.add(op);
                }
                Part::ToolOutput
            }
            OpKind::Llm => {
                self.add_model(part, op.target.as_deref().unwrap_or_default(), spent(op));
                part
            }
            // A batch is not counted as a call; the calls within it are.
            OpKind::Tool if part == Part::Own && op.name != BATCH => {
                self.add_tool(called(op));
                part
            }
            OpKind::Tool | OpKind::Turn | OpKind::Internal => part,
        };
        for op in &op.children {
            self.enter(op, within);
        }
    }

    /// Adds a sub-agent: its requests count towards the session, its tools do not.
    fn enter_agent(&mut self, op: &Op) {
        let inner = Self::of(op);
        for row in &inner.models {
            self.add_model(Part::SubAgents, &row.target, row.spent);
        }
        *self.agents.entry(op.name.clone()).or_default() += inner;
    }

    fn add_model(&mut self, part: Part, target: &str, spent: Spent) {
        self.total += spent;
        let key = |row: &ModelUse| (row.part, row.target.clone());
        let wanted = (part, target.to_owned());
        match self.models.binary_search_by_key(&wanted, key) {
            Ok(at) => self.models[at].spent += spent,
            Err(at) => {
                let (part, target) = wanted;
                let row = ModelUse {
                    part,
                    target,
                    spent,
                };
                self.models.insert(at, row);
            }
        }
    }

    fn add_tool(&mut self, more: ToolUse) {
        let key = |row: &ToolUse| (row.server.clone(), row.tool.clone());
        match self.tools.binary_search_by_key(&key(&more), key) {
            Ok(at) => self.tools[at] += more,
            Err(at) => self.tools.insert(at, more),
        }
    }
}

impl Extractions {
    /// Returns whether there were no extractions.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.strategies.is_empty() && self.failures == 0
    }

    fn add(&mut self, op: &Op) {
        let Some(made) = &op.made else {
            self.failures += 1;
            return;
        };
        let strategy = made.strategy.name().to_owned();
        *self.strategies.entry(strategy).or_default() += 1;
        self.fallbacks += u64::from(made.fell_back.is_some());
    }
}

impl AddAssign for Extractions {
    fn add_assign(&mut self, more: Self) {
        for (strategy, count) in more.strategies {
            *self.strategies.entry(strategy).or_default() += count;
        }
        self.fallbacks += more.fallbacks;
        self.failures += more.failures;
    }
}

impl AddAssign for Accounting {
    fn add_assign(&mut self, more: Self) {
        for row in more.models {
            self.add_model(row.part, &row.target, row.spent);
        }
        for tool in more.tools {
            self.add_tool(tool);
        }
        self.extractions += more.extractions;
        for (name, agent) in more.agents {
            *self.agents.entry(name).or_default() += agent;
        }
    }
}

impl AddAssign for ToolUse {
    /// Adds the figures of another row of the same tool.
    fn add_assign(&mut self, more: Self) {
        self.calls += more.calls;
        self.failures += more.failures;
        self.cached += more.cached;
        self.stored += more.stored;
        self.cut += more.cut;
        self.dropped += more.dropped;
        self.bytes += more.bytes;
        self.tokens_shown += more.tokens_shown;
    }
}

fn spent(op: &Op) -> Spent {
    Spent {
        calls: 1,
        unanswered: u64::from(op.usage.is_none()),
        usage: op.usage.unwrap_or_default(),
    }
}

fn called(op: &Op) -> ToolUse {
    let is =
        |decided: &dyn Fn(&Decided) -> bool| u64::from(op.decided.as_ref().is_some_and(decided));
    ToolUse {
        server: op.server.clone(),
        tool: op.name.clone(),
        calls: 1,
        failures: u64::from(op.error.is_some()),
        cached: u64::from(op.cached),
        stored: is(&|decided| matches!(decided, Decided::Stored { .. })),
        cut: is(&|decided| matches!(decided, Decided::Cut)),
        dropped: match op.left_out {
            true => 1,
            false => is(&|decided| matches!(decided, Decided::Dropped | Decided::NotMade)),
        },
        bytes: op.response_bytes.unwrap_or_default(),
        tokens_shown: op.tokens_shown.unwrap_or_default(),
    }
}

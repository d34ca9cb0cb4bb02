//! Adds up the ledger: what came in, what was shown, what was read later, and what was saved, in all,
//! by tool, by server and by day.

use std::collections::BTreeMap;

use serde::Serialize;
use spillgate_artifact::{Handle, Tokens};
use spillgate_llm::Dollars;
use spillgate_offload::{Exit, LedgerEntry, Spent};

/// What the entries of a ledger add up to. `spillgate stats` prints it, and the page draws it.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// The sums over all entries.
    pub total: Sums,
    /// The sums by tool, as `SERVER/TOOL` behind a gateway. Definitions of our own tools belong to no tool.
    pub tools: BTreeMap<String, Sums>,
    /// The sums by server.
    pub servers: BTreeMap<String, Sums>,
    /// The sums by day in UTC, as `2026-11-26`.
    pub days: BTreeMap<String, Sums>,
    /// The last list of each server that has a long list of tools or is searched.
    pub tool_lists: BTreeMap<String, ToolList>,
    /// What was looked up of each output, extractions included.
    pub outputs: BTreeMap<Handle, LookedUp>,
    /// Number of results that passed through unchanged.
    pub passed_through: u64,
}

/// The look-ups and extractions of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookedUp {
    /// The tool that made the output, as in [`Account::tools`].
    pub tool: String,
    /// Look-ups and extractions.
    pub times: u64,
    /// Those that asked for something and found it.
    pub found: u64,
    /// Those that asked for something and did not find it.
    pub in_vain: u64,
    /// Tokens that were shown.
    pub tokens: u64,
}

impl Account {
    /// Adds up entries.
    #[must_use]
    pub fn of(entries: &[LedgerEntry]) -> Self {
        let mut account = Self::default();
        for entry in entries {
            account.add(entry);
        }
        account
    }

    fn add(&mut self, entry: &LedgerEntry) {
        let server = entry.server.as_deref();
        match entry.exit {
            Exit::Inline => {
                self.passed_through += entry.results;
                return;
            }
            Exit::ToolList => {
                let list = ToolList {
                    tools: entry.results,
                    tokens: entry.tokens_in.count,
                    listed: entry.tokens_shown.count,
                };
                let server = server.unwrap_or("all servers");
                self.tool_lists.insert(server.to_owned(), list);
                return;
            }
            _ => {}
        }
        self.total.add(entry);
        let at = entry.at.to_string();
        let day = at.split('T').next().unwrap_or_default();
        self.days.entry(day.to_owned()).or_default().add(entry);
        if let Some(server) = server {
            let of_server = self.servers.entry(server.to_owned()).or_default();
            of_server.add(entry);
        }
        if entry.exit != Exit::Listed {
            let of_server = server.map(|name| format!("{name}/")).unwrap_or_default();
            let name = format!("{of_server}{}", entry.tool);
            self.add_output(entry, &name);
            self.tools.entry(name).or_default().add(entry);
        }
    }
}

impl Account {
    fn add_output(&mut self, entry: &LedgerEntry, tool: &str) {
        let is_look_up = matches!(entry.exit, Exit::Retrieved | Exit::Extracted);
        let Some(handle) = entry.handle.filter(|_| is_look_up) else {
            return;
        };
        let of = self.outputs.entry(handle).or_default();
        if of.tool.is_empty() {
            tool.clone_into(&mut of.tool);
        }
        of.times += 1;
        of.found += u64::from(entry.found == Some(true));
        of.in_vain += u64::from(entry.found == Some(false));
        of.tokens += entry.tokens_shown.count;
    }
}

/// A server's list of tools when it was listed last.
#[derive(Debug, Clone, Serialize)]
pub struct ToolList {
    /// Number of tools.
    pub tools: u64,
    /// Tokens of all definitions.
    pub tokens: u64,
    /// Tokens of the definitions that the client got.
    pub listed: u64,
}

/// Sums over entries of the ledger.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sums {
    /// Results that were stored.
    pub offloaded: u64,
    /// Results that should have been stored and could not.
    pub not_stored: u64,
    /// Pages read or searched; extractions are counted separately.
    pub retrievals: u64,
    /// Look-ups and extractions that asked for something and found it.
    pub found: u64,
    /// Look-ups and extractions that asked for something and did not find it.
    pub in_vain: u64,
    /// Tokens of the results that were too large.
    pub tokens_in: u64,
    /// The part of `tokens_in` that was extrapolated, not counted.
    pub tokens_in_estimated: u64,
    /// Tokens of the messages in their place.
    pub tokens_shown: u64,
    /// Tokens that were read later.
    pub tokens_retrieved: u64,
    /// The part of `tokens_retrieved` that was extrapolated.
    pub tokens_retrieved_estimated: u64,
    /// Tokens of our own tools' definitions, counted once for each tool list that contains them.
    pub tokens_schema: u64,
    /// The part of `tokens_schema` that was extrapolated.
    pub tokens_schema_estimated: u64,
    /// Tokens of results that could not be stored, without the tokens that were shown.
    pub tokens_lost: u64,
    /// Oversized results, or their `structuredContent`, that passed whole to programs.
    pub to_programs: u64,
    /// Tokens of these, which no model saw and which were not saved. They are not part of the
    /// balance. Always estimated.
    pub tokens_to_programs: u64,
    /// In − shown − retrieved − schema − lost; negative when Spillgate cost more than it saved.
    pub tokens_saved: i64,
    /// Average milliseconds from the end of a result to its message.
    pub milliseconds: f64,
    #[serde(skip)]
    micros: u64,
    /// Secrets found in stored results, by the id of the rule.
    pub secrets: BTreeMap<String, u64>,
    /// The use of extractions. It is not part of the balance, because these tokens were not in the
    /// context of the model for which Spillgate saves tokens.
    pub extraction: Extractions,
}

/// Sums over extractions.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extractions {
    /// Answers given.
    pub count: u64,
    /// Answers by the strategy that made them (`none`: failed or cancelled).
    pub strategies: BTreeMap<String, u64>,
    /// Answers of a fallback strategy, given because the first strategy could not run.
    pub fallbacks: u64,
    /// Requests to models.
    pub calls: u64,
    /// Tokens of the prompts.
    pub input_tokens: u64,
    /// Tokens of the prompts that came from the provider's cache.
    pub cached_input_tokens: u64,
    /// Tokens of the replies.
    pub output_tokens: u64,
    /// Cost in US dollars of the answers whose price is known.
    pub cost: Option<f64>,
    /// Answers of models whose price is unknown.
    pub unpriced: u64,
    /// Average milliseconds from the question to the answer.
    pub milliseconds: f64,
    #[serde(skip)]
    micros: u64,
}

impl Extractions {
    fn add(&mut self, spent: &Spent) {
        self.count += 1;
        if !spent.strategy.is_empty() {
            *self.strategies.entry(spent.strategy.clone()).or_default() += 1;
        }
        self.fallbacks += u64::from(spent.fell_back);
        self.calls += spent.calls;
        self.input_tokens += spent.input_tokens;
        self.cached_input_tokens += spent.cached_input_tokens;
        self.output_tokens += spent.output_tokens;
        if let Some(cost) = spent.cost {
            let sum = self.cost.unwrap_or_default() + cost;
            self.cost = Some(Dollars::new(sum).get());
        } else if spent.calls > 0 {
            self.unpriced += 1;
        }
        self.micros += spent.micros;
        self.milliseconds = (self.micros / self.count) as f64 / 1000.0;
    }

    /// Returns the cost as a text: `?` if no price is known, `≥` before it if some are not.
    #[must_use]
    pub fn price(&self) -> String {
        match (self.cost, self.unpriced) {
            (None, 0) => "-".to_owned(),
            (None, _) => "?".to_owned(),
            (Some(cost), 0) => Dollars::new(cost).to_string(),
            (Some(cost), _) => format!("≥{}", Dollars::new(cost)),
        }
    }
}

impl Sums {
    /// Returns the tokens that reached the model: messages, look-ups and definitions of our tools. Of a
    /// result that could not be stored, what was shown counts.
    #[must_use]
    pub fn tokens_read(&self) -> u64 {
        self.tokens_shown + self.tokens_retrieved + self.tokens_schema
    }

    fn add(&mut self, entry: &LedgerEntry) {
        let estimated = |tokens: Tokens| if tokens.exact { 0 } else { tokens.count };
        let shown = entry.tokens_shown;
        for (rule, found) in &entry.secrets {
            *self.secrets.entry(rule.clone()).or_default() += found;
        }
        match entry.exit {
            Exit::Retrieved | Exit::Extracted => {
                match &entry.extraction {
                    Some(spent) => self.extraction.add(spent),
                    None => self.retrievals += 1,
                }
                self.found += u64::from(entry.found == Some(true));
                self.in_vain += u64::from(entry.found == Some(false));
                self.tokens_retrieved += shown.count;
                self.tokens_retrieved_estimated += estimated(shown);
            }
            Exit::Listed => {
                self.tokens_schema += shown.count;
                self.tokens_schema_estimated += estimated(shown);
            }
            Exit::Inline | Exit::ToolList | Exit::Searched => {}
            Exit::Program => {
                self.to_programs += 1;
                self.tokens_to_programs += entry.tokens_in.count;
            }
            Exit::Offloaded | Exit::NotStored => {
                if entry.exit == Exit::Offloaded {
                    self.offloaded += 1;
                } else {
                    // A result that was not stored is lost, not saved: nobody can read it later.
                    self.not_stored += 1;
                    self.tokens_lost += entry.tokens_in.count.saturating_sub(shown.count);
                }
                self.tokens_in += entry.tokens_in.count;
                self.tokens_in_estimated += estimated(entry.tokens_in);
                self.tokens_shown += shown.count;
                self.micros += entry.micros;
                let results = self.offloaded + self.not_stored;
                self.milliseconds = (self.micros / results.max(1)) as f64 / 1000.0;
            }
        }
        let spent = self.tokens_read() + self.tokens_lost;
        self.tokens_saved = self.tokens_in.cast_signed() - spent.cast_signed();
    }

    /// Whether any part of the balance was extrapolated.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        self.tokens_in_estimated + self.tokens_retrieved_estimated + self.tokens_schema_estimated
            > 0
    }
}

//! A trace as the page shows it: the operations as one list, and the figures that they add up to.

use serde::Deserialize;
use spillgate_artifact::Timestamp;
use spillgate_extract::{Decided, Op, OpKind, Status};
use spillgate_llm::Usage;

/// The version of traces that this program reads. `spillgate agent` writes them.
const VERSION: u32 = 1;

/// The names of tools that only look up what is stored.
const LOOK_UPS: [&str; 2] = ["get_continuation", "tool_output"];

/// What the run of an agent writes, as far as the page shows it.
#[derive(Debug, Deserialize)]
struct Document {
    version: u32,
    agent: String,
    #[serde(default)]
    task: String,
    started: Timestamp,
    #[serde(default)]
    ending: Option<Ending>,
    #[serde(default)]
    report: Option<Report>,
    root: Op,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Ending {
    status: String,
    #[serde(default)]
    why: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Report {
    content: String,
}

/// A run of an agent, or an extraction that belongs to none.
#[derive(Debug)]
pub(crate) struct Run {
    /// The name of the agent; `None` for an extraction alone.
    pub(crate) agent: Option<String>,
    /// The beginning of the task, or the question.
    pub(crate) task: String,
    pub(crate) started: Timestamp,
    pub(crate) report: Option<String>,
    ending: Option<Ending>,
    /// The operations, each before those within it.
    pub(crate) steps: Vec<Step>,
    pub(crate) figures: Figures,
}

/// An operation.
#[derive(Debug)]
pub(crate) struct Step {
    /// How many operations enclose it.
    pub(crate) depth: usize,
    /// The operation around it, as an index.
    pub(crate) parent: Option<usize>,
    /// The facts, without the operations within it.
    pub(crate) op: Op,
}

/// What the operations of a run add up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) turns: u64,
    /// Calls of tools, without look-ups.
    pub(crate) calls: u64,
    pub(crate) stored: u64,
    /// Look-ups in stored outputs, those of extractions included.
    pub(crate) look_ups: u64,
    pub(crate) extractions: u64,
    /// Extractions that found nothing, or not everything.
    pub(crate) in_vain: u64,
    pub(crate) agents: u64,
    /// Requests to models.
    pub(crate) requests: u64,
    pub(crate) failures: u64,
    pub(crate) fallbacks: u64,
    pub(crate) usage: Usage,
}

/// How a run ended, in a word, and the class of its badge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) word: &'static str,
    pub(crate) class: &'static str,
    pub(crate) why: Option<String>,
}

impl Run {
    /// Reads a trace. `changed` is when the file was written. An error is the rest of a sentence that
    /// begins with the name of the file.
    pub(crate) fn parsed(json: &[u8], changed: Timestamp) -> Result<Self, String> {
        let document: Result<Document, _> = serde_json::from_slice(json);
        let document = match document {
            Ok(document) => document,
            // An extraction alone has neither a version nor a task.
            Err(error) => match serde_json::from_slice::<Op>(json) {
                Ok(op) if op.kind == OpKind::Session => return Ok(Self::alone(op, changed)),
                _ => return Err(format!("is no trace: {error}")),
            },
        };
        if document.version > VERSION {
            return Err(format!(
                "is a trace of version {}; this program reads up to {VERSION}",
                document.version
            ));
        }
        let steps = flat(document.root);
        Ok(Self {
            agent: Some(document.agent),
            task: document.task,
            started: document.started,
            report: document.report.map(|report| report.content),
            ending: document.ending,
            figures: figures(&steps),
            steps,
        })
    }

    fn alone(op: Op, changed: Timestamp) -> Self {
        let took = std::time::Duration::from_millis(op.took_ms);
        let started = changed.system_time().checked_sub(took);
        let task = op.extraction.as_ref().map(|one| one.extract.clone());
        let steps = flat(op);
        Self {
            agent: None,
            task: task.unwrap_or_default(),
            started: started.map_or(changed, Timestamp::new),
            report: None,
            ending: None,
            figures: figures(&steps),
            steps,
        }
    }

    /// Returns the first operation, which encloses all others.
    pub(crate) fn root(&self) -> &Op {
        &self.steps[0].op
    }

    /// Whether the run had not ended when the trace was written.
    pub(crate) fn is_open(&self) -> bool {
        match self.agent {
            Some(_) => self.ending.is_none(),
            None => self.root().unfinished,
        }
    }

    /// Returns how the run ended. `is_stale` says that the file of a run that has not ended has not
    /// changed for some time.
    pub(crate) fn ended(&self, is_stale: bool) -> Ended {
        let of = |word, class| Ended {
            word,
            class,
            why: None,
        };
        if self.is_open() {
            return match (is_stale, self.agent.is_some()) {
                (false, true) => of("running", "live"),
                (true, true) => of("cut off", "bad"),
                (_, false) => of("cancelled", "bad"),
            };
        }
        let Some(ending) = &self.ending else {
            return answered(self.root());
        };
        let (word, class) = match ending.status.as_str() {
            "success" => ("report", "good"),
            "failed" => ("no report", "bad"),
            "used-up" => ("used up", "bad"),
            "timed-out" => ("timed out", "bad"),
            _ => ("cancelled", "bad"),
        };
        let why = ending.why.clone();
        Ended { word, class, why }
    }

    /// Whether an operation is an extraction, and not one of its strategies.
    pub(crate) fn is_extraction(&self, at: usize) -> bool {
        is_extraction(&self.steps, at)
    }

    /// Returns the indices of the operations within one.
    pub(crate) fn within(&self, at: usize) -> std::ops::Range<usize> {
        let depth = self.steps[at].depth;
        let rest = &self.steps[at + 1..];
        let end = rest.iter().position(|step| step.depth <= depth);
        at + 1..end.map_or(self.steps.len(), |end| at + 1 + end)
    }
}

/// Returns how an extraction ended.
pub(crate) fn answered(op: &Op) -> Ended {
    let outcome = op.extraction.as_ref().and_then(|one| one.outcome.as_ref());
    let (word, class) = match outcome.map(|outcome| outcome.status) {
        _ if op.error.is_some() => ("failed", "bad"),
        Some(Status::Found) => ("found", "good"),
        Some(Status::Partial) => ("in part", "warn"),
        Some(Status::NotFound) => ("found nothing", "warn"),
        Some(Status::Failed) => ("no answer", "bad"),
        None if op.unfinished => ("not finished", ""),
        None => ("answered", ""),
    };
    Ended {
        word,
        class,
        why: op.error.clone(),
    }
}

/// Returns the operations of a tree, each before those within it.
fn flat(root: Op) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut waiting = vec![(0, None, root)];
    while let Some((depth, parent, mut op)) = waiting.pop() {
        let at = steps.len();
        let children = std::mem::take(&mut op.children).into_iter().rev();
        waiting.extend(children.map(|child| (depth + 1, Some(at), child)));
        steps.push(Step { depth, parent, op });
    }
    steps
}

fn is_extraction(steps: &[Step], at: usize) -> bool {
    let step = &steps[at];
    let above = step.parent.map(|parent| steps[parent].op.kind);
    step.op.kind == OpKind::Session && above != Some(OpKind::Session)
}

fn figures(steps: &[Step]) -> Figures {
    let mut sum = Figures::default();
    for (at, Step { depth, parent, op }) in steps.iter().enumerate() {
        let is_within = parent.is_some_and(|parent| steps[parent].op.kind == OpKind::Session);
        match op.kind {
            OpKind::Turn => sum.turns += 1,
            OpKind::Agent => sum.agents += u64::from(*depth > 0),
            OpKind::Llm => {
                sum.requests += 1;
                sum.usage += op.usage.unwrap_or_default();
            }
            OpKind::Tool if is_within || LOOK_UPS.contains(&op.name.as_str()) => sum.look_ups += 1,
            // The calls within a batch count, the batch does not.
            OpKind::Tool => sum.calls += u64::from(op.name != "agent__batch"),
            OpKind::Session if is_extraction(steps, at) => {
                sum.extractions += 1;
                sum.in_vain += u64::from(matches!(answered(op).class, "bad" | "warn"));
            }
            OpKind::Session | OpKind::Internal => {}
        }
        sum.stored += u64::from(matches!(op.decided, Some(Decided::Stored { .. })));
        // The failure of an operation is also that of those around it.
        sum.failures +=
            u64::from(op.error.is_some() && matches!(op.kind, OpKind::Tool | OpKind::Llm));
        sum.fallbacks += u64::from(
            op.made
                .as_ref()
                .is_some_and(|made| made.fell_back.is_some()),
        );
    }
    sum
}

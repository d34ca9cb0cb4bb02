//! Runs an extraction, from the question to the answer.

use std::sync::Arc;

use spillgate_artifact::{Handle, Interrupt, SessionId, TokenBudget};
use spillgate_conversation::{Nonces, RandomNonces};
use spillgate_llm::{ChatModel, Dollars};
use spillgate_lookup::Artifact;
use spillgate_offload::{Ledger, Offloader, RetrieveError, Spent};
use tokio::task::spawn_blocking;

use crate::case::{Asking, Case};
use crate::drafted::{Drafted, StrategyError};
use crate::nearest;
use crate::outcome::Coverage;
use crate::report;
use crate::route::{Ground, route};
use crate::trace::{
    ExtractionRecord, Made, Op, OpKind, OutcomeRecord, Scope, Span, Sum, TraceKeeper,
};
use crate::truncate::truncation;
use crate::verify::ground;
use crate::{Asked, Citation, Extraction, ExtractionSettings, Mode, Status, Strategy, Watch, plan};

/// The name of an extraction in a trace.
const NAME: &str = "tool_output";
/// Maximum length, in characters, of the reason why a strategy could not run.
const WHY: usize = 500;

/// Answers questions about stored outputs.
#[derive(Debug, Clone)]
pub struct Extractor {
    offloader: Offloader,
    model: Option<Arc<dyn ChatModel>>,
    settings: Arc<ExtractionSettings>,
    nonces: Arc<dyn Nonces>,
    /// The scope in which extractions are also recorded, in addition to the trace in their result.
    scope: Option<Scope>,
    keeper: Option<Arc<dyn TraceKeeper>>,
}

/// An extraction that has no answer yet. If it is cancelled or fails, dropping this value records
/// its cost nevertheless.
struct Unfinished<'a> {
    extractor: &'a Extractor,
    handle: Handle,
    scope: Option<Scope>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let trace = self.scope.take().map(|scope| scope.snapshot());
        if let (Some(keeper), Some(trace)) = (&self.extractor.keeper, &trace) {
            keeper.keep(trace);
        }
        if let Some(trace) = trace.filter(|trace| trace.sum().calls > 0) {
            self.extractor.account(self.handle, "", None, &trace);
        }
    }
}

/// An answer that is ready to be returned.
struct Answered {
    strategy: Strategy,
    /// Why the answer is not from the strategy that was chosen first; `None` if it is.
    fell_back: Option<String>,
    status: Status,
    body: String,
    citations: Vec<Citation>,
    unverified: Vec<String>,
    coverage: Coverage,
}

impl Extractor {
    /// Creates an extractor for the outputs that `offloader` stored. Without a model, it answers
    /// with the passages that match a question best.
    #[must_use]
    pub fn new(
        offloader: Offloader,
        model: Option<Arc<dyn ChatModel>>,
        settings: ExtractionSettings,
    ) -> Self {
        Self {
            offloader,
            model,
            settings: Arc::new(settings),
            nonces: Arc::new(RandomNonces),
            scope: None,
            keeper: None,
        }
    }

    /// Returns the extractor that gives the trace of each extraction to `keeper`.
    #[must_use]
    pub fn with_keeper(self, keeper: Option<Arc<dyn TraceKeeper>>) -> Self {
        Self { keeper, ..self }
    }

    /// Returns the extractor with another source of nonces, for tests.
    #[must_use]
    pub fn with_nonces(self, nonces: Arc<dyn Nonces>) -> Self {
        Self { nonces, ..self }
    }

    /// Returns the extractor with another ledger.
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<dyn Ledger>) -> Self {
        let offloader = self.offloader.with_ledger(ledger);
        Self { offloader, ..self }
    }

    /// Returns a copy that reads outputs for a client's session.
    #[must_use]
    pub fn in_session(&self, session: SessionId) -> Self {
        let extractor = self.clone();
        match self.offloader.in_session(session) {
            Some(offloader) => Self {
                offloader,
                ..extractor
            },
            None => extractor,
        }
    }

    /// Returns the extractor that also records what it does in `scope`, so that the records are
    /// kept when an extraction is cancelled.
    #[must_use]
    pub fn within(self, scope: Scope) -> Self {
        let scope = Some(scope);
        Self { scope, ..self }
    }

    /// Returns the offloader whose outputs this extractor reads.
    pub(crate) fn offloader(&self) -> &Offloader {
        &self.offloader
    }

    /// Returns whether there is a model to ask.
    #[must_use]
    pub fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// Answers the question about the output. Dropping the future cancels the extraction, and
    /// nothing is left behind. It fails only if the artifact does not exist or cannot be read.
    pub async fn extract(
        &self,
        asked: &Asked,
        watch: &dyn Watch,
    ) -> Result<Extraction, RetrieveError> {
        let (handle, mode) = (asked.handle, asked.mode);
        tracing::info!(%handle, %mode, "an extraction starts");
        // All reading of the artifact stops when this future ends.
        let interrupt = Interrupt::default();
        let _ends = interrupt.on_drop();
        let artifact = self.open(asked, interrupt.clone()).await?;
        let span = match &self.scope {
            Some(scope) => scope.begin(OpKind::Session, NAME),
            None => Span::root(OpKind::Session, NAME),
        };
        let scope = span.scope().clone();
        let mut record = ExtractionRecord::of(asked);
        scope.note(|op| op.extraction = Some(Box::new(record.clone())));
        let case = Case {
            artifact: Arc::new(artifact),
            extract: asked.extract.trim().into(),
            settings: Arc::clone(&self.settings),
            counter: Arc::clone(self.offloader.counter()),
            nonces: Arc::clone(&self.nonces),
            scope: scope.clone(),
        };
        let mut unfinished = Unfinished {
            extractor: self,
            handle,
            scope: Some(scope.clone()),
        };
        let answered = self.answer(&case, asked.mode, watch).await;
        span.end_with(answered.as_ref().err().map(ToString::to_string));
        let answered = answered?;
        unfinished.scope = None;
        let made = Made {
            strategy: answered.strategy,
            fell_back: answered.fell_back,
        };
        scope.note(|op| op.made = Some(made.clone()));
        let trace = scope.snapshot();
        let sum = trace.sum();
        let tool = case.artifact.manifest().facts.origin.tool.clone();
        let (strategy, status) = (answered.strategy, answered.status);
        let (calls, ms) = (sum.calls, trace.took_ms);
        tracing::info!(%handle, %strategy, ?status, calls, ms, "an extraction finished");
        let mut extraction = Extraction {
            tool,
            handle,
            status,
            strategy,
            body: answered.body,
            citations: answered.citations,
            unverified: answered.unverified,
            coverage: answered.coverage,
            calls,
            usage: sum.usage,
            trace,
        };
        record.outcome = Some(OutcomeRecord::of(&extraction));
        let record = Some(Box::new(record));
        scope.note(|op| op.extraction.clone_from(&record));
        extraction.trace.extraction = record;
        if let Some(keeper) = &self.keeper {
            keeper.keep(&extraction.trace);
        }
        self.account(handle, &extraction.text(), Some(&made), &extraction.trace);
        Ok(extraction)
    }

    /// Records an answer in the ledger: the size of its text, how it was made and what it cost.
    fn account(&self, handle: Handle, text: &str, made: Option<&Made>, trace: &Op) {
        let Sum { calls, usage } = trace.sum();
        let spent = Spent {
            strategy: made.map_or("none", |made| made.strategy.name()).to_owned(),
            fell_back: made.is_some_and(|made| made.fell_back.is_some()),
            calls,
            input_tokens: usage.input,
            cached_input_tokens: usage.cached_input,
            output_tokens: usage.output,
            cost: usage.cost.map(Dollars::get),
            micros: trace.took_ms * 1000,
        };
        let outcome = trace
            .extraction
            .as_ref()
            .and_then(|one| one.outcome.as_ref());
        let found = outcome.is_some_and(OutcomeRecord::found);
        self.offloader.extracted(handle, text, found, spent);
    }

    async fn open(&self, asked: &Asked, interrupt: Interrupt) -> Result<Artifact, RetrieveError> {
        let (offloader, handle) = (self.offloader.clone(), asked.handle);
        let opened = spawn_blocking(move || offloader.artifact_until(handle, &interrupt)).await;
        opened.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    async fn answer(
        &self,
        case: &Case,
        mode: Mode,
        watch: &dyn Watch,
    ) -> Result<Answered, RetrieveError> {
        let strategy = self.route(case, mode).await?;
        let model = match (strategy, &self.model) {
            (Strategy::Truncate, _) => return truncated(case, None).await,
            (Strategy::Search, _) => return found_by_search(case, None).await,
            (asked, None) => {
                tracing::warn!(%asked, "no model is configured: the extraction searches instead");
                return found_by_search(case, Some("no model is configured")).await;
            }
            (_, Some(model)) => Arc::clone(model),
        };
        let span = case.scope.begin(OpKind::Session, strategy.name());
        let case_within = Case {
            scope: span.scope().clone(),
            ..case.clone()
        };
        let asking = Asking {
            case: case_within,
            model,
        };
        let drafted = match strategy {
            Strategy::ReadGrep => asking.read_grep(watch).await,
            _ => asking.full_chunked(watch).await,
        };
        span.end_with(drafted.as_ref().err().map(ToString::to_string));
        match drafted {
            Ok(drafted) => Ok(grounded(case, strategy, drafted).await?),
            Err(StrategyError::Io(error)) => Err(error.into()),
            Err(StrategyError::Lookup(error)) => Err(error.into()),
            Err(error) => {
                tracing::warn!(%strategy, %error, "the chosen strategy could not run: the extraction returns a truncated text instead");
                truncated(case, Some((strategy, error.to_string()))).await
            }
        }
    }

    /// Returns the strategy for this output.
    async fn route(&self, case: &Case, mode: Mode) -> Result<Strategy, RetrieveError> {
        let span = case.scope.begin(OpKind::Internal, "route");
        let settings = Arc::clone(&self.settings);
        let asking = self.model.as_ref().map(|model| Asking {
            case: case.clone(),
            model: Arc::clone(model),
        });
        let routed = case.look(move |case| {
            let stats = &case.artifact.manifest().facts.stats;
            let mut ground = Ground {
                has_model: asking.is_some(),
                tokens: 0,
                chunk_tokens: 0,
                average_line: stats.bytes.div_ceil(stats.lines.max(1)),
            };
            if let (Mode::Auto, Some(asking)) = (mode, asking) {
                ground.tokens = plan::estimate(&case.artifact, &*case.counter)?;
                ground.chunk_tokens = asking.chunk_tokens(asking.room());
            }
            Ok::<_, std::io::Error>(route(mode, &ground, &settings))
        });
        let strategy = routed.await?;
        let name = format!("route {mode} to {strategy}");
        span.scope().note(|op| op.name = name);
        span.end();
        Ok(strategy)
    }
}

/// Checks a model's answer against the output.
async fn grounded(
    case: &Case,
    strategy: Strategy,
    drafted: Drafted,
) -> Result<Answered, RetrieveError> {
    let span = case.scope.begin(OpKind::Internal, "ground");
    let answered = case.look(move |case| {
        let mut nearest = None;
        if !drafted.is_found {
            let found = nearest::nearest(&case.artifact, &case.extract, &*case.counter)?;
            nearest = Some(nearest::told(&found)).filter(|told| !told.is_empty());
        }
        let grounded = ground(&case.artifact, &drafted.text)?;
        let account = report::account(
            &drafted,
            &grounded.citations,
            &grounded.unverified,
            nearest.as_deref(),
        );
        let status = match (drafted.is_found, drafted.is_partial) {
            (_, true) => Status::Partial,
            (true, false) => Status::Found,
            (false, false) => Status::NotFound,
        };
        Ok::<_, RetrieveError>(Answered {
            strategy,
            fell_back: None,
            status,
            body: format!(
                "{}\n\n{account}",
                case.bounded(grounded.text.trim().to_owned())
            ),
            citations: grounded.citations,
            unverified: grounded.unverified,
            coverage: drafted.coverage,
        })
    });
    let answered = answered.await?;
    span.end();
    Ok(answered)
}

/// Returns the most relevant passages. `instead` is the text that says why no model was asked.
async fn found_by_search(
    case: &Case,
    instead: Option<&'static str>,
) -> Result<Answered, RetrieveError> {
    let span = case.scope.begin(OpKind::Internal, "search");
    let found = case.look(Case::passages).await;
    let (drafted, citations) = found.map_err(|error| match error {
        StrategyError::Io(error) => RetrieveError::from(error),
        StrategyError::Lookup(error) => error.into(),
        other => std::io::Error::other(other.to_string()).into(),
    })?;
    span.end();
    let warning = instead.map_or(String::new(), |reason| {
        report::warning(Strategy::Search, reason) + "\n"
    });
    let account = report::passages_account();
    Ok(Answered {
        strategy: Strategy::Search,
        fell_back: instead.map(str::to_owned),
        status: match drafted.is_found {
            true => Status::Found,
            false => Status::NotFound,
        },
        body: format!("{warning}{}\n\n{account}", drafted.text),
        citations,
        unverified: Vec::new(),
        coverage: drafted.coverage,
    })
}

/// Returns the beginning and the end of the output. `failed` is the strategy that could not run,
/// with the reason.
async fn truncated(
    case: &Case,
    failed: Option<(Strategy, String)>,
) -> Result<Answered, RetrieveError> {
    let span = case.scope.begin(OpKind::Internal, "truncate");
    let failed = failed.map(|(strategy, why)| (strategy, crate::mask::inline(&why, WHY)));
    let warning = failed.as_ref().map_or(String::new(), |(strategy, why)| {
        let reason = format!("{strategy} failed");
        format!(
            "{}\nReason: {why}\n",
            report::warning(Strategy::Truncate, &reason)
        )
    });
    let reserved = warning.clone();
    let cut = case.look(move |case| {
        let budget = TokenBudget::new(case.settings.truncate_tokens);
        truncation(&case.artifact, budget, &reserved, &*case.counter)
    });
    let cut = cut.await?;
    span.end();
    let total = case.artifact.view().bytes();
    let coverage = Coverage {
        bytes_examined: cut.bytes_examined,
        bytes_total: total,
        ..Coverage::default()
    };
    Ok(Answered {
        strategy: Strategy::Truncate,
        status: match (&failed, coverage.is_whole()) {
            (Some(_), _) => Status::Failed,
            (None, true) => Status::Found,
            (None, false) => Status::Partial,
        },
        fell_back: failed.map(|(_, why)| why),
        body: format!("{warning}{}", cut.text),
        citations: Vec::new(),
        unverified: Vec::new(),
        coverage,
    })
}

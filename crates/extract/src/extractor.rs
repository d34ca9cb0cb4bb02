//! The way of an extraction, from the question to the answer.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{ReadRange, TokenBudget};
use spillgate_llm::{ChatModel, Dollars, Message, NoDeltas, Request, Usage};
use spillgate_offload::{Offloader, RetrieveError, Spent};
use spillgate_search::{SearchQuery, search};
use spillgate_store::StoreError;
use spillgate_turns::{Nonces, RandomNonces, Slot};
use tokio::time::Instant;

use crate::envelope::{failure, success};
use crate::{Asked, Coverage, Extraction, Mode, Op, OpKind, Settings, Status, Strategy, Watch};

/// Extracts from stored outputs.
#[derive(Debug, Clone)]
pub struct Extractor {
    offloader: Offloader,
    model: Option<Arc<dyn ChatModel>>,
    settings: Settings,
    nonces: Arc<dyn Nonces>,
}

impl Extractor {
    /// An extractor from what `offloader` stored; without a model it searches.
    #[must_use]
    pub fn new(
        offloader: Offloader,
        model: Option<Arc<dyn ChatModel>>,
        settings: Settings,
    ) -> Self {
        Self {
            offloader,
            model,
            settings,
            nonces: Arc::new(RandomNonces),
        }
    }

    /// The same with nonces of another source, for tests.
    #[must_use]
    pub fn with_nonces(self, nonces: Arc<dyn Nonces>) -> Self {
        Self { nonces, ..self }
    }

    /// Whether a model can be asked; without one `auto` is a search.
    #[must_use]
    pub fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// What the output says about what is asked. Dropping the future cancels it:
    /// nothing is left behind. An error is the artifact's: there is none, or it
    /// cannot be read.
    pub async fn extract(
        &self,
        asked: &Asked,
        watch: &dyn Watch,
    ) -> Result<Extraction, RetrieveError> {
        let (begun, handle, mode) = (Instant::now(), asked.handle, asked.mode);
        tracing::info!(%handle, %mode, "extraction begins");
        let answered = self.answer(asked, watch).await;
        let extraction = answered.inspect_err(|error| {
            tracing::warn!(%handle, %error, "extraction failed");
        })?;
        let took = begun.elapsed();
        let (strategy, calls) = (extraction.strategy, extraction.calls);
        let ms = took.as_millis();
        tracing::info!(%handle, %strategy, status = ?extraction.status, calls, ms, "extraction ends");
        self.account(&extraction, took);
        Ok(extraction)
    }

    /// Enters into the ledger what was shown and what it cost.
    fn account(&self, extraction: &Extraction, took: Duration) {
        let usage = &extraction.usage;
        let spent = Spent {
            calls: extraction.calls,
            input_tokens: usage.input,
            cached_input_tokens: usage.cached_input,
            output_tokens: usage.output,
            cost: usage.cost.map(Dollars::get),
            micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        };
        let (handle, text) = (extraction.handle, extraction.text());
        self.offloader.extracted(handle, &text, spent);
    }

    async fn answer(&self, asked: &Asked, watch: &dyn Watch) -> Result<Extraction, RetrieveError> {
        if let Some(model) = &self.model
            && !matches!(asked.mode, Mode::Search | Mode::Truncate)
        {
            return self.provisional(&**model, asked, watch).await;
        }
        let query = SearchQuery::new(
            &asked.extract,
            TokenBudget::new(self.settings.passage_tokens),
        );
        let artifact = self.offloader.artifact(asked.handle)?;
        let page = search(&artifact, &query, &**self.offloader.counter())?;
        let manifest = artifact.manifest();
        Ok(Extraction {
            tool: manifest.facts.origin.tool.clone(),
            handle: asked.handle,
            status: Status::Found,
            strategy: Strategy::Search,
            body: page.render(),
            citations: Vec::new(),
            unverified: Vec::new(),
            coverage: Coverage::default(),
            calls: 0,
            usage: Usage::default(),
            trace: Op::new(OpKind::Session, "tool_output"),
        })
    }

    /// One request with the whole view, until the strategies are there.
    async fn provisional(
        &self,
        model: &dyn ChatModel,
        asked: &Asked,
        watch: &dyn Watch,
    ) -> Result<Extraction, RetrieveError> {
        let artifact = self.offloader.artifact(asked.handle)?;
        let mut view = Vec::new();
        ReadRange::whole(artifact.view().source())
            .take(20_000)
            .read_to_end(&mut view)?;
        let view = String::from_utf8_lossy(&view).into_owned();
        let slot = Slot::new(self.nonces.fresh());
        watch.step("map", 0, 1);
        let request = Request {
            system: format!("{}{}{}", asked.extract, slot.opening(), slot.closing()),
            messages: vec![Message::User(view)],
            max_output_tokens: self.settings.answer_tokens,
            ..Request::default()
        };
        let reply = model.chat(&request, &NoDeltas).await;
        watch.step("map", 1, 1);
        let mut usage = Usage::default();
        let mut calls = 0;
        let body = match reply {
            Ok(reply) => {
                usage = reply.usage;
                calls = 1;
                slot.answer(&reply.text, &reply.stop)
                    .unwrap_or_else(|error| error.to_string())
            }
            Err(_) => "WARNING: tool_output fallback to truncate (full-chunked failed).".to_owned(),
        };
        Ok(Extraction {
            tool: artifact.manifest().facts.origin.tool.clone(),
            handle: asked.handle,
            status: Status::Found,
            strategy: if calls == 0 {
                Strategy::Truncate
            } else {
                Strategy::FullChunked
            },
            body,
            citations: Vec::new(),
            unverified: Vec::new(),
            coverage: Coverage::default(),
            calls,
            usage,
            trace: Op::new(OpKind::Session, "tool_output"),
        })
    }

    /// `tool_output` as a model calls it: whatever is wrong is said in the
    /// envelopes of wire.md. The flag is true for a failure.
    pub async fn tool_output(
        &self,
        handle: Option<&str>,
        extract: Option<&str>,
        mode: Option<&str>,
        watch: &dyn Watch,
    ) -> (String, bool) {
        let name = given(handle).map_or("<missing>".to_owned(), quoted);
        let failed = |tool: &str, what: &str| (failure(tool, &name, "auto", what), true);
        let (Some(handle), Some(extract)) = (given(handle), given(extract)) else {
            let what = "Invalid tool_output parameters: handle and extract are required.";
            return failed("unknown", what);
        };
        let mode = match given(mode).map_or(Ok(Mode::Auto), str::parse) {
            Ok(mode) => mode,
            Err(unknown) => return failed("unknown", &format!("Invalid mode: {unknown}.")),
        };
        let not_found = |why: &str| {
            let what = format!("No stored tool output found for handle {name}. {why}");
            (success("unknown", &name, "auto", &what), false)
        };
        let Ok(parsed) = handle.parse() else {
            return not_found("It was never stored here.");
        };
        let asked = Asked {
            handle: parsed,
            extract: extract.to_owned(),
            mode,
        };
        match self.extract(&asked, watch).await {
            Ok(extraction) => (extraction.text(), false),
            Err(RetrieveError::Store(StoreError::Absent { why, .. })) => {
                not_found(&why.to_string())
            }
            Err(error) => {
                let manifest = self.offloader.store().manifest(asked.handle);
                let tool = manifest.map_or("unknown".to_owned(), |one| one.facts.origin.tool);
                failed(&quoted(&tool), &error.to_string())
            }
        }
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// What a caller sent, as far as an answer repeats it: on one line.
fn quoted(given: &str) -> String {
    const LONGEST: usize = 200;
    let plain = given.chars().filter(|c| !c.is_control());
    plain.take(LONGEST).collect()
}

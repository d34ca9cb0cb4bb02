//! `spillgate extract`: answers a question about a stored output.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::{Value, json};
use spillgate_artifact::Handle;
use spillgate_extract::{Asked, Extraction, ExtractionSettings, Extractor, Mode, Status};
use tokio::signal::unix::{SignalKind, signal};

use super::trace;
use crate::args::Extract;
use crate::failure::{Failure, Fault, plain};
use crate::logs::log_to_stderr;
use crate::output::{Output, Paint};
use crate::progress::ExtractProgress;
use crate::wiring::App;

pub(crate) fn extract(app: &App, extract: &Extract, out: &Output) -> Result<u8, Failure> {
    // Only errors are logged, because the answer itself contains the warnings.
    log_to_stderr("error");
    let configured = &app.settings.tool_output;
    let models = extract
        .model
        .as_ref()
        .map_or(&configured.models, |models| &models.0);
    let needs_model = !matches!(extract.mode, Mode::Search | Mode::Truncate);
    let model = match needs_model {
        true => app.model(models)?,
        false => None,
    };
    if needs_model && model.is_none() {
        out.note(NO_MODEL);
    }
    let what = extract.what.join(" ");
    if what.trim().is_empty() {
        let message = "there is nothing to extract: the question is empty";
        return Err(Failure::new("usage", Fault::Caller, message)
            .hint("say in words what to extract")
            .code(2));
    }
    let settings = settings(&configured.extraction, extract);
    let extractor = Extractor::new(app.offloader.clone(), model, settings);
    let extractor = extractor.with_keeper(app.settings.ui.keeper());
    let asked = Asked {
        handle: app.handle(&extract.handle)?,
        extract: what,
        mode: extract.mode,
    };
    let shows_trace = extract.trace.as_deref() == Some(Path::new("-"));
    // The file is opened before any request costs money, so that a bad path fails first.
    let file = match &extract.trace {
        Some(file) if !shows_trace => Some((file, open(file)?)),
        _ => None,
    };
    let extraction = until_signalled(&extractor, &asked)?;
    if extraction.status == Status::Failed && !out.json {
        let addresses = app.addresses(models);
        out.advice(
            Paint::Bad,
            "warning:",
            &not_answered(&extraction, &addresses),
        );
    }
    match out.json {
        true => out.object(&object(&extraction, shows_trace))?,
        false => out.text(&format!("{}\n", extraction.text()))?,
    }
    if shows_trace && !out.json {
        out.note(trace::rendered(&extraction.trace).trim_end());
    }
    if let Some((path, file)) = file {
        let written = serde_json::to_writer_pretty(file, &extraction.trace);
        written.map_err(|error| untraceable(path, &error.into()))?;
    }
    Ok(0)
}

/// Returns what is said before the text that stands in place of an answer. The exit code stays 0:
/// the text is what a model gets in this case.
fn not_answered(extraction: &Extraction, addresses: &[String]) -> String {
    let mut lines = extraction.body.lines();
    let reason = lines.find_map(|line| line.strip_prefix("Reason: "));
    let reason = reason.map_or(String::new(), |why| format!(": {}", plain(why)));
    format!(
        "no model answered at {}{reason}. What follows is the beginning and the end of the output, not an \
         answer. docs/models.md says how a model's address (`base_url`) and key are set; \
         `spillgate search {} WORDS` needs no model",
        addresses.join(", "),
        extraction.handle
    )
}

const NO_MODEL: &str = "note: no model is configured, so none reads the output; name one with \
                        --model provider/model, SPILLGATE_MODEL or `models` under [tool_output]";

/// Returns the settings with command-line options applied.
fn settings(configured: &ExtractionSettings, extract: &Extract) -> ExtractionSettings {
    let max_chunks = extract.max_chunks.unwrap_or(configured.max_chunks);
    ExtractionSettings {
        max_chunks,
        max_chunks_hard: configured.max_chunks_hard.max(max_chunks),
        chunk_tokens: extract.chunk_tokens.unwrap_or(configured.chunk_tokens),
        parallel: extract.parallel.unwrap_or(configured.parallel),
        early_stop: extract.early_stop || configured.early_stop,
        ..configured.clone()
    }
}

/// Extracts the answer, unless a signal cancels it.
fn until_signalled(extractor: &Extractor, asked: &Asked) -> Result<Extraction, Failure> {
    let handle = asked.handle;
    let watch = ExtractProgress::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            done = extractor.extract(asked, &watch) => done.map_err(Failure::from),
            _ = interrupt.recv() => Err(cancelled(handle, 128 + 2)),
            _ = terminate.recv() => Err(cancelled(handle, 128 + 15)),
        }
    });
    // The runtime does not wait for a reply that has not arrived yet.
    runtime.shutdown_background();
    watch.end();
    ended
}

fn cancelled(handle: Handle, code: u8) -> Failure {
    Failure::new("cancelled", Fault::Caller, "cancelled")
        .hint(format!(
            "the output is still stored; `spillgate search {handle} WORDS` needs no model"
        ))
        .code(code)
}

/// Opens the file for a trace. It is readable by its owner alone, because it quotes the output.
fn open(path: &Path) -> Result<File, Failure> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options
        .open(path)
        .map_err(|error| untraceable(path, &error))
}

fn untraceable(path: &Path, error: &io::Error) -> Failure {
    let message = format!(
        "the trace could not be written to {}: {error}",
        path.display()
    );
    Failure::new("io", Fault::Us, message).hint("name another file with --trace=FILE")
}

fn object(extraction: &Extraction, with_trace: bool) -> Value {
    let usage = &extraction.usage;
    let mut object = json!({
        "status": extraction.status,
        "strategy": extraction.strategy,
        "text": extraction.text(),
        "citations": extraction.citations,
        "unverified": extraction.unverified,
        "coverage": extraction.coverage,
        "calls": extraction.calls,
        "tokens": {
            "input": usage.input,
            "cached_input": usage.cached_input,
            "output": usage.output,
        },
        "cost": usage.cost,
    });
    if with_trace {
        object["trace"] = json!(extraction.trace);
    }
    object
}

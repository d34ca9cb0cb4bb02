//! Sets up logs and traces.
//!
//! Logs go to standard error, as text or JSON, at the levels that `SPILLGATE_LOG` selects. The
//! gateway's spans go to an OpenTelemetry collector, if one is configured. Neither logs nor spans
//! contain the contents of messages.

use std::io::{IsTerminal, Write};

use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::failure::Failure;
#[cfg(feature = "telemetry")]
use crate::failure::Fault;
use crate::marks::Redacted;
#[cfg(feature = "telemetry")]
use crate::traces::{Collector, Exporting};

/// Environment variable with the levels to log, as directives of `tracing`.
const LEVELS: &str = "SPILLGATE_LOG";

/// Environment variable with the format of the log: `text` or `json`.
const FORMAT: &str = "SPILLGATE_LOG_FORMAT";

/// Maximum log levels of other crates, because their more verbose levels contain codes, tokens,
/// headers and bodies.
const DISCREET: [&str; 8] = [
    "rmcp=warn",
    "h2=warn",
    "hyper=warn",
    "hyper_util=warn",
    "reqwest=warn",
    "rustls=warn",
    "opentelemetry_sdk=warn",
    "opentelemetry_otlp=warn",
];

/// Logs to standard error the levels that `SPILLGATE_LOG` selects; by default `level` and above.
pub(crate) fn log_to_stderr(level: &str) {
    Registry::default().with(written(level, is_json())).init();
}

#[cfg(feature = "telemetry")]
/// Logs as [`log_to_stderr`] does and exports spans to the collector that the environment names.
/// The returned value makes the spans part of clients' traces, and sends the remaining spans when
/// it is dropped. Returns `None` if no collector is named.
pub(crate) fn log_and_trace(level: &str) -> Result<Option<Exporting>, Failure> {
    let Some(collector) = Collector::of_environment() else {
        log_to_stderr(level);
        return Ok(None);
    };
    let exporting = Exporting::to(&collector)?;
    Registry::default()
        .with(exporting.layer())
        .with(written(level, is_json()))
        .init();
    Ok(Some(exporting))
}

/// Logs as [`log_to_stderr`] does, and warns if the environment names a collector, to which this
/// build cannot export spans.
#[cfg(not(feature = "telemetry"))]
pub(crate) fn log_and_trace(level: &str) -> Result<Option<Exporting>, Failure> {
    log_to_stderr(level);
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("OTEL_EXPORTER_OTLP_ENDPOINT") || is_set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        tracing::warn!(
            "the environment names an OpenTelemetry collector, but this build exports no spans: it lacks the feature `telemetry`"
        );
    }
    Ok(None)
}

/// A build without the feature `telemetry` exports nothing.
#[cfg(not(feature = "telemetry"))]
#[derive(Debug)]
pub(crate) enum Exporting {}

/// Returns whether logs are JSON. An unknown format counts as `text`, because it must neither
/// prevent the start nor silence the log.
fn is_json() -> bool {
    std::env::var(FORMAT).is_ok_and(|format| format.eq_ignore_ascii_case("json"))
}

fn written<S>(level: &str, as_json: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let is_terminal = std::io::stderr().is_terminal();
    written_to(|| Redacted(std::io::stderr()), level, as_json, is_terminal)
}

/// Returns the layer that writes the log to what `writer` makes.
pub(crate) fn written_to<S, W: Write>(
    writer: impl Fn() -> W + Send + Sync + 'static,
    level: &str,
    as_json: bool,
    is_terminal: bool,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let mut filter = EnvFilter::try_from_env(LEVELS).unwrap_or_else(|_| EnvFilter::new(level));
    for directive in DISCREET {
        let directive = directive.parse().expect("invariant: a directive");
        filter = filter.add_directive(directive);
    }
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    if as_json {
        return layer.json().with_filter(filter).boxed();
    }
    layer.with_ansi(is_terminal).with_filter(filter).boxed()
}

/// Reports wrong settings of the collector.
#[cfg(feature = "telemetry")]
pub(crate) fn wrong(what: &str) -> Failure {
    let hint = "set OTEL_EXPORTER_OTLP_ENDPOINT to the address of a collector that takes \
                OTLP over HTTP, such as http://localhost:4318, or unset it";
    Failure::new("settings", Fault::Caller, what.to_owned()).hint(hint)
}

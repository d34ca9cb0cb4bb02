//! What is said beside a command's output, and to whom?
//!
//! To standard error, as text or as JSON, as far as `SPILLGATE_LOG` asks for it;
//! and the gateway's spans to a collector, if there is one. Never contents.

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::failure::{Failure, Fault};
use crate::traces::{Collector, Exporting};

/// Which levels are written, as directives of `tracing`.
const LEVELS: &str = "SPILLGATE_LOG";

/// `text` or `json`.
const FORMAT: &str = "SPILLGATE_LOG_FORMAT";

/// What others write on finer levels has codes, tokens, headers and bodies in it.
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

/// Writes to standard error what `SPILLGATE_LOG` asks for, else from `level` on.
pub(crate) fn log_to_stderr(level: &str) {
    Registry::default().with(written(level, is_json())).init();
}

/// The same, and sends spans to the collector that the environment names. What
/// comes back joins the gateway to clients' traces; it sends what is left when
/// it is dropped.
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

/// An unknown format is no reason not to start, or to be silent.
fn is_json() -> bool {
    std::env::var(FORMAT).is_ok_and(|format| format.eq_ignore_ascii_case("json"))
}

fn written<S>(level: &str, as_json: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let mut filter = EnvFilter::try_from_env(LEVELS).unwrap_or_else(|_| EnvFilter::new(level));
    for directive in DISCREET {
        let directive = directive.parse().expect("invariant: a directive");
        filter = filter.add_directive(directive);
    }
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    if as_json {
        return layer.json().with_filter(filter).boxed();
    }
    let is_terminal = std::io::stderr().is_terminal();
    layer.with_ansi(is_terminal).with_filter(filter).boxed()
}

/// A failure of the collector's settings.
pub(crate) fn wrong(what: &str) -> Failure {
    let hint = "set OTEL_EXPORTER_OTLP_ENDPOINT to the address of a collector that takes \
                OTLP over HTTP, such as http://localhost:4318, or unset it";
    Failure::new("settings", Fault::Caller, what.to_owned()).hint(hint)
}

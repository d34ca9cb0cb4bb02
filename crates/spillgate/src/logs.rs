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
use crate::otlp::{Collector, Signal};
#[cfg(feature = "telemetry")]
pub(crate) use crate::traces::Exporting;

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
    let log = Registry::default().with(written(level, is_json()));
    #[cfg(feature = "ui")]
    let log = log.with(kept(level));
    log.init();
}

/// The newest lines of the log, which the page of a gateway shows.
#[cfg(feature = "ui")]
pub(crate) mod tail {
    use std::collections::VecDeque;
    use std::io::{self, Write};

    use parking_lot::Mutex;

    /// Most lines that are kept.
    const LINES: usize = 500;

    /// Most bytes of a line that are kept.
    const LINE: usize = 2048;

    static TAIL: Mutex<VecDeque<Box<str>>> = Mutex::new(VecDeque::new());

    /// A writer that keeps each line.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Tail;

    impl Write for Tail {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim_end();
            let text = &text[..text.floor_char_boundary(LINE)];
            let mut tail = TAIL.lock();
            if tail.len() == LINES {
                tail.pop_front();
            }
            tail.push_back(text.into());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the lines, the oldest first.
    pub(crate) fn lines() -> Vec<String> {
        TAIL.lock().iter().map(ToString::to_string).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_the_newest_lines_are_kept() {
            for at in 0..LINES + 3 {
                // A line arrives in one write.
                let line = format!("line {at} {}\n", "é".repeat(LINE));
                Tail.write_all(line.as_bytes()).unwrap();
            }
            let lines = lines();
            assert_eq!(lines.len(), LINES);
            assert!(lines[0].starts_with("line 3 "), "{}", lines[0]);
            assert!(lines.iter().all(|line| line.len() <= LINE));
        }
    }
}

/// Returns the layer that keeps the newest lines.
#[cfg(feature = "ui")]
fn kept<S>(level: &str) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    written_to(|| Redacted(tail::Tail), level, false, false)
}

#[cfg(feature = "telemetry")]
/// Logs as [`log_to_stderr`] does and exports spans to the collector that the environment names.
/// The returned value makes the spans part of clients' traces, and sends the remaining spans when
/// it is dropped. Returns `None` if no collector is named.
pub(crate) fn log_and_trace(level: &str) -> Result<Option<Exporting>, Failure> {
    let Some(collector) = Collector::of_environment(Signal::Traces) else {
        log_to_stderr(level);
        return Ok(None);
    };
    let exporting = Exporting::to(&collector)?;
    let log = Registry::default()
        .with(exporting.layer())
        .with(written(level, is_json()));
    #[cfg(feature = "ui")]
    let log = log.with(kept(level));
    log.init();
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

//! Exports the gateway's OpenTelemetry spans, and makes them part of the traces of clients.
//!
//! Spans go to a collector by OTLP over HTTP with protobuf, if the standard variables of
//! OpenTelemetry name one. A thread of its own sends them in batches.

use std::collections::HashMap;
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Status, TracerProvider};
use opentelemetry::{Context, Value};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use spillgate_upstream::{LOG_TARGET, TracePropagator};
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::failure::Failure;
use crate::logs::wrong;
use crate::marks::redacted;
use crate::otlp::Collector;

/// The targets of the spans that are exported: requests, models and agents.
const SOURCES: [&str; 3] = [LOG_TARGET, "spillgate_llm", "spillgate_agent"];

/// Exports spans until it is dropped.
#[derive(Debug)]
pub(crate) struct Exporting {
    provider: SdkTracerProvider,
}

impl Exporting {
    pub(crate) fn to(collector: &Collector) -> Result<Self, Failure> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(collector.endpoint())
            .with_http_client(collector.poster()?)
            .build()
            .map_err(|error| wrong(&format!("no traces can be sent: {error}")))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(Marking(exporter))
            .with_resource(collector.resource())
            .build();
        Ok(Self { provider })
    }

    /// Returns the layer that collects the gateway's spans. It ignores events, which belong to the
    /// log.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let layer = tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("spillgate"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_level(false)
            .with_target(false);
        let is_ours = |target: &str| SOURCES.iter().any(|source| target.starts_with(source));
        layer.with_filter(filter_fn(move |metadata| {
            metadata.is_span() && is_ours(metadata.target())
        }))
    }
}

/// Exports spans with marks in place of the secrets in their texts, such as the name of a tool.
#[derive(Debug)]
struct Marking<E>(E);

impl<E: opentelemetry_sdk::trace::SpanExporter> opentelemetry_sdk::trace::SpanExporter
    for Marking<E>
{
    fn export(&self, mut spans: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        spans.iter_mut().for_each(mark);
        self.0.export(spans)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

/// Puts marks in place of the secrets in all texts of a span.
fn mark(span: &mut SpanData) {
    let marked = |text: &str| redacted(text).into_owned();
    span.name = marked(&span.name).into();
    let events = span.events.events.iter_mut();
    let of_events = events.flat_map(|event| {
        event.name = marked(&event.name).into();
        &mut event.attributes
    });
    let links = span.links.links.iter_mut();
    let of_links = links.flat_map(|link| &mut link.attributes);
    for attribute in span.attributes.iter_mut().chain(of_events).chain(of_links) {
        if let Value::String(_) | Value::Array(_) = attribute.value {
            attribute.value = marked(&attribute.value.as_str()).into();
        }
    }
    if let Status::Error { description } = &mut span.status {
        *description = marked(description).into();
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        // A collector that does not answer must not delay the end of the gateway, so the provider
        // waits only for a few seconds.
        if let Err(error) = self.provider.shutdown() {
            tracing::debug!(%error, "the last spans could not be exported");
        }
    }
}

/// Makes spans part of clients' traces, by W3C Trace Context.
#[derive(Debug, Default)]
pub(crate) struct Joined(TraceContextPropagator);

impl TracePropagator for Joined {
    fn join(&self, span: &Span, client: &[(String, String)]) {
        let said: HashMap<String, String> = client.iter().cloned().collect();
        let context = self.0.extract_with_context(&Context::new(), &said);
        // A span that no layer collects cannot have a parent.
        drop(span.set_parent(context));
    }

    fn headers(&self, span: &Span) -> Vec<(String, String)> {
        let mut headers = HashMap::new();
        self.0.inject_context(&span.context(), &mut headers);
        headers.retain(|_, value| !value.is_empty());
        headers.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex as StdMutex};

    use proptest::prelude::*;
    use spillgate_redact::{Marks, Rules, find, redact_str};
    use tracing_subscriber::Registry;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::logs::written_to;

    /// Keeps what is exported, in the form of text.
    #[derive(Debug, Clone, Default)]
    struct Kept(Arc<StdMutex<Vec<String>>>);

    impl opentelemetry_sdk::trace::SpanExporter for Kept {
        fn export(&self, spans: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
            let texts = spans.into_iter().map(|span| {
                let attributes = span
                    .attributes
                    .iter()
                    .map(|it| it.value.as_str().into_owned());
                let texts =
                    attributes.chain([span.name.into_owned(), format!("{:?}", span.status)]);
                texts.collect::<Vec<_>>().join("\n")
            });
            self.0.lock().unwrap().extend(texts);
            std::future::ready(Ok(()))
        }
    }

    impl std::io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.0.lock().unwrap().push(text);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    const PLANTED: [&str; 8] = [
        "key AKIAQ3EGXZ7LKTPNWB5M ",
        "{\"password\":\"Tr0ub4dor&3\"}",
        "push with ghp_q8Zr3LmXv0TbKcYw5NdHs7JfPgEu2Ai94RVo,",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp9\n-----END PRIVATE KEY-----",
        "postgres://u:S3cr3t99@host/db ",
        " data: eyJrZXkiOiJBS0lBUTNFR1haN0xLVFBOV0I1TSJ9\n",
        "{\\\"token\\\":\\\"kJ8sWq2LpZ0aYxVb\\\"}",
        "Authorization: Basic dXNlcjpUcjB1YjRkb3I=\n",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn no_log_line_and_no_span_has_what_is_found_in_a_text(
            parts in prop::collection::vec((0..16_usize, "[a-z \"\\\\\n\x1b=:%ä]{0,30}"), 1..12),
            json in any::<bool>(),
        ) {
            let parts = parts.iter().map(|(at, text)| format!("{text}{}", PLANTED.get(*at).unwrap_or(&"\n")));
            let text: String = parts.collect();
            let secrets = find(&Rules::builtin(), &text.clone().into_bytes()).unwrap();
            let (lines, spans) = (Kept::default(), Kept::default());
            let provider = SdkTracerProvider::builder().with_simple_exporter(Marking(spans.clone())).build();
            let exporting = Exporting { provider };
            let to = lines.clone();
            let log = written_to(move || crate::marks::Redacted(to.clone()), "trace", json, false);
            let subscriber = Registry::default().with(exporting.layer()).with(log);
            tracing::subscriber::with_default(subscriber, || {
                let span = tracing::info_span!(target: LOG_TARGET, "request", tool = text, otel.name = text, otel.status_description = text, otel.status_code = "ERROR");
                let _entered = span.entered();
                tracing::warn!(error = text, "a server wrote {text}");
                tracing::error!(?text, %text);
            });
            drop(exporting);
            let mut texts = lines.0.lock().unwrap().clone();
            prop_assert_eq!(texts.len(), 2);
            texts.append(&mut spans.0.lock().unwrap());
            prop_assert_eq!(texts.len(), 3);
            // A secret can stand in the text a second time where the rules do not find it.
            let marked = redact_str(&Rules::builtin(), &Marks::new(), &text);
            for secret in secrets.spans() {
                let secret = &text.as_bytes()[usize::try_from(secret.start).unwrap()..usize::try_from(secret.end).unwrap()];
                let secret = String::from_utf8_lossy(secret);
                for shown in &texts {
                    // Escapes stand in a log where the text has quotes and line ends.
                    for line in secret.split(['\n', '"', '\\', '\x1b']).filter(|line| line.len() > 7 && !marked.contains(*line)) {
                        prop_assert!(!shown.contains(line), "{} in {}", line, shown);
                    }
                }
            }
        }
    }
}

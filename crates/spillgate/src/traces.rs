//! Exports the gateway's OpenTelemetry spans, and makes them part of the traces of clients.
//!
//! Spans go to a collector by OTLP over HTTP with protobuf, if the standard variables of
//! OpenTelemetry name one. A thread of its own sends them in batches.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use parking_lot::Mutex;
use spillgate_upstream::{LOG_TARGET, TracePropagator};
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::failure::Failure;
use crate::logs::wrong;
use crate::net;

/// Environment variable with the URL of the collector of all signals; the path of traces is
/// appended.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Environment variable with the URL of the collector of traces, including the path.
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// Environment variable that switches off all exports.
const DISABLED: &str = "OTEL_SDK_DISABLED";
const SERVICE: &str = "OTEL_SERVICE_NAME";

/// How long a collector may take to accept a batch; OpenTelemetry waits equally long at shutdown.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Where spans are sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Collector {
    endpoint: String,
    service: String,
}

impl Collector {
    /// Returns the collector that the environment names, if it names one.
    pub(crate) fn of_environment() -> Option<Self> {
        Self::of(&|name| std::env::var(name).ok())
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set(DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return None;
        }
        let of_all = || {
            let endpoint = set(ENDPOINT)?;
            Some(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        };
        Some(Self {
            endpoint: set(TRACES_ENDPOINT).or_else(of_all)?,
            service: set(SERVICE).unwrap_or_else(|| "spillgate".to_owned()),
        })
    }
}

/// Exports spans until it is dropped.
#[derive(Debug)]
pub(crate) struct Exporting {
    provider: SdkTracerProvider,
}

impl Exporting {
    pub(crate) fn to(collector: &Collector) -> Result<Self, Failure> {
        let url = collector.endpoint.parse();
        let url = url.map_err(|error| wrong(&format!("the collector's address: {error}")))?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&collector.endpoint)
            .with_http_client(Poster::new(net::client(&url)?)?)
            .build()
            .map_err(|error| wrong(&format!("no traces can be sent: {error}")))?;
        let resource = Resource::builder()
            .with_service_name(collector.service.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
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
        layer.with_filter(filter_fn(|metadata| {
            metadata.is_span() && metadata.target().starts_with(LOG_TARGET)
        }))
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

/// Sends requests from the batch thread, which has no runtime of its own.
struct Poster {
    client: reqwest::Client,
    runtime: Mutex<tokio::runtime::Runtime>,
}

impl Poster {
    fn new(client: reqwest::Client) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let runtime = Mutex::new(runtime);
        Ok(Self { client, runtime })
    }
}

impl fmt::Debug for Poster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poster")
    }
}

#[async_trait::async_trait]
impl HttpClient for Poster {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let request = self
            .client
            .request(head.method, head.uri.to_string())
            .headers(head.headers)
            .body(body)
            .timeout(TIMEOUT);
        let runtime = self.runtime.lock();
        runtime.block_on(async {
            let response = request.send().await.map_err(reqwest::Error::without_url)?;
            let mut answer = Response::new(Bytes::new());
            *answer.status_mut() = response.status();
            *answer.headers_mut() = response.headers().clone();
            *answer.body_mut() = response.bytes().await?;
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_by_the_standard_variables() {
        let of = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Collector::of(&value).map(|found| format!("{} {}", found.endpoint, found.service))
        };
        let all = (ENDPOINT, "http://c:4318/");
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(ENDPOINT, "")]), None);
        assert_eq!(of(&[all, (DISABLED, "true")]), None);
        assert_eq!(of(&[all]).unwrap(), "http://c:4318/v1/traces spillgate");
        let own = (TRACES_ENDPOINT, "http://t:1/x");
        assert_eq!(of(&[all, own, (SERVICE, "g")]).unwrap(), "http://t:1/x g");
    }
}

//! What all exports to an OpenTelemetry collector have in common: where the collector is, who sends,
//! and how requests are sent.

use std::fmt;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_sdk::Resource;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;

use crate::failure::Failure;
use crate::logs::wrong;
use crate::net;

/// Environment variable with the URL of the collector of all signals; the path of a signal is
/// appended.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Environment variable that switches off all exports.
const DISABLED: &str = "OTEL_SDK_DISABLED";
const SERVICE: &str = "OTEL_SERVICE_NAME";
/// Environment variables with headers of requests, such as `a=b,c=d`.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const METRICS_HEADERS: &str = "OTEL_EXPORTER_OTLP_METRICS_HEADERS";

/// How long a collector may take to accept a batch; OpenTelemetry waits equally long at shutdown.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Logs,
    Metrics,
    Traces,
}

impl Signal {
    /// Returns the environment variable with the URL of the collector of this signal, including the
    /// path, and the path below the URL of the collector of all signals.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Logs => ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "v1/logs"),
            Self::Metrics => ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "v1/metrics"),
            Self::Traces => ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "v1/traces"),
        }
    }
}

/// Where a signal is sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Collector {
    endpoint: String,
    service: String,
    headers: Vec<(String, String)>,
}

impl Collector {
    /// Returns the collector that the environment names, if it names one.
    pub(crate) fn of_environment(signal: Signal) -> Option<Self> {
        Self::of(signal, &|name| std::env::var(name).ok())
    }

    fn of(signal: Signal, variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set(DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return None;
        }
        let (own, path) = signal.names();
        let of_all = || {
            let endpoint = set(ENDPOINT)?;
            Some(format!("{}/{path}", endpoint.trim_end_matches('/')))
        };
        Some(Self {
            endpoint: set(own).or_else(of_all)?,
            service: set(SERVICE).unwrap_or_else(|| "spillgate".to_owned()),
            headers: set(METRICS_HEADERS)
                .or_else(|| set(HEADERS))
                .map_or_else(Vec::new, |all| headers(&all)),
        })
    }

    /// Returns the URL to which requests go.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the headers of requests with metrics. The exporters of other signals read them
    /// themselves.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// Returns a client that sends requests to the collector.
    pub(crate) fn poster(&self) -> Result<Poster, Failure> {
        let url = self.endpoint.parse();
        let url = url.map_err(|error| wrong(&format!("the collector's address: {error}")))?;
        Poster::new(net::client(&url)?)
    }

    /// Returns what a collector is told about this program.
    pub(crate) fn resource(&self) -> Resource {
        Resource::builder()
            .with_service_name(self.service.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build()
    }
}

/// Returns the headers of a variable. Their values are percent-encoded.
fn headers(all: &str) -> Vec<(String, String)> {
    let pairs = all.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| {
            let value = percent_decode_str(value.trim()).decode_utf8_lossy();
            (name.trim().to_owned(), value.into_owned())
        })
        .collect()
}

/// Sends requests from a thread that has no runtime of its own.
pub(crate) struct Poster {
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

    /// Sends a request, and waits for the answer.
    pub(crate) fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
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

impl fmt::Debug for Poster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poster")
    }
}

#[async_trait::async_trait]
impl HttpClient for Poster {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.send(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_by_the_standard_variables() {
        let of = |signal: Signal, set: &[(&str, &str)]| {
            let value = |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let found = Collector::of(signal, &value);
            found.map(|found| format!("{} {}", found.endpoint, found.service))
        };
        let all = (ENDPOINT, "http://c:4318/");
        for signal in [Signal::Logs, Signal::Metrics, Signal::Traces] {
            let (own, path) = signal.names();
            assert_eq!(of(signal, &[]), None);
            assert_eq!(of(signal, &[(ENDPOINT, "")]), None);
            assert_eq!(of(signal, &[all, (DISABLED, "true")]), None);
            let usual = format!("http://c:4318/{path} spillgate");
            assert_eq!(of(signal, &[all]).unwrap(), usual);
            let own = [all, (own, "http://t:1/x"), (SERVICE, "g")];
            assert_eq!(of(signal, &own).unwrap(), "http://t:1/x g");
        }
    }

    #[test]
    fn headers_as_in_other_programs() {
        let expected = [("api-key", "a=b c"), ("x", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(headers("api-key=a=b%20c, x= ,nothing"), expected);
    }
}

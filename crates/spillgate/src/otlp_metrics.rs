//! Sends the metrics to an OpenTelemetry collector, again and again.
//!
//! The page `/metrics` is the only source of the figures: its text, in the format of OpenMetrics, is
//! turned into OTLP. So a collector gets the names, labels and values that Prometheus gets.

use std::sync::LazyLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};

use opentelemetry_http::{Bytes, Request};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use prost::Message;
use regex::Regex;
use spillgate_artifact::{Clock, SystemClock, Timestamp};

use crate::failure::Failure;
use crate::logs::wrong;
use crate::otlp::{Collector, Poster, Signal};

/// A line of the page with a value: its name, its labels and its value.
static SAMPLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$").expect("invariant: a regular expression")
});

/// A label: its name and its value, in which some characters are escaped.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([a-z_]+)="((?:[^"\\]|\\.)*)""#).expect("invariant: a regular expression")
});

/// An escaped character.
static ESCAPED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\(.)").expect("invariant: a regular expression"));

/// The label with the upper bound of a bucket.
const BOUND: &str = "le";

/// Sends metrics until it is dropped, and then once more.
#[derive(Debug)]
pub(crate) struct Pushing {
    /// The thread ends when this is dropped.
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pushing {
    /// Begins to send what is on a page. Fails if no collector is named.
    pub(crate) fn begin(
        every: Duration,
        page: impl Fn() -> String + Send + 'static,
    ) -> Result<Self, Failure> {
        let none =
            "metrics are to be sent (`telemetry.metrics_interval`), but no collector is named";
        let collector = Collector::of_environment(Signal::Metrics).ok_or_else(|| wrong(none))?;
        let (poster, since) = (collector.poster()?, SystemClock.now());
        let (ended, wait) = channel::<()>();
        let push = move || {
            let mut has_failed = false;
            loop {
                let is_last = wait.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
                let times = Times {
                    since: nanos(since),
                    now: nanos(SystemClock.now()),
                };
                let sent = send(&poster, &collector, &request(&page(), &collector, times));
                if let (Err(what), false) = (&sent, has_failed) {
                    tracing::warn!(what, "metrics could not be sent");
                }
                has_failed = sent.is_err();
                if is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        Ok(Self {
            ended: Some(ended),
            thread: Some(thread.spawn(push)?),
        })
    }
}

impl Drop for Pushing {
    fn drop(&mut self) {
        drop(self.ended.take());
        // It waits for a collector for a few seconds only.
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn send(
    poster: &Poster,
    collector: &Collector,
    body: &ExportMetricsServiceRequest,
) -> Result<(), String> {
    let request =
        Request::post(collector.endpoint()).header("content-type", "application/x-protobuf");
    let headers = collector.headers();
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    let request = request.body(Bytes::from(body.encode_to_vec()));
    let request = request.map_err(|error| error.to_string())?;
    let answer = poster.send(request).map_err(|error| error.to_string())?;
    match answer.status().is_success() {
        true => Ok(()),
        false => Err(format!("the collector answered {}", answer.status())),
    }
}

/// The time since which values are counted, and the time of the values, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Times {
    since: u64,
    now: u64,
}

fn nanos(time: Timestamp) -> u64 {
    let since = time
        .system_time()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the request with all metrics of a page.
fn request(page: &str, collector: &Collector, times: Times) -> ExportMetricsServiceRequest {
    let resource = ResourceAttributesWithSchema::from(&collector.resource());
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: resource.attributes.0,
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(InstrumentationScope {
                    name: "spillgate".to_owned(),
                    ..InstrumentationScope::default()
                }),
                metrics: metrics(page, times),
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

/// Returns the metrics of a page that have values.
fn metrics(page: &str, times: Times) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for line in page.lines() {
        if let Some(said) = line.strip_prefix("# ") {
            describe(&mut all, said);
        } else if let (Some(metric), Some(sample)) = (all.last_mut(), SAMPLE.captures(line)) {
            let labels = sample.get(2).map_or("", |labels| labels.as_str());
            count(metric, &sample[1], labels, (&sample[3], times));
        }
    }
    all.retain(|metric| match &metric.data {
        Some(Data::Sum(sum)) => !sum.data_points.is_empty(),
        Some(Data::Gauge(gauge)) => !gauge.data_points.is_empty(),
        Some(Data::Histogram(histogram)) => !histogram.data_points.is_empty(),
        _ => false,
    });
    all
}

/// Takes a line that describes a metric. The first of these lines begins a metric.
fn describe(all: &mut Vec<Metric>, said: &str) {
    let mut words = said.splitn(3, ' ');
    let (Some(what), Some(name), Some(text)) = (words.next(), words.next(), words.next()) else {
        return; // the end of the page
    };
    if what == "HELP" {
        all.push(Metric {
            name: name.to_owned(),
            description: text.to_owned(),
            ..Metric::default()
        });
    }
    let Some(metric) = all.last_mut() else { return };
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    match (what, text) {
        ("TYPE", "counter") => {
            // It is the name of its values.
            metric.name.push_str("_total");
            metric.data = Some(Data::Sum(Sum {
                aggregation_temporality,
                is_monotonic: true,
                ..Sum::default()
            }));
        }
        ("TYPE", "gauge") => metric.data = Some(Data::Gauge(Gauge::default())),
        ("TYPE", "histogram") => {
            metric.data = Some(Data::Histogram(Histogram {
                aggregation_temporality,
                ..Histogram::default()
            }));
        }
        ("UNIT", "seconds") => "s".clone_into(&mut metric.unit),
        ("UNIT", "bytes") => "By".clone_into(&mut metric.unit),
        _ => {}
    }
}

/// Adds a value to a metric.
fn count(metric: &mut Metric, name: &str, labels: &str, (value, times): (&str, Times)) {
    let number = || NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: times.since,
        time_unix_nano: times.now,
        value: Some(match value.parse() {
            Ok(whole) => Number::AsInt(whole),
            Err(_) => Number::AsDouble(value.parse().unwrap_or(f64::NAN)),
        }),
        ..NumberDataPoint::default()
    };
    match &mut metric.data {
        Some(Data::Sum(sum)) => sum.data_points.push(number()),
        Some(Data::Gauge(gauge)) => gauge.data_points.push(number()),
        Some(Data::Histogram(histogram)) => {
            let points = &mut histogram.data_points;
            match (name.strip_prefix(&metric.name), points.last_mut()) {
                // It comes first.
                (Some("_sum"), _) => points.push(HistogramDataPoint {
                    attributes: attributes(labels),
                    start_time_unix_nano: times.since,
                    time_unix_nano: times.now,
                    sum: value.parse().ok(),
                    ..HistogramDataPoint::default()
                }),
                (Some("_count"), Some(point)) => point.count = value.parse().unwrap_or_default(),
                (Some("_bucket"), Some(point)) => bucket(point, labels, value),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Adds a bucket. On the page, each bucket includes those before it.
fn bucket(point: &mut HistogramDataPoint, labels: &str, value: &str) {
    let before: u64 = point.bucket_counts.iter().sum();
    let all: u64 = value.parse().unwrap_or(before);
    point.bucket_counts.push(all.saturating_sub(before));
    let bound = LABEL.captures_iter(labels).find(|label| &label[1] == BOUND);
    let bound = bound.and_then(|label| label[2].parse().ok());
    point
        .explicit_bounds
        .extend(bound.filter(|bound: &f64| bound.is_finite()));
}

fn attributes(labels: &str) -> Vec<KeyValue> {
    let labels = LABEL
        .captures_iter(labels)
        .filter(|label| &label[1] != BOUND);
    let attribute = |label: regex::Captures<'_>| {
        let value =
            ESCAPED.replace_all(&label[2], |escaped: &regex::Captures<'_>| {
                match &escaped[1] {
                    "n" => "\n".to_owned(),
                    other => other.to_owned(),
                }
            });
        KeyValue {
            key: label[1].to_owned(),
            value: Some(AnyValue {
                value: Some(Value::StringValue(value.into_owned())),
            }),
            ..KeyValue::default()
        }
    };
    labels.map(attribute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP spillgate_requests Completed requests to a server, by outcome.
# TYPE spillgate_requests counter
spillgate_requests_total{server="a \"b\" \\ {c} d",method="tools/call",outcome="ok"} 3
spillgate_requests_total{server="x",method="ping",outcome="error"} 1
# HELP spillgate_sessions Clients connected.
# TYPE spillgate_sessions gauge
spillgate_sessions -2
# HELP spillgate_added_seconds Time that the gateway needed.
# TYPE spillgate_added_seconds histogram
# UNIT spillgate_added_seconds seconds
spillgate_added_seconds_sum{server="x"} 0.25
spillgate_added_seconds_count{server="x"} 7
spillgate_added_seconds_bucket{le="0.00001",server="x"} 2
spillgate_added_seconds_bucket{le="0.5",server="x"} 6
spillgate_added_seconds_bucket{le="+Inf",server="x"} 7
# HELP spillgate_secrets Secrets found.
# TYPE spillgate_secrets counter
# EOF
"#;

    #[test]
    fn a_page_becomes_metrics() {
        let metrics = metrics(PAGE, Times { since: 1, now: 2 });
        let shown = |attributes: &[KeyValue]| {
            let shown = attributes.iter().map(|one| match &one.value {
                Some(AnyValue {
                    value: Some(Value::StringValue(value)),
                }) => format!("{}={value}", one.key),
                _ => panic!("{one:?}"),
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        let mut lines = Vec::new();
        for metric in &metrics {
            lines.push(format!(
                "{} [{}] {}",
                metric.name, metric.unit, metric.description
            ));
            match metric.data.as_ref().unwrap() {
                Data::Sum(Sum { data_points, .. }) | Data::Gauge(Gauge { data_points }) => {
                    for point in data_points {
                        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (1, 2));
                        let value = point.value.unwrap();
                        lines.push(format!("  {} {value:?}", shown(&point.attributes)));
                    }
                }
                Data::Histogram(histogram) => {
                    for point in &histogram.data_points {
                        let (bounds, counts) = (&point.explicit_bounds, &point.bucket_counts);
                        let sums = (point.sum, point.count);
                        let attributes = shown(&point.attributes);
                        lines.push(format!("  {attributes} {sums:?} {bounds:?} {counts:?}"));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        insta::assert_snapshot!(lines.join("\n"), @r#"
        spillgate_requests_total [] Completed requests to a server, by outcome.
          server=a "b" \ {c} d, method=tools/call, outcome=ok AsInt(3)
          server=x, method=ping, outcome=error AsInt(1)
        spillgate_sessions [] Clients connected.
           AsInt(-2)
        spillgate_added_seconds [s] Time that the gateway needed.
          server=x (Some(0.25), 7) [1e-5, 0.5] [2, 4, 1]
        "#);
    }
}

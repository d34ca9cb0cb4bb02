//! Sends the audit log to an OpenTelemetry collector, as log records.
//!
//! Each line is the body of a record. A thread of its own sends records in batches, so that nobody waits
//! for the collector.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::logs::{LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry_otlp::{LogExporter, Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogBatch, SdkLoggerProvider};
use parking_lot::Mutex;
use spillgate_artifact::Timestamp;

use crate::failure::Failure;
use crate::logs::wrong;
use crate::otlp::{Collector, Signal};

/// The name of the records. Collectors choose by it what they do with them.
const NAME: &str = "spillgate.audit";

/// What exports the records of this process, from the first one on. Each new configuration makes a new
/// audit log, but the collector is always the same.
static PROVIDER: Mutex<Option<SdkLoggerProvider>> = Mutex::new(None);

/// Prepares the export of records, unless that is done already.
pub(crate) fn begin() -> Result<(), Failure> {
    let mut provider = PROVIDER.lock();
    if provider.is_none() {
        *provider = Some(exporting()?);
    }
    Ok(())
}

/// Sends a line of the audit log.
pub(crate) fn send(time: Timestamp, line: &str) -> io::Result<()> {
    begin().map_err(|failure| io::Error::other(failure.text().to_owned()))?;
    let Some(provider) = PROVIDER.lock().clone() else {
        return Ok(()); // the process ends
    };
    let logger = provider.logger(NAME);
    let mut record = logger.create_log_record();
    record.set_event_name(NAME);
    record.set_timestamp(time.system_time());
    record.set_severity_number(Severity::Info);
    record.set_body(line.to_owned().into());
    logger.emit(record);
    Ok(())
}

/// Sends the records that are left. A collector that does not answer delays the end by a few seconds.
pub(crate) fn finish() {
    let provider = PROVIDER.lock().take();
    if let Some(Err(error)) = provider.map(|provider| provider.shutdown()) {
        tracing::error!(%error, "the last lines of the audit log could not be sent");
    }
}

fn exporting() -> Result<SdkLoggerProvider, Failure> {
    let none = "the audit log is for a collector (`audit.to = \"otlp\"`), but none is named";
    let collector = Collector::of_environment(Signal::Logs).ok_or_else(|| wrong(none))?;
    let exporter = LogExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(collector.endpoint())
        .with_http_client(collector.poster()?)
        .build()
        .map_err(|error| wrong(&format!("no log can be sent: {error}")))?;
    Ok(SdkLoggerProvider::builder()
        .with_batch_exporter(Reporting {
            exporter,
            has_failed: AtomicBool::new(false),
        })
        .with_resource(collector.resource())
        .build())
}

/// Exports records, and logs the first of several failures.
#[derive(Debug)]
struct Reporting<E> {
    exporter: E,
    has_failed: AtomicBool,
}

impl<E: opentelemetry_sdk::logs::LogExporter> opentelemetry_sdk::logs::LogExporter
    for Reporting<E>
{
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let sent = self.exporter.export(batch).await;
        let was_failing = self.has_failed.swap(sent.is_err(), Ordering::Relaxed);
        if let (Err(error), false) = (&sent, was_failing) {
            tracing::error!(%error, "the audit log cannot be sent: what happens now is missing in it");
        }
        sent
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

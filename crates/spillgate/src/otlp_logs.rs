//! Sends the audit log to an OpenTelemetry collector, as log records.
//!
//! Each line is the body of a record. A thread of its own sends records in batches, so that nobody waits
//! for the collector. If records come faster than the collector takes them, the newest are lost, and counted.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opentelemetry::logs::{LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry_otlp::{LogExporter, Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{
    BatchConfigBuilder, BatchLogProcessor, LogBatch, OTEL_BLRP_MAX_QUEUE_SIZE,
    OTEL_BLRP_MAX_QUEUE_SIZE_DEFAULT, SdkLoggerProvider,
};
use parking_lot::Mutex;
use spillgate_artifact::Timestamp;
use spillgate_gateway::AuditLoss;

use crate::audit::lost;
use crate::failure::Failure;
use crate::logs::wrong;
use crate::otlp::{Collector, Signal};

/// The name of the records. Collectors choose by it what they do with them.
const NAME: &str = "spillgate.audit";

/// What exports the records of this process, from the first one on. Each new configuration makes a new
/// audit log, but the collector is always the same.
static SENDING: Mutex<Option<Sending>> = Mutex::new(None);

/// Prepares the export of records, unless that is done already.
pub(crate) fn begin() -> Result<(), Failure> {
    let mut sending = SENDING.lock();
    if sending.is_none() {
        *sending = Some(to_collector()?);
    }
    Ok(())
}

/// Sends a line of the audit log.
pub(crate) fn send(time: Timestamp, line: &str) -> io::Result<()> {
    begin().map_err(|failure| io::Error::other(failure.text().to_owned()))?;
    let sending = SENDING.lock().clone();
    // Without it, the process ends.
    if let Some(sending) = sending {
        sending.send(time, line);
    }
    Ok(())
}

/// Sends the records that are left. A collector that does not answer delays the end by a few seconds.
pub(crate) fn finish() {
    let sending = SENDING.lock().take();
    if let Some(Err(error)) = sending.map(|sending| sending.provider.shutdown()) {
        tracing::error!(%error, "the last lines of the audit log could not be sent");
    }
}

fn to_collector() -> Result<Sending, Failure> {
    let none = "the audit log is for a collector (`audit.to = \"otlp\"`), but none is named";
    let collector = Collector::of_environment(Signal::Logs).ok_or_else(|| wrong(none))?;
    let exporter = LogExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(collector.endpoint())
        .with_http_client(collector.poster()?)
        .build()
        .map_err(|error| wrong(&format!("no log can be sent: {error}")))?;
    let most = std::env::var(OTEL_BLRP_MAX_QUEUE_SIZE).ok();
    let most = most.and_then(|most| most.parse().ok());
    let most = most.unwrap_or(OTEL_BLRP_MAX_QUEUE_SIZE_DEFAULT);
    Ok(Sending::by(exporter, most, collector.resource()))
}

/// What exports records.
#[derive(Debug, Clone)]
struct Sending {
    provider: SdkLoggerProvider,
    waiting: Arc<Waiting>,
}

impl Sending {
    /// `most` is the maximum number of records that wait.
    fn by<E>(exporter: E, most: usize, resource: Resource) -> Self
    where
        E: opentelemetry_sdk::logs::LogExporter + 'static,
    {
        let waiting = Arc::new(Waiting {
            records: AtomicUsize::new(0),
            most,
            has_lost: AtomicBool::new(false),
        });
        let reporting = Reporting {
            exporter,
            has_failed: AtomicBool::new(false),
            waiting: Arc::clone(&waiting),
        };
        let queue = BatchConfigBuilder::default().with_max_queue_size(most);
        let processor = BatchLogProcessor::builder(reporting).with_batch_config(queue.build());
        let provider = SdkLoggerProvider::builder()
            .with_log_processor(processor.build())
            .with_resource(resource)
            .build();
        Self { provider, waiting }
    }

    fn send(&self, time: Timestamp, line: &str) {
        if !self.waiting.enter() {
            return;
        }
        let logger = self.provider.logger(NAME);
        let mut record = logger.create_log_record();
        record.set_event_name(NAME);
        record.set_timestamp(time.system_time());
        record.set_severity_number(Severity::Info);
        record.set_body(line.to_owned().into());
        logger.emit(record);
    }
}

/// The records that wait. They are counted here because the queue of the processor tells nobody what it
/// drops; it has the same length, so it never does.
#[derive(Debug)]
struct Waiting {
    records: AtomicUsize,
    most: usize,
    /// Whether a record was lost since no record waited.
    has_lost: AtomicBool,
}

impl Waiting {
    /// Counts one more record. Returns false if that would be too many: then it is lost.
    fn enter(&self) -> bool {
        let more = |records| (records < self.most).then_some(records + 1);
        let order = Ordering::Relaxed;
        if self.records.fetch_update(order, order, more).is_ok() {
            return true;
        }
        lost(AuditLoss::QueueFull, 1);
        if !self.has_lost.swap(true, order) {
            tracing::warn!(
                waiting = self.most,
                "the audit log grows faster than the collector takes it: lines are missing in it"
            );
        }
        false
    }

    /// Counts records that were sent.
    fn leave(&self, records: usize) {
        if self.records.fetch_sub(records, Ordering::Relaxed) == records {
            self.has_lost.store(false, Ordering::Relaxed);
        }
    }
}

/// Exports records, and logs the first of several failures.
#[derive(Debug)]
struct Reporting<E> {
    exporter: E,
    has_failed: AtomicBool,
    waiting: Arc<Waiting>,
}

impl<E: opentelemetry_sdk::logs::LogExporter> opentelemetry_sdk::logs::LogExporter
    for Reporting<E>
{
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let records = batch.iter().count();
        let sent = self.exporter.export(batch).await;
        self.waiting.leave(records);
        if sent.is_err() {
            lost(AuditLoss::Failed, records);
        }
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::mpsc::{Receiver, channel};

    use opentelemetry_sdk::logs::LogExporter;
    use spillgate_artifact::{Clock, SystemClock};

    use super::*;
    use crate::audit::tests::losses;

    /// A collector that takes nothing until the other end of the channel is gone.
    #[derive(Debug)]
    struct Slow {
        wait: Mutex<Receiver<()>>,
        taken: Arc<AtomicUsize>,
    }

    impl LogExporter for Slow {
        async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
            assert!(self.wait.lock().recv().is_err());
            self.taken
                .fetch_add(batch.iter().count(), Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn lines_that_the_collector_does_not_take_are_counted() {
        let (go, wait) = channel();
        let taken = Arc::new(AtomicUsize::new(0));
        let slow = Slow {
            wait: Mutex::new(wait),
            taken: Arc::clone(&taken),
        };
        let sending = Sending::by(slow, 4, Resource::builder_empty().build());
        let log = tempfile::NamedTempFile::new().unwrap();
        let written = tracing_subscriber::fmt()
            .with_writer(Arc::new(File::create(log.path()).unwrap()))
            .finish();
        let before = losses("queue_full");
        tracing::subscriber::with_default(written, || {
            for _ in 0..10 {
                sending.send(SystemClock.now(), "{}");
            }
        });
        assert_eq!(losses("queue_full") - before, 6);
        let log = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(log.matches("lines are missing").count(), 1, "{log}");
        drop(go);
        sending.provider.force_flush().unwrap();
        assert_eq!(taken.load(Ordering::Relaxed), 4);
        // There is room again.
        sending.send(SystemClock.now(), "{}");
        sending.provider.shutdown().unwrap();
        assert_eq!(taken.load(Ordering::Relaxed), 5);
        assert_eq!(losses("queue_full") - before, 6);
    }
}
